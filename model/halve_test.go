package model

import (
	"math"
	"testing"
)

// Halved weights are the same classifier in float32, its biases are bfloat16
// values, and what is added up along the residual path is off by no more than
// the last rounding.
func TestHalve(t *testing.T) {
	m, err := Builtin("gaussian")
	if err != nil {
		t.Fatal(err)
	}
	net, w := m.Net.Fold(m.Weights)
	half := net.Halve(w)
	exact, shifted := 0, map[string][]float64{}
	for _, l := range net.Layers {
		if l.Op != Conv || !l.Bias {
			continue
		}
		for c, b := range half[l.Name+".bias"].Data {
			if roundBFloat16(b).Float32() != b {
				t.Fatalf("%s: bias %d is %g, which bfloat16 does not hold", l.Name, c, b)
			}
			shifted[l.Name] = append(shifted[l.Name], float64(b)-float64(w[l.Name+".bias"].Data[c]))
		}
		if &half[l.Name+".weight"].Data[0] == &w[l.Name+".weight"].Data[0] {
			continue
		}
		exact++
	}
	if exact < 9 {
		t.Errorf("%d convolutions were scaled, of 9 that lie inside a block", exact)
	}

	// The wrong total of each path into an Add is that of one rounding.
	total := make([][]float64, len(net.Layers))
	for i, l := range net.Layers {
		switch l.Op {
		case Conv:
			if len(l.In) == 1 && l.Bias && inBranch(net, i) {
				total[i] = shifted[l.Name]
			}
		case Relu:
			total[i] = total[l.In[0]]
		case Add:
			total[i] = sum(total[l.In[0]], total[l.In[1]])
			for c, e := range total[i] {
				// One rounding of a bias of size up to 8 is 2^-6 at most.
				if math.Abs(e) > 1./64 {
					t.Errorf("layer %d channel %d is shifted by %g", i, c, e)
				}
			}
		}
	}

	// What is left of the rounding moves the logits, and only a little.
	scaled, err := FromNet("halved", net, half)
	if err != nil {
		t.Fatal(err)
	}
	x := randomImages(8, m.Image)
	if d := largestDifference(logits(t, scaled, x, Lowering{}), logits(t, m, x, Lowering{})); d == 0 || d > 0.05 {
		t.Errorf("logits differ by %g", d)
	}
}

// inBranch tells whether a convolution is added to another branch.
func inBranch(n *Net, i int) bool {
	for _, l := range n.Layers {
		if l.Op == Add && (l.In[0] == i || l.In[1] == i) {
			return true
		}
	}
	return false
}

// Where no branch is added the scaling is exact: with the next weights divided
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
	half := n.Halve(w)
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
