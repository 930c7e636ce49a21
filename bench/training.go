package main

import (
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"lorica/model"
)

const (
	classes  = 10
	rate     = 0.01
	momentum = 0.9
)

// training races training steps: forward pass with batch statistics, softmax
// cross-entropy, gradients, and stochastic gradient descent with momentum.
func (c *config) training(w io.Writer) error {
	shape := model.Shape{C: 3, H: 32, W: 32}
	net, err := model.NewArchitecture(c.arch, shape, classes)
	if err != nil {
		return err
	}
	weights, err := net.Init(1, model.NormalisationFor("cifar10", shape.C))
	if err != nil {
		return err
	}
	b, err := c.backend()
	if err != nil {
		return err
	}
	defer b.Finalize()
	ctx := context.New()
	if err := net.Place(ctx, weights); err != nil {
		return err
	}
	exec, err := context.NewExec(b, ctx, func(ctx *context.Context, x, y *graph.Node) *graph.Node { return step(ctx, net, x, y) })
	if err != nil {
		return err
	}
	defer exec.Finalize()
	x := tensors.FromFlatDataAndDimensions(c.images(shape), c.batch, shape.C, shape.H, shape.W)
	labels := make([]int32, c.batch)
	for i := range labels {
		labels[i] = rand.Int32N(classes)
	}
	y := tensors.FromFlatDataAndDimensions(labels, c.batch)
	var first, last float32
	sides := []side{timed("lorica", func() error {
		out, err := exec.Exec(x, y)
		if err != nil {
			return err
		}
		last = tensors.ToScalar[float32](out[0])
		if first == 0 {
			first = last
		}
		return nil
	})}
	if c.python != "" {
		p, err := startTorch(c)
		if err != nil {
			return err
		}
		defer p.close()
		sides = append(sides, side{"pytorch", p.calls})
	}
	if err := c.race(w, "training step "+c.arch, sides); err != nil {
		return err
	}
	fmt.Fprintf(w, "  lorica's loss on its one batch went from %.3f to %.3f\n", first, last)
	return nil
}

// step is one training step; it returns the loss.
func step(ctx *context.Context, net *model.Net, x, y *graph.Node) *graph.Node {
	g := x.Graph()
	logits := net.Forward(ctx, x, true, model.Lowering{})
	oneHot := graph.OneHot(y, classes, dtypes.Float32)
	loss := graph.Neg(graph.ReduceAllMean(graph.ReduceSum(graph.Mul(oneHot, graph.LogSoftmax(logits, -1)), -1)))
	var vars []*context.Variable
	var values []*graph.Node
	for v := range ctx.IterVariables() {
		if v.Trainable {
			vars = append(vars, v)
			values = append(values, v.ValueGraph(g))
		}
	}
	for i, d := range graph.Gradient(loss, values...) {
		v := vars[i]
		m := ctx.InAbsPath(v.Scope()).Checked(false).VariableWithValue(v.Name()+"_momentum", tensors.FromShape(v.Shape())).SetTrainable(false)
		moved := graph.Add(graph.MulScalar(m.ValueGraph(g), momentum), d)
		m.SetValueGraph(moved)
		v.SetValueGraph(graph.Sub(values[i], graph.MulScalar(moved, rate)))
	}
	return loss
}
