// Runs every exported model in ONNX Runtime and compares with lorica's logits.
import fs from "node:fs";
import ort from "onnxruntime-node";

const floats = (file) => new Float32Array(new Uint8Array(fs.readFileSync(file)).buffer);
let failed = false;
for (const { name, shape } of JSON.parse(fs.readFileSync("manifest.json"))) {
  const session = await ort.InferenceSession.create(name + ".onnx");
  const image = new ort.Tensor("float32", floats(name + ".images"), shape);
  const { logits } = await session.run({ image });
  const want = floats(name + ".logits");
  // Untrained deep networks have logits in the thousands: the bound is 1e-4 of the largest, and at least 1e-4.
  let worst = 0, scale = 1;
  want.forEach((v, i) => {
    worst = Math.max(worst, Math.abs(v - logits.data[i]));
    scale = Math.max(scale, Math.abs(v));
  });
  const ok = worst <= 1e-4 * scale && logits.data.length === want.length;
  failed ||= !ok;
  console.log(`${ok ? "ok  " : "FAIL"} ${name}: largest difference of logits ${worst.toExponential(1)} (largest logit ${scale.toFixed(1)})`);
}
process.exit(failed ? 1 : 0);
