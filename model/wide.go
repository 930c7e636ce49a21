package model

import "github.com/gomlx/gomlx/pkg/core/graph"

// Matrix units multiply blocks of 32 to 64 channels; a convolution of 16 leaves
// most of a block empty and is no faster than one of 64. So a narrow one is
// written over p neighbouring pixels of a row at a time:
//
//	N, H, W, C  is read as  N, H, W/p, pC
//
// which moves nothing in memory. Output pixel b of a group, tap k of a window
// that reaches r pixels to either side: it reads pixel b+k-r counted from the
// group's first, that is tap (b+k-r+p)/p of three groups, pixel (b+k-r+p)%p of
// it. The widened kernel holds the old weights at those places and zeros
// elsewhere: p times the arithmetic, in blocks that are full. The sums are the
// same, but for zeros added; an activation that has overflown makes NaN of its
// neighbours too, and the draw counts for no class.

// narrow is the most channels that are widened, and widest the pixels taken at
// once. On an H200 this made a ResNet-56 1.5 times faster (docs/engines.md).
const (
	narrow = 16
	widest = 4
)

// pixels is the number of pixels that a convolution takes at once.
func (lo Lowering) pixels(l Layer, in Shape) int {
	k, reach := l.Kernel[1], l.Pad[1]
	if !lo.Wide || !lo.ChannelsLast || l.Op != Conv || l.Groups > 1 || max(in.C, l.Channels) > narrow ||
		l.Stride != [2]int{1, 1} || reach < 1 || l.Pad[3] != reach || k != 2*reach+1 {
		return 1
	}
	for p := widest; p > 1; p /= 2 {
		if in.W%p == 0 && reach <= p {
			return p
		}
	}
	return 1
}

// grouped reads x, whose pixels have so many channels, with p of them as one,
// however many are now. Vectors it leaves alone.
func (lo Lowering) grouped(x *graph.Node, channels, p int) *graph.Node {
	d := x.Shape().Dimensions
	if !lo.ChannelsLast || len(d) != 4 || d[3] == channels*p {
		return x
	}
	return graph.Reshape(x, d[0], d[1], d[2]*d[3]/(channels*p), channels*p)
}

// widened is the kernel of l (out, h, w, in) for p pixels at once.
func widened(l Layer, w *graph.Node, p int) *graph.Node {
	if p == 1 {
		return w
	}
	d := w.Shape().Dimensions
	zeros := func(n int) []*graph.Node {
		if n == 0 {
			return nil
		}
		return []*graph.Node{graph.BroadcastToDims(graph.ScalarZero(w.Graph(), w.DType()), d[0], d[1], n, d[3])}
	}
	reach := l.Pad[1]
	var rows []*graph.Node // by output pixel: its weights along three groups
	for b := range p {
		before := p - reach + b
		parts := append(zeros(before), w)
		parts = append(parts, zeros(3*p-before-d[2])...)
		rows = append(rows, graph.Concatenate(parts, 2))
	}
	return graph.Reshape(graph.Concatenate(rows, 0), p*d[0], d[1], 3, p*d[3])
}

// repeated is one number a channel for p pixels at once.
func repeated(v *graph.Node, p int) *graph.Node {
	if p == 1 {
		return v
	}
	c := v.Shape().Size()
	return graph.Reshape(graph.BroadcastToDims(graph.Reshape(v, 1, c), p, c), p*c)
}
