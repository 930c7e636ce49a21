package cpu

import (
	"encoding/json"
	"math"
	"os"
	"testing"
	"time"

	"github.com/gomlx/gomlx/backends"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"github.com/gomlx/onnx-gomlx/onnx"

	"lorica/dataset"
)

// realImages returns images of CIFAR-10, every step-th of the builtin sample,
// as a batch [n, 3, 32, 32] in [0,1], and their labels.
func realImages(t testing.TB, n, step int) (*tensors.Tensor, []int32) {
	t.Helper()
	s, err := dataset.Open("builtin", "test")
	if err != nil {
		t.Fatal(err)
	}
	flat := make([]float32, n*3*32*32)
	labels := make([]int32, n)
	for i := range n {
		k := i * step % s.Len()
		if _, err := s.Image(k, flat[i*3*32*32:(i+1)*3*32*32]); err != nil {
			t.Fatal(err)
		}
		labels[i] = int32(s.Label(k))
	}
	return tensors.FromFlatDataAndDimensions(flat, n, 3, 32, 32), labels
}

// onnxExec compiles an ONNX model of the repository.
func onnxExec(t testing.TB, b backends.Backend, name string) *context.Exec {
	t.Helper()
	m, err := onnx.ReadFile("../../model/testdata/pytorch/" + name + ".onnx")
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.New()
	if err := m.VariablesToContext(ctx); err != nil {
		t.Fatal(err)
	}
	exec, err := context.NewExec(b, ctx.Reuse(), func(ctx *context.Context, x *Node) *Node {
		return m.CallGraph(ctx, x.Graph(), map[string]*Node{"x": x})[0]
	})
	if err != nil {
		t.Fatal(err)
	}
	return exec
}

// TestONNX holds the repository's models against ONNX Runtime on real images.
func TestONNX(t *testing.T) {
	file, err := os.ReadFile("testdata/onnxruntime_logits.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Gaussian [][]float64 `json:"gaussian"`
		Margin   [][]float64 `json:"margin-cs"`
	}
	if err := json.Unmarshal(file, &golden); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][][]float64{"gaussian": golden.Gaussian, "margin-cs": golden.Margin} {
		if len(want) != 8 {
			t.Fatalf("%s: %d rows of golden logits, want 8", name, len(want))
		}
		for _, config := range []string{"threads=1", "threads=3"} {
			x, _ := realImages(t, len(want), 12)
			outs, err := onnxExec(t, newBackend(t, config), name).Exec(x)
			if err != nil {
				t.Fatal(err)
			}
			worst := 0.0
			for i, row := range outs[0].Value().([][]float32) {
				for k, v := range row {
					worst = max(worst, math.Abs(float64(v)-want[i][k]))
				}
			}
			if !(worst < 1e-3) {
				t.Errorf("%s, %s: logits differ by %g from ONNX Runtime's", name, config, worst)
			}
		}
	}
}

// BenchmarkResNet20 is the forward pass; with -v it says where the time goes.
func BenchmarkResNet20(b *testing.B) {
	const batch = 64
	be := &tracer{Backend: newBackend(b, "").(*Backend), spent: map[string]time.Duration{}}
	exec := onnxExec(b, be, "gaussian")
	x, _ := realImages(b, batch, 1)
	for b.Loop() {
		outs, err := exec.Exec(x)
		if err != nil {
			b.Fatal(err)
		}
		outs[0].FinalizeAll()
	}
	if testing.Verbose() {
		b.Log("\n" + be.report())
	}
	b.ReportMetric(batch*float64(b.N)/b.Elapsed().Seconds(), "samples/s")
}
