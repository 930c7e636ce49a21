package engine

import (
	"context"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/backends/simplego"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"

	"lorica/draw"
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
	cpu, err := Open("cpu", Config{})
	if err != nil {
		t.Fatal(err)
	}
	portable, err := simplego.New("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cpu.Close() })
	return map[string]*Engine{
		"host":   cpu,
		"device": {spec: "go", backend: portable},
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
			s, err := NewSampler(e, m, SamplerConfig{Sigma: 0.5, Precision: Float32, Batch: batch})
			if err != nil {
				t.Fatal(name, err)
			}
			got, err := s.Sample(context.Background(), js)
			if err != nil {
				t.Fatal(name, batch, err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s, batch %d: counts %v, want %v", name, batch, got, want)
			}
			s.Close()
		}
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

// The graph's generator must give draw.Noise up to rounding.
func TestNoiseGraphIsDrawNoise(t *testing.T) {
	const size, rows = 30, 40
	backend, err := simplego.New("")
	if err != nil {
		t.Fatal(err)
	}
	defer backend.Finalize()
	r := rand.New(rand.NewPCG(1, 1))
	ids := make([]uint32, words*rows)
	for i := range ids {
		ids[i] = r.Uint32()
	}
	got := graph.MustExecOnce(backend, func(ids *graph.Node) *graph.Node { return Noise(ids, size) },
		tensors.FromFlatDataAndDimensions(ids, words, rows)).Value().([][]float32)
	want := make([]float32, size)
	for row := range rows {
		at := func(w int) uint32 { return ids[w*rows+row] }
		seed := uint64(at(wordKey0)) | uint64(at(wordKey1))<<32
		draw.Noise(want, seed, draw.Phase(at(wordPhase)), int(at(wordExample)), int64(at(wordIndex)))
		for i := range want {
			if math.Abs(float64(got[row][i]-want[i])) > 5e-6 {
				t.Fatalf("row %d, value %d: %g, want %g", row, i, got[row][i], want[i])
			}
		}
	}
}

// The ends of the uniform numbers, where float32 is coarse.
func TestBoxMullerGraphAtTheEnds(t *testing.T) {
	backend, err := simplego.New("")
	if err != nil {
		t.Fatal(err)
	}
	defer backend.Finalize()
	a := []uint32{0, 1, 1 << 31, 1<<31 - 1, 1<<32 - 1, 1<<32 - 2, 1<<32 - 300, 1<<32 - 70000}
	b := []uint32{0, 1 << 31, 255, 1 << 30, 3 << 30, 1<<32 - 1, 12345678, 1 << 29}
	got := graph.MustExecOnceN(backend, func(a, b *graph.Node) []*graph.Node {
		none := graph.LogicalAnd(graph.Equal(a, b), graph.NotEqual(a, b))
		return []*graph.Node{boxMullerGraph(a, b, none), boxMullerGraph(a, b, graph.LogicalNot(none))}
	}, a, b)
	for i := range a {
		cos, sin := draw.BoxMuller(a[i], b[i])
		gc, gs := got[0].Value().([]float32)[i], got[1].Value().([]float32)[i]
		if math.Abs(float64(gc-cos)) > 5e-6 || math.Abs(float64(gs-sin)) > 5e-6 {
			t.Errorf("words %d, %d: %g, %g, want %g, %g", a[i], b[i], gc, gs, cos, sin)
		}
	}
}

// Ties go to the lowest index; a NaN anywhere makes the draw invalid.
func TestAnswersOfTiesAndNaN(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	logits := [][]float32{{1, 1, 0}, {0, 2, 2}, {nan, 5, 1}, {5, 1, nan}, {-inf, -inf, -inf}, {0, inf, inf}, {nan, nan, nan}, {-3, -2, -1}}
	want := []int32{0, 1, 3, 3, 0, 1, 3, 2}
	backend, err := simplego.New("")
	if err != nil {
		t.Fatal(err)
	}
	defer backend.Finalize()
	got := graph.MustExecOnce(backend, classGraph, logits).Value().([]int32)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("on a device: %v, want %v", got, want)
	}
	for i, l := range logits {
		c := argMax(l)
		if c < 0 {
			c = len(l)
		}
		if int32(c) != want[i] {
			t.Errorf("on the host: logits %v gave %d, want %d", l, c, want[i])
		}
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
