package cpu

import (
	"testing"
	"time"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"github.com/gomlx/onnx-gomlx/onnx"
)

// onnxExec compiles the ONNX model of the repository.
func onnxExec(t testing.TB, b backends.Backend) *context.Exec {
	t.Helper()
	m, err := onnx.ReadFile("../../model/builtin/gaussian.onnx")
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

func BenchmarkResNet20(b *testing.B) {
	be := &tracer{newBackend(b, "").(*Backend), map[string]time.Duration{}}
	exec := onnxExec(b, be)
	x := tensors.FromShape(shapes.Make(dtypes.Float32, 64, 3, 32, 32))
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
	b.ReportMetric(64*float64(b.N)/b.Elapsed().Seconds(), "samples/s")
}
