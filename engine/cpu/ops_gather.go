package cpu

import (
	"slices"
	"unsafe"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/pkg/errors"
)

// gatherAttrs are the attributes of a Gather. The last axis of the indices,
// in the node, is the one that makes up a start.
type gatherAttrs struct {
	offsetAxes, collapsed, startMap, sizes []int
}

// Gather implements backends.Builder. A start beyond the operand is moved back
// until the slice fits.
func (b *Builder) Gather(operand, indices backends.Op, vectorAxis int, offsetAxes, collapsed, startMap, sizes []int,
	_ bool) (backends.Op, error) {
	in, err := b.check("Gather", operand, indices)
	if err != nil {
		return nil, err
	}
	x := in[0].shape
	idx, err := b.indexVectors("Gather", in[1], vectorAxis)
	if err != nil {
		return nil, err
	}
	batch := idx.shape.Dimensions[:idx.shape.Rank()-1]
	a := gatherAttrs{slices.Clone(offsetAxes), slices.Clone(collapsed), slices.Clone(startMap), slices.Clone(sizes)}
	bad := len(sizes) != x.Rank() || len(collapsed)+len(offsetAxes) != x.Rank() ||
		len(startMap) != idx.shape.Dimensions[idx.shape.Rank()-1] || !increasing(collapsed, x.Rank()) ||
		!distinct(startMap, x.Rank()) || !increasing(offsetAxes, len(batch)+len(offsetAxes))
	for i, s := range sizes {
		bad = bad || s < 0 || s > x.Dimensions[i] || slices.Contains(collapsed, i) && s != 1
	}
	if bad {
		return nil, errors.Errorf("Gather: operand %s, indices %s: offset axes %v, collapsed axes %v, start map %v, sizes %v do not fit",
			x, in[1].shape, offsetAxes, collapsed, startMap, sizes)
	}
	dims := make([]int, len(batch)+len(offsetAxes))
	kept := otherAxes(x.Rank(), collapsed, nil)
	for i := range dims {
		if k := slices.Index(offsetAxes, i); k >= 0 {
			dims[i] = sizes[kept[k]]
		} else {
			dims[i], batch = batch[0], batch[1:]
		}
	}
	return b.add(backends.OpTypeGather, shapes.Make(x.DType, dims...), a, in[0], idx), nil
}

// indexVectors brings indices to int64 with the vector axis last.
func (b *Builder) indexVectors(what string, idx *node, axis int) (*node, error) {
	rank := idx.shape.Rank()
	if axis < 0 || axis > rank || !idx.shape.DType.IsInt() {
		return nil, errors.Errorf("%s: no axis %d of index vectors in %s", what, axis, idx.shape)
	}
	idx = b.convert(idx, dtypes.Int64)
	if axis == rank { // each index is a vector of one
		op, err := b.Reshape(idx, append(slices.Clone(idx.shape.Dimensions), 1)...)
		if err != nil {
			return nil, err
		}
		return op.(*node), nil
	}
	order := append(otherAxes(rank, []int{axis}, nil), axis)
	op, err := b.Transpose(idx, order...)
	if err != nil {
		return nil, err
	}
	return op.(*node), nil
}

// increasing tells whether axes are below rank and rise.
func increasing(axes []int, rank int) bool {
	for i, a := range axes {
		if a < 0 || a >= rank || i > 0 && a <= axes[i-1] {
			return false
		}
	}
	return true
}

// distinct tells whether axes are below rank and do not repeat.
func distinct(axes []int, rank int) bool {
	return increasing(slices.Sorted(slices.Values(axes)), rank)
}

// lowerGather copies one box of the operand for each start.
func lowerGather(n *node) (step, error) {
	a := n.attrs.(gatherAttrs)
	x, idx := n.inputs[0].shape, n.inputs[1].shape
	out, src := denseStrides(n.shape.Dimensions), denseStrides(x.Dimensions)
	kept := otherAxes(x.Rank(), a.collapsed, nil)
	var dims, dst, from []int
	for k, o := range a.offsetAxes {
		dims = append(dims, a.sizes[kept[k]])
		dst = append(dst, out[o])
		from = append(from, src[kept[k]])
	}
	box := newMover(x.DType.Size(), dims, dst, from, 0, 0)
	batchAxes := otherAxes(n.shape.Rank(), a.offsetAxes, nil)
	width := len(a.startMap)
	count := 1
	for _, d := range idx.Dimensions[:idx.Rank()-1] {
		count *= d
	}
	return step{run: func(f *frame) {
		if n.shape.Size() == 0 {
			return
		}
		starts := data[int64](f, n.inputs[1])
		to, fromMem := f.ptr(n), f.ptr(n.inputs[0])
		per := max(1, moveChunk*count/n.shape.Size())
		f.pool.Run((count+per-1)/per, func(task, _ int) {
			for i := task * per; i < min(count, (task+1)*per); i++ {
				srcAt, dstAt := 0, 0
				for k, axis := range a.startMap {
					at := max(0, min(int(starts[i*width+k]), x.Dimensions[axis]-a.sizes[axis]))
					srcAt += at * src[axis]
				}
				rest := i
				for _, axis := range slices.Backward(batchAxes) {
					dstAt += rest % n.shape.Dimensions[axis] * out[axis]
					rest /= n.shape.Dimensions[axis]
				}
				box.box(unsafe.Add(to, dstAt*box.elem), unsafe.Add(fromMem, srcAt*box.elem))
			}
		})
	}}, nil
}

// dynamicAttrs are the attributes of DynamicSlice and DynamicUpdateSlice.
type dynamicAttrs struct{ sizes []int }

// DynamicSlice implements backends.Builder.
func (b *Builder) DynamicSlice(operand backends.Op, starts []backends.Op, sizes []int) (backends.Op, error) {
	in, err := b.check("DynamicSlice", append([]backends.Op{operand}, b.splitStarts(starts)...)...)
	if err != nil {
		return nil, err
	}
	x := in[0].shape
	if err := b.checkStarts("DynamicSlice", x, in[1:], sizes); err != nil {
		return nil, err
	}
	shape := shapes.Make(x.DType, sizes...)
	return b.add(backends.OpTypeDynamicSlice, shape, dynamicAttrs{slices.Clone(sizes)}, in...), nil
}

// DynamicUpdateSlice implements backends.Builder.
func (b *Builder) DynamicUpdateSlice(operand, update backends.Op, starts []backends.Op) (backends.Op, error) {
	in, err := b.check("DynamicUpdateSlice", append([]backends.Op{operand, update}, b.splitStarts(starts)...)...)
	if err != nil {
		return nil, err
	}
	x, u := in[0].shape, in[1].shape
	if x.DType != u.DType {
		return nil, errors.Errorf("DynamicUpdateSlice: data types of %s and %s differ", x, u)
	}
	if err := b.checkStarts("DynamicUpdateSlice", x, in[2:], u.Dimensions); err != nil {
		return nil, err
	}
	return b.add(backends.OpTypeDynamicUpdateSlice, x, dynamicAttrs{slices.Clone(u.Dimensions)}, in...), nil
}

// splitStarts takes a single vector of starts apart: GoMLX lets users give
// either that or one scalar an axis.
func (b *Builder) splitStarts(starts []backends.Op) []backends.Op {
	if len(starts) != 1 {
		return starts
	}
	v, ok := starts[0].(*node)
	if !ok || v == nil || v.shape.Rank() != 1 {
		return starts
	}
	var list []backends.Op
	for i := range v.shape.Dimensions[0] {
		one := b.add(backends.OpTypeSlice, shapes.Make(v.shape.DType, 1), sliceAttrs{[]int{i}, []int{1}}, v)
		list = append(list, b.add(backends.OpTypeReshape, shapes.Make(v.shape.DType), nil, one))
	}
	return list
}

// checkStarts checks the starts of a dynamic slice and converts them to int64.
func (b *Builder) checkStarts(what string, x shapes.Shape, starts []*node, sizes []int) error {
	if len(starts) != x.Rank() || len(sizes) != x.Rank() {
		return errors.Errorf("%s: %d starts and sizes %v do not fit %s", what, len(starts), sizes, x)
	}
	for i, s := range starts {
		if !s.shape.IsScalar() || !s.shape.DType.IsInt() || sizes[i] < 0 || sizes[i] > x.Dimensions[i] {
			return errors.Errorf("%s: axis %d of %s: start %s, size %d", what, i, x, s.shape, sizes[i])
		}
		starts[i] = b.convert(s, dtypes.Int64)
	}
	return nil
}

// dynamicAt is the offset of a dynamic slice in its operand.
func dynamicAt(f *frame, x shapes.Shape, starts []*node, sizes []int) int {
	at := 0
	for i, s := range denseStrides(x.Dimensions) {
		at += max(0, min(int(data[int64](f, starts[i])[0]), x.Dimensions[i]-sizes[i])) * s
	}
	return at
}

func lowerDynamicSlice(n *node) (step, error) {
	x, sizes := n.inputs[0].shape, n.attrs.(dynamicAttrs).sizes
	m := newMover(x.DType.Size(), sizes, denseStrides(sizes), denseStrides(x.Dimensions), 0, 0)
	return step{run: func(f *frame) {
		if n.shape.Size() > 0 {
			m.run(f, f.ptr(n), unsafe.Add(f.ptr(n.inputs[0]), dynamicAt(f, x, n.inputs[1:], sizes)*m.elem))
		}
	}}, nil
}

func lowerDynamicUpdateSlice(n *node) (step, error) {
	sizes := n.attrs.(dynamicAttrs).sizes
	m := newMover(n.shape.DType.Size(), sizes, denseStrides(n.shape.Dimensions), denseStrides(sizes), 0, 0)
	return step{
		overwrites: ownOperand(n),
		run: func(f *frame) {
			copyAll(f, n)
			if n.inputs[1].shape.Size() > 0 {
				m.run(f, unsafe.Add(f.ptr(n), dynamicAt(f, n.shape, n.inputs[2:], sizes)*m.elem), f.ptr(n.inputs[1]))
			}
		},
	}, nil
}

// ownOperand lets the result take the first operand's memory, unless another
// operand lies there too.
func ownOperand(n *node) []int {
	for _, in := range n.inputs[1:] {
		if base(in) == base(n.inputs[0]) {
			return nil
		}
	}
	return []int{0}
}

// copyAll copies the first operand to the result, if it is not there already.
func copyAll(f *frame, n *node) {
	if f.ptr(n) != f.ptr(n.inputs[0]) {
		copy(f.of(n), f.of(n.inputs[0]))
	}
}
