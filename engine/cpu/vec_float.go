package cpu

import (
	"math"

	"github.com/gomlx/gomlx/backends"
)

// floatFn has the operations on float32 and float64, computed in float64 and
// rounded once. simdFn stands before it for float32 where speed matters.
func floatFn[T float](op backends.OpType) vecFn {
	through := func(f func(float64) float64) vecFn {
		return unary(func(a T) T { return T(f(float64(a))) })
	}
	switch op {
	case backends.OpTypeDiv:
		return binary(func(a, b T) T { return a / b })
	case backends.OpTypeRem:
		return binary(func(a, b T) T { return T(math.Mod(float64(a), float64(b))) })
	case backends.OpTypePow:
		return binary(func(a, b T) T { return T(math.Pow(float64(a), float64(b))) })
	case backends.OpTypeNeg:
		return unary(func(a T) T { return -a })
	case backends.OpTypeAbs:
		return through(math.Abs)
	case backends.OpTypeSign:
		return unary(func(a T) T {
			switch {
			case a > 0:
				return 1
			case a < 0:
				return -1
			}
			return a // keeps NaN and the sign of zero
		})
	case backends.OpTypeExp:
		return through(math.Exp)
	case backends.OpTypeExpm1:
		return through(math.Expm1)
	case backends.OpTypeLog:
		return through(math.Log)
	case backends.OpTypeLog1p:
		return through(math.Log1p)
	case backends.OpTypeLogistic:
		return through(func(x float64) float64 { return 1 / (1 + math.Exp(-x)) })
	case backends.OpTypeCeil:
		return through(math.Ceil)
	case backends.OpTypeFloor:
		return through(math.Floor)
	case backends.OpTypeRound:
		return through(math.RoundToEven)
	case backends.OpTypeSqrt:
		return through(math.Sqrt)
	case backends.OpTypeRsqrt:
		return through(func(x float64) float64 { return 1 / math.Sqrt(x) })
	case backends.OpTypeCos:
		return through(math.Cos)
	case backends.OpTypeSin:
		return through(math.Sin)
	case backends.OpTypeTanh:
		return through(math.Tanh)
	case backends.OpTypeErf:
		return through(math.Erf)
	case backends.OpTypeIsFinite:
		return unary(func(a T) bool { return a-a == 0 })
	}
	if f := totalOrder(op, floatOrder[T]); f != nil {
		return f
	}
	return numberFn[T](op)
}
