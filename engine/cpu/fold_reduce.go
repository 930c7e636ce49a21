package cpu

import (
	"unsafe"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"

	"lorica/engine/cpu/kernel"
)

// folder folds elements into results, for one operation and data type.
type folder struct {
	init  func(acc unsafe.Pointer, n int)                            // neutral elements
	tile  func(acc unsafe.Pointer, w *walk, x unsafe.Pointer, n int) // the next n elements of the operand
	merge func(acc, x unsafe.Pointer, n int)                         // acc[i] = f(acc[i], x[i])
}

// newFolder returns nil where the operation is not defined for the data type.
func newFolder(op backends.OpType, d dtypes.DType) *folder {
	switch d {
	case dtypes.Bool:
		switch op {
		case backends.OpTypeReduceLogicalAnd:
			return foldWith(1, func(a, b uint8) uint8 { return a & b })
		case backends.OpTypeReduceLogicalOr, backends.OpTypeReduceMax:
			return foldWith(0, func(a, b uint8) uint8 { return a | b })
		case backends.OpTypeReduceLogicalXor:
			return foldWith(0, func(a, b uint8) uint8 { return a ^ b })
		case backends.OpTypeReduceMin:
			return foldWith(1, func(a, b uint8) uint8 { return a & b })
		}
	case dtypes.Int8:
		return foldInt[int8](op, d)
	case dtypes.Int16:
		return foldInt[int16](op, d)
	case dtypes.Int32:
		return foldInt[int32](op, d)
	case dtypes.Int64:
		return foldInt[int64](op, d)
	case dtypes.Uint8:
		return foldInt[uint8](op, d)
	case dtypes.Uint16:
		return foldInt[uint16](op, d)
	case dtypes.Uint32:
		return foldInt[uint32](op, d)
	case dtypes.Uint64:
		return foldInt[uint64](op, d)
	case dtypes.Float32:
		return foldFloat32(op)
	case dtypes.Float64:
		return foldNumber[float64](op, d)
	}
	return nil
}

func foldInt[T integer](op backends.OpType, d dtypes.DType) *folder {
	switch op {
	case backends.OpTypeReduceBitwiseAnd:
		return foldWith(^T(0), func(a, b T) T { return a & b })
	case backends.OpTypeReduceBitwiseOr:
		return foldWith(0, func(a, b T) T { return a | b })
	case backends.OpTypeReduceBitwiseXor:
		return foldWith(0, func(a, b T) T { return a ^ b })
	}
	return foldNumber[T](op, d)
}

func foldNumber[T number](op backends.OpType, d dtypes.DType) *folder {
	switch op {
	case backends.OpTypeReduceSum:
		return foldWith(0, func(a, b T) T { return a + b })
	case backends.OpTypeReduceProduct:
		return foldWith(1, func(a, b T) T { return a * b })
	case backends.OpTypeReduceMax:
		return foldWith(d.LowestValue().(T), func(a, b T) T { return max(a, b) })
	case backends.OpTypeReduceMin:
		return foldWith(d.HighestValue().(T), func(a, b T) T { return min(a, b) })
	}
	return nil
}

// foldWith makes a folder of a function of two elements.
func foldWith[T any](neutral T, f func(a, b T) T) *folder {
	return &folder{
		init: fillWith(neutral),
		tile: func(acc unsafe.Pointer, w *walk, x unsafe.Pointer, n int) {
			inner := w.segs[len(w.segs)-1]
			for v := slice[T](x, n); len(v) > 0; {
				m := min(w.left(), len(v))
				if inner.reduced {
					p := (*T)(at[T](acc, w.at))
					a := *p
					for _, e := range v[:m] {
						a = f(a, e)
					}
					*p = a
				} else {
					row := slice[T](at[T](acc, w.at+w.index[len(w.segs)-1]), m)
					for i, e := range v[:m] {
						row[i] = f(row[i], e)
					}
				}
				w.advance(m)
				v = v[m:]
			}
		},
		merge: func(acc, x unsafe.Pointer, n int) {
			a, v := slice[T](acc, n), slice[T](x, n)
			for i, e := range v {
				a[i] = f(a[i], e)
			}
		},
	}
}

func fillWith[T any](v T) func(unsafe.Pointer, int) {
	return func(p unsafe.Pointer, n int) {
		s := slice[T](p, n)
		for i := range s {
			s[i] = v
		}
	}
}

// at is the address of element i.
func at[T any](p unsafe.Pointer, i int) unsafe.Pointer {
	var t T
	return unsafe.Add(p, i*int(unsafe.Sizeof(t)))
}

// foldFloat32 uses the vector kernels.
func foldFloat32(op backends.OpType) *folder {
	fo := foldNumber[float32](op, dtypes.Float32)
	if fo == nil {
		return nil
	}
	var row func([]float32) float32
	var both func(dst, a, b []float32)
	join := func(a, b float32) float32 { return a + b }
	switch op {
	case backends.OpTypeReduceSum:
		row, both = kernel.Sum, kernel.Add
	case backends.OpTypeReduceMax:
		row, both = kernel.MaxOf, kernel.Max
		join = func(a, b float32) float32 { return max(a, b) }
	case backends.OpTypeReduceMin:
		row, both = kernel.MinOf, kernel.Min
		join = func(a, b float32) float32 { return min(a, b) }
	default:
		return fo
	}
	fo.merge = func(acc, x unsafe.Pointer, n int) {
		a := slice[float32](acc, n)
		both(a, a, slice[float32](x, n))
	}
	fo.tile = func(acc unsafe.Pointer, w *walk, x unsafe.Pointer, n int) {
		k := len(w.segs) - 1
		inner := w.segs[k]
		for v := slice[float32](x, n); len(v) > 0; {
			m := min(w.left(), len(v))
			switch {
			case inner.reduced:
				p := (*float32)(at[float32](acc, w.at))
				*p = join(*p, row(v[:m]))
			case op == backends.OpTypeReduceSum && m == inner.size && k > 0:
				// Whole rows, as many as fold into the same results.
				rows := min(len(v)/m, w.segs[k-1].size-w.index[k-1])
				kernel.SumRows(slice[float32](at[float32](acc, w.at), m), v, rows, m)
				w.skip(k-1, rows)
				v = v[rows*m:]
				continue
			default:
				a := slice[float32](at[float32](acc, w.at+w.index[k]), m)
				both(a, a, v[:m])
			}
			w.advance(m)
			v = v[m:]
		}
	}
	return fo
}
