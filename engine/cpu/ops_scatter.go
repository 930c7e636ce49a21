package cpu

import (
	"slices"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/pkg/errors"
)

// scatterAttrs are the attributes of a Scatter. The last axis of the indices,
// in the node, is the one that makes up a start.
type scatterAttrs struct{ windowAxes, inserted, startMap []int }

// ScatterSum implements backends.Builder.
func (b *Builder) ScatterSum(operand, indices, updates backends.Op, vectorAxis int, windowAxes, inserted, startMap []int,
	_, _ bool) (backends.Op, error) {
	return b.scatter(backends.OpTypeScatterSum, operand, indices, updates, vectorAxis, windowAxes, inserted, startMap)
}

// ScatterMax implements backends.Builder.
func (b *Builder) ScatterMax(operand, indices, updates backends.Op, vectorAxis int, windowAxes, inserted, startMap []int,
	_, _ bool) (backends.Op, error) {
	return b.scatter(backends.OpTypeScatterMax, operand, indices, updates, vectorAxis, windowAxes, inserted, startMap)
}

// ScatterMin implements backends.Builder.
func (b *Builder) ScatterMin(operand, indices, updates backends.Op, vectorAxis int, windowAxes, inserted, startMap []int,
	_, _ bool) (backends.Op, error) {
	return b.scatter(backends.OpTypeScatterMin, operand, indices, updates, vectorAxis, windowAxes, inserted, startMap)
}

func (b *Builder) scatter(op backends.OpType, operand, indices, updates backends.Op, vectorAxis int,
	windowAxes, inserted, startMap []int) (backends.Op, error) {
	in, err := b.check(op.String(), operand, indices, updates)
	if err != nil {
		return nil, err
	}
	x, u := in[0].shape, in[2].shape
	idx, err := b.indexVectors(op.String(), in[1], vectorAxis)
	if err != nil {
		return nil, err
	}
	batch := idx.shape.Dimensions[:idx.shape.Rank()-1]
	a := scatterAttrs{slices.Clone(windowAxes), slices.Clone(inserted), slices.Clone(startMap)}
	bad := x.DType != u.DType || len(windowAxes)+len(inserted) != x.Rank() || u.Rank() != len(batch)+len(windowAxes) ||
		len(startMap) != idx.shape.Dimensions[idx.shape.Rank()-1] || !increasing(windowAxes, u.Rank()) ||
		!increasing(inserted, x.Rank()) || !distinct(startMap, x.Rank())
	if !bad {
		for i, axis := range otherAxes(u.Rank(), windowAxes, nil) {
			bad = bad || u.Dimensions[axis] != batch[i]
		}
		for i, axis := range otherAxes(x.Rank(), inserted, nil) {
			bad = bad || u.Dimensions[windowAxes[i]] > x.Dimensions[axis]
		}
	}
	if bad || x.DType == dtypes.Bool {
		return nil, errors.Errorf("%s: operand %s, indices %s, updates %s: window axes %v, inserted axes %v, start map %v do not fit",
			op, x, in[1].shape, u, windowAxes, inserted, startMap)
	}
	return b.throughFloat32(op, x, func([]*node) any { return a }, in[0], idx, in[2]), nil
}

// lowerScatter is the lowering of the scatters.
func lowerScatter(n *node) (step, error) {
	switch d := n.shape.DType; d {
	case dtypes.Int8:
		return scatterStep[int8](n), nil
	case dtypes.Int16:
		return scatterStep[int16](n), nil
	case dtypes.Int32:
		return scatterStep[int32](n), nil
	case dtypes.Int64:
		return scatterStep[int64](n), nil
	case dtypes.Uint8:
		return scatterStep[uint8](n), nil
	case dtypes.Uint16:
		return scatterStep[uint16](n), nil
	case dtypes.Uint32:
		return scatterStep[uint32](n), nil
	case dtypes.Uint64:
		return scatterStep[uint64](n), nil
	case dtypes.Float32:
		return scatterStep[float32](n), nil
	case dtypes.Float64:
		return scatterStep[float64](n), nil
	default:
		return step{}, errors.Errorf("not defined for %s", d)
	}
}

// scatterStep folds windows of updates into the operand, one after the other,
// so that sums have one order. A window that does not fit is left out, as XLA
// does.
func scatterStep[T number](n *node) step {
	a := n.attrs.(scatterAttrs)
	x, idx, u := n.shape, n.inputs[1].shape, n.inputs[2].shape
	dst, src := denseStrides(x.Dimensions), denseStrides(u.Dimensions)
	batchAxes := otherAxes(u.Rank(), a.windowAxes, nil)
	kept := otherAxes(x.Rank(), a.inserted, nil)
	window := make([]int, x.Rank()) // size of the window along each axis
	for i := range window {
		window[i] = 1
	}
	size := 1
	for i, axis := range kept {
		window[axis] = u.Dimensions[a.windowAxes[i]]
		size *= window[axis]
	}
	var fold func(p *T, v T)
	switch n.op {
	case backends.OpTypeScatterSum:
		fold = func(p *T, v T) { *p += v }
	case backends.OpTypeScatterMax:
		fold = func(p *T, v T) { *p = max(*p, v) }
	default:
		fold = func(p *T, v T) { *p = min(*p, v) }
	}
	width := len(a.startMap)
	count := 1
	for _, d := range idx.Dimensions[:idx.Rank()-1] {
		count *= d
	}
	return step{overwrites: ownOperand(n), run: func(f *frame) {
		copyAll(f, n)
		out, starts, updates := data[T](f, n), data[int64](f, n.inputs[1]), data[T](f, n.inputs[2])
	windows:
		for i := range count {
			to, from := 0, 0
			for k, axis := range a.startMap {
				s := starts[i*width+k]
				if s < 0 || s > int64(x.Dimensions[axis]-window[axis]) {
					continue windows
				}
				to += int(s) * dst[axis]
			}
			rest := i
			for _, axis := range slices.Backward(batchAxes) {
				from += rest % u.Dimensions[axis] * src[axis]
				rest /= u.Dimensions[axis]
			}
			for w := range size {
				o, p, rest := to, from, w
				for k := len(kept) - 1; k >= 0; k-- {
					c := rest % window[kept[k]]
					rest /= window[kept[k]]
					o += c * dst[kept[k]]
					p += c * src[a.windowAxes[k]]
				}
				fold(&out[o], updates[p])
			}
		}
	}}
}
