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

// TestTotalOrder compares with the order that the operations promise.
func TestTotalOrder(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	var order []float32
	for _, v := range []float64{math.Copysign(nan, -1), -inf, -2, math.Copysign(0, -1), 0, 1e-45, 2, inf, nan} {
		order = append(order, float32(v))
	}
	b := newBackend(t, "").(*Backend)
	builder := b.Builder("total order")
	n := len(order)
	var ops [2]backends.Op
	var in [2]backends.Buffer
	flat := [2][]float32{make([]float32, n*n), make([]float32, n*n)}
	for i := range n * n {
		flat[0][i], flat[1][i] = order[i/n], order[i%n]
	}
	shape := shapes.Make(dtypes.Float32, n, n)
	for i := range ops {
		var err error
		if ops[i], err = builder.Parameter("x", shape, nil); err != nil {
			t.Fatal(err)
		}
		if in[i], err = b.BufferFromFlatData(0, flat[i], shape); err != nil {
			t.Fatal(err)
		}
	}
	cases := []struct {
		build func(x, y backends.Op) (backends.Op, error)
		want  func(i, j int) bool
	}{
		{builder.LessThanTotalOrder, func(i, j int) bool { return i < j }},
		{builder.LessOrEqualTotalOrder, func(i, j int) bool { return i <= j }},
		{builder.GreaterThanTotalOrder, func(i, j int) bool { return i > j }},
		{builder.GreaterOrEqualTotalOrder, func(i, j int) bool { return i >= j }},
		{builder.EqualTotalOrder, func(i, j int) bool { return i == j }},
		{builder.NotEqualTotalOrder, func(i, j int) bool { return i != j }},
	}
	var outs []backends.Op
	for _, c := range cases {
		o, err := c.build(ops[0], ops[1])
		if err != nil {
			t.Fatal(err)
		}
		outs = append(outs, o)
	}
	e, err := builder.Compile(outs, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := e.Execute(in[:], nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for k, c := range cases {
		for i, v := range view[bool](got[k].(*buffer).mem) {
			if v != c.want(i/n, i%n) {
				t.Errorf("case %d: %v with %v gives %v", k, order[i/n], order[i%n], v)
			}
		}
	}
}

// TestSelect compares Where and Clamp, and conversions to bool, with what
// they say.
func TestSelect(t *testing.T) {
	b := newBackend(t, "")
	rng := rand.New(rand.NewPCG(24, 1))
	for _, d := range numberTypes {
		cond := random(rng, dtypes.Bool, 0, 1, 5, 300)
		x, y := random(rng, d, 0, 100, 5, 300), random(rng, d, 0, 100, 5, 300)
		differs(t, b, 0, func(in []*Node) []*Node {
			g := in[0].Graph()
			low, high := Scalar(g, d, 20), Scalar(g, d, 60)
			return []*Node{
				Where(in[0], in[1], in[2]), Where(in[0], in[1], low), Where(in[0], low, high),
				Where(Const(g, true), in[1], in[2]), Clip(in[1], low, high),
			}
		}, cond, x, y)
	}
	x := tensors.FromValue([]float32{0, 0.25, -3, float32(math.NaN()), float32(math.Copysign(0, -1))})
	got := evaluate(t, b, func(in []*Node) []*Node {
		p := ConvertDType(in[0], dtypes.Bool)
		return []*Node{p, ConvertDType(p, dtypes.Float64), Max(p, LogicalNot(p)), LessThan(p, LogicalNot(p))}
	}, args(x))
	want := []any{
		[]bool{false, true, true, true, false}, []float64{0, 1, 1, 1, 0},
		[]bool{true, true, true, true, true}, []bool{true, false, false, false, true},
	}
	for i, w := range want {
		if err := same(got[i], w, 0); err != nil {
			t.Errorf("output %d: %v", i, err)
		}
	}
}
