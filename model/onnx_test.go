package model

import (
	"bytes"
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
)

func FuzzOnnx(f *testing.F) {
	b, err := os.ReadFile("testdata/pytorch/gaussian.onnx")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b[:4000])
	f.Add([]byte{})
	f.Add(nhwcFile(func(e *edited) { e.node("Flatten", "f", []string{"pooled"}, "probabilities") }))
	f.Fuzz(func(t *testing.T, b []byte) {
		g, err := decodeOnnx(b)
		if err != nil {
			return
		}
		image, nhwc, err := g.image()
		if err != nil {
			return
		}
		n, w, err := netFromOnnx(g, image, nhwc)
		if err == nil {
			err = n.Check(w)
		}
		if err != nil && !errors.Is(err, errOutside) && strings.Contains(err.Error(), "outside the operations") {
			t.Fatal(err)
		}
	})
}

// A model that is exported and read back answers the same.
func TestExportRoundTrip(t *testing.T) {
	for _, name := range []string{"small", "lenet"} {
		var m *Model
		var err error
		if name == "small" {
			n := small(t)
			m, err = FromNet(name, n, initialised(t, n))
		} else {
			m = trained(t)
		}
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := m.WriteONNX(&b); err != nil {
			t.Fatal(err)
		}
		back, err := Parse(name+".onnx", b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if back.Net == nil || back.Image != m.Image || back.Labels != m.Labels {
			t.Fatalf("%s came back as %+v", name, back)
		}
		x := randomImages(3, m.Image)
		want := logits(t, m, x, Lowering{})
		if d := largestDifference(logits(t, back, x, Lowering{}), want); d > 1e-6 {
			t.Errorf("%s: logits differ by %g", name, d)
		}
		// The general importer reads it too.
		g, err := decodeOnnx(b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		general := &Model{Path: name, Image: m.Image}
		if err := general.parseGeneral(b.Bytes(), g, false, errOutside); err != nil {
			t.Fatal(err)
		}
		if d := largestDifference(logits(t, general, x, Lowering{}), want); d > 1e-5 {
			t.Errorf("%s by the general importer: logits differ by %g", name, d)
		}
	}
}

// edited is an ONNX file under change.
type edited struct {
	onnxWriter
	inputs, outputs []message
}

func (e *edited) file() []byte {
	g := slices.Clone(e.graph)
	for _, v := range e.inputs {
		g.bytes(11, v)
	}
	for _, v := range e.outputs {
		g.bytes(12, v)
	}
	var f message
	f.integer(1, onnxIR)
	f.bytes(7, g)
	var opset message
	opset.integer(2, onnxOpset)
	f.bytes(8, opset)
	return f
}

// A linear classifier of images laid out N, H, W, C with every name and form
// changed, as TensorFlow's exporter writes it.
func nhwcFile(tail func(e *edited)) []byte {
	e := &edited{}
	e.inputs = []message{valueInfo("input_1:0", 6, 6, 3)}
	e.outputs = []message{valueInfo("probabilities", 5)}
	e.node("Transpose", "t", []string{"input_1:0"}, "nchw", intsAttr("perm", 0, 3, 1, 2))
	e.tensor("mean", []int{3, 1, 1}, []float32{.1, .2, .3})
	e.node("Sub", "s", []string{"nchw", "mean"}, "centred")
	kernel := make([]float32, 5*3)
	for i := range kernel {
		kernel[i] = float32(i%7) - 3
	}
	e.tensor("kernel", []int{5, 3, 1, 1}, kernel)
	e.node("Conv", "c", []string{"centred", "kernel"}, "maps", intsAttr("kernel_shape", 1, 1), intsAttr("strides", 1, 1))
	e.node("GlobalAveragePool", "g", []string{"maps"}, "pooled")
	tail(e)
	return e.file()
}

func TestForms(t *testing.T) {
	plain := func(e *edited) {
		e.node("Flatten", "f", []string{"pooled"}, "logits")
		e.node("Softmax", "p", []string{"logits"}, "probabilities")
	}
	m, err := Parse("nhwc.onnx", nhwcFile(plain))
	if err != nil {
		t.Fatal(err)
	}
	if m.Net == nil || m.Image != (Shape{3, 6, 6}) || m.Labels != 5 {
		t.Fatalf("read as %+v", m)
	}
	// The same with an operation in the middle that a net does not know.
	general, err := Parse("general.onnx", nhwcFile(func(e *edited) {
		e.node("Flatten", "f", []string{"pooled"}, "flat")
		e.node("Tanh", "a", []string{"flat"}, "tanh")
		e.node("Identity", "p", []string{"tanh"}, "probabilities")
	}))
	if err != nil {
		t.Fatal(err)
	}
	if general.Net != nil || general.Labels != 5 {
		t.Fatalf("read as %+v", general)
	}
	x := randomImages(2, m.Image)
	a, b := logits(t, m, x, Lowering{}), logits(t, general, x, Lowering{})
	for i := range a {
		for j := range a[i] {
			if got, want := float64(b[i][j]), math.Tanh(float64(a[i][j])); math.Abs(got-want) > 1e-5 {
				t.Fatalf("row %d, class %d: tanh of the logit is %g, want %g", i, j, got, want)
			}
		}
	}
}

func TestOnnxErrors(t *testing.T) {
	whole := nhwcFile(func(e *edited) { e.node("Flatten", "f", []string{"pooled"}, "probabilities") })
	text := &edited{inputs: []message{valueInfo("input_ids", 16)}, outputs: []message{valueInfo("y", 2)}}
	text.inputs[0] = bytes.Replace(text.inputs[0], []byte{8, onnxFloat}, []byte{8, onnxInt64}, 1)
	text.node("Identity", "i", []string{"input_ids"}, "y")
	vector := &edited{inputs: []message{valueInfo("x", 16)}, outputs: []message{valueInfo("y", 2)}}
	vector.node("Identity", "i", []string{"x"}, "y")
	two := &edited{inputs: []message{valueInfo("x", 3, 4, 4), valueInfo("z", 3, 4, 4)}, outputs: []message{valueInfo("y", 2)}}
	two.node("Add", "i", []string{"x", "z"}, "y")
	open := &edited{inputs: []message{valueInfo("x", 3, 0, 0)}, outputs: []message{valueInfo("y", 2)}}
	open.node("Identity", "i", []string{"x"}, "y")
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"empty", nil, "not an ONNX model"},
		{"not ONNX", []byte("hello, this is no model"), "not an ONNX model"},
		{"cut short", whole[:len(whole)/2], "not an ONNX model"},
		{"text", text.file(), "model of text"},
		{"vector input", vector.file(), "four axes"},
		{"two inputs", two.file(), "2 inputs (x, z)"},
		{"open size", open.file(), "must be fixed"},
		{"missing operations", nhwcFile(func(e *edited) {
			e.node("Flatten", "f", []string{"pooled"}, "flat")
			e.node("Einsum", "e", []string{"flat"}, "e")
			e.node("Det", "d", []string{"e"}, "probabilities")
		}), "lorica lacks: Det, Einsum"},
		{"not logits", nhwcFile(func(e *edited) { e.node("Tanh", "t", []string{"maps"}, "probabilities") }), "one number a class"},
	} {
		_, err := Parse("m.onnx", c.file)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
}

func TestFits(t *testing.T) {
	m := trained(t)
	if err := m.Fits(Shape{1, 28, 28}, 10); err != nil {
		t.Error(err)
	}
	if err := m.Fits(Shape{3, 32, 32}, 10); err == nil || !strings.Contains(err.Error(), "takes images of 1x28x28") {
		t.Errorf("error %v", err)
	}
	if err := m.Fits(Shape{1, 28, 28}, 7); err == nil || !strings.Contains(err.Error(), "10 classes apart, the data has 7") {
		t.Errorf("error %v", err)
	}
}
