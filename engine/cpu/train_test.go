package cpu

import (
	"math"
	"testing"
	"time"

	"github.com/gomlx/gomlx/backends"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/core/tensors/images"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"github.com/gomlx/gomlx/pkg/ml/layers"
	"github.com/gomlx/gomlx/pkg/ml/layers/activations"
	"github.com/gomlx/gomlx/pkg/ml/layers/batchnorm"
	"github.com/gomlx/gomlx/pkg/ml/train/losses"
)

// resNet20 is the CIFAR architecture with n blocks a stage: 3 makes 20 layers.
func resNet20(ctx *context.Context, x *Node, blocks int) *Node {
	convBN := func(ctx *context.Context, x *Node, channels, size, stride int) *Node {
		x = layers.Convolution(ctx, x).Channels(channels).KernelSize(size).Strides(stride).PadSame().
			ChannelsAxis(images.ChannelsFirst).UseBias(false).Done()
		return batchnorm.New(ctx, x, 1).Done()
	}
	x = activations.Relu(convBN(ctx.In("stem"), x, 16, 3, 1))
	for stage := range 3 {
		for block := range blocks {
			ctx := ctx.Inf("stage%d.block%d", stage, block)
			channels, stride := 16<<stage, 1
			short := x
			if block == 0 && stage > 0 {
				stride = 2
				short = convBN(ctx.In("short"), x, channels, 1, stride)
			}
			y := activations.Relu(convBN(ctx.In("a"), x, channels, 3, stride))
			x = activations.Relu(Add(convBN(ctx.In("b"), y, channels, 3, 1), short))
		}
	}
	return layers.Dense(ctx.In("head"), ReduceMean(x, 2, 3), true, 10)
}

// trainStep is a step of gradient descent; it returns the loss before it.
func trainStep(t testing.TB, b backends.Backend, ctx *context.Context, blocks int, rate float64) *context.Exec {
	t.Helper()
	exec, err := context.NewExec(b, ctx, func(ctx *context.Context, x, labels *Node) *Node {
		ctx.SetTraining(x.Graph(), true)
		logits := resNet20(ctx, x, blocks)
		loss := ReduceAllMean(losses.SparseCategoricalCrossEntropyLogits([]*Node{labels}, []*Node{logits}))
		grads := ctx.BuildTrainableVariablesGradientsGraph(loss)
		i := 0
		for v := range ctx.IterVariables() {
			if v.Trainable && v.InUseByGraph(x.Graph()) {
				v.SetValueGraph(Sub(v.ValueGraph(x.Graph()), MulScalar(grads[i], rate)))
				i++
			}
		}
		return loss
	})
	if err != nil {
		t.Fatal(err)
	}
	return exec
}

// TestTrainResNet trains a small ResNet on real images: convolutions, their
// gradients, native batch normalisation, its moving averages. Each step is
// compared across thread counts: they must agree bit for bit.
func TestTrainResNet(t *testing.T) {
	const batch, steps = 10, 6
	var first []float32
	for _, config := range []string{"threads=1", "threads=2", "threads=5"} {
		x, labels := realImages(t, batch, 5) // tensors stay with one backend
		y := column(labels)
		ctx := context.New()
		if err := ctx.SetRNGStateFromSeed(7); err != nil {
			t.Fatal(err)
		}
		step := trainStep(t, newBackend(t, config), ctx, 1, 0.05)
		var got []float32
		for range steps {
			outs, err := step.Exec(x, y)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, tensors.ToScalar[float32](outs[0]))
		}
		if !(got[steps-1] < 0.7*got[0]) {
			t.Errorf("%s: the loss went from %g to %g in %d steps", config, got[0], got[steps-1], steps)
		}
		if first == nil {
			first = got
		}
		for i := range got {
			if math.Float32bits(got[i]) != math.Float32bits(first[i]) {
				t.Errorf("%s: loss %g at step %d, with one thread %g", config, got[i], i, first[i])
			}
		}
	}
}

func column(labels []int32) *tensors.Tensor {
	return tensors.FromFlatDataAndDimensions(labels, len(labels), 1)
}

// BenchmarkTrainResNet20 is a training step; with -v it says where the time
// goes.
func BenchmarkTrainResNet20(b *testing.B) {
	const batch = 64
	be := &tracer{Backend: newBackend(b, "").(*Backend), spent: map[string]time.Duration{}}
	x, labels := realImages(b, batch, 1)
	y := column(labels)
	step := trainStep(b, be, context.New(), 3, 0.01)
	for b.Loop() {
		outs, err := step.Exec(x, y)
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
