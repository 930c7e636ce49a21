package engine

import (
	"math"
	"runtime"
	"sync"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"

	"lorica/draw"
	"lorica/engine/cpu/kernel"
)

// The words that identify a row's draw, in this order (the rows of ids).
const (
	wordIndex = iota
	wordExample
	wordPhase
	wordKey0
	wordKey1
	words
)

// DrawIDs lays the identities of a batch's draws out as Noise and Words want
// them: [words, rows] uint32, from five vectors of [rows].
func DrawIDs(index, example, phase, key0, key1 *graph.Node) *graph.Node {
	return graph.Stack([]*graph.Node{index, example, phase, key0, key1}, 0)
}

// Words gives four random words a draw, [rows] each: draw.Philox of its block 0.
func Words(ids *graph.Node) [4]*graph.Node {
	rows := ids.Shape().Dim(1)
	word := func(i int) *graph.Node {
		return graph.Reshape(graph.Slice(ids, graph.AxisElem(i), graph.AxisRange()), rows)
	}
	block := graph.ZerosLike(word(wordIndex))
	return philoxGraph([4]*graph.Node{block, word(wordIndex), word(wordExample), word(wordPhase)}, word(wordKey0), word(wordKey1))
}

// Noise is draw.Noise for a batch: ids is what DrawIDs made, the result
// [rows, size] standard normal values.
//
// Every value computes its own Philox block and keeps one of the four words'
// pairs. That is four times the integer work of a generator that shares
// blocks, but one elementwise chain that XLA fuses into one kernel with the
// addition to the image, a thousandth of a forward pass. Shifts are written as
// unsigned divisions by powers of two, which every backend has and XLA turns
// back into shifts.
func Noise(ids *graph.Node, size int) *graph.Node {
	g := ids.Graph()
	rows := ids.Shape().Dim(1)
	u32 := func(v uint32) *graph.Node { return graph.Const(g, v) }
	dims := []int{rows, size}
	word := func(i int) *graph.Node {
		w := graph.Reshape(graph.Slice(ids, graph.AxisElem(i), graph.AxisRange()), rows, 1)
		return graph.BroadcastToDims(w, dims...)
	}
	position := graph.Iota(g, shapes.Make(dtypes.Uint32, dims...), 1)
	lane := graph.BitwiseAnd(position, graph.BroadcastToDims(u32(3), dims...))
	upper := graph.GreaterOrEqual(lane, u32(2))
	odd := graph.Equal(graph.BitwiseAnd(lane, graph.BroadcastToDims(u32(1), dims...)), u32(1))

	c := philoxGraph([4]*graph.Node{graph.Div(position, u32(4)), word(wordIndex), word(wordExample), word(wordPhase)},
		word(wordKey0), word(wordKey1))
	return boxMullerGraph(graph.Where(upper, c[2], c[0]), graph.Where(upper, c[3], c[1]), odd)
}

// NoiseRows is Noise on the host, with the CPU's own kernels on all cores: row r
// of dst gets sigma times draw index[r] of example[r].
func NoiseRows(dst []float32, sigma float64, seed uint64, phase draw.Phase, example, index []uint32) {
	size := len(dst) / len(example)
	workers := min(runtime.GOMAXPROCS(0), len(example))
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for r := w * len(example) / workers; r < (w+1)*len(example)/workers; r++ {
				row := dst[r*size : (r+1)*size]
				kernel.Noise(row, seed, uint32(phase), example[r], index[r])
				kernel.MulScalar(row, row, float32(sigma))
			}
		})
	}
	wg.Wait()
}

// philoxGraph is draw.Philox, elementwise: ten rounds.
func philoxGraph(c [4]*graph.Node, k0, k1 *graph.Node) [4]*graph.Node {
	g := k0.Graph()
	u32 := func(v uint32) *graph.Node { return graph.Const(g, v) }
	u64 := func(v uint64) *graph.Node { return graph.Const(g, v) }
	high := func(c *graph.Node, m uint64) *graph.Node {
		p := graph.Mul(graph.ConvertDType(c, dtypes.Uint64), u64(m))
		return graph.ConvertDType(graph.Div(p, u64(1<<32)), dtypes.Uint32)
	}
	const m0, m1, w0, w1 = 0xD2511F53, 0xCD9E8D57, 0x9E3779B9, 0xBB67AE85
	for round := range uint32(10) {
		key0, key1 := graph.Add(k0, u32(w0*round)), graph.Add(k1, u32(round*w1))
		h0, l0 := high(c[0], m0), graph.Mul(c[0], u32(m0))
		h1, l1 := high(c[2], m1), graph.Mul(c[2], u32(m1))
		c[0], c[1] = graph.BitwiseXor(graph.BitwiseXor(h1, c[1]), key0), l1
		c[2], c[3] = graph.BitwiseXor(graph.BitwiseXor(h0, c[3]), key1), l0
	}
	return c
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
