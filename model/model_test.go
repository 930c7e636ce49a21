package model

import (
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"lorica/engine/cpu"
)

// logits runs a model on the CPU.
func logits(t *testing.T, m *Model, images []float32, how Lowering) [][]float32 {
	t.Helper()
	backend, err := cpu.New("")
	if err != nil {
		t.Fatal(err)
	}
	defer backend.Finalize()
	ctx := context.New()
	exec := context.MustNewExec(backend, ctx, func(ctx *context.Context, x *graph.Node) *graph.Node {
		return m.Logits(ctx, x, how)
	})
	s := m.Image
	out := exec.MustExec(tensors.FromFlatDataAndDimensions(images, len(images)/s.Size(), s.C, s.H, s.W))[0]
	return out.Value().([][]float32)
}

func randomImages(n int, s Shape) []float32 {
	r := rand.New(rand.NewPCG(1, 2))
	x := make([]float32, n*s.Size())
	for i := range x {
		x[i] = r.Float32()
	}
	return x
}

func largestDifference(a, b [][]float32) float64 {
	d := 0.0
	for i := range a {
		for j := range a[i] {
			d = max(d, math.Abs(float64(a[i][j])-float64(b[i][j])))
		}
	}
	return d
}

// The net that Load makes of an ONNX file must answer as onnx-gomlx does.
func TestNetAgreesWithGeneralImporter(t *testing.T) {
	m, err := Load("testdata/pytorch/gaussian.onnx")
	if err != nil {
		t.Fatal(err)
	}
	if m.Image != (Shape{3, 32, 32}) || m.Labels != 10 || m.Net == nil {
		t.Fatalf("image %v, classes %d, net %v", m.Image, m.Labels, m.Net != nil)
	}
	x := randomImages(2, m.Image)
	b, err := os.ReadFile(m.Path)
	if err != nil {
		t.Fatal(err)
	}
	g, err := decodeOnnx(b)
	if err != nil {
		t.Fatal(err)
	}
	general := &Model{Path: "gaussian", Image: m.Image}
	if err := general.parseGeneral(b, g, false, errOutside); err != nil {
		t.Fatal(err)
	}
	want := logits(t, general, x, Lowering{DType: dtypes.Float32})
	for name, how := range map[string]Lowering{
		"channels first": {DType: dtypes.Float32},
		"channels last":  {DType: dtypes.Float32, ChannelsLast: true},
		"constants":      {DType: dtypes.Float32, Constants: true},
	} {
		if d := largestDifference(logits(t, m, x, how), want); d > 1e-4 {
			t.Errorf("%s: logits differ by %g", name, d)
		}
	}
}
