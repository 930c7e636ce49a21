package cpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/core/tensors"
)

// TestReduceWindow compares windows of all kinds, dilated ones included.
func TestReduceWindow(t *testing.T) {
	b := newBackend(t, "threads=2")
	rng := rand.New(rand.NewPCG(15, 1))
	for range 60 {
		rank := 1 + rng.IntN(4)
		var dims, size, stride, base, dilation []int
		var pads [][2]int
		for range rank {
			d, s, w, l := 2+rng.IntN(8), 1+rng.IntN(3), 1+rng.IntN(2), 1+rng.IntN(2)
			low, high := rng.IntN(s), rng.IntN(s)
			if short := (s-1)*w + 1 - ((d-1)*l + 1 + low + high); short > 0 {
				d += short
			}
			dims, size, stride, base, dilation = append(dims, d), append(size, s), append(stride, 1+rng.IntN(3)), append(base, l), append(dilation, w)
			pads = append(pads, [2]int{low, high})
		}
		for _, d := range []dtypes.DType{dtypes.Float32, dtypes.Float64, dtypes.Int32} {
			x := random(rng, d, -9, 9, dims...)
			differs(t, b, 1e-5, func(in []*Node) []*Node {
				var out []*Node
				for _, op := range []backends.ReduceOpType{backends.ReduceOpMax, backends.ReduceOpMin, backends.ReduceOpSum, backends.ReduceOpProduct} {
					out = append(out, BackendReduceWindow(in[0], op, size, stride, base, dilation, pads))
				}
				return out
			}, x)
		}
	}
}

// TestMaxPoolGradient sends each gradient to the first largest element.
func TestMaxPoolGradient(t *testing.T) {
	b := newBackend(t, "threads=2")
	x := tensors.FromValue([][][]float32{{{1}, {5}, {5}, {2}, {2}, {9}, {0}}})
	got := evaluate(t, b, func(in []*Node) []*Node {
		pool := MaxPool(in[0]).Window(3).Strides(2).NoPadding().Done() // windows 1 5 5, 5 2 2, 2 9 0
		weights := Const(in[0].Graph(), [][][]float32{{{1}, {10}, {100}}})
		return []*Node{pool, Gradient(ReduceAllSum(Mul(pool, weights)), in[0])[0]}
	}, args(x))
	if err := same(got[0], []float32{5, 5, 9}, 0); err != nil {
		t.Error(err)
	}
	if err := same(got[1], []float32{0, 1, 10, 0, 0, 100, 0}, 0); err != nil {
		t.Error(err)
	}
}

// TestRandomBits checks the generator against its published block function
// and that pieces do not depend on threads.
func TestRandomBits(t *testing.T) {
	state := [3]uint64{0x243F6A8885A308D3, math.MaxUint64 - 2, 5}
	const n = 40001
	var want []uint32
	counter := state
	for len(want) < n {
		w := philox([4]uint32{uint32(counter[1]), uint32(counter[1] >> 32), uint32(counter[2]), uint32(counter[2] >> 32)},
			[2]uint32{uint32(counter[0]), uint32(counter[0] >> 32)})
		want = append(want, w[:]...)
		counter = after(counter, 1)
	}
	for _, config := range []string{"threads=1", "threads=4"} {
		got := randomBits(t, newBackend(t, config), state, shapes.Make(dtypes.Uint32, n), shapes.Make(dtypes.Uint64, 3))
		if err := same(got[1], want[:n], 0); err != nil {
			t.Errorf("%s: %v", config, err)
		}
		if err := same(got[0], []uint64{state[0], counter[1], counter[2]}, 0); err != nil {
			t.Errorf("%s: next state: %v", config, err)
		}
		for i, v := range got[3].([]uint64) {
			if v != uint64(want[2*i])|uint64(want[2*i+1])<<32 {
				t.Errorf("%s: 64-bit element %d is %x", config, i, v)
			}
		}
		next := after(state, 2)
		if err := same(got[2], next[:], 0); err != nil {
			t.Errorf("%s: next state: %v", config, err)
		}
	}
}

// randomBits builds the generator through the backend's own interface, GoMLX
// having none for it, and returns the next state and the values of each shape.
func randomBits(t *testing.T, b backends.Backend, state [3]uint64, list ...shapes.Shape) []any {
	t.Helper()
	fail := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	builder := b.Builder("random bits")
	in, err := builder.Parameter("state", backends.RNGStateShape, nil)
	fail(err)
	var outs []backends.Op
	for _, s := range list {
		next, values, err := builder.RNGBitGenerator(in, s)
		fail(err)
		outs = append(outs, next, values)
	}
	exec, err := builder.Compile(outs, nil)
	fail(err)
	x, err := b.BufferFromFlatData(0, state[:], backends.RNGStateShape)
	fail(err)
	got, err := exec.Execute([]backends.Buffer{x}, nil, 0)
	fail(err)
	var flats []any
	for _, o := range got {
		flat, err := b.BufferData(o)
		fail(err)
		flats = append(flats, flat)
	}
	return flats
}

// philox is the block function of Philox4x32-10 from its paper.
func philox(c [4]uint32, k [2]uint32) [4]uint32 {
	for range 10 {
		p, q := uint64(0xD2511F53)*uint64(c[0]), uint64(0xCD9E8D57)*uint64(c[2])
		c = [4]uint32{uint32(q>>32) ^ c[1] ^ k[0], uint32(q), uint32(p>>32) ^ c[3] ^ k[1], uint32(p)}
		k[0] += 0x9E3779B9
		k[1] += 0xBB67AE85
	}
	return c
}

// TestBatchNorm holds the three operations against their definitions, with
// the feature axis in all places.
func TestBatchNorm(t *testing.T) {
	b := newBackend(t, "threads=2")
	rng := rand.New(rand.NewPCG(16, 1))
	dims := []int{6, 5, 4, 3}
	for axis := range dims {
		n := dims[axis]
		x, g := random(rng, dtypes.Float64, 5, 9, dims...), random(rng, dtypes.Float64, -1, 1, dims...)
		scale, offset := random(rng, dtypes.Float64, 1, 2, n), random(rng, dtypes.Float64, -1, 1, n)
		got := evaluate(t, b, func(in []*Node) []*Node {
			x, scale, offset, g := in[0], in[1], in[2], in[3]
			y, mean, variance := InternalBatchNormForTraining(x, scale, offset, 1e-3, axis)
			grads := Gradient(ReduceAllSum(Mul(y, g)), x, scale, offset)
			infer := InternalBatchNormForInference(x, scale, offset, mean, variance, 1e-3, axis)
			// The definition, in elementary operations, and its gradients.
			var others []int
			for i := range dims {
				if i != axis {
					others = append(others, i)
				}
			}
			m := ReduceAndKeep(x, ReduceMean, others...)
			v := ReduceAndKeep(Square(Sub(x, m)), ReduceMean, others...)
			wide := make([]int, 4)
			for i := range wide {
				wide[i] = 1
			}
			wide[axis] = n
			z := Add(Mul(Div(Sub(x, m), Sqrt(AddScalar(v, float64(float32(1e-3))))), Reshape(scale, wide...)), Reshape(offset, wide...))
			plain := Gradient(ReduceAllSum(Mul(z, g)), x, scale, offset)
			return []*Node{y, infer, mean, variance, grads[0], grads[1], grads[2], z, z, Reshape(m, n), Reshape(v, n), plain[0], plain[1], plain[2]}
		}, args(x, scale, offset, g))
		for i := range 7 {
			if err := same(got[i], got[7+i], 1e-9); err != nil {
				t.Errorf("axis %d, output %d: %v", axis, i, err)
			}
		}
	}
}
