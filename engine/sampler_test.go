package engine

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"lorica/draw"
	"lorica/engine/cpu"
	"lorica/model"
)

// tiny is a network of a convolution, a mean and a product: three classes of
// images of 2x5x3 (30 values: no multiple of the generator's block of four).
func tiny(t *testing.T) *model.Model {
	t.Helper()
	n := model.NewNet(model.Shape{C: 2, H: 5, W: 3})
	last := 0
	for _, l := range []model.Layer{
		{Op: model.Affine, Name: "norm"},
		{Op: model.Conv, Name: "conv", Channels: 4, Kernel: [2]int{3, 3}, Pad: [4]int{1, 1, 1, 1}, Bias: true},
		{Op: model.Relu},
		{Op: model.Mean},
		{Op: model.Dense, Name: "fc", Channels: 3, Bias: true},
	} {
		l.In = []int{last}
		var err error
		if last, err = n.Append(l); err != nil {
			t.Fatal(err)
		}
	}
	r := rand.New(rand.NewPCG(3, 12))
	w := model.Weights{}
	for _, name := range []string{"conv.bias", "conv.weight", "fc.bias", "fc.weight", "norm.scale", "norm.shift"} {
		shape := n.Params()[name].Shape
		size := 1
		for _, d := range shape {
			size *= d
		}
		a := model.Array{Shape: shape, Data: make([]float32, size)}
		for i := range a.Data {
			a.Data[i] = float32(r.NormFloat64())
		}
		w[name] = a
	}
	m, err := model.FromNet("tiny", n, w)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// forward is the tiny network in plain Go.
func forward(m *model.Model, x []float32) []float64 {
	w := m.Weights
	const c, h, wd, o = 2, 5, 3, 4
	var mean [o]float64
	for k := range o {
		for y := range h {
			for z := range wd {
				sum := float64(w["conv.bias"].Data[k])
				for ch := range c {
					for dy := range 3 {
						for dx := range 3 {
							yy, zz := y+dy-1, z+dx-1
							if yy < 0 || yy >= h || zz < 0 || zz >= wd {
								continue
							}
							v := (float64(x[(ch*h+yy)*wd+zz]) - float64(w["norm.shift"].Data[ch])) * float64(w["norm.scale"].Data[ch])
							sum += v * float64(w["conv.weight"].Data[((k*c+ch)*3+dy)*3+dx])
						}
					}
				}
				mean[k] += max(sum, 0) / (h * wd)
			}
		}
	}
	out := make([]float64, 3)
	for j := range out {
		out[j] = float64(w["fc.bias"].Data[j])
		for k := range o {
			out[j] += mean[k] * float64(w["fc.weight"].Data[j*o+k])
		}
	}
	return out
}

// engines are the ways that a sampler can run, on backends that tests have:
// the host's way and the device's way.
func engines(t *testing.T) map[string]*Engine {
	t.Helper()
	host, err := Open("cpu", Config{})
	if err != nil {
		t.Fatal(err)
	}
	device, err := cpu.New("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { host.Close() })
	return map[string]*Engine{
		"host":   host,
		"device": {spec: "test", backend: device},
	}
}

func jobs(m *model.Model) []draw.Job {
	r := rand.New(rand.NewPCG(5, 6))
	image := func() []float32 {
		x := make([]float32, m.Image.Size())
		for i := range x {
			x[i] = r.Float32()
		}
		return x
	}
	a, b := image(), image()
	return []draw.Job{
		{Image: a, Chunk: draw.Chunk{Seed: 7, Phase: draw.Select, Example: 3, Count: 20}},
		{Image: a, Chunk: draw.Chunk{Seed: 7, Phase: draw.Estimate, Example: 3, First: 1000, Count: 70}},
		{Image: b, Chunk: draw.Chunk{Seed: 1 << 40, Phase: draw.Estimate, Example: 4_000_000_000, First: 1<<32 - 50, Count: 50}},
		{Image: b, Chunk: draw.Chunk{Seed: 7, Phase: draw.Estimate, Example: 9, Count: 0}},
	}
}

// The counts must be those of a plain loop over draw.Noise and the network.
func TestCountsAreThoseOfThePlainLoop(t *testing.T) {
	m := tiny(t)
	js := jobs(m)
	want := make([]draw.Tally, len(js))
	noise := make([]float32, m.Image.Size())
	closest := math.Inf(1)
	for i, j := range js {
		want[i].Counts = make([]int64, 3)
		for d := range j.Chunk.Count {
			draw.Noise(noise, j.Chunk.Seed, j.Chunk.Phase, j.Chunk.Example, j.Chunk.First+int64(d))
			for p := range noise {
				noise[p] = j.Image[p] + 0.5*noise[p]
			}
			out := forward(m, noise)
			best := 0
			for c, v := range out {
				if v > out[best] {
					best = c
				}
			}
			for c, v := range out {
				if c != best {
					closest = min(closest, out[best]-v)
				}
			}
			want[i].Counts[best]++
		}
	}
	if closest < 1e-4 {
		t.Fatalf("two logits are %g apart: rounding could decide; choose other weights", closest)
	}
	if want[1].Counts[0] == 70 || want[1].Counts[1] == 70 || want[1].Counts[2] == 70 {
		t.Fatalf("one class takes all draws (%v): the test would see little", want[1].Counts)
	}
	for name, e := range engines(t) {
		for _, batch := range []int{0, 1, 7, 64, 200} {
			for _, c := range []SamplerConfig{{Batch: batch}, {Rows: batch}} {
				c.Sigma, c.Precision = 0.5, Float32
				s, err := NewSampler(e, m, c)
				if err != nil {
					t.Fatal(name, err)
				}
				got, err := s.Sample(context.Background(), js)
				if err != nil {
					t.Fatal(name, c, err)
				}
				if !reflect.DeepEqual(got, want) {
					t.Errorf("%s, %+v: counts %v, want %v", name, c, got, want)
				}
				s.Close()
			}
		}
	}
}

// On a device a batch is whole programs, and neither their size nor the counts'
// identity depends on it: that is why counts do not.
func TestBatchIsNoPartOfTheIdentity(t *testing.T) {
	e, m := engines(t)["device"], tiny(t)
	identity, rows := "", 0
	for _, batch := range []int{0, 1, 100_000} {
		s, err := NewSampler(e, m, SamplerConfig{Sigma: 0.5, Precision: Float32, Batch: batch})
		if err != nil {
			t.Fatal(err)
		}
		if identity == "" {
			identity, rows = s.Identity(), s.Batch()
		}
		if s.Identity() != identity {
			t.Errorf("batch %d: identity %q, before %q", batch, s.Identity(), identity)
		}
		if b := s.Batch(); b < batch || b%rows != 0 || b-batch >= rows && batch > rows {
			t.Errorf("batch %d became %d, with programs of %d rows", batch, b, rows)
		}
		s.Close()
	}
	other, err := NewSampler(e, m, SamplerConfig{Sigma: 0.5, Precision: Float32, Rows: rows / 2})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if other.Identity() == identity {
		t.Error("programs of other rows have the same identity")
	}
}

// Cutting the same draws differently must not change a count.
func TestCountsDoNotDependOnTheCut(t *testing.T) {
	m := tiny(t)
	js := jobs(m)[1:2]
	for name, e := range engines(t) {
		s, err := NewSampler(e, m, SamplerConfig{Sigma: 1, Precision: Float32, Batch: 16})
		if err != nil {
			t.Fatal(err)
		}
		whole, err := s.Sample(context.Background(), js)
		if err != nil {
			t.Fatal(err)
		}
		var pieces []draw.Job
		for first := 0; first < 70; first += 9 {
			j := js[0]
			j.Chunk.First += int64(first)
			j.Chunk.Count = min(9, 70-first)
			pieces = append(pieces, j)
		}
		parts, err := s.Sample(context.Background(), pieces)
		if err != nil {
			t.Fatal(err)
		}
		sum := make([]int64, 3)
		for _, p := range parts {
			for c, v := range p.Counts {
				sum[c] += v
			}
		}
		if !reflect.DeepEqual(sum, whole[0].Counts) {
			t.Errorf("%s: pieces sum to %v, the whole to %v", name, sum, whole[0].Counts)
		}
		s.Close()
	}
}

// A network that overflows to NaN counts as invalid, and as broken where most
// draws do.
func TestNaN(t *testing.T) {
	for name, e := range engines(t) {
		m := tiny(t)
		s, err := NewSampler(e, m, SamplerConfig{Sigma: 0.5, Precision: Float32, Batch: 32})
		if err != nil {
			t.Fatal(err)
		}
		js := jobs(m)[1:2]
		js[0].Image[4] = float32(math.NaN())
		if _, err := s.Sample(context.Background(), js); err == nil || !strings.Contains(err.Error(), "NaN for 70 of 70") {
			t.Errorf("%s: error %v, want one that says NaN for 70 of 70", name, err)
		}
		s.Close()
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for name, e := range engines(t) {
		m := tiny(t)
		s, err := NewSampler(e, m, SamplerConfig{Sigma: 0.5, Precision: Float32, Batch: 32})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Sample(ctx, jobs(m)); err != context.Canceled {
			t.Errorf("%s: error %v", name, err)
		}
		// The sampler is whole after it.
		if _, err := s.Sample(context.Background(), jobs(m)); err != nil {
			t.Errorf("%s: after cancellation: %v", name, err)
		}
		s.Close()
	}
}

// A graph that is no net runs through the general importer, with its weights
// as variables on either kind of engine.
func TestGeneralModel(t *testing.T) {
	var b bytes.Buffer
	if err := tiny(t).WriteONNX(&b); err != nil {
		t.Fatal(err)
	}
	m, err := model.Parse("tanh.onnx", bytes.Replace(b.Bytes(), []byte("Relu"), []byte("Tanh"), 1))
	if err != nil {
		t.Fatal(err)
	}
	if m.Net != nil {
		t.Fatal("read as a net")
	}
	results := map[string][]draw.Tally{}
	for name, e := range engines(t) {
		if _, err := NewSampler(e, m, SamplerConfig{Sigma: 0.5, Precision: BFloat16}); err == nil || !strings.Contains(err.Error(), "float32") {
			t.Errorf("%s: bfloat16 gave error %v", name, err)
		}
		s, err := NewSampler(e, m, SamplerConfig{Sigma: 0.5, Precision: Float32, Batch: 48})
		if err != nil {
			t.Fatal(name, err)
		}
		if results[name], err = s.Sample(context.Background(), jobs(m)); err != nil {
			t.Fatal(name, err)
		}
		s.Close()
	}
	if !reflect.DeepEqual(results["host"], results["device"]) {
		t.Errorf("host counts %v, device counts %v", results["host"], results["device"])
	}
}

// The CPU computes bfloat16 too, if slowly: a model that was certified in it on
// a GPU can be looked at without one.
func TestBFloat16OnEitherKind(t *testing.T) {
	m := tiny(t)
	results := map[string][]draw.Tally{}
	for name, e := range engines(t) {
		s, err := NewSampler(e, m, SamplerConfig{Sigma: 0.5, Precision: BFloat16, Batch: 32})
		if err != nil {
			t.Fatal(name, err)
		}
		if results[name], err = s.Sample(context.Background(), jobs(m)); err != nil {
			t.Fatal(name, err)
		}
		s.Close()
	}
	for i, a := range results["host"] {
		for c, n := range a.Counts {
			// The two kinds of noise differ in the last bits, which bfloat16 can magnify.
			if d := n - results["device"][i].Counts[c]; d > 1 || d < -1 {
				t.Errorf("job %d, class %d: host %d, device %d", i, c, n, results["device"][i].Counts[c])
			}
		}
	}
}
