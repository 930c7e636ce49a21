package engine

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"

	"lorica/draw"
	"lorica/engine/cpu"
)

// The graph's generator must give draw.Noise up to rounding.
func TestNoiseGraphIsDrawNoise(t *testing.T) {
	const size, rows = 30, 40
	backend, err := cpu.New("")
	if err != nil {
		t.Fatal(err)
	}
	defer backend.Finalize()
	r := rand.New(rand.NewPCG(1, 1))
	ids := make([]uint32, words*rows)
	for i := range ids {
		ids[i] = r.Uint32()
	}
	got := graph.MustExecOnce(backend, func(ids *graph.Node) *graph.Node { return Noise(ids, size) },
		tensors.FromFlatDataAndDimensions(ids, words, rows)).Value().([][]float32)
	want := make([]float32, size)
	for row := range rows {
		at := func(w int) uint32 { return ids[w*rows+row] }
		seed := uint64(at(wordKey0)) | uint64(at(wordKey1))<<32
		draw.Noise(want, seed, draw.Phase(at(wordPhase)), int(at(wordExample)), int64(at(wordIndex)))
		for i := range want {
			if math.Abs(float64(got[row][i]-want[i])) > 5e-6 {
				t.Fatalf("row %d, value %d: %g, want %g", row, i, got[row][i], want[i])
			}
		}
	}
}

// The ends of the uniform numbers, where float32 is coarse.
func TestBoxMullerGraphAtTheEnds(t *testing.T) {
	backend, err := cpu.New("")
	if err != nil {
		t.Fatal(err)
	}
	defer backend.Finalize()
	a := []uint32{0, 1, 1 << 31, 1<<31 - 1, 1<<32 - 1, 1<<32 - 2, 1<<32 - 300, 1<<32 - 70000}
	b := []uint32{0, 1 << 31, 255, 1 << 30, 3 << 30, 1<<32 - 1, 12345678, 1 << 29}
	got := graph.MustExecOnceN(backend, func(a, b *graph.Node) []*graph.Node {
		none := graph.LogicalAnd(graph.Equal(a, b), graph.NotEqual(a, b))
		return []*graph.Node{boxMullerGraph(a, b, none), boxMullerGraph(a, b, graph.LogicalNot(none))}
	}, a, b)
	for i := range a {
		cos, sin := draw.BoxMuller(a[i], b[i])
		gc, gs := got[0].Value().([]float32)[i], got[1].Value().([]float32)[i]
		if math.Abs(float64(gc-cos)) > 5e-6 || math.Abs(float64(gs-sin)) > 5e-6 {
			t.Errorf("words %d, %d: %g, %g, want %g, %g", a[i], b[i], gc, gs, cos, sin)
		}
	}
}

// Ties go to the lowest index; a NaN anywhere makes the draw invalid.
func TestAnswersOfTiesAndNaN(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	logits := [][]float32{{1, 1, 0}, {0, 2, 2}, {nan, 5, 1}, {5, 1, nan}, {-inf, -inf, -inf}, {0, inf, inf}, {nan, nan, nan}, {-3, -2, -1}}
	want := []int32{0, 1, 3, 3, 0, 1, 3, 2}
	backend, err := cpu.New("")
	if err != nil {
		t.Fatal(err)
	}
	defer backend.Finalize()
	got := graph.MustExecOnce(backend, classGraph, logits).Value().([]int32)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("on a device: %v, want %v", got, want)
	}
	for i, l := range logits {
		c := argMax(l)
		if c < 0 {
			c = len(l)
		}
		if int32(c) != want[i] {
			t.Errorf("on the host: logits %v gave %d, want %d", l, c, want[i])
		}
	}
}
