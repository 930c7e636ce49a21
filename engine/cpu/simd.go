package cpu

import (
	"unsafe"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"

	"lorica/engine/cpu/kernel"
)

// simdFn returns the vector kernel of an operation where there is one: for
// float32 only.
func simdFn(op backends.OpType, d dtypes.DType) vecFn {
	if d != dtypes.Float32 {
		return nil
	}
	if f := simdUnary[op]; f != nil {
		return func(dst, a, _, _ unsafe.Pointer, n int) { f(slice[float32](dst, n), slice[float32](a, n)) }
	}
	if f := simdBinary[op]; f != nil {
		return func(dst, a, b, _ unsafe.Pointer, n int) {
			f(slice[float32](dst, n), slice[float32](a, n), slice[float32](b, n))
		}
	}
	if f := simdCompare[op]; f != nil {
		return func(dst, a, b, _ unsafe.Pointer, n int) {
			f(slice[bool](dst, n), slice[float32](a, n), slice[float32](b, n))
		}
	}
	switch op {
	case backends.OpTypeSign:
		return signFloat32
	case backends.OpTypeWhere:
		return func(dst, a, b, c unsafe.Pointer, n int) {
			kernel.Select(slice[float32](dst, n), slice[bool](a, n), slice[float32](b, n), slice[float32](c, n))
		}
	}
	return nil
}

// signFloat32 is 1, -1, or the operand where that is zero or NaN: the product
// takes every other value, the smallest subnormal too, beyond 1.
func signFloat32(dst, a, _, _ unsafe.Pointer, n int) {
	d := slice[float32](dst, n)
	kernel.MulScalar(d, slice[float32](a, n), 1<<100)
	kernel.MulScalar(d, d, 1<<100)
	kernel.MinScalar(d, d, 1)
	kernel.MaxScalar(d, d, -1)
}

var simdUnary = map[backends.OpType]func(dst, x []float32){
	backends.OpTypeAbs:      kernel.Abs,
	backends.OpTypeNeg:      kernel.Neg,
	backends.OpTypeSign:     kernel.Sign,
	backends.OpTypeFloor:    kernel.Floor,
	backends.OpTypeCeil:     kernel.Ceil,
	backends.OpTypeRound:    kernel.Round,
	backends.OpTypeSqrt:     kernel.Sqrt,
	backends.OpTypeRsqrt:    kernel.Rsqrt,
	backends.OpTypeExp:      kernel.Exp,
	backends.OpTypeExpm1:    kernel.Expm1,
	backends.OpTypeLog:      kernel.Log,
	backends.OpTypeLog1p:    kernel.Log1p,
	backends.OpTypeSin:      kernel.Sin,
	backends.OpTypeCos:      kernel.Cos,
	backends.OpTypeTanh:     kernel.Tanh,
	backends.OpTypeErf:      kernel.Erf,
	backends.OpTypeLogistic: kernel.Logistic,
}

var simdBinary = map[backends.OpType]func(dst, a, b []float32){
	backends.OpTypeAdd: kernel.Add,
	backends.OpTypeSub: kernel.Sub,
	backends.OpTypeMul: kernel.Mul,
	backends.OpTypeDiv: kernel.Div,
	backends.OpTypeMax: kernel.Max,
	backends.OpTypeMin: kernel.Min,
}

var simdCompare = map[backends.OpType]func(dst []bool, a, b []float32){
	backends.OpTypeEqual:          kernel.Equal,
	backends.OpTypeNotEqual:       kernel.NotEqual,
	backends.OpTypeLessThan:       kernel.Less,
	backends.OpTypeLessOrEqual:    kernel.LessEqual,
	backends.OpTypeGreaterThan:    kernel.Greater,
	backends.OpTypeGreaterOrEqual: kernel.GreaterEqual,
}

// scalarFn returns the vector kernel of a float32 operation whose operand
// number k is a single value, nil where there is none.
func scalarFn(op backends.OpType, k int) vecFn {
	var f func(dst, a []float32, s float32)
	switch op {
	case backends.OpTypeAdd:
		f = kernel.AddScalar
	case backends.OpTypeMul:
		f = kernel.MulScalar
	case backends.OpTypeMax:
		f = kernel.MaxScalar
	case backends.OpTypeMin:
		f = kernel.MinScalar
	case backends.OpTypeSub:
		if f = kernel.SubScalar; k == 0 {
			f = kernel.ScalarSub
		}
	case backends.OpTypeDiv:
		if f = kernel.DivScalar; k == 0 {
			f = kernel.ScalarDiv
		}
	default:
		return nil
	}
	if k == 0 {
		return func(dst, a, b, _ unsafe.Pointer, n int) {
			f(slice[float32](dst, n), slice[float32](b, n), *(*float32)(a))
		}
	}
	return func(dst, a, b, _ unsafe.Pointer, n int) {
		f(slice[float32](dst, n), slice[float32](a, n), *(*float32)(b))
	}
}
