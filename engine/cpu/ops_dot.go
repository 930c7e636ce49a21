package cpu

import (
	"slices"
	"unsafe"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/pkg/errors"

	"lorica/engine/cpu/kernel"
)

// dotAttrs are the axes of a DotGeneral.
type dotAttrs struct{ lhsContract, lhsBatch, rhsContract, rhsBatch []int }

// Dot implements backends.Builder: vector or matrix times vector or matrix.
func (b *Builder) Dot(lhs, rhs backends.Op) (backends.Op, error) {
	in, err := b.check("Dot", lhs, rhs)
	if err != nil {
		return nil, err
	}
	l, r := in[0].shape.Rank(), in[1].shape.Rank()
	if l < 1 || l > 2 || r < 1 || r > 2 {
		return nil, errors.Errorf("Dot: operands %s and %s are not vectors or matrices", in[0].shape, in[1].shape)
	}
	return b.DotGeneral(lhs, []int{l - 1}, nil, rhs, []int{0}, nil)
}

// DotGeneral implements backends.Builder.
func (b *Builder) DotGeneral(lhs backends.Op, lhsContract, lhsBatch []int,
	rhs backends.Op, rhsContract, rhsBatch []int) (backends.Op, error) {
	in, err := b.check("DotGeneral", lhs, rhs)
	if err != nil {
		return nil, err
	}
	x, y := in[0].shape, in[1].shape
	if x.DType != y.DType {
		return nil, errors.Errorf("DotGeneral: data types of %s and %s differ", x, y)
	}
	if x.DType == dtypes.Bool {
		return nil, errors.Errorf("backend %q: operation DotGeneral is not defined for %s", Name, x.DType)
	}
	a := dotAttrs{
		normalAxes(lhsContract, x.Rank()), normalAxes(lhsBatch, x.Rank()),
		normalAxes(rhsContract, y.Rank()), normalAxes(rhsBatch, y.Rank()),
	}
	for _, pair := range [][2][]int{{a.lhsContract, a.rhsContract}, {a.lhsBatch, a.rhsBatch}} {
		if len(pair[0]) != len(pair[1]) {
			return nil, errors.Errorf("DotGeneral: axes %v of %s and %v of %s do not pair", pair[0], x, pair[1], y)
		}
		for i := range pair[0] {
			if !validAxis(pair[0][i], x) || !validAxis(pair[1][i], y) || x.Dimensions[pair[0][i]] != y.Dimensions[pair[1][i]] {
				return nil, errors.Errorf("DotGeneral: axes %v of %s and %v of %s do not match", pair[0], x, pair[1], y)
			}
		}
	}
	for _, side := range []struct {
		axes []int
		s    shapes.Shape
	}{{slices.Concat(a.lhsBatch, a.lhsContract), x}, {slices.Concat(a.rhsBatch, a.rhsContract), y}} {
		sorted := slices.Sorted(slices.Values(side.axes))
		if len(slices.Compact(sorted)) != len(side.axes) {
			return nil, errors.Errorf("DotGeneral: axes %v of %s repeat", side.axes, side.s)
		}
	}
	var dims []int
	for _, ax := range a.lhsBatch {
		dims = append(dims, x.Dimensions[ax])
	}
	for _, ax := range otherAxes(x.Rank(), a.lhsBatch, a.lhsContract) {
		dims = append(dims, x.Dimensions[ax])
	}
	for _, ax := range otherAxes(y.Rank(), a.rhsBatch, a.rhsContract) {
		dims = append(dims, y.Dimensions[ax])
	}
	shape := shapes.Make(x.DType, dims...)
	return b.throughFloat32(backends.OpTypeDotGeneral, shape, func([]*node) any { return a }, in...), nil
}

// normalAxes counts negative axes from the end.
func normalAxes(axes []int, rank int) []int {
	out := slices.Clone(axes)
	for i, a := range out {
		if a < 0 {
			out[i] = a + rank
		}
	}
	return out
}

func validAxis(a int, s shapes.Shape) bool { return a >= 0 && a < s.Rank() }

// otherAxes are the axes below rank that are in neither list.
func otherAxes(rank int, a, b []int) []int {
	var out []int
	for i := range rank {
		if !slices.Contains(a, i) && !slices.Contains(b, i) {
			out = append(out, i)
		}
	}
	return out
}

// matrix is an operand of a product: batch matrices, rows by columns, read at
// at = b*batch + r*row + c*col. It is made by gathering first where the axes of
// the operand do not merge to that.
type matrix struct {
	gather          *mover // nil if the operand can be used as it lies
	batch, row, col int    // strides
}

// newMatrix sees the axes of an operand as batch, rows and columns.
func newMatrix(s shapes.Shape, batch, rows, cols []int) matrix {
	dense := denseStrides(s.Dimensions)
	merged := func(axes []int) (int, bool) {
		stride, size, ok := 0, 1, true
		for _, a := range slices.Backward(axes) {
			d := s.Dimensions[a]
			if d == 1 {
				continue
			}
			if size == 1 {
				stride = dense[a]
			} else if dense[a] != stride*size {
				ok = false
			}
			size *= d
		}
		return stride, ok
	}
	var m matrix
	var ok [3]bool
	m.batch, ok[0] = merged(batch)
	m.row, ok[1] = merged(rows)
	m.col, ok[2] = merged(cols)
	if ok == [3]bool{true, true, true} && (m.row <= 1 || m.col <= 1) {
		return m
	}
	order := slices.Concat(batch, rows, cols)
	dims, src := make([]int, len(order)), make([]int, len(order))
	for i, a := range order {
		dims[i], src[i] = s.Dimensions[a], dense[a]
	}
	m.gather = newMover(s.DType.Size(), dims, denseStrides(dims), src, 0, 0)
	m.col, m.row = 1, product(s, cols)
	m.batch = m.row * product(s, rows)
	return m
}

func product(s shapes.Shape, axes []int) int {
	p := 1
	for _, a := range axes {
		p *= s.Dimensions[a]
	}
	return p
}

// lowerDot is the lowering of DotGeneral.
func lowerDot(n *node) (step, error) {
	a := n.attrs.(dotAttrs)
	x, y := n.inputs[0].shape, n.inputs[1].shape
	rows, cols := otherAxes(x.Rank(), a.lhsBatch, a.lhsContract), otherAxes(y.Rank(), a.rhsBatch, a.rhsContract)
	lhs := newMatrix(x, a.lhsBatch, rows, a.lhsContract)
	rhs := newMatrix(y, a.rhsBatch, a.rhsContract, cols)
	p := dotSizes{batch: product(x, a.lhsBatch), m: product(x, rows), n: product(y, cols), k: product(x, a.lhsContract)}
	var s step
	if lhs.gather != nil {
		s.workspace += x.Size() * x.DType.Size()
		s.workspace = (s.workspace + alignment - 1) &^ (alignment - 1)
	}
	rhsAt := s.workspace
	if rhs.gather != nil {
		s.workspace += y.Size() * y.DType.Size()
	}
	multiply := dotFn(n.shape.DType)
	if multiply == nil {
		return s, errors.Errorf("DotGeneral is not defined for %s", n.shape.DType)
	}
	work := s.workspace
	s.run = func(f *frame) {
		if p.batch*p.m*p.n == 0 {
			return
		}
		if p.k == 0 {
			clear(f.of(n))
			return
		}
		xm, ym := f.of(n.inputs[0]), f.of(n.inputs[1])
		if work > 0 {
			w := f.workspace(work)
			if lhs.gather != nil {
				lhs.gather.run(f, unsafe.Pointer(unsafe.SliceData(w)), unsafe.Pointer(unsafe.SliceData(xm)))
				xm = w[:len(xm)]
			}
			if rhs.gather != nil {
				to := w[rhsAt : rhsAt+len(ym)]
				rhs.gather.run(f, unsafe.Pointer(unsafe.SliceData(to)), unsafe.Pointer(unsafe.SliceData(ym)))
				ym = to
			}
		}
		multiply(f, p, lhs, rhs, xm, ym, f.of(n))
	}
	return s, nil
}

// dotSizes are the sizes of a batch of products.
type dotSizes struct{ batch, m, n, k int }

type multiplyFn func(f *frame, p dotSizes, lhs, rhs matrix, x, y, out []byte)

func dotFn(d dtypes.DType) multiplyFn {
	switch d {
	case dtypes.Int8:
		return dotPlain[int8]
	case dtypes.Int16:
		return dotPlain[int16]
	case dtypes.Int32:
		return dotPlain[int32]
	case dtypes.Int64:
		return dotPlain[int64]
	case dtypes.Uint8:
		return dotPlain[uint8]
	case dtypes.Uint16:
		return dotPlain[uint16]
	case dtypes.Uint32:
		return dotPlain[uint32]
	case dtypes.Uint64:
		return dotPlain[uint64]
	case dtypes.Float32:
		return dotFloat32
	case dtypes.Float64:
		return dotPlain[float64]
	}
	return nil
}

// dotFloat32 hands the product to the kernel.
func dotFloat32(f *frame, p dotSizes, lhs, rhs matrix, x, y, out []byte) {
	g := kernel.GemmSpec{M: p.m, N: p.n, K: p.k, Batch: p.batch, StrideA: lhs.batch, StrideB: rhs.batch, StrideC: p.m * p.n}
	g.TransA, g.LDA = leading(lhs, p.m, p.k)
	g.TransB, g.LDB = leading(rhs, p.k, p.n)
	kernel.Gemm(f.pool, g, view[float32](x), view[float32](y), view[float32](out))
}

// leading tells whether a matrix is stored transposed, and the distance of
// its stored rows.
func leading(m matrix, rows, cols int) (trans bool, ld int) {
	switch {
	case cols == 1:
		return false, max(m.row, 1)
	case m.col == 1:
		return false, max(m.row, cols)
	}
	return true, max(m.col, rows)
}

// dotPlain is the product for all other types.
func dotPlain[T number](f *frame, p dotSizes, lhs, rhs matrix, xm, ym, om []byte) {
	x, y, out := view[T](xm), view[T](ym), view[T](om)
	f.pool.Run(p.batch*p.m, func(task, _ int) {
		b, i := task/p.m, task%p.m
		row := out[task*p.n:][:p.n]
		clear(row)
		for k := range p.k {
			v := x[b*lhs.batch+i*lhs.row+k*lhs.col]
			at := b*rhs.batch + k*rhs.row
			for j := range row {
				row[j] += v * y[at+j*rhs.col]
			}
		}
	})
}
