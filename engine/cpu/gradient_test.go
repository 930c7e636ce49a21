package cpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/core/tensors/images"
)

// convNet is convolution, batch normalisation, ReLU, pooling, twice, with
// strides, a residual and both poolings; its loss is a weighted sum.
func convNet(in []*Node) *Node {
	x, k1, k2, scale, offset := in[0], in[1], in[2], in[3], in[4]
	relu := func(x *Node) *Node { return Max(x, ScalarZero(x.Graph(), x.DType())) }
	y := Convolve(x, k1).ChannelsAxis(images.ChannelsFirst).PadSame().Done()
	y, _, _ = InternalBatchNormForTraining(y, scale, offset, 1e-3, 1)
	y = relu(y)
	y = Add(MaxPool(y).ChannelsAxis(images.ChannelsFirst).Window(3).Strides(2).PadSame().Done(),
		Convolve(y, k2).ChannelsAxis(images.ChannelsFirst).Strides(2).PadSame().Done())
	y = MeanPool(relu(y)).ChannelsAxis(images.ChannelsFirst).Window(2).Strides(2).Done()
	return ReduceAllSum(Mul(Tanh(y), Sin(IotaFull(y.Graph(), y.Shape()))))
}

// TestGradients holds the gradients of a network against finite differences,
// in float64, and those in float32 against float64.
func TestGradients(t *testing.T) {
	b := newBackend(t, "threads=2")
	rng := rand.New(rand.NewPCG(17, 1))
	in := args(random(rng, dtypes.Float64, -1, 1, 2, 3, 9, 8), random(rng, dtypes.Float64, -1, 1, 4, 3, 3, 3),
		random(rng, dtypes.Float64, -1, 1, 4, 4, 3, 3), random(rng, dtypes.Float64, 0.5, 2, 4), random(rng, dtypes.Float64, -1, 1, 4))
	grads := func(d dtypes.DType) graphFn {
		return func(in []*Node) []*Node {
			cast := make([]*Node, len(in))
			for i, n := range in {
				cast[i] = ConvertDType(n, d)
			}
			out := Gradient(convNet(cast), cast...)
			for i, n := range out {
				out[i] = ConvertDType(n, dtypes.Float64)
			}
			return out
		}
	}
	got := evaluate(t, b, grads(dtypes.Float64), in)
	for i, g := range evaluate(t, b, grads(dtypes.Float32), in) {
		if err := same(g, got[i], 2e-4); err != nil {
			t.Errorf("gradient %d in float32: %v", i, err)
		}
	}
	exec, err := NewExec(b, func(in []*Node) *Node { return convNet(in) })
	if err != nil {
		t.Fatal(err)
	}
	loss := func() float64 {
		list := make([]any, len(in))
		for i, x := range in {
			list[i] = x
		}
		outs, err := exec.Exec(list...)
		if err != nil {
			t.Fatal(err)
		}
		return tensors.ToScalar[float64](outs[0])
	}
	for i, x := range in {
		for range 12 {
			k := rng.IntN(x.Size())
			const h = 1e-6
			nudge := func(by float64) float64 {
				err := x.MutableFlatData(func(flat any) { flat.([]float64)[k] += by })
				if err != nil {
					t.Fatal(err)
				}
				return loss()
			}
			up := nudge(h)
			down := nudge(-2 * h)
			nudge(h)
			want := (up - down) / (2 * h)
			if g := got[i].([]float64)[k]; math.Abs(g-want) > 1e-6*(1+math.Abs(want)) {
				t.Errorf("gradient of input %d at %d is %v, finite difference %v", i, k, g, want)
			}
		}
	}
}

// TestTransformer compares a transformer's block (layer norm, attention with
// batched products and softmax, GELU with Erf) and its gradient with the
// portable backend.
func TestTransformer(t *testing.T) {
	b := newBackend(t, "threads=2")
	rng := rand.New(rand.NewPCG(18, 1))
	const tokens, heads, width = 17, 4, 32
	norm := func(x *Node) *Node {
		x = Sub(x, ReduceAndKeep(x, ReduceMean, -1))
		return Div(x, Sqrt(AddScalar(ReduceAndKeep(Square(x), ReduceMean, -1), 1e-5)))
	}
	block := func(in []*Node) *Node {
		x, wq, wk, wv, w1, w2 := in[0], in[1], in[2], in[3], in[4], in[5]
		split := func(w *Node) *Node {
			return Reshape(Einsum("btw,wv->btv", norm(x), w), 3, tokens, heads, width/heads)
		}
		scores := Einsum("bqhd,bkhd->bhqk", split(wq), split(wk))
		mixed := Einsum("bhqk,bkhd->bqhd", Softmax(MulScalar(scores, 1/math.Sqrt(width/heads)), -1), split(wv))
		x = Add(x, Reshape(mixed, 3, tokens, width))
		y := Einsum("btw,wv->btv", norm(x), w1)
		y = Mul(MulScalar(y, 0.5), OnePlus(Erf(MulScalar(y, math.Sqrt2/2))))
		return Add(x, Einsum("btv,vw->btw", y, w2))
	}
	w := func(dims ...int) *tensors.Tensor { return random(rng, dtypes.Float32, -0.3, 0.3, dims...) }
	differs(t, b, 2e-4, func(in []*Node) []*Node {
		y := block(in)
		return append([]*Node{y}, Gradient(ReduceAllSum(Square(y)), in...)...)
	}, w(3, tokens, width), w(width, width), w(width, width), w(width, width), w(width, 64), w(64, width))
}
