package cpu

import "github.com/gomlx/gomlx/backends"

// The reductions of backends.Builder, one line each.

// ReduceSum implements backends.Builder.
func (b *Builder) ReduceSum(x backends.Op, axes ...int) (backends.Op, error) {
	return b.reduce(backends.OpTypeReduceSum, x, axes)
}

// ReduceProduct implements backends.Builder.
func (b *Builder) ReduceProduct(x backends.Op, axes ...int) (backends.Op, error) {
	return b.reduce(backends.OpTypeReduceProduct, x, axes)
}

// ReduceMax implements backends.Builder.
func (b *Builder) ReduceMax(x backends.Op, axes ...int) (backends.Op, error) {
	return b.reduce(backends.OpTypeReduceMax, x, axes)
}

// ReduceMin implements backends.Builder.
func (b *Builder) ReduceMin(x backends.Op, axes ...int) (backends.Op, error) {
	return b.reduce(backends.OpTypeReduceMin, x, axes)
}

// ReduceBitwiseAnd implements backends.Builder.
func (b *Builder) ReduceBitwiseAnd(x backends.Op, axes ...int) (backends.Op, error) {
	return b.reduce(backends.OpTypeReduceBitwiseAnd, x, axes)
}

// ReduceBitwiseOr implements backends.Builder.
func (b *Builder) ReduceBitwiseOr(x backends.Op, axes ...int) (backends.Op, error) {
	return b.reduce(backends.OpTypeReduceBitwiseOr, x, axes)
}

// ReduceBitwiseXor implements backends.Builder.
func (b *Builder) ReduceBitwiseXor(x backends.Op, axes ...int) (backends.Op, error) {
	return b.reduce(backends.OpTypeReduceBitwiseXor, x, axes)
}

// ReduceLogicalAnd implements backends.Builder.
func (b *Builder) ReduceLogicalAnd(x backends.Op, axes ...int) (backends.Op, error) {
	return b.reduce(backends.OpTypeReduceLogicalAnd, x, axes)
}

// ReduceLogicalOr implements backends.Builder.
func (b *Builder) ReduceLogicalOr(x backends.Op, axes ...int) (backends.Op, error) {
	return b.reduce(backends.OpTypeReduceLogicalOr, x, axes)
}

// ReduceLogicalXor implements backends.Builder.
func (b *Builder) ReduceLogicalXor(x backends.Op, axes ...int) (backends.Op, error) {
	return b.reduce(backends.OpTypeReduceLogicalXor, x, axes)
}
