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

	// Scaling alone changes no answer: give the old biases' function back.
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
