package model

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// Halve prepares a folded net for bfloat16: the same classifier, with weights
// that bfloat16 holds, chosen so that rounding them costs as little as it can.
// Rounded one by one, weights and biases shift a channel by about the same at
// every pixel of every image, and that moved far more draws to another class
// than the rounding of activations, which is random in sign.
//
// A convolution that only feeds convolutions through ReLU may be scaled a
// channel at a time, s relu(z) = relu(s z) for s > 0, with the next weights
// divided by s: s is chosen (within 2^-9 of 1) so that the bias is a bfloat16
// already. The other biases stay as they are and are added in float32.
//
// The weights that a channel reads are rounded so that their sum stays: what
// they read is never negative, so most of a shift is in the sum.
func (n *Net) Halve(w Weights) Weights {
	h := newHalver(n, w)
	h.scale()
	h.round()
	return h.w
}

func newHalver(n *Net, w Weights) *halver {
	h := &halver{net: n, w: maps.Clone(w), readers: make([][]int, len(n.Layers))}
	for i, l := range n.Layers {
		for _, j := range l.In {
			h.readers[j] = append(h.readers[j], i)
		}
	}
	return h
}

type halver struct {
	net     *Net
	w       Weights
	readers [][]int
}

// scale makes biases exact where it can.
func (h *halver) scale() {
	for i, l := range h.net.Layers {
		if l.Op == Conv && l.Bias {
			h.scaleLayer(i)
		}
	}
}

// round rounds the weights of convolutions.
func (h *halver) round() {
	for _, l := range h.net.Layers {
		if l.Op != Conv {
			continue
		}
		weight := h.change(l.Name + ".weight")
		for filter := range slices.Chunk(weight, len(weight)/l.Channels) {
			roundTogether(filter)
		}
	}
}

// change gives the layer's own copy of a parameter.
func (h *halver) change(name string) []float32 {
	a := h.w[name]
	a.Data = slices.Clone(a.Data)
	h.w[name] = a
	return a.Data
}

// scaleLayer makes the biases of layer i exact by scaling its channels, where
// its readers allow that.
func (h *halver) scaleLayer(i int) {
	l := h.net.Layers[i]
	if len(h.readers[i]) != 1 || h.net.Layers[h.readers[i][0]].Op != Relu {
		return
	}
	next := h.readers[h.readers[i][0]]
	for _, r := range next {
		if reader := h.net.Layers[r]; reader.Op != Conv || reader.Groups > 1 {
			return
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
}

// roundTogether rounds values to bfloat16, each up or down, so that their sum
// stays: first to the nearest, then those go to their other side that bring the
// sum closer, the ones first whose own error grows least.
func roundTogether(values []float32) {
	type turn struct {
		at           int
		move, growth float64
	}
	turns := make([]turn, len(values))
	off := 0.0
	for i, v := range values {
		r := roundBFloat16(v).Float32()
		wrong, move := float64(r)-float64(v), float64(otherSide(r, v))-float64(r)
		turns[i] = turn{i, move, math.Abs(wrong+move) - math.Abs(wrong)}
		values[i] = r
		off += wrong
	}
	slices.SortStableFunc(turns, func(a, b turn) int { return cmp.Compare(a.growth, b.growth) })
	for _, t := range turns {
		if math.Abs(off+t.move) < math.Abs(off) {
			values[t.at] += float32(t.move)
			off += t.move
		}
	}
}

// otherSide is the bfloat16 on the other side of v from r, one of the two that
// v lies between; r itself where it is v or has no finite neighbour.
func otherSide(r, v float32) float32 {
	if r == v || r == 0 {
		return r
	}
	const ulp = 1 << 16
	bits := math.Float32bits(r)
	if math.Abs(float64(r)) > math.Abs(float64(v)) {
		bits -= ulp
	} else {
		bits += ulp
	}
	if other := math.Float32frombits(bits); !math.IsInf(float64(other), 0) {
		return other
	}
	return r
}
