package model

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
)

// Halved weights are bfloat16 values whose sums are those of before, as are the
// biases of convolutions inside a block; it is the same classifier.
func TestHalve(t *testing.T) {
	m, err := Builtin("gaussian")
	if err != nil {
		t.Fatal(err)
	}
	net, w := m.Net.Fold(m.Weights)
	half := net.Halve(w)
	scaled := newHalver(net, w)
	scaled.scale()
	exact := 0
	for _, l := range net.Layers {
		if l.Op != Conv {
			continue
		}
		weight := half[l.Name+".weight"].Data
		if slices.ContainsFunc(weight, inexact) {
			t.Fatalf("%s: a weight is not a bfloat16", l.Name)
		}
		per := len(weight) / l.Channels
		for i := 0; i < len(weight); i += per {
			off, size := 0.0, 0.0
			for k, v := range scaled.w[l.Name+".weight"].Data[i : i+per] {
				off += float64(weight[i+k]) - float64(v)
				size = max(size, math.Abs(float64(v)))
			}
			// Half a unit in the last place of the largest weight; rounded one by one
			// they are off by several.
			if math.Abs(off) > size/512 {
				t.Errorf("%s: the weights of channel %d are off by %g in sum, the largest is %g", l.Name, i/per, off, size)
			}
		}
		if !slices.ContainsFunc(half[l.Name+".bias"].Data, inexact) {
			exact++
		} else if !slices.Equal(half[l.Name+".bias"].Data, w[l.Name+".bias"].Data) {
			t.Errorf("%s: biases that are added in float32 were changed", l.Name)
		}
	}
	if exact != 9 {
		t.Errorf("%d convolutions have exact biases, of 9 that lie inside a block", exact)
	}

	halved, err := FromNet("halved", net, half)
	if err != nil {
		t.Fatal(err)
	}
	x := randomImages(8, m.Image)
	if d := largestDifference(logits(t, halved, x, Lowering{}), logits(t, m, x, Lowering{})); d == 0 || d > 0.05 {
		t.Errorf("logits differ by %g", d)
	}
}

// Values rounded together keep their sum, each being one of its two neighbours.
func TestRoundTogether(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 9, 144, 576} {
		values := make([]float32, n)
		sum, nearest := 0.0, 0.0
		for i := range values {
			values[i] = float32(r.NormFloat64())
			sum += float64(values[i])
			nearest += float64(roundBFloat16(values[i]).Float32())
		}
		exact := slices.Clone(values)
		roundTogether(values)
		after := 0.0
		for i, v := range values {
			if near := roundBFloat16(exact[i]).Float32(); v != near && v != otherSide(near, exact[i]) || inexact(v) {
				t.Fatalf("%g became %g", exact[i], v)
			}
			after += float64(v)
		}
		if math.Abs(after-sum) > math.Abs(nearest-sum) {
			t.Errorf("%d values: the sum is off by %g, rounded one by one by %g", n, after-sum, nearest-sum)
		}
		if n >= 144 && math.Abs(after-sum) > 1e-3 {
			t.Errorf("%d values: the sum is off by %g", n, after-sum)
		}
	}
	largest := math.Float32frombits(0x7f7f0000) // of bfloat16: it has no finite neighbour above
	for _, c := range []struct{ r, v, want float32 }{
		{1, 1, 1}, {1, 1.001, 1.0078125}, {1.0078125, 1.001, 1}, {-1, -1.001, -1.0078125}, {0, 1e-45, 0},
		{largest, math.MaxFloat32, largest},
	} {
		if got := otherSide(c.r, c.v); got != c.want {
			t.Errorf("the other side of %g from %g is %g, not %g", c.v, c.r, got, c.want)
		}
	}
}

// The scaling is exact: with the next weights divided
// the answers are those of before, to float32's rounding. Left undivided they
// would be off by up to 2^-9, which this tells apart.
func TestHalveScalesExactly(t *testing.T) {
	n := NewNet(Shape{3, 8, 8})
	last := 0
	for _, l := range []Layer{
		{Op: Conv, Name: "a", Channels: 8, Kernel: [2]int{3, 3}, Stride: [2]int{1, 1}, Pad: [4]int{1, 1, 1, 1}, Groups: 1, Bias: true},
		{Op: Relu},
		{Op: Conv, Name: "b", Channels: 5, Kernel: [2]int{3, 3}, Stride: [2]int{1, 1}, Groups: 1},
		{Op: Mean},
	} {
		l.In = []int{last}
		var err error
		if last, err = n.Append(l); err != nil {
			t.Fatal(err)
		}
	}
	w := Weights{}
	for name, p := range n.Params() {
		a := Array{Shape: p.Shape, Data: make([]float32, elements(p.Shape))}
		for i := range a.Data {
			a.Data[i] = float32(math.Sin(float64(3*i + len(name))))
		}
		w[name] = a
	}
	h := newHalver(n, w)
	h.scale()
	half := h.w
	moved := 0
	for c, b := range half["a.bias"].Data {
		if b != w["a.bias"].Data[c] {
			moved++
		}
	}
	if moved == 0 {
		t.Fatal("no bias had to be rounded: the test says nothing")
	}
	before, err := FromNet("before", n, w)
	if err != nil {
		t.Fatal(err)
	}
	after, err := FromNet("after", n, half)
	if err != nil {
		t.Fatal(err)
	}
	x := randomImages(4, n.Image())
	if d := largestDifference(logits(t, after, x, Lowering{}), logits(t, before, x, Lowering{})); d > 2e-5 {
		t.Errorf("logits differ by %g", d)
	}
}

// A bias that bfloat16 does not hold is added in float32, with either kind of
// convolution; one that it holds is not rounded either way.
func TestInexactBiasesAreKept(t *testing.T) {
	n := NewNet(Shape{3, 4, 8})
	for i, l := range []Layer{
		{Op: Conv, Name: "a", Channels: 3, Kernel: [2]int{3, 3}, Stride: [2]int{1, 1}, Pad: [4]int{1, 1, 1, 1}, Groups: 1, Bias: true},
		{Op: Mean},
	} {
		l.In = []int{i}
		if _, err := n.Append(l); err != nil {
			t.Fatal(err)
		}
	}
	bias := []float32{1 + 1./1024, -3 - 1./512, 0.5}
	m, err := FromNet("biased", n, Weights{
		"a.weight": {Shape: []int{3, 3, 3, 3}, Data: make([]float32, 81)}, "a.bias": {Shape: []int{3}, Data: bias},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, wide := range []bool{false, true} {
		how := Lowering{DType: dtypes.BFloat16, ChannelsLast: true, Wide: wide}
		for _, got := range logits(t, m, randomImages(2, m.Image), how) {
			if !slices.Equal(got, bias) {
				t.Errorf("wide %v: logits %v, want the biases %v", wide, got, bias)
			}
		}
	}
}
