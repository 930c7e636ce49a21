package cpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/core/tensors"
)

// TestReduce compares all reductions over all subsets of axes, of operands as
// they are and of fused chains with broadcasts inside.
func TestReduce(t *testing.T) {
	b := newBackend(t, "threads=2")
	rng := rand.New(rand.NewPCG(10, 1))
	ops := []func(*Node, ...int) *Node{ReduceSum, ReduceMax, ReduceMin, ReduceMultiply}
	for _, dims := range [][]int{{5, 3, 17}, {1, 9, 1, 130}, {40, 17, 65}} {
		for _, d := range []dtypes.DType{dtypes.Float32, dtypes.Float64, dtypes.Int64} {
			x, c := random(rng, d, 1, 1.5, dims...), random(rng, d, 0, 1, dims[len(dims)-1])
			for mask := 1; mask < 1<<len(dims); mask++ {
				var axes []int
				for i := range dims {
					if mask>>i&1 == 1 {
						axes = append(axes, i)
					}
				}
				differs(t, b, 2e-5, func(in []*Node) []*Node {
					chain := Sub(in[0], ExpandLeftToRank(in[1], len(dims)))
					var out []*Node
					for i, op := range ops {
						if i < 3 || d != dtypes.Float32 || len(dims) < 3 {
							out = append(out, op(in[0], axes...))
						}
						if i < 3 {
							out = append(out, op(chain, axes...))
						}
					}
					return out
				}, x, c)
			}
		}
	}
	x := random(rng, dtypes.Int32, -100, 100, 7, 30)
	differs(t, b, 0, func(in []*Node) []*Node {
		p := GreaterThan(in[0], ScalarZero(in[0].Graph(), dtypes.Int32))
		return []*Node{
			ReduceBitwiseAnd(in[0], 1), ReduceBitwiseOr(in[0], 0), ReduceBitwiseXor(in[0], 0, 1),
			ReduceLogicalAnd(p, 1), ReduceLogicalOr(p, 0), ReduceLogicalXor(p, 1),
		}
	}, x)
}

// TestArgMax checks ties, NaN and infinities.
func TestArgMax(t *testing.T) {
	b := newBackend(t, "")
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	x := tensors.FromValue([][]float32{
		{1, 3, 3, 2}, {0, 0, 0, 0}, {1, nan, 5, nan}, {-inf, -inf, inf, 0}, {nan, 9, 9, 9}, {-1, -2, -2, -0.5},
	})
	got := evaluate(t, b, func(in []*Node) []*Node {
		return []*Node{ArgMax(in[0], 1), ArgMin(in[0], 1, dtypes.Int64), ArgMax(in[0], 0, dtypes.Uint8)}
	}, args(x))
	if err := same(got[0], []int32{1, 0, 1, 2, 0, 3}, 0); err != nil {
		t.Error("ArgMax", err)
	}
	if err := same(got[1], []int64{0, 0, 1, 0, 0, 1}, 0); err != nil {
		t.Error("ArgMin", err)
	}
	if err := same(got[2], []uint8{4, 2, 3, 2}, 0); err != nil {
		t.Error("ArgMax over rows", err)
	}
	rng := rand.New(rand.NewPCG(11, 1))
	for _, d := range numberTypes {
		y := random(rng, d, -50, 50, 6, 700, 3)
		differs(t, b, 0, func(in []*Node) []*Node { return []*Node{ArgMax(in[0], 1), ArgMin(in[0], 2)} }, y)
	}
}

// TestNaN checks that NaN spreads where XLA lets it.
func TestNaN(t *testing.T) {
	b := newBackend(t, "")
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	x := tensors.FromValue([]float32{nan, 1, -inf, inf, 0})
	got := evaluate(t, b, func(in []*Node) []*Node {
		g := in[0].Graph()
		zero := ScalarZero(g, dtypes.Float32)
		return []*Node{
			Max(in[0], zero), Min(zero, in[0]), Sign(in[0]), IsFinite(in[0]), IsNaN(in[0]),
			ReduceAllMax(in[0]), ReduceAllSum(in[0]), ConvertDType(in[0], dtypes.Int32), ConvertDType(in[0], dtypes.Uint8),
		}
	}, args(x))
	want := []any{
		[]float32{nan, 1, 0, inf, 0}, []float32{nan, 0, -inf, 0, 0}, []float32{nan, 1, -1, 1, 0},
		[]bool{false, true, false, false, true}, []bool{true, false, false, false, false},
		[]float32{nan}, []float32{nan}, []int32{0, 1, math.MinInt32, math.MaxInt32, 0}, []uint8{0, 1, 0, 255, 0},
	}
	for i, w := range want {
		if err := same(got[i], w, 0); err != nil {
			t.Errorf("output %d: %v", i, err)
		}
	}
	tiny := tensors.FromValue([]float32{math.SmallestNonzeroFloat32, -math.SmallestNonzeroFloat32, math.MaxFloat32, -math.MaxFloat32})
	if err := same(evaluate(t, b, func(in []*Node) []*Node { return []*Node{Sign(in[0])} }, args(tiny))[0], []float32{1, -1, 1, -1}, 0); err != nil {
		t.Error("Sign at the ends of the range:", err)
	}
}

// TestIntegerEdges checks what Go would panic on.
func TestIntegerEdges(t *testing.T) {
	b := newBackend(t, "")
	x, y := tensors.FromValue([]int32{7, -7, math.MinInt32, 5, 3}), tensors.FromValue([]int32{0, 0, -1, -1, 40})
	got := evaluate(t, b, func(in []*Node) []*Node {
		return []*Node{
			Div(in[0], in[1]), Mod(in[0], in[1]), Pow(in[0], in[1]),
			BitwiseShiftLeft(in[0], in[1]), BitwiseShiftRightArithmetic(in[0], in[1]), BitwiseShiftRightLogical(in[0], in[1]),
		}
	}, args(x, y))
	want := []any{
		[]int32{-1, -1, math.MinInt32, -5, 0}, []int32{7, -7, 0, 0, 3}, []int32{1, 1, 0, 0, powInt[int32](3, 40)},
		[]int32{7, -7, 0, 0, 0}, []int32{7, -7, -1, 0, 0}, []int32{7, -7, 0, 0, 0},
	}
	for i, w := range want {
		if err := same(got[i], w, 0); err != nil {
			t.Errorf("output %d: %v", i, err)
		}
	}
}

// TestEmpty runs operations on axes of size zero, and on scalars.
func TestEmpty(t *testing.T) {
	b := newBackend(t, "threads=2")
	x := tensors.FromShape(shapes.Make(dtypes.Float32, 3, 0, 2))
	got := evaluate(t, b, func(in []*Node) []*Node {
		v, g := in[0], in[0].Graph()
		return []*Node{
			Add(Exp(v), Ones(g, shapes.Make(dtypes.Float32, 3, 1, 2))), ReduceSum(v, 1), ReduceMax(v, 1), ReduceSum(v, 0),
			TransposeAllDims(v, 2, 1, 0), Concatenate([]*Node{v, v}, 1), Reshape(v, 0), Reverse(v, 0),
			DotGeneral(v, []int{1}, nil, v, []int{1}, nil), Where(GreaterThan(v, v), v, v), ReduceAllMin(v),
			Pad(v, ScalarZero(g, dtypes.Float32), PadAxis{}, PadAxis{Start: 1}, PadAxis{}),
		}
	}, args(x))
	inf := float32(math.Inf(1))
	want := []any{
		[]float32{}, make([]float32, 6), []float32{-inf, -inf, -inf, -inf, -inf, -inf}, []float32{}, []float32{}, []float32{},
		[]float32{}, []float32{}, make([]float32, 36), []float32{}, []float32{inf}, make([]float32, 6),
	}
	for i, w := range want {
		if err := same(got[i], w, 0); err != nil {
			t.Errorf("output %d: %v", i, err)
		}
	}
}
