package cpu

import (
	"slices"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/backends/shapeinference"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/pkg/errors"

	"lorica/engine/cpu/kernel"
)

// windowAttrs are the attributes of ReduceWindow and SelectAndScatter, one
// entry an axis, with defaults filled in.
type windowAttrs struct {
	op                           backends.ReduceOpType
	size, stride, dilation, base []int // base is the dilation of the operand
	pads                         [][2]int
}

func newWindow(op backends.ReduceOpType, rank int, size, stride, base, dilation []int, pads [][2]int) windowAttrs {
	a := windowAttrs{op: op, size: onesFor(size, rank), base: onesFor(base, rank), dilation: onesFor(dilation, rank), pads: slices.Clone(pads)}
	a.stride = slices.Clone(stride)
	if len(stride) == 0 {
		a.stride = slices.Clone(a.size)
	}
	if len(pads) == 0 {
		a.pads = make([][2]int, rank)
	}
	return a
}

// ReduceWindow implements backends.Builder.
func (b *Builder) ReduceWindow(x backends.Op, op backends.ReduceOpType, size, stride, base, dilation []int,
	pads [][2]int) (backends.Op, error) {
	in, err := b.check("ReduceWindow", x)
	if err != nil {
		return nil, err
	}
	from := in[0].shape
	a := newWindow(op, from.Rank(), size, stride, base, dilation, pads)
	shape, err := shapeinference.ReduceWindowOp(from, a.size, a.stride, a.base, a.dilation, a.pads)
	if err != nil {
		return nil, err
	}
	if from.Size() == 0 {
		return nil, errors.Errorf("ReduceWindow: %s is empty", from)
	}
	if from.DType == dtypes.Bool && (op == backends.ReduceOpMax || op == backends.ReduceOpMin) {
		// "Any" and "all" over a window: on bytes.
		shape.DType = dtypes.Uint8
		in[0] = b.convert(in[0], dtypes.Uint8)
		return b.convert(b.add(backends.OpTypeReduceWindow, shape, a, in[0]), dtypes.Bool), nil
	}
	if from.DType == dtypes.Bool || op < backends.ReduceOpSum || op > backends.ReduceOpMin {
		return nil, errors.Errorf("backend %q: operation ReduceWindow %s is not defined for %s", Name, op, from.DType)
	}
	return b.throughFloat32(backends.OpTypeReduceWindow, shape, func([]*node) any { return a }, in[0]), nil
}

// SelectAndScatterMax implements backends.Builder.
func (b *Builder) SelectAndScatterMax(x, source backends.Op, size, stride []int, pads [][2]int) (backends.Op, error) {
	return b.selectAndScatter(backends.OpTypeSelectAndScatterMax, x, source, size, stride, pads)
}

// SelectAndScatterMin implements backends.Builder.
func (b *Builder) SelectAndScatterMin(x, source backends.Op, size, stride []int, pads [][2]int) (backends.Op, error) {
	return b.selectAndScatter(backends.OpTypeSelectAndScatterMin, x, source, size, stride, pads)
}

func (b *Builder) selectAndScatter(op backends.OpType, x, source backends.Op, size, stride []int, pads [][2]int) (backends.Op, error) {
	in, err := b.check(op.String(), x, source)
	if err != nil {
		return nil, err
	}
	from := in[0].shape
	a := newWindow(backends.ReduceOpSum, from.Rank(), size, stride, nil, nil, pads)
	shape, err := shapeinference.ReduceWindowOp(from, a.size, a.stride, a.base, a.dilation, a.pads)
	if err != nil {
		return nil, err
	}
	if !in[1].shape.Equal(shape) {
		return nil, errors.Errorf("%s: the source for operand %s must be %s, not %s", op, from, shape, in[1].shape)
	}
	if from.DType == dtypes.Bool {
		return nil, errors.Errorf("backend %q: operation %s is not defined for %s", Name, op, from.DType)
	}
	return b.throughFloat32(op, from, func([]*node) any { return a }, in...), nil
}

// lowerWindow is the lowering of ReduceWindow and SelectAndScatter.
func lowerWindow(n *node) (step, error) {
	switch d := n.shape.DType; d {
	case dtypes.Int8:
		return windowStep[int8](n), nil
	case dtypes.Int16:
		return windowStep[int16](n), nil
	case dtypes.Int32:
		return windowStep[int32](n), nil
	case dtypes.Int64:
		return windowStep[int64](n), nil
	case dtypes.Uint8:
		return windowStep[uint8](n), nil
	case dtypes.Uint16:
		return windowStep[uint16](n), nil
	case dtypes.Uint32:
		return windowStep[uint32](n), nil
	case dtypes.Uint64:
		return windowStep[uint64](n), nil
	case dtypes.Float32:
		return windowStep[float32](n), nil
	case dtypes.Float64:
		return windowStep[float64](n), nil
	default:
		return step{}, errors.Errorf("not defined for %s", d)
	}
}

func windowStep[T number](n *node) step {
	if n.op != backends.OpTypeReduceWindow {
		return selectStep[T](n)
	}
	return reduceWindowStep[T](n)
}

// foldRow folds a row of the operand into a row of the result.
type foldRow[T any] func(dst, src []T)

// windowFold returns the neutral element and the two ways to fold: rows of
// equal step, and single elements.
func windowFold[T number](op backends.ReduceOpType, d dtypes.DType) (neutral T, row foldRow[T], one func(a, b T) T) {
	switch op {
	case backends.ReduceOpMax:
		neutral, one = d.LowestValue().(T), func(a, b T) T { return max(a, b) }
	case backends.ReduceOpMin:
		neutral, one = d.HighestValue().(T), func(a, b T) T { return min(a, b) }
	case backends.ReduceOpProduct:
		neutral, one = 1, func(a, b T) T { return a * b }
	default:
		one = func(a, b T) T { return a + b }
	}
	vector := map[backends.ReduceOpType]func(dst, a, b []float32){
		backends.ReduceOpMax: kernel.Max, backends.ReduceOpMin: kernel.Min,
		backends.ReduceOpProduct: kernel.Mul, backends.ReduceOpSum: kernel.Add,
	}[op]
	if f, ok := any(func(dst, src []float32) { vector(dst, dst, src) }).(func(dst, src []T)); ok {
		return neutral, f, one
	}
	return neutral, func(dst, src []T) {
		for i, v := range src {
			dst[i] = one(dst[i], v)
		}
	}, one
}

// reduceWindowStep computes the result row by row, a row being the last axis:
// for each position of the window it folds one row of the operand into it.
func reduceWindowStep[T number](n *node) step {
	a := n.attrs.(windowAttrs)
	x, out := padRank(n.inputs[0].shape), padRank(n.shape)
	a = a.padRank()
	last := len(out) - 1
	xs := denseStrides(x)
	neutral, row, one := windowFold[T](a.op, n.shape.DType)
	taps := 1 // positions of the window, without the last axis
	for _, s := range a.size[:last] {
		taps *= s
	}
	width := out[last]
	rows := n.shape.Size() / max(1, width)
	per := max(1, moveChunk/max(1, width*taps*a.size[last]))
	return step{run: func(f *frame) {
		src, dst := data[T](f, n.inputs[0]), data[T](f, n)
		f.pool.Run((rows+per-1)/per, func(task, _ int) {
			for r := task * per; r < min(rows, (task+1)*per); r++ {
				to := dst[r*width:][:width]
				for i := range to {
					to[i] = neutral
				}
			positions:
				for t := range taps {
					at, ri, ti := 0, r, t
					for d := last - 1; d >= 0; d-- {
						pos := ri%out[d]*a.stride[d] + ti%a.size[d]*a.dilation[d] - a.pads[d][0]
						ri /= out[d]
						ti /= a.size[d]
						if pos < 0 || pos%a.base[d] != 0 || pos/a.base[d] >= x[d] {
							continue positions
						}
						at += pos / a.base[d] * xs[d]
					}
					foldLast(to, src[at:][:x[last]], &a, last, row, one)
				}
			}
		})
	}}
}

// foldLast folds a row of the operand into a row of the result, for every
// position of the window along the last axis.
func foldLast[T number](to, from []T, a *windowAttrs, last int, row foldRow[T], one func(a, b T) T) {
	for t := range a.size[last] {
		shift := t*a.dilation[last] - a.pads[last][0]
		stride, base := a.stride[last], a.base[last]
		if stride == 1 && base == 1 {
			lo, hi := max(0, -shift), min(len(to), len(from)-shift)
			if lo < hi {
				row(to[lo:hi], from[lo+shift:hi+shift])
			}
			continue
		}
		for i := range to {
			pos := i*stride + shift
			if pos >= 0 && pos%base == 0 && pos/base < len(from) {
				to[i] = one(to[i], from[pos/base])
			}
		}
	}
}

// padRank gives a scalar one axis.
func padRank(s shapes.Shape) []int {
	if s.Rank() == 0 {
		return []int{1}
	}
	return s.Dimensions
}

func (a windowAttrs) padRank() windowAttrs {
	if len(a.size) == 0 {
		return newWindow(a.op, 1, nil, nil, nil, nil, nil)
	}
	return a
}

// selectStep adds each element of the source to the place in its window that
// holds the extreme, the first one of equals. Leading axes without windows are
// independent of each other and run at once.
func selectStep[T number](n *node) step {
	a := n.attrs.(windowAttrs).padRank()
	x, src := padRank(n.shape), padRank(n.inputs[1].shape)
	xs, ss := denseStrides(x), denseStrides(src)
	lead, blocks := 0, 1
	for lead < len(x) && a.size[lead] == 1 && a.stride[lead] == 1 && a.pads[lead] == [2]int{} {
		blocks *= x[lead]
		lead++
	}
	keep := func(best, v T) bool { return best >= v }
	if n.op == backends.OpTypeSelectAndScatterMin {
		keep = func(best, v T) bool { return best <= v }
	}
	taps := 1
	for _, s := range a.size[lead:] {
		taps *= s
	}
	blockX, blockS := n.shape.Size()/max(1, blocks), n.inputs[1].shape.Size()/max(1, blocks)
	return step{run: func(f *frame) {
		out, operand, source := data[T](f, n), data[T](f, n.inputs[0]), data[T](f, n.inputs[1])
		f.pool.Run(blocks, func(task, _ int) {
			dst, v, g := out[task*blockX:][:blockX], operand[task*blockX:][:blockX], source[task*blockS:][:blockS]
			clear(dst)
			for i := range g {
				found := -1
			positions:
				for t := range taps {
					at, ti := 0, t
					for d := len(x) - 1; d >= lead; d-- {
						pos := i/ss[d]%src[d]*a.stride[d] + ti%a.size[d] - a.pads[d][0]
						ti /= a.size[d]
						if pos < 0 || pos >= x[d] {
							continue positions
						}
						at += pos * xs[d]
					}
					if found < 0 || !keep(v[found], v[at]) {
						found = at
					}
				}
				if found >= 0 {
					dst[found] += g[i]
				}
			}
		})
	}}
}
