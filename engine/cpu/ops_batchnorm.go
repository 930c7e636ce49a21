package cpu

import (
	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/pkg/errors"
)

// Batch normalisation is written in terms of other operations: the passes fuse
// them into as few sweeps over memory as a special kernel would take.

// formula builds an expression and remembers the first error.
type formula struct {
	b    *Builder
	err  error
	like shapes.Shape // of the operand
	axis int          // of its features
}

func (e *formula) op(f func(x, y backends.Op) (backends.Op, error), x, y *node) *node {
	if e.err != nil {
		return nil
	}
	r, err := f(x, y)
	if err != nil {
		e.err = err
		return nil
	}
	return r.(*node)
}

func (e *formula) add(x, y *node) *node { return e.op(e.b.Add, x, y) }
func (e *formula) sub(x, y *node) *node { return e.op(e.b.Sub, x, y) }
func (e *formula) mul(x, y *node) *node { return e.op(e.b.Mul, x, y) }

// rsqrt is 1/sqrt(x + eps).
func (e *formula) rsqrt(x *node, eps float32) *node {
	sum := e.add(x, e.number(float64(eps)))
	return e.op(func(x, _ backends.Op) (backends.Op, error) { return e.b.Rsqrt(x) }, sum, sum)
}

// number is a scalar of the operand's type.
func (e *formula) number(v float64) *node {
	if e.like.DType == dtypes.Float64 {
		return e.b.constant(shapes.Make(dtypes.Float64), bytesOf([]float64{v}))
	}
	return e.b.constant(shapes.Make(dtypes.Float32), bytesOf([]float32{float32(v)}))
}

// spread broadcasts one value a feature to the operand's shape.
func (e *formula) spread(x *node) *node {
	if e.err != nil {
		return nil
	}
	return e.b.broadcastInDim(x, e.like, []int{e.axis})
}

// sum adds up over all axes but the features'.
func (e *formula) sum(x *node) *node {
	axes := otherAxes(e.like.Rank(), []int{e.axis}, nil)
	if len(axes) == 0 {
		return x
	}
	return e.op(func(x, _ backends.Op) (backends.Op, error) { return e.b.ReduceSum(x, axes...) }, x, x)
}

// count is the number of elements of a feature.
func (e *formula) count() float64 {
	return float64(e.like.Size()) / float64(e.like.Dimensions[e.axis])
}

// newFormula checks the operands of a batch normalisation: full ones with the
// shape of the first, and one value a feature. Half precision becomes float32.
func (b *Builder) newFormula(what string, axis int, full, perFeature []backends.Op) (*formula, []*node, error) {
	in, err := b.check(what, append(full, perFeature...)...)
	if err != nil {
		return nil, nil, err
	}
	shape := in[0].shape
	if !shape.DType.IsFloat() {
		return nil, nil, errors.Errorf("backend %q: operation %s is not defined for %s", Name, what, shape.DType)
	}
	if axis < 0 || axis >= shape.Rank() || shape.Size() == 0 {
		return nil, nil, errors.Errorf("%s: no features on axis %d of %s", what, axis, shape)
	}
	for i, n := range in {
		want := shape
		if i >= len(full) {
			want = shapes.Make(shape.DType, shape.Dimensions[axis])
		}
		if !n.shape.Equal(want) {
			return nil, nil, errors.Errorf("%s: operand %d has shape %s, want %s", what, i, n.shape, want)
		}
	}
	in = b.widen(in)
	return &formula{b: b, like: in[0].shape, axis: axis}, in, nil
}

// BatchNormForInference implements backends.Builder.
func (b *Builder) BatchNormForInference(operand, scale, offset, mean, variance backends.Op, eps float32, axis int) (backends.Op, error) {
	e, in, err := b.newFormula("BatchNormForInference", axis, []backends.Op{operand}, []backends.Op{scale, offset, mean, variance})
	if err != nil {
		return nil, err
	}
	out := e.normalize(in[0], in[1], in[2], in[3], in[4], eps)
	if e.err != nil {
		return nil, e.err
	}
	return b.convert(out, operand.(*node).shape.DType), nil
}

// normalize is (x - mean) * (scale / sqrt(variance + eps)) + offset.
func (e *formula) normalize(x, scale, offset, mean, variance *node, eps float32) *node {
	slope := e.mul(scale, e.rsqrt(variance, eps))
	return e.add(e.mul(e.sub(x, e.spread(mean)), e.spread(slope)), e.spread(offset))
}

// BatchNormForTraining implements backends.Builder. The variance is the mean
// of squared distances from the mean, taken in a second sweep: no digits are
// lost where the mean is large.
func (b *Builder) BatchNormForTraining(operand, scale, offset backends.Op, eps float32, axis int) (
	normalized, batchMean, batchVariance backends.Op, err error) {
	e, in, err := b.newFormula("BatchNormForTraining", axis, []backends.Op{operand}, []backends.Op{scale, offset})
	if err != nil {
		return nil, nil, nil, err
	}
	share := e.number(1 / e.count())
	mean := e.mul(e.sum(in[0]), share)
	apart := e.sub(in[0], e.spread(mean))
	variance := e.mul(e.sum(e.mul(apart, apart)), share)
	out := e.normalize(in[0], in[1], in[2], mean, variance, eps)
	if e.err != nil {
		return nil, nil, nil, e.err
	}
	d := operand.(*node).shape.DType
	return b.convert(out, d), b.convert(mean, d), b.convert(variance, d), nil
}

// BatchNormGradient implements backends.Builder. With h = (x-mean)/sqrt(variance+eps):
// the gradients are of offset sum(g), of scale sum(g h), and of the operand
// scale/sqrt(variance+eps) * (g - mean(g) - h mean(g h)).
func (b *Builder) BatchNormGradient(operand, scale, mean, variance, gradOutput backends.Op, eps float32, axis int) (
	gradOperand, gradScale, gradOffset backends.Op, err error) {
	e, in, err := b.newFormula("BatchNormGradient", axis, []backends.Op{operand, gradOutput}, []backends.Op{scale, mean, variance})
	if err != nil {
		return nil, nil, nil, err
	}
	x, g, gamma, mu := in[0], in[1], in[2], in[3]
	inverse := e.rsqrt(in[4], eps)
	apart := e.sub(x, e.spread(mu))
	ofOffset := e.sum(g)
	ofScale := e.mul(e.sum(e.mul(g, apart)), inverse)
	share := e.number(1 / e.count())
	slope := e.mul(gamma, inverse)
	lean := e.mul(e.mul(ofScale, inverse), share) // mean(g h) / sqrt(variance+eps)
	inner := e.sub(e.sub(g, e.spread(e.mul(ofOffset, share))), e.mul(apart, e.spread(lean)))
	ofOperand := e.mul(inner, e.spread(slope))
	if e.err != nil {
		return nil, nil, nil, e.err
	}
	d := operand.(*node).shape.DType
	return b.convert(ofOperand, d), b.convert(ofScale, d), b.convert(ofOffset, d), nil
}
