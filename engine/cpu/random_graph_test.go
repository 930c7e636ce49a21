package cpu

import (
	"math/rand/v2"
	"testing"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
)

// randomGraph builds a graph of random operations on matrices: chains that
// fuse, values with many users, broadcasts, reductions, transposes, slices.
// It is what the passes and the memory plan have to get right together.
func randomGraph(seed uint64, ops int) graphFn {
	return func(in []*Node) []*Node {
		rng := rand.New(rand.NewPCG(seed, 22))
		values := append([]*Node{}, in...)
		any := func() *Node { return values[rng.IntN(len(values))] }
		tame := func(x *Node) *Node { // keeps values small, whatever came before
			return Div(x, OnePlus(Abs(x)))
		}
		for range ops {
			x, y := any(), any()
			rows, cols := x.Shape().Dimensions[0], x.Shape().Dimensions[1]
			if !x.Shape().Equal(y.Shape()) {
				y = BroadcastToDims(ReduceAndKeep(y, ReduceMean, 0, 1), rows, cols)
			}
			// Conditions are of the inputs: rounding cannot turn them.
			cond := GreaterThan(in[0], in[1])
			if !cond.Shape().EqualDimensions(x.Shape()) {
				cond = TransposeAllDims(cond, 1, 0)
			}
			var z *Node
			switch rng.IntN(14) {
			case 0:
				z = Add(x, y)
			case 1:
				z = Sub(y, x)
			case 2:
				z = tame(Mul(x, y))
			case 3:
				z = Max(x, Neg(y))
			case 4:
				z = Where(cond, x, MulScalar(y, 0.5))
			case 5:
				z = Mul(x, ConvertDType(LogicalNot(cond), dtypes.Float32))
			case 6:
				z = Sub(x, ReduceAndKeep(x, ReduceMean, rng.IntN(2)))
			case 7:
				z = TransposeAllDims(x, 1, 0)
			case 8:
				z = AddScalar(Abs(x), -0.25)
			case 9:
				z = Mul(x, BroadcastToDims(Reshape(Slice(y, AxisRange(0, 1)), 1, cols), rows, cols))
			case 10:
				z = tame(Add(x, BroadcastToDims(Slice(y, AxisRange(), AxisRange(0, 1)), rows, cols)))
			case 11:
				z = Concatenate([]*Node{Slice(x, AxisRange(rows/2)), Slice(x, AxisRange(0, rows/2))}, 0)
			case 12:
				z = Reshape(Min(Reshape(x, -1), Reshape(y, -1)), rows, cols)
			default:
				z = Tanh(x)
			}
			values = append(values, z)
		}
		outs := []*Node{values[len(values)-1], values[len(values)-1], in[0]}
		for range 3 {
			outs = append(outs, any())
		}
		return append(outs, ReduceAllSum(any()))
	}
}

func checkRandomGraph(t *testing.T, b backends.Backend, seed uint64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 23))
	rows, cols := 2+rng.IntN(40), 2+rng.IntN(70)
	in := args(random(rng, dtypes.Float32, -2, 2, rows, cols), random(rng, dtypes.Float32, -2, 2, rows, cols))
	fn := randomGraph(seed, 5+rng.IntN(60))
	got, want := evaluate(t, b, fn, in), evaluate(t, portable(), distinctOutputs(fn), in)
	for i := range want {
		if err := same(got[i], want[i], 2e-3); err != nil {
			t.Errorf("seed %d, output %d: %v", seed, i, err)
		}
	}
}

// distinctOutputs adds zero to every output: the portable backend cannot give
// one value twice.
func distinctOutputs(fn graphFn) graphFn {
	return func(in []*Node) []*Node {
		outs := fn(in)
		for i, o := range outs {
			outs[i] = Add(o, Scalar(o.Graph(), o.DType(), float64(i)*0))
		}
		return outs
	}
}

func TestRandomGraphs(t *testing.T) {
	b := newBackend(t, "threads=2")
	for seed := range uint64(150) {
		checkRandomGraph(t, b, seed)
	}
}

func FuzzGraph(f *testing.F) {
	b := newBackend(f, "threads=2")
	f.Fuzz(func(t *testing.T, seed uint64) { checkRandomGraph(t, b, seed) })
}
