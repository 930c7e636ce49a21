package model

import (
	"math"
	"slices"
)

// Halve prepares a folded net for bfloat16: the same classifier, with biases
// chosen so that rounding them costs as little as it can. A rounded bias
// shifts a channel at every pixel of every image, which weights' errors,
// random in sign, do not; on the ResNets of this package it moved more draws
// to another class than all other roundings together.
//
// Two exact facts do it. A convolution that only feeds convolutions through
// ReLU may be scaled a channel at a time, s relu(z) = relu(s z) for s > 0,
// with the next weights divided by s: s is chosen (within 2^-9 of 1) so that
// the bias is a bfloat16 already. And where a convolution is added to another
// branch, what is wrong with that branch's bias can be mended in its own.
func (n *Net) Halve(w Weights) Weights {
	h := halver{net: n, w: Weights{}, readers: make([][]int, len(n.Layers)), wrong: make([][]float64, len(n.Layers))}
	for name, a := range w {
		h.w[name] = a
	}
	for i, l := range n.Layers {
		for _, j := range l.In {
			h.readers[j] = append(h.readers[j], i)
		}
	}
	for i, l := range n.Layers {
		switch l.Op {
		case Conv:
			if l.Bias && !h.scale(i) {
				h.mend(i)
			}
		case Relu:
			h.wrong[i] = h.wrong[l.In[0]]
		case Add:
			h.wrong[i] = sum(h.wrong[l.In[0]], h.wrong[l.In[1]])
		}
	}
	return h.w
}

type halver struct {
	net     *Net
	w       Weights
	readers [][]int
	wrong   [][]float64 // what a layer's value is shifted by, a channel; nil: nothing
}

// change gives the layer's own copy of a parameter.
func (h *halver) change(name string) []float32 {
	a := h.w[name]
	a.Data = slices.Clone(a.Data)
	h.w[name] = a
	return a.Data
}

// scale makes the biases of layer i exact by scaling its channels; false where
// its readers do not allow that.
func (h *halver) scale(i int) bool {
	l := h.net.Layers[i]
	if len(h.readers[i]) != 1 || h.net.Layers[h.readers[i][0]].Op != Relu {
		return false
	}
	next := h.readers[h.readers[i][0]]
	for _, r := range next {
		if reader := h.net.Layers[r]; reader.Op != Conv || reader.Groups > 1 {
			return false
		}
	}
	s := make([]float64, l.Channels)
	bias := h.change(l.Name + ".bias")
	for c, b := range bias {
		s[c] = 1
		if t := roundBFloat16(b).Float32(); b != 0 && t != 0 && !math.IsInf(float64(t), 0) {
			s[c], bias[c] = float64(t)/float64(b), t
		}
	}
	weight := h.change(l.Name + ".weight")
	per := len(weight) / l.Channels
	for k := range weight {
		weight[k] = float32(float64(weight[k]) * s[k/per])
	}
	for _, r := range next {
		reader := h.net.Layers[r]
		weight := h.change(reader.Name + ".weight")
		window := reader.Kernel[0] * reader.Kernel[1]
		for k := range weight {
			weight[k] = float32(float64(weight[k]) / s[k/window%l.Channels])
		}
	}
	return true
}

// mend rounds the biases of layer i so that they also undo what is wrong with
// the branch that it is added to, and notes what is left.
func (h *halver) mend(i int) {
	l := h.net.Layers[i]
	var other []float64
	if len(h.readers[i]) == 1 {
		if add := h.net.Layers[h.readers[i][0]]; add.Op == Add {
			for _, j := range add.In {
				if j != i {
					other = h.wrong[j]
				}
			}
		}
	}
	bias := h.change(l.Name + ".bias")
	h.wrong[i] = make([]float64, l.Channels)
	for c, b := range bias {
		want := float64(b)
		if other != nil {
			want -= other[c]
		}
		bias[c] = roundBFloat16(float32(want)).Float32()
		h.wrong[i][c] = float64(bias[c]) - float64(b)
	}
}

// sum adds two shifts, either of which may be nothing.
func sum(a, b []float64) []float64 {
	if a == nil || b == nil {
		return append(slices.Clone(a), b...)
	}
	out := slices.Clone(a)
	for c, v := range b {
		out[c] += v
	}
	return out
}
