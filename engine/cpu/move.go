package cpu

import (
	"unsafe"

	"lorica/engine/cpu/kernel"
)

// mover copies elements between two strided arrays: transposes, slices,
// reversals, broadcasts and the pieces of concatenations and paddings.
type mover struct {
	elem     int
	dims     []int
	dst, src []int // strides in elements; those of src may be 0 or negative
	dstAt    int   // of the first element
	srcAt    int
}

// newMover merges axes that both sides walk through as if they were one.
func newMover(elem int, dims, dst, src []int, dstAt, srcAt int) *mover {
	m := &mover{elem: elem, dstAt: dstAt, srcAt: srcAt}
	for i, d := range dims {
		if d == 1 {
			continue
		}
		if k := len(m.dims) - 1; k >= 0 && m.dst[k] == dst[i]*d && m.src[k] == src[i]*d {
			m.dims[k] *= d
			m.dst[k], m.src[k] = dst[i], src[i]
			continue
		}
		m.dims = append(m.dims, d)
		m.dst = append(m.dst, dst[i])
		m.src = append(m.src, src[i])
	}
	if len(m.dims) == 0 {
		m.dims, m.dst, m.src = []int{1}, []int{1}, []int{1}
	}
	return m
}

// moveChunk is about how many elements a task copies.
const moveChunk = 1 << 14

// run copies.
func (m *mover) run(f *frame, dst, src unsafe.Pointer) {
	k := len(m.dims) - 1
	cross := -1 // an axis along which src is dense while dst is dense along k
	if m.dst[k] == 1 && m.src[k] > 1 && m.elem == 4 {
		for i := range k {
			if m.src[i] == 1 {
				cross = i
			}
		}
	}
	inner := m.dims[k]
	outer := 1
	for i, d := range m.dims[:k] {
		if i != cross {
			outer *= d
		}
	}
	if cross >= 0 {
		inner *= m.dims[cross]
	}
	if inner == 0 || outer == 0 {
		return
	}
	// A long single row is cut into pieces too.
	pieces := 1
	if cross < 0 {
		pieces = max(1, inner/(4*moveChunk))
	}
	per := max(1, moveChunk/inner)
	tasks := (outer + per - 1) / per
	dst, src = unsafe.Add(dst, m.dstAt*m.elem), unsafe.Add(src, m.srcAt*m.elem)
	f.pool.Run(tasks*pieces, func(task, _ int) {
		task, piece := task/pieces, task%pieces
		lo, hi := m.dims[k]*piece/pieces, m.dims[k]*(piece+1)/pieces
		for row := task * per; row < min(outer, (task+1)*per); row++ {
			d, s, rest := 0, 0, row
			for i := k - 1; i >= 0; i-- {
				if i == cross {
					continue
				}
				x := rest % m.dims[i]
				rest /= m.dims[i]
				d += x * m.dst[i]
				s += x * m.src[i]
			}
			if cross >= 0 {
				m.transpose(unsafe.Add(dst, d*4), unsafe.Add(src, s*4), k, cross)
				continue
			}
			m.row(unsafe.Add(dst, (d+lo*m.dst[k])*m.elem), unsafe.Add(src, (s+lo*m.src[k])*m.elem), hi-lo)
		}
	})
}

// transpose copies a matrix that is dense along one axis in src and along the
// other in dst.
func (m *mover) transpose(dst, src unsafe.Pointer, k, cross int) {
	rows, cols := m.dims[k], m.dims[cross]
	ldd, lds := m.dst[cross], m.src[k]
	kernel.Transpose(slice[float32](dst, (cols-1)*ldd+rows), slice[float32](src, (rows-1)*lds+cols), rows, cols, ldd, lds)
}

// row copies n elements along the innermost axis.
func (m *mover) row(dst, src unsafe.Pointer, n int) {
	switch m.elem {
	case 1:
		moveRow[uint8](m, dst, src, n)
	case 2:
		moveRow[uint16](m, dst, src, n)
	case 4:
		moveRow[uint32](m, dst, src, n)
	case 8:
		moveRow[uint64](m, dst, src, n)
	}
}

func moveRow[T any](m *mover, dst, src unsafe.Pointer, n int) {
	k := len(m.dims) - 1
	ds, ss := m.dst[k], m.src[k]
	if ds == 1 && ss == 1 {
		copy(slice[T](dst, n), slice[T](src, n))
		return
	}
	if ds == 1 && ss == 0 {
		v := *(*T)(src)
		d := slice[T](dst, n)
		for i := range d {
			d[i] = v
		}
		return
	}
	for i := range n {
		*(*T)(at[T](dst, i*ds)) = *(*T)(at[T](src, i*ss))
	}
}

// fillValue sets n elements of a size to the one at v.
func fillValue(dst, v unsafe.Pointer, elem, n int) {
	m := mover{elem: elem, dims: []int{n}, dst: []int{1}, src: []int{0}}
	m.row(dst, v, n)
}

// denseStrides are the strides of an array in row-major order.
func denseStrides(dims []int) []int {
	s := make([]int, len(dims))
	step := 1
	for i := len(dims) - 1; i >= 0; i-- {
		s[i] = step
		step *= dims[i]
	}
	return s
}

// box copies without the help of other threads.
func (m *mover) box(dst, src unsafe.Pointer) {
	k := len(m.dims) - 1
	outer := 1
	for _, d := range m.dims[:k] {
		outer *= d
	}
	for row := range outer {
		d, s, rest := 0, 0, row
		for i := k - 1; i >= 0; i-- {
			x := rest % m.dims[i]
			rest /= m.dims[i]
			d += x * m.dst[i]
			s += x * m.src[i]
		}
		m.row(unsafe.Add(dst, d*m.elem), unsafe.Add(src, s*m.elem), m.dims[k])
	}
}
