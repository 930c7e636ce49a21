package cpu

import (
	"slices"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/backends/shapeinference"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/pkg/errors"
)

// axesAttrs are the axes of Transpose, Reverse, BroadcastInDim, Concatenate
// and Iota.
type axesAttrs struct{ axes []int }

// sliceAttrs are the attributes of Slice.
type sliceAttrs struct{ starts, strides []int }

// padAttrs are the attributes of Pad, one for each axis.
type padAttrs struct{ axes []backends.PadAxis }

// Reshape implements backends.Builder.
func (b *Builder) Reshape(x backends.Op, dims ...int) (backends.Op, error) {
	in, err := b.check("Reshape", x)
	if err != nil {
		return nil, err
	}
	shape, err := shapeinference.ReshapeOp(in[0].shape, dims)
	if err != nil {
		return nil, err
	}
	src := in[0]
	if src.op == backends.OpTypeReshape {
		src = src.inputs[0]
	}
	if src.shape.Equal(shape) {
		return src, nil
	}
	return b.add(backends.OpTypeReshape, shape, nil, src), nil
}

// Bitcast implements backends.Builder.
func (b *Builder) Bitcast(x backends.Op, d dtypes.DType) (backends.Op, error) {
	in, err := b.check("Bitcast", x)
	if err != nil {
		return nil, err
	}
	if err := checkDType("Bitcast", d); err != nil {
		return nil, err
	}
	from := in[0].shape
	if (from.DType == dtypes.Bool) != (d == dtypes.Bool) {
		return nil, errors.Errorf("Bitcast: no way between %s and %s", from.DType, d)
	}
	shape := from.Clone()
	shape.DType = d
	have, want := from.DType.Size(), d.Size()
	switch {
	case have > want:
		shape.Dimensions = append(shape.Dimensions, have/want)
	case have < want:
		last := from.Rank() - 1
		if last < 0 || from.Dimensions[last] != want/have {
			return nil, errors.Errorf("Bitcast: the last axis of %s must be %d to make %s", from, want/have, d)
		}
		shape.Dimensions = shape.Dimensions[:last]
	}
	return b.add(backends.OpTypeBitcast, shape, nil, in[0]), nil
}

// Transpose implements backends.Builder.
func (b *Builder) Transpose(x backends.Op, permutation ...int) (backends.Op, error) {
	in, err := b.check("Transpose", x)
	if err != nil {
		return nil, err
	}
	shape, err := shapeinference.TransposeOp(in[0].shape, permutation)
	if err != nil {
		return nil, err
	}
	if slices.IsSorted(permutation) {
		return in[0], nil
	}
	return b.add(backends.OpTypeTranspose, shape, axesAttrs{slices.Clone(permutation)}, in[0]), nil
}

// Broadcast implements the older form of backends.Builder: new axes in front.
func (b *Builder) Broadcast(x backends.Op, prefix ...int) (backends.Op, error) {
	in, err := b.check("Broadcast", x)
	if err != nil {
		return nil, err
	}
	shape := shapes.Make(in[0].shape.DType, slices.Concat(prefix, in[0].shape.Dimensions)...)
	axes := make([]int, in[0].shape.Rank())
	for i := range axes {
		axes[i] = len(prefix) + i
	}
	return b.broadcastInDim(in[0], shape, axes), nil
}

// BroadcastInDim implements backends.Builder.
func (b *Builder) BroadcastInDim(x backends.Op, shape shapes.Shape, axes []int) (backends.Op, error) {
	in, err := b.check("BroadcastInDim", x)
	if err != nil {
		return nil, err
	}
	if err := shapeinference.BroadcastInDimOp(in[0].shape, shape, axes); err != nil {
		return nil, err
	}
	if !slices.IsSorted(axes) {
		return nil, errors.Errorf("BroadcastInDim: axes %v are not increasing", axes)
	}
	return b.broadcastInDim(in[0], shape, axes), nil
}

func (b *Builder) broadcastInDim(x *node, shape shapes.Shape, axes []int) *node {
	shape = shape.Clone()
	shape.DType = x.shape.DType
	if x.shape.Equal(shape) {
		return x
	}
	return b.add(backends.OpTypeBroadcastInDim, shape, axesAttrs{slices.Clone(axes)}, x)
}

// Slice implements backends.Builder.
func (b *Builder) Slice(x backends.Op, starts, limits, strides []int) (backends.Op, error) {
	in, err := b.check("Slice", x)
	if err != nil {
		return nil, err
	}
	from := in[0].shape
	if len(strides) == 0 {
		strides = slices.Repeat([]int{1}, from.Rank())
	}
	if len(starts) != from.Rank() || len(limits) != from.Rank() || len(strides) != from.Rank() {
		return nil, errors.Errorf("Slice: starts %v, limits %v, strides %v do not fit shape %s", starts, limits, strides, from)
	}
	shape := from.Clone()
	for i, d := range from.Dimensions {
		// An empty slice may start at the end, as in XLA.
		if starts[i] < 0 || starts[i] > limits[i] || limits[i] > d || strides[i] < 1 {
			return nil, errors.Errorf("Slice: axis %d of %s: start %d, limit %d, stride %d", i, from, starts[i], limits[i], strides[i])
		}
		shape.Dimensions[i] = (limits[i] - starts[i] + strides[i] - 1) / strides[i]
	}
	if shape.Equal(from) {
		return in[0], nil
	}
	return b.add(backends.OpTypeSlice, shape, sliceAttrs{slices.Clone(starts), slices.Clone(strides)}, in[0]), nil
}

// Reverse implements backends.Builder.
func (b *Builder) Reverse(x backends.Op, axes ...int) (backends.Op, error) {
	in, err := b.check("Reverse", x)
	if err != nil {
		return nil, err
	}
	axes = slices.Sorted(slices.Values(axes))
	for i, a := range axes {
		if a < 0 || a >= in[0].shape.Rank() || i > 0 && a == axes[i-1] {
			return nil, errors.Errorf("Reverse: axes %v do not fit shape %s", axes, in[0].shape)
		}
	}
	return b.add(backends.OpTypeReverse, in[0].shape, axesAttrs{axes}, in[0]), nil
}

// Concatenate implements backends.Builder.
func (b *Builder) Concatenate(axis int, operands ...backends.Op) (backends.Op, error) {
	in, err := b.check("Concatenate", operands...)
	if err != nil {
		return nil, err
	}
	list := make([]shapes.Shape, len(in))
	for i, n := range in {
		list[i] = n.shape
	}
	shape, err := shapeinference.ConcatenateOp(list, axis)
	if err != nil {
		return nil, err
	}
	if len(in) == 1 {
		return in[0], nil
	}
	return b.add(backends.OpTypeConcatenate, shape, axesAttrs{[]int{axis}}, in...), nil
}

// Pad implements backends.Builder. Negative amounts at the ends crop.
func (b *Builder) Pad(x, fill backends.Op, axes ...backends.PadAxis) (backends.Op, error) {
	in, err := b.check("Pad", x, fill)
	if err != nil {
		return nil, err
	}
	shape := in[0].shape.Clone()
	if !in[1].shape.Equal(shapes.Make(shape.DType)) {
		return nil, errors.Errorf("Pad: the fill value of %s must be a scalar of its type, not %s", shape, in[1].shape)
	}
	if len(axes) > shape.Rank() {
		return nil, errors.Errorf("Pad: %d axes for shape %s", len(axes), shape)
	}
	axes = append(slices.Clone(axes), make([]backends.PadAxis, shape.Rank()-len(axes))...)
	for i, p := range axes {
		d := shape.Dimensions[i]
		d += p.Start + p.End + max(0, d-1)*p.Interior
		if p.Interior < 0 || d < 0 {
			return nil, errors.Errorf("Pad: axis %d of %s cannot be padded by %+v", i, shape, p)
		}
		shape.Dimensions[i] = d
	}
	return b.add(backends.OpTypePad, shape, padAttrs{axes}, in...), nil
}

// Iota implements backends.Builder.
func (b *Builder) Iota(shape shapes.Shape, axis int) (backends.Op, error) {
	if _, err := b.check("Iota"); err != nil {
		return nil, err
	}
	if err := checkDType("Iota", shape.DType); err != nil {
		return nil, err
	}
	if axis < 0 || axis >= shape.Rank() || shape.DType == dtypes.Bool {
		return nil, errors.Errorf("Iota: no axis %d of numbers in shape %s", axis, shape)
	}
	// Counted in int64 and converted, so that every type has it.
	line := b.add(backends.OpTypeIota, shapes.Make(dtypes.Int64, shape.Dimensions[axis]), nil)
	return b.broadcastInDim(b.convert(line, shape.DType), shape, []int{axis}), nil
}
