package engine

import (
	"math"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
)

// The words that identify a row's draw, in this order.
const (
	wordIndex = iota
	wordExample
	wordPhase
	wordKey0
	wordKey1
	words
)

// noiseGraph is draw.Noise for a batch: ids is [words, rows] uint32, the result
// [rows, size] standard normal values.
//
// Every value computes its own Philox block and keeps one of the four words'
// pairs. That is four times the integer work of a generator that shares
// blocks, but one elementwise chain that XLA fuses into one kernel with the
// addition to the image, a thousandth of a forward pass. Shifts are written as
// unsigned divisions by powers of two, which every backend has and XLA turns
// back into shifts.
func noiseGraph(ids *graph.Node, size int) *graph.Node {
	g := ids.Graph()
	rows := ids.Shape().Dim(1)
	u32 := func(v uint32) *graph.Node { return graph.Const(g, v) }
	u64 := func(v uint64) *graph.Node { return graph.Const(g, v) }
	dims := []int{rows, size}
	word := func(i int) *graph.Node {
		w := graph.Reshape(graph.Slice(ids, graph.AxisElem(i), graph.AxisRange()), rows, 1)
		return graph.BroadcastToDims(w, dims...)
	}
	position := graph.Iota(g, shapes.Make(dtypes.Uint32, dims...), 1)
	lane := graph.BitwiseAnd(position, graph.BroadcastToDims(u32(3), dims...))
	upper := graph.GreaterOrEqual(lane, u32(2))
	odd := graph.Equal(graph.BitwiseAnd(lane, graph.BroadcastToDims(u32(1), dims...)), u32(1))

	// Ten rounds (draw.Philox).
	c0 := graph.Div(position, u32(4))
	c1, c2, c3 := word(wordIndex), word(wordExample), word(wordPhase)
	k0, k1 := word(wordKey0), word(wordKey1)
	high := func(c *graph.Node, m uint64) *graph.Node {
		p := graph.Mul(graph.ConvertDType(c, dtypes.Uint64), u64(m))
		return graph.ConvertDType(graph.Div(p, u64(1<<32)), dtypes.Uint32)
	}
	const m0, m1, w0, w1 = 0xD2511F53, 0xCD9E8D57, 0x9E3779B9, 0xBB67AE85
	for round := range uint32(10) {
		key0, key1 := graph.Add(k0, u32(w0*round)), graph.Add(k1, u32(round*w1))
		h0, l0 := high(c0, m0), graph.Mul(c0, u32(m0))
		h1, l1 := high(c2, m1), graph.Mul(c2, u32(m1))
		c0, c1 = graph.BitwiseXor(graph.BitwiseXor(h1, c1), key0), l1
		c2, c3 = graph.BitwiseXor(graph.BitwiseXor(h0, c3), key1), l0
	}
	return boxMullerGraph(graph.Where(upper, c2, c0), graph.Where(upper, c3, c1), odd)
}

// boxMullerGraph is draw.BoxMuller in float32: the sine where odd, else the
// cosine. Near u = 1 the logarithm is taken of 1 - (1-u), which float32 holds
// and u does not.
func boxMullerGraph(a, b, odd *graph.Node) *graph.Node {
	g := a.Graph()
	f32 := func(v float64) *graph.Node { return graph.Const(g, float32(v)) }
	unit := func(w *graph.Node) *graph.Node { // (w + 1/2) / 2^32
		return graph.MulScalar(graph.Add(graph.ConvertDType(w, dtypes.Float32), f32(0.5)), math.Exp2(-32))
	}
	large := graph.GreaterOrEqual(a, graph.Const(g, uint32(1<<31)))
	log := graph.Where(large,
		graph.Log1P(graph.Neg(unit(graph.BitwiseNot(a)))),
		graph.Log(unit(a)))
	r := graph.Sqrt(graph.MulScalar(log, -2))
	turn := graph.ConvertDType(graph.Div(b, graph.Const(g, uint32(1<<8))), dtypes.Float32)
	angle := graph.MulScalar(turn, 2*math.Pi/(1<<24))
	return graph.Mul(r, graph.Where(odd, graph.Sin(angle), graph.Cos(angle)))
}
