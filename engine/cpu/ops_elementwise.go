package cpu

import (
	"slices"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/backends/shapeinference"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/pkg/errors"
)

// elementwise are the operations whose element i depends on element i of
// their operands alone. They are what groups are made of (fuse.go).
var elementwise = func() map[backends.OpType]bool {
	m := map[backends.OpType]bool{
		backends.OpTypeConvertDType: true,
		backends.OpTypeWhere:        true,
		backends.OpTypeClamp:        true,
		backends.OpTypeIsFinite:     true,
	}
	for _, set := range [][]backends.OpType{unaryOps, binaryOps, comparisonOps} {
		for _, op := range set {
			m[op] = true
		}
	}
	return m
}()

var unaryOps = []backends.OpType{
	backends.OpTypeAbs, backends.OpTypeBitCount, backends.OpTypeBitwiseNot, backends.OpTypeCeil, backends.OpTypeClz,
	backends.OpTypeCos, backends.OpTypeErf, backends.OpTypeExp, backends.OpTypeExpm1, backends.OpTypeFloor,
	backends.OpTypeLog, backends.OpTypeLog1p, backends.OpTypeLogicalNot, backends.OpTypeLogistic, backends.OpTypeNeg,
	backends.OpTypeRound, backends.OpTypeRsqrt, backends.OpTypeSign, backends.OpTypeSin, backends.OpTypeSqrt,
	backends.OpTypeTanh,
}

var binaryOps = []backends.OpType{
	backends.OpTypeAdd, backends.OpTypeSub, backends.OpTypeMul, backends.OpTypeDiv, backends.OpTypeRem,
	backends.OpTypePow, backends.OpTypeMax, backends.OpTypeMin, backends.OpTypeBitwiseAnd, backends.OpTypeBitwiseOr,
	backends.OpTypeBitwiseXor, backends.OpTypeLogicalAnd, backends.OpTypeLogicalOr, backends.OpTypeLogicalXor,
	backends.OpTypeShiftLeft, backends.OpTypeShiftRightArithmetic, backends.OpTypeShiftRightLogical,
}

var comparisonOps = []backends.OpType{
	backends.OpTypeEqual, backends.OpTypeNotEqual, backends.OpTypeLessThan, backends.OpTypeLessOrEqual,
	backends.OpTypeGreaterThan, backends.OpTypeGreaterOrEqual, backends.OpTypeEqualTotalOrder,
	backends.OpTypeNotEqualTotalOrder, backends.OpTypeLessThanTotalOrder, backends.OpTypeLessOrEqualTotalOrder,
	backends.OpTypeGreaterThanTotalOrder, backends.OpTypeGreaterOrEqualTotalOrder,
}

// isHalf tells the types that are computed in float32.
func isHalf(d dtypes.DType) bool { return d == dtypes.Float16 || d == dtypes.BFloat16 }

// widen converts half-precision operands to float32 and leaves others alone.
func (b *Builder) widen(in []*node) []*node {
	out := slices.Clone(in)
	for i, n := range in {
		if isHalf(n.shape.DType) {
			out[i] = b.convert(n, dtypes.Float32)
		}
	}
	return out
}

// convert adds a conversion unless there is nothing to convert.
func (b *Builder) convert(x *node, d dtypes.DType) *node {
	if x.shape.DType == d {
		return x
	}
	shape := x.shape.Clone()
	shape.DType = d
	return b.add(backends.OpTypeConvertDType, shape, nil, x)
}

// elementwise adds an elementwise operation. shape is the result's; operands
// are broadcast to it. Half precision is computed in float32 in between.
func (b *Builder) elementwise(op backends.OpType, shape shapes.Shape, in ...*node) (*node, error) {
	d := in[len(in)-1].shape.DType
	wide := b.widen(in)
	if err := checkDType(op.String(), d); err != nil {
		return nil, err
	}
	if vectorFn(op, wide[len(wide)-1].shape.DType) == nil {
		return nil, errors.Errorf("backend %q: operation %s is not defined for %s", Name, op, d)
	}
	if !isHalf(shape.DType) {
		return b.add(op, shape, nil, wide...), nil
	}
	shape = shape.Clone()
	shape.DType = dtypes.Float32
	return b.convert(b.add(op, shape, nil, wide...), d), nil
}

func (b *Builder) unary(op backends.OpType, x backends.Op) (backends.Op, error) {
	in, err := b.check(op.String(), x)
	if err != nil {
		return nil, err
	}
	shape, err := shapeinference.UnaryOp(op, in[0].shape)
	if err != nil {
		return nil, err
	}
	return b.elementwise(op, shape, in[0])
}

func (b *Builder) binary(op backends.OpType, x, y backends.Op) (backends.Op, error) {
	in, err := b.check(op.String(), x, y)
	if err != nil {
		return nil, err
	}
	shape, err := broadcastShape(op, in[0].shape, in[1].shape)
	if err != nil {
		return nil, err
	}
	if slices.Contains(comparisonOps, op) {
		shape.DType = dtypes.Bool
	} else if shapeinference.StandardBinaryOperations.Has(op) {
		// For the rules on data types; the dimensions are broadcastShape's.
		if _, err := shapeinference.BinaryOp(op, scalar(in[0]), scalar(in[1])); err != nil {
			return nil, err
		}
	}
	return b.elementwise(op, shape, in...)
}

func scalar(n *node) shapes.Shape { return shapes.Make(n.shape.DType) }

// broadcastShape is the shape of an operation on two operands: a scalar fits
// all, and axes of dimension 1 stretch, to 0 also.
func broadcastShape(op backends.OpType, x, y shapes.Shape) (shapes.Shape, error) {
	if x.DType != y.DType {
		return shapes.Invalid(), errors.Errorf("%s: data types %s and %s differ", op, x, y)
	}
	switch {
	case x.IsScalar():
		return y.Clone(), nil
	case y.IsScalar():
		return x.Clone(), nil
	case x.Rank() != y.Rank():
		return shapes.Invalid(), errors.Errorf("%s: ranks of %s and %s differ", op, x, y)
	}
	out := x.Clone()
	for i, d := range y.Dimensions {
		switch {
		case out.Dimensions[i] == 1:
			out.Dimensions[i] = d
		case d != 1 && d != out.Dimensions[i]:
			return shapes.Invalid(), errors.Errorf("%s: axis %d of %s and %s does not match", op, i, x, y)
		}
	}
	return out, nil
}

// Where implements backends.Builder.
func (b *Builder) Where(cond, onTrue, onFalse backends.Op) (backends.Op, error) {
	in, err := b.check("Where", cond, onTrue, onFalse)
	if err != nil {
		return nil, err
	}
	if t, f := in[1].shape.DType, in[2].shape.DType; t != f {
		return nil, errors.Errorf("Where: data types %s and %s differ", t, f)
	}
	shape, err := shapeinference.WhereOp(in[0].shape, in[1].shape, in[2].shape)
	if err != nil {
		return nil, err
	}
	return b.elementwise(backends.OpTypeWhere, shape, in...)
}

// Clamp implements backends.Builder.
func (b *Builder) Clamp(low, x, high backends.Op) (backends.Op, error) {
	in, err := b.check("Clamp", low, x, high)
	if err != nil {
		return nil, err
	}
	shape := in[1].shape
	for _, bound := range []*node{in[0], in[2]} {
		if s := bound.shape; s.DType != shape.DType || !s.IsScalar() && !s.EqualDimensions(shape) {
			return nil, errors.Errorf("Clamp: bound %s is neither a scalar nor shaped like %s", s, shape)
		}
	}
	return b.elementwise(backends.OpTypeClamp, shape, in...)
}

// ConvertDType implements backends.Builder.
func (b *Builder) ConvertDType(x backends.Op, d dtypes.DType) (backends.Op, error) {
	in, err := b.check("ConvertDType", x)
	if err != nil {
		return nil, err
	}
	if err := checkDType("ConvertDType", d); err != nil {
		return nil, err
	}
	return b.convert(in[0], d), nil
}

// IsFinite implements backends.Builder.
func (b *Builder) IsFinite(x backends.Op) (backends.Op, error) {
	in, err := b.check("IsFinite", x)
	if err != nil {
		return nil, err
	}
	shape := in[0].shape.Clone()
	shape.DType = dtypes.Bool
	return b.elementwise(backends.OpTypeIsFinite, shape, in[0])
}

// IsNaN implements backends.Builder: what is not equal to itself.
func (b *Builder) IsNaN(x backends.Op) (backends.Op, error) { return b.NotEqual(x, x) }
