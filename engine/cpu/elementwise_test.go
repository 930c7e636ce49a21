package cpu

import (
	"math/rand/v2"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
)

var numberTypes = []dtypes.DType{
	dtypes.Int8, dtypes.Int16, dtypes.Int32, dtypes.Int64, dtypes.Uint8, dtypes.Uint16, dtypes.Uint32, dtypes.Uint64,
	dtypes.Float32, dtypes.Float64,
}

// TestUnary compares every unary operation with the portable backend.
func TestUnary(t *testing.T) {
	b := newBackend(t, "threads=2")
	rng := rand.New(rand.NewPCG(1, 1))
	floats := map[string]struct {
		fn     func(*Node) *Node
		lo, hi float64
	}{
		"Abs": {Abs, -3, 3}, "Neg": {Neg, -3, 3}, "Sign": {Sign, -3, 3}, "Ceil": {Ceil, -3, 3}, "Floor": {Floor, -3, 3},
		"Round": {Round, -3, 3}, "Exp": {Exp, -20, 20}, "Expm1": {Expm1, -3, 3}, "Log": {Log, 1e-6, 50}, "Log1p": {Log1p, -0.9, 5},
		"Sqrt": {Sqrt, 0, 50}, "Rsqrt": {Rsqrt, 0.1, 50}, "Cos": {Cos, -20, 20}, "Sin": {Sin, -20, 20}, "Tanh": {Tanh, -4, 4},
		"Erf": {Erf, -4, 4}, "Logistic": {Sigmoid, -10, 10}, "IsFinite": {IsFinite, -3, 3},
	}
	for name, c := range floats {
		t.Run(name, func(t *testing.T) {
			for _, d := range []dtypes.DType{dtypes.Float32, dtypes.Float64} {
				for _, dims := range [][]int{{}, {7}, {3, 1031}, {20011}} {
					x := random(rng, d, c.lo, c.hi, dims...)
					differs(t, b, 2e-6, func(in []*Node) []*Node { return []*Node{c.fn(in[0])} }, x)
				}
			}
		})
	}
	integers := map[string]func(*Node) *Node{"BitwiseNot": BitwiseNot, "BitCount": BitCount, "Clz": Clz, "Abs": Abs, "Sign": Sign}
	for name, fn := range integers {
		t.Run("integer "+name, func(t *testing.T) {
			for _, d := range numberTypes[:8] {
				x := random(rng, d, -100, 100, 5, 13)
				differs(t, b, 0, func(in []*Node) []*Node { return []*Node{fn(in[0])} }, x)
			}
		})
	}
	t.Run("LogicalNot", func(t *testing.T) {
		differs(t, b, 0, func(in []*Node) []*Node { return []*Node{LogicalNot(in[0])} }, random(rng, dtypes.Bool, 0, 1, 99))
	})
}

// TestBinary compares every binary operation, with all kinds of broadcasts.
func TestBinary(t *testing.T) {
	b := newBackend(t, "threads=2")
	rng := rand.New(rand.NewPCG(2, 1))
	ops := map[string]func(x, y *Node) *Node{
		"Add": Add, "Sub": Sub, "Mul": Mul, "Max": Max, "Min": Min, "Div": Div, "Rem": Mod,
		"Equal": Equal, "NotEqual": NotEqual, "LessThan": LessThan, "LessOrEqual": LessOrEqual,
		"GreaterThan": GreaterThan, "GreaterOrEqual": GreaterOrEqual,
	}
	dims := [][2][]int{
		{{5, 7}, {5, 7}}, {{5, 7}, {}}, {{}, {5, 7}}, {{5, 1}, {5, 7}}, {{5, 7}, {1, 7}}, {{5, 1}, {1, 7}}, {{}, {}},
		{{1, 6, 33, 33}, {1, 6, 1, 1}}, {{1, 33, 33, 16}, {1, 1, 1, 16}}, {{9, 1, 4}, {9, 50, 4}},
	}
	for name, op := range ops {
		t.Run(name, func(t *testing.T) {
			for _, d := range numberTypes {
				for i, s := range dims {
					if i > 3 && d != dtypes.Float32 && d != dtypes.Int16 {
						break // broadcasts know the size of a type, not the type
					}
					x, y := random(rng, d, 0, 20, s[0]...), random(rng, d, 1, 20, s[1]...)
					differs(t, b, 1e-6, func(in []*Node) []*Node { return []*Node{op(in[0], in[1])} }, x, y)
				}
			}
		})
	}
	t.Run("Pow", func(t *testing.T) {
		for _, d := range []dtypes.DType{dtypes.Float32, dtypes.Float64, dtypes.Int32} {
			differs(t, b, 1e-5, func(in []*Node) []*Node { return []*Node{Pow(in[0], in[1])} },
				random(rng, d, 0, 4, 50), random(rng, d, 0, 5, 50))
		}
	})
	bits := map[string]func(x, y *Node) *Node{"And": BitwiseAnd, "Or": BitwiseOr, "Xor": BitwiseXor}
	for name, op := range bits {
		t.Run("Bitwise"+name, func(t *testing.T) {
			for _, d := range numberTypes[:8] {
				differs(t, b, 0, func(in []*Node) []*Node { return []*Node{op(in[0], in[1])} },
					random(rng, d, -100, 100, 4, 9), random(rng, d, -100, 100, 1, 9))
			}
		})
	}
	logical := map[string]func(x, y *Node) *Node{"And": LogicalAnd, "Or": LogicalOr, "Xor": LogicalXor}
	for name, op := range logical {
		t.Run("Logical"+name, func(t *testing.T) {
			differs(t, b, 0, func(in []*Node) []*Node { return []*Node{op(in[0], in[1])} },
				random(rng, dtypes.Bool, 0, 1, 4, 9), random(rng, dtypes.Bool, 0, 1, 4, 1))
		})
	}
}

// TestConvert compares conversions between all pairs of types.
func TestConvert(t *testing.T) {
	b := newBackend(t, "")
	rng := rand.New(rand.NewPCG(3, 1))
	all := append([]dtypes.DType{dtypes.Bool, dtypes.BFloat16}, numberTypes...)
	for _, from := range all {
		var x *tensors.Tensor
		if from == dtypes.BFloat16 {
			continue
		}
		x = random(rng, from, 0, 100, 700)
		for _, to := range all {
			if to == dtypes.Bool && from != dtypes.Bool {
				continue // the portable backend has another rule for bool
			}
			differs(t, b, 1e-2, func(in []*Node) []*Node {
				y := ConvertDType(in[0], to)
				if to == dtypes.BFloat16 {
					y = ConvertDType(y, dtypes.Float32)
				}
				return []*Node{y}
			}, x)
		}
	}
}
