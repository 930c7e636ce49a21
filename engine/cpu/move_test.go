package cpu

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
)

var moveTypes = []dtypes.DType{dtypes.Bool, dtypes.Int16, dtypes.Float32, dtypes.Float64}

// TestMoves compares the operations that only move elements.
func TestMoves(t *testing.T) {
	b := newBackend(t, "threads=2")
	rng := rand.New(rand.NewPCG(4, 1))
	for _, d := range moveTypes {
		x := random(rng, d, 0, 100, 3, 40, 5, 7)
		for _, perm := range [][]int{{0, 1, 2, 3}, {0, 2, 3, 1}, {3, 2, 1, 0}, {1, 0, 3, 2}, {0, 3, 1, 2}} {
			differs(t, b, 0, func(in []*Node) []*Node { return []*Node{TransposeAllDims(in[0], perm...)} }, x)
		}
		differs(t, b, 0, func(in []*Node) []*Node {
			return []*Node{
				Slice(in[0], AxisRange(1), AxisRange(3, 33).Stride(4), AxisRange(), AxisRange(0, 7).Stride(3)),
				Reshape(in[0], 15, -1),
				BroadcastToDims(Reshape(Slice(in[0], AxisRange(0, 1), AxisRange(), AxisRange(0, 1), AxisRange()), 1, 40, 1, 7), 2, 40, 6, 7),
				Concatenate([]*Node{in[0], Slice(in[0], AxisRange(), AxisRange(3, 9)), in[0]}, 1),
				Concatenate([]*Node{in[0], in[0]}, -1),
			}
		}, x)
	}
}

// TestReverse holds Reverse against its definition.
func TestReverse(t *testing.T) {
	b := newBackend(t, "")
	rng := rand.New(rand.NewPCG(5, 1))
	x := random(rng, dtypes.Float32, -1, 1, 3, 4, 5)
	want := slices.Clone(x.Value().([][][]float32))
	got := evaluate(t, b, func(in []*Node) []*Node {
		return []*Node{Reverse(in[0], 0, 2), Reverse(Reverse(in[0], 1), 1)}
	}, args(x))
	for i, v := range got[0].([]float32) {
		if w := want[2-i/20][i/5%4][4-i%5]; v != w {
			t.Fatalf("element %d is %v, want %v", i, v, w)
		}
	}
	for i, v := range got[1].([]float32) {
		if w := want[i/20][i/5%4][i%5]; v != w {
			t.Fatalf("reversed twice, element %d is %v, want %v", i, v, w)
		}
	}
}

// TestPad holds Pad, with cropping and inner padding, against its definition.
func TestPad(t *testing.T) {
	b := newBackend(t, "")
	rng := rand.New(rand.NewPCG(6, 1))
	for range 200 {
		dims := []int{1 + rng.IntN(5), 1 + rng.IntN(6)}
		cfg := make([]backends.PadAxis, 2)
		out := make([]int, 2)
		for i := range cfg {
			cfg[i] = backends.PadAxis{Start: rng.IntN(7) - 3, End: rng.IntN(7) - 3, Interior: rng.IntN(3)}
			out[i] = dims[i] + cfg[i].Start + cfg[i].End + (dims[i]-1)*cfg[i].Interior
		}
		if min(out[0], out[1]) < 0 {
			continue
		}
		x := random(rng, dtypes.Int32, 1, 100, dims...)
		v := x.Value().([][]int32)
		got := evaluate(t, b, func(in []*Node) []*Node {
			return []*Node{Pad(in[0], Const(in[0].Graph(), int32(-7)), cfg...)}
		}, args(x))[0].([]int32)
		if len(got) != out[0]*out[1] {
			t.Fatalf("%v padded by %+v has %d elements, want %v", dims, cfg, len(got), out)
		}
		at := func(i, axis int) int { // the operand's index, -1 for padding
			k := i - cfg[axis].Start
			if k < 0 || k%(cfg[axis].Interior+1) != 0 || k/(cfg[axis].Interior+1) >= dims[axis] {
				return -1
			}
			return k / (cfg[axis].Interior + 1)
		}
		for i, g := range got {
			w := int32(-7)
			if r, c := at(i/out[1], 0), at(i%out[1], 1); r >= 0 && c >= 0 {
				w = v[r][c]
			}
			if g != w {
				t.Fatalf("%v padded by %+v: element %d is %d, want %d", dims, cfg, i, g, w)
			}
		}
	}
}

// TestBitcast reads the same bytes under other types.
func TestBitcast(t *testing.T) {
	b := newBackend(t, "")
	rng := rand.New(rand.NewPCG(7, 1))
	x := random(rng, dtypes.Uint64, 0, 1e18, 5)
	v := x.Value().([]uint64)
	got := evaluate(t, b, func(in []*Node) []*Node {
		words := Bitcast(in[0], dtypes.Uint32)
		return []*Node{words, Bitcast(words, dtypes.Uint64), Bitcast(in[0], dtypes.Float64)}
	}, args(x))
	for i, w := range got[0].([]uint32) {
		if w != uint32(v[i/2]>>(32*(i%2))) {
			t.Errorf("word %d is %x of %x", i, w, v[i/2])
		}
	}
	if err := same(got[1], v, 0); err != nil {
		t.Error(err)
	}
}

// TestGatherScatter compares with the portable backend, repeated indices
// included.
func TestGatherScatter(t *testing.T) {
	b := newBackend(t, "threads=2")
	rng := rand.New(rand.NewPCG(8, 1))
	for _, d := range []dtypes.DType{dtypes.Int32, dtypes.Float32, dtypes.Float64} {
		x := random(rng, d, -9, 9, 11, 4, 6)
		rows := random(rng, dtypes.Int32, 0, 11, 30, 1)
		pairs := random(rng, dtypes.Int64, 0, 4, 9, 2)
		differs(t, b, 1e-6, func(in []*Node) []*Node {
			g := in[0].Graph()
			return []*Node{
				Gather(in[0], in[1]), Gather(in[0], in[2]),
				GatherSlices(in[0], []int{0, 2}, ConvertDType(in[2], dtypes.Int32), []int{3, 2}, false),
				Scatter(in[1], Gather(in[0], in[1]), shapes.Make(d, 11, 4, 6), false, false),
				ScatterMax(Zeros(g, shapes.Make(d, 11, 4, 6)), in[1], Gather(in[0], in[1]), false, false),
				ScatterMin(Zeros(g, shapes.Make(d, 11, 4, 6)), in[1], Gather(in[0], in[1]), false, false),
			}
		}, x, rows, pairs)
	}
}

// TestDynamicSlices checks that starts are moved back to where the slice fits.
func TestDynamicSlices(t *testing.T) {
	b := newBackend(t, "")
	rng := rand.New(rand.NewPCG(9, 1))
	x := random(rng, dtypes.Float32, -1, 1, 6, 5)
	u := random(rng, dtypes.Float32, 5, 6, 2, 3)
	v, w := x.Value().([][]float32), u.Value().([][]float32)
	for range 50 {
		s := random(rng, dtypes.Int32, -3, 9, 2)
		at := s.Value().([]int32)
		r, c := max(0, min(int(at[0]), 4)), max(0, min(int(at[1]), 2))
		got := evaluate(t, b, func(in []*Node) []*Node {
			starts := []*Node{Squeeze(Slice(in[2], AxisElem(0))), Squeeze(Slice(in[2], AxisElem(1)))}
			return []*Node{DynamicSlice(in[0], starts, []int{2, 3}), DynamicUpdateSlice(in[0], in[1], starts)}
		}, args(x, u, s))
		for i, g := range got[0].([]float32) {
			if want := v[r+i/3][c+i%3]; g != want {
				t.Fatalf("slice at %v: element %d is %v, want %v", at, i, g, want)
			}
		}
		for i, g := range got[1].([]float32) {
			want := v[i/5][i%5]
			if y, x := i/5-r, i%5-c; y >= 0 && y < 2 && x >= 0 && x < 3 {
				want = w[y][x]
			}
			if g != want {
				t.Fatalf("update at %v: element %d is %v, want %v", at, i, g, want)
			}
		}
	}
}
