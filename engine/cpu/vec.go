package cpu

import (
	"math"
	"math/bits"
	"unsafe"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
)

// vecFn computes n elements: dst[i] = f(a[i], b[i], c[i]). The pointers are to
// elements of the types that the function was made for; those that it does not
// need are nil. dst may be equal to an operand, but may not overlap one
// otherwise.
type vecFn func(dst, a, b, c unsafe.Pointer, n int)

type (
	signed   interface{ int8 | int16 | int32 | int64 }
	unsigned interface {
		uint8 | uint16 | uint32 | uint64
	}
	integer interface{ signed | unsigned }
	float   interface{ float32 | float64 }
	number  interface{ integer | float }
)

func slice[T any](p unsafe.Pointer, n int) []T { return unsafe.Slice((*T)(p), n) }

// unary makes a vecFn of a function of one element.
func unary[T, R any](f func(T) R) vecFn {
	return func(dst, a, _, _ unsafe.Pointer, n int) {
		d, x := slice[R](dst, n), slice[T](a, n)
		for i, v := range x {
			d[i] = f(v)
		}
	}
}

// binary makes a vecFn of a function of two elements.
func binary[T, R any](f func(T, T) R) vecFn {
	return func(dst, a, b, _ unsafe.Pointer, n int) {
		d, x, y := slice[R](dst, n), slice[T](a, n), slice[T](b, n)
		for i, v := range x {
			d[i] = f(v, y[i])
		}
	}
}

// vectorFn returns the function of an elementwise operation on operands of
// one data type (for Where, the type of the branches), or nil if it is not
// defined there.
func vectorFn(op backends.OpType, d dtypes.DType) vecFn {
	if f := simdFn(op, d); f != nil {
		return f
	}
	switch d {
	case dtypes.Bool:
		return boolFn(op)
	case dtypes.Int8:
		return signedFn[int8, uint8](op)
	case dtypes.Int16:
		return signedFn[int16, uint16](op)
	case dtypes.Int32:
		return signedFn[int32, uint32](op)
	case dtypes.Int64:
		return signedFn[int64, uint64](op)
	case dtypes.Uint8:
		return integerFn[uint8, uint8](op)
	case dtypes.Uint16:
		return integerFn[uint16, uint16](op)
	case dtypes.Uint32:
		return integerFn[uint32, uint32](op)
	case dtypes.Uint64:
		return integerFn[uint64, uint64](op)
	case dtypes.Float32:
		return floatFn[float32](op)
	case dtypes.Float64:
		return floatFn[float64](op)
	}
	return nil
}

// numberFn has what all number types share.
func numberFn[T number](op backends.OpType) vecFn {
	switch op {
	case backends.OpTypeAdd:
		return binary(func(a, b T) T { return a + b })
	case backends.OpTypeSub:
		return binary(func(a, b T) T { return a - b })
	case backends.OpTypeMul:
		return binary(func(a, b T) T { return a * b })
	case backends.OpTypeMax:
		return binary(func(a, b T) T { return max(a, b) }) // NaN if either is
	case backends.OpTypeMin:
		return binary(func(a, b T) T { return min(a, b) })
	case backends.OpTypeEqual:
		return binary(func(a, b T) bool { return a == b })
	case backends.OpTypeNotEqual:
		return binary(func(a, b T) bool { return a != b })
	case backends.OpTypeLessThan:
		return binary(func(a, b T) bool { return a < b })
	case backends.OpTypeLessOrEqual:
		return binary(func(a, b T) bool { return a <= b })
	case backends.OpTypeGreaterThan:
		return binary(func(a, b T) bool { return a > b })
	case backends.OpTypeGreaterOrEqual:
		return binary(func(a, b T) bool { return a >= b })
	case backends.OpTypeClamp: // operands: low, x, high
		return func(dst, a, b, c unsafe.Pointer, n int) {
			d, lo, x, hi := slice[T](dst, n), slice[T](a, n), slice[T](b, n), slice[T](c, n)
			for i, v := range x {
				d[i] = min(max(v, lo[i]), hi[i])
			}
		}
	case backends.OpTypeWhere:
		return where[T]()
	}
	return nil
}

// where selects by a bool, the first operand.
func where[T any]() vecFn {
	return func(dst, a, b, c unsafe.Pointer, n int) {
		d, cond, x, y := slice[T](dst, n), slice[bool](a, n), slice[T](b, n), slice[T](c, n)
		for i, v := range cond {
			if v {
				d[i] = x[i]
			} else {
				d[i] = y[i]
			}
		}
	}
}

// totalOrder are the comparisons with the order of all bit patterns, as
// comparisons of the keys that key gives.
func totalOrder[T any, K number](op backends.OpType, key func(T) K) vecFn {
	switch op {
	case backends.OpTypeEqualTotalOrder:
		return binary(func(a, b T) bool { return key(a) == key(b) })
	case backends.OpTypeNotEqualTotalOrder:
		return binary(func(a, b T) bool { return key(a) != key(b) })
	case backends.OpTypeLessThanTotalOrder:
		return binary(func(a, b T) bool { return key(a) < key(b) })
	case backends.OpTypeLessOrEqualTotalOrder:
		return binary(func(a, b T) bool { return key(a) <= key(b) })
	case backends.OpTypeGreaterThanTotalOrder:
		return binary(func(a, b T) bool { return key(a) > key(b) })
	case backends.OpTypeGreaterOrEqualTotalOrder:
		return binary(func(a, b T) bool { return key(a) >= key(b) })
	}
	return nil
}

// boolFn has the operations on booleans. Comparisons order false before true.
func boolFn(op backends.OpType) vecFn {
	switch op {
	case backends.OpTypeLogicalNot:
		return unary(func(a bool) bool { return !a })
	case backends.OpTypeLogicalAnd:
		return binary(func(a, b bool) bool { return a && b })
	case backends.OpTypeLogicalOr:
		return binary(func(a, b bool) bool { return a || b })
	case backends.OpTypeLogicalXor:
		return binary(func(a, b bool) bool { return a != b })
	case backends.OpTypeWhere:
		return where[bool]()
	case backends.OpTypeEqual, backends.OpTypeNotEqual, backends.OpTypeLessThan, backends.OpTypeLessOrEqual,
		backends.OpTypeGreaterThan, backends.OpTypeGreaterOrEqual, backends.OpTypeMax, backends.OpTypeMin:
		return numberFn[uint8](op)
	}
	return nil
}

// integerFn has the operations on integers; U is T's unsigned twin. Division
// follows XLA where Go would panic: by zero it gives all ones, and the
// remainder by zero is the dividend.
func integerFn[T integer, U unsigned](op backends.OpType) vecFn {
	width := U(unsafe.Sizeof(T(0)) * 8)
	switch op {
	case backends.OpTypeDiv:
		return binary(func(a, b T) T {
			if b == 0 {
				return ^T(0)
			}
			return a / b
		})
	case backends.OpTypeRem:
		return binary(func(a, b T) T {
			if b == 0 {
				return a
			}
			return a % b
		})
	case backends.OpTypePow:
		return binary(powInt[T])
	case backends.OpTypeAbs:
		return unary(func(a T) T {
			if a < 0 {
				return -a
			}
			return a
		})
	case backends.OpTypeSign:
		return unary(func(a T) T {
			switch {
			case a > 0:
				return 1
			case a < 0:
				return ^T(0)
			}
			return 0
		})
	case backends.OpTypeBitwiseNot:
		return unary(func(a T) T { return ^a })
	case backends.OpTypeBitwiseAnd:
		return binary(func(a, b T) T { return a & b })
	case backends.OpTypeBitwiseOr:
		return binary(func(a, b T) T { return a | b })
	case backends.OpTypeBitwiseXor:
		return binary(func(a, b T) T { return a ^ b })
	case backends.OpTypeBitCount:
		return unary(func(a T) T { return T(bits.OnesCount64(uint64(U(a)))) })
	case backends.OpTypeClz:
		return unary(func(a T) T { return T(bits.LeadingZeros64(uint64(U(a))) - 64 + int(width)) })
	case backends.OpTypeShiftLeft: // by a negative amount or more than the width: all bits go
		return binary(func(a, b T) T { return a << U(b) })
	case backends.OpTypeShiftRightArithmetic:
		return binary(func(a, b T) T { return a >> U(b) })
	case backends.OpTypeShiftRightLogical:
		return binary(func(a, b T) T { return T(U(a) >> U(b)) })
	}
	if f := totalOrder(op, func(a T) T { return a }); f != nil {
		return f
	}
	return numberFn[T](op)
}

// signedFn adds what only signed integers have.
func signedFn[T signed, U unsigned](op backends.OpType) vecFn {
	if op == backends.OpTypeNeg {
		return unary(func(a T) T { return -a })
	}
	return integerFn[T, U](op)
}

// powInt is a to the power of b. A negative power is the reciprocal rounded to
// zero: 0 unless a is 1 or -1.
func powInt[T integer](a, b T) T {
	if b < 0 {
		switch {
		case a == 1:
			return 1
		case a == ^T(0):
			if b&1 == 0 {
				return 1
			}
			return a
		}
		return 0
	}
	r := T(1)
	for ; b > 0; b >>= 1 {
		if b&1 == 1 {
			r *= a
		}
		a *= a
	}
	return r
}

// floatOrder maps a float32's bits to an integer that sorts as the total order
// -NaN < -Inf < finite < -0 < +0 < finite < +Inf < +NaN.
func floatOrder[T float](a T) int64 {
	if unsafe.Sizeof(a) == 4 {
		b := int32(math.Float32bits(float32(a)))
		return int64(b ^ int32(uint32(b>>31)>>1))
	}
	b := int64(math.Float64bits(float64(a)))
	return b ^ int64(uint64(b>>63)>>1)
}
