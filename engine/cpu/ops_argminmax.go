package cpu

import (
	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/backends/shapeinference"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/pkg/errors"
)

// argAttrs are the attributes of ArgMinMax.
type argAttrs struct {
	axis int
	min  bool
}

// ArgMinMax implements backends.Builder. The first of equal values wins, and
// the first NaN wins over all numbers.
func (b *Builder) ArgMinMax(x backends.Op, axis int, d dtypes.DType, isMin bool) (backends.Op, error) {
	in, err := b.check("ArgMinMax", x)
	if err != nil {
		return nil, err
	}
	if err := checkDType("ArgMinMax", d); err != nil {
		return nil, err
	}
	if in[0].shape.DType == dtypes.Bool { // false before true
		in[0] = b.convert(in[0], dtypes.Uint8)
	}
	shape, err := shapeinference.ArgMinMaxOp(in[0].shape, axis, d)
	if err != nil {
		return nil, err
	}
	if in[0].shape.Dimensions[axis] == 0 {
		return nil, errors.Errorf("ArgMinMax: axis %d of %s is empty", axis, in[0].shape)
	}
	arg := b.add(backends.OpTypeArgMinMax, shapes.Make(dtypes.Int64, shape.Dimensions...), argAttrs{axis, isMin}, b.widen(in)...)
	return b.convert(arg, d), nil
}

// lowerArgMinMax is the lowering of ArgMinMax, which counts in int64.
func lowerArgMinMax(n *node) (step, error) {
	switch d := n.inputs[0].shape.DType; d {
	case dtypes.Int8:
		return argStep[int8](n)
	case dtypes.Int16:
		return argStep[int16](n)
	case dtypes.Int32:
		return argStep[int32](n)
	case dtypes.Int64:
		return argStep[int64](n)
	case dtypes.Uint8:
		return argStep[uint8](n)
	case dtypes.Uint16:
		return argStep[uint16](n)
	case dtypes.Uint32:
		return argStep[uint32](n)
	case dtypes.Uint64:
		return argStep[uint64](n)
	case dtypes.Float32:
		return argStep[float32](n)
	case dtypes.Float64:
		return argStep[float64](n)
	default:
		return step{}, errors.Errorf("ArgMinMax is not defined for %s", d)
	}
}

func argStep[T number](n *node) (step, error) {
	attrs := n.attrs.(argAttrs)
	dims := n.inputs[0].shape.Dimensions
	length, inner := dims[attrs.axis], 1
	for _, d := range dims[attrs.axis+1:] {
		inner *= d
	}
	// better tells whether v takes the place of best.
	better := func(v, best T) bool { return v > best || v != v && best == best }
	if attrs.min {
		better = func(v, best T) bool { return v < best || v != v && best == best }
	}
	return step{run: func(f *frame) {
		out, x := data[int64](f, n), data[T](f, n.inputs[0])
		const per = 256
		f.pool.Run((len(out)+per-1)/per, func(task, _ int) {
			for i := task * per; i < min(len(out), (task+1)*per); i++ {
				at := i/inner*inner*length + i%inner
				best, arg := x[at], 0
				for k := 1; k < length; k++ {
					if v := x[at+k*inner]; better(v, best) {
						best, arg = v, k
					}
				}
				out[i] = int64(arg)
			}
		})
	}}, nil
}
