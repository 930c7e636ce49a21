package cpu

import "github.com/gomlx/gomlx/backends"

// The elementwise methods of backends.Builder, one line each.

// Abs implements backends.Builder.
func (b *Builder) Abs(x backends.Op) (backends.Op, error) { return b.unary(backends.OpTypeAbs, x) }

// BitCount implements backends.Builder.
func (b *Builder) BitCount(x backends.Op) (backends.Op, error) {
	return b.unary(backends.OpTypeBitCount, x)
}

// BitwiseNot implements backends.Builder.
func (b *Builder) BitwiseNot(x backends.Op) (backends.Op, error) {
	return b.unary(backends.OpTypeBitwiseNot, x)
}

// Ceil implements backends.Builder.
func (b *Builder) Ceil(x backends.Op) (backends.Op, error) { return b.unary(backends.OpTypeCeil, x) }

// Clz implements backends.Builder.
func (b *Builder) Clz(x backends.Op) (backends.Op, error) { return b.unary(backends.OpTypeClz, x) }

// Cos implements backends.Builder.
func (b *Builder) Cos(x backends.Op) (backends.Op, error) { return b.unary(backends.OpTypeCos, x) }

// Erf implements backends.Builder.
func (b *Builder) Erf(x backends.Op) (backends.Op, error) { return b.unary(backends.OpTypeErf, x) }

// Exp implements backends.Builder.
func (b *Builder) Exp(x backends.Op) (backends.Op, error) { return b.unary(backends.OpTypeExp, x) }

// Expm1 implements backends.Builder.
func (b *Builder) Expm1(x backends.Op) (backends.Op, error) { return b.unary(backends.OpTypeExpm1, x) }

// Floor implements backends.Builder.
func (b *Builder) Floor(x backends.Op) (backends.Op, error) { return b.unary(backends.OpTypeFloor, x) }

// Log implements backends.Builder.
func (b *Builder) Log(x backends.Op) (backends.Op, error) { return b.unary(backends.OpTypeLog, x) }

// Log1p implements backends.Builder.
func (b *Builder) Log1p(x backends.Op) (backends.Op, error) { return b.unary(backends.OpTypeLog1p, x) }

// LogicalNot implements backends.Builder.
func (b *Builder) LogicalNot(x backends.Op) (backends.Op, error) {
	return b.unary(backends.OpTypeLogicalNot, x)
}

// Logistic implements backends.Builder.
func (b *Builder) Logistic(x backends.Op) (backends.Op, error) {
	return b.unary(backends.OpTypeLogistic, x)
}

// Neg implements backends.Builder.
func (b *Builder) Neg(x backends.Op) (backends.Op, error) { return b.unary(backends.OpTypeNeg, x) }

// Round implements backends.Builder.
func (b *Builder) Round(x backends.Op) (backends.Op, error) { return b.unary(backends.OpTypeRound, x) }

// Rsqrt implements backends.Builder.
func (b *Builder) Rsqrt(x backends.Op) (backends.Op, error) { return b.unary(backends.OpTypeRsqrt, x) }

// Sign implements backends.Builder.
func (b *Builder) Sign(x backends.Op) (backends.Op, error) { return b.unary(backends.OpTypeSign, x) }

// Sin implements backends.Builder.
func (b *Builder) Sin(x backends.Op) (backends.Op, error) { return b.unary(backends.OpTypeSin, x) }

// Sqrt implements backends.Builder.
func (b *Builder) Sqrt(x backends.Op) (backends.Op, error) { return b.unary(backends.OpTypeSqrt, x) }

// Tanh implements backends.Builder.
func (b *Builder) Tanh(x backends.Op) (backends.Op, error) { return b.unary(backends.OpTypeTanh, x) }

// Add implements backends.Builder.
func (b *Builder) Add(x, y backends.Op) (backends.Op, error) {
	return b.binary(backends.OpTypeAdd, x, y)
}

// Sub implements backends.Builder.
func (b *Builder) Sub(x, y backends.Op) (backends.Op, error) {
	return b.binary(backends.OpTypeSub, x, y)
}

// Mul implements backends.Builder.
func (b *Builder) Mul(x, y backends.Op) (backends.Op, error) {
	return b.binary(backends.OpTypeMul, x, y)
}

// Div implements backends.Builder.
func (b *Builder) Div(x, y backends.Op) (backends.Op, error) {
	return b.binary(backends.OpTypeDiv, x, y)
}

// Rem implements backends.Builder.
func (b *Builder) Rem(x, y backends.Op) (backends.Op, error) {
	return b.binary(backends.OpTypeRem, x, y)
}

// Pow implements backends.Builder.
func (b *Builder) Pow(x, y backends.Op) (backends.Op, error) {
	return b.binary(backends.OpTypePow, x, y)
}

// Max implements backends.Builder.
func (b *Builder) Max(x, y backends.Op) (backends.Op, error) {
	return b.binary(backends.OpTypeMax, x, y)
}

// Min implements backends.Builder.
func (b *Builder) Min(x, y backends.Op) (backends.Op, error) {
	return b.binary(backends.OpTypeMin, x, y)
}

// BitwiseAnd implements backends.Builder.
func (b *Builder) BitwiseAnd(x, y backends.Op) (backends.Op, error) {
	return b.binary(backends.OpTypeBitwiseAnd, x, y)
}

// BitwiseOr implements backends.Builder.
func (b *Builder) BitwiseOr(x, y backends.Op) (backends.Op, error) {
	return b.binary(backends.OpTypeBitwiseOr, x, y)
}

// BitwiseXor implements backends.Builder.
func (b *Builder) BitwiseXor(x, y backends.Op) (backends.Op, error) {
	return b.binary(backends.OpTypeBitwiseXor, x, y)
}

// LogicalAnd implements backends.Builder.
func (b *Builder) LogicalAnd(x, y backends.Op) (backends.Op, error) {
	return b.binary(backends.OpTypeLogicalAnd, x, y)
}

// LogicalOr implements backends.Builder.
func (b *Builder) LogicalOr(x, y backends.Op) (backends.Op, error) {
	return b.binary(backends.OpTypeLogicalOr, x, y)
}

// LogicalXor implements backends.Builder.
func (b *Builder) LogicalXor(x, y backends.Op) (backends.Op, error) {
	return b.binary(backends.OpTypeLogicalXor, x, y)
}

// ShiftLeft implements backends.Builder.
func (b *Builder) ShiftLeft(x, y backends.Op) (backends.Op, error) {
	return b.binary(backends.OpTypeShiftLeft, x, y)
}

// ShiftRightArithmetic implements backends.Builder.
func (b *Builder) ShiftRightArithmetic(x, y backends.Op) (backends.Op, error) {
	return b.binary(backends.OpTypeShiftRightArithmetic, x, y)
}

// ShiftRightLogical implements backends.Builder.
func (b *Builder) ShiftRightLogical(x, y backends.Op) (backends.Op, error) {
	return b.binary(backends.OpTypeShiftRightLogical, x, y)
}

// Equal implements backends.Builder.
func (b *Builder) Equal(x, y backends.Op) (backends.Op, error) {
	return b.binary(backends.OpTypeEqual, x, y)
}

// NotEqual implements backends.Builder.
func (b *Builder) NotEqual(x, y backends.Op) (backends.Op, error) {
	return b.binary(backends.OpTypeNotEqual, x, y)
}

// LessThan implements backends.Builder.
func (b *Builder) LessThan(x, y backends.Op) (backends.Op, error) {
	return b.binary(backends.OpTypeLessThan, x, y)
}

// LessOrEqual implements backends.Builder.
func (b *Builder) LessOrEqual(x, y backends.Op) (backends.Op, error) {
	return b.binary(backends.OpTypeLessOrEqual, x, y)
}

// GreaterThan implements backends.Builder.
func (b *Builder) GreaterThan(x, y backends.Op) (backends.Op, error) {
	return b.binary(backends.OpTypeGreaterThan, x, y)
}

// GreaterOrEqual implements backends.Builder.
func (b *Builder) GreaterOrEqual(x, y backends.Op) (backends.Op, error) {
	return b.binary(backends.OpTypeGreaterOrEqual, x, y)
}

// EqualTotalOrder implements backends.Builder.
func (b *Builder) EqualTotalOrder(x, y backends.Op) (backends.Op, error) {
	return b.binary(backends.OpTypeEqualTotalOrder, x, y)
}

// NotEqualTotalOrder implements backends.Builder.
func (b *Builder) NotEqualTotalOrder(x, y backends.Op) (backends.Op, error) {
	return b.binary(backends.OpTypeNotEqualTotalOrder, x, y)
}

// LessThanTotalOrder implements backends.Builder.
func (b *Builder) LessThanTotalOrder(x, y backends.Op) (backends.Op, error) {
	return b.binary(backends.OpTypeLessThanTotalOrder, x, y)
}

// LessOrEqualTotalOrder implements backends.Builder.
func (b *Builder) LessOrEqualTotalOrder(x, y backends.Op) (backends.Op, error) {
	return b.binary(backends.OpTypeLessOrEqualTotalOrder, x, y)
}

// GreaterThanTotalOrder implements backends.Builder.
func (b *Builder) GreaterThanTotalOrder(x, y backends.Op) (backends.Op, error) {
	return b.binary(backends.OpTypeGreaterThanTotalOrder, x, y)
}

// GreaterOrEqualTotalOrder implements backends.Builder.
func (b *Builder) GreaterOrEqualTotalOrder(x, y backends.Op) (backends.Op, error) {
	return b.binary(backends.OpTypeGreaterOrEqualTotalOrder, x, y)
}
