package model

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"
)

// Scope is where a net's variables live in a GoMLX context; their names are
// the parameters'.
const Scope = "model"

// Momentum is the weight of a batch in the running statistics of batch norm.
const Momentum = 0.1

// Place puts weights into ctx as variables: the learned ones trainable.
func (n *Net) Place(ctx *context.Context, w Weights) error {
	if err := n.Check(w); err != nil {
		return err
	}
	ctx = ctx.In(Scope).Checked(false)
	ps := n.Params()
	for _, name := range slices.Sorted(maps.Keys(ps)) {
		t := tensors.FromFlatDataAndDimensions(slices.Clone(w[name].Data), w[name].Shape...)
		if v := ctx.GetVariable(name); v != nil {
			if err := v.SetValue(t); err != nil {
				return fmt.Errorf("tensor %q: %w", name, err)
			}
			continue
		}
		ctx.VariableWithValue(name, t).SetTrainable(ps[name].Learned)
	}
	return nil
}

// Take reads the weights back from ctx.
func (n *Net) Take(ctx *context.Context) (Weights, error) {
	ctx = ctx.In(Scope).Checked(false)
	w := Weights{}
	for name, p := range n.Params() {
		v := ctx.GetVariable(name)
		if v == nil {
			return nil, fmt.Errorf("variable %q is not in the context", name)
		}
		t, err := v.Value()
		if err != nil {
			return nil, fmt.Errorf("variable %q: %w", name, err)
		}
		a := Array{Shape: p.Shape}
		if err := t.ConstFlatData(func(flat any) { a.Data = slices.Clone(flat.([]float32)) }); err != nil {
			return nil, fmt.Errorf("variable %q: %w", name, err)
		}
		w[name] = a
	}
	return w, nil
}

// Forward appends the net to the graph of x (images, N x C x H x W, float32)
// with its parameters as the variables that Place made, and returns the
// logits, N x K, float32. In training the batch norms use the statistics of
// the batch and move the running ones, as PyTorch's do. Weights stay float32
// and are converted for each convolution; batch norm is float32 in between.
// how.Constants has no meaning here. It panics where GoMLX does.
func (n *Net) Forward(ctx *context.Context, x *graph.Node, training bool, how Lowering) *graph.Node {
	ctx = ctx.In(Scope).Checked(false)
	variable := func(name string) *context.Variable {
		v := ctx.GetVariable(name)
		if v == nil {
			panic(fmt.Errorf("variable %q is not in the context: call Place first", name))
		}
		return v
	}
	return n.ForwardWith(Params{
		Value: func(name string) *graph.Node { return variable(name).ValueGraph(x.Graph()) },
		Move:  func(name string, next *graph.Node) { variable(name).SetValueGraph(next) },
	}, x, training, how)
}

// Params gives the parameters of a net to a graph by name, wherever they are
// kept. Move takes the next value of a running statistic of a batch norm in
// training; where it is nil the statistics stay.
type Params struct {
	Value func(name string) *graph.Node
	Move  func(name string, next *graph.Node)
}

// ForwardWith is Forward with the parameters kept by the caller.
func (n *Net) ForwardWith(p Params, x *graph.Node, training bool, how Lowering) *graph.Node {
	f := &forward{Lowering: how, Params: p, training: training}
	if f.DType == dtypes.InvalidDType {
		f.DType = dtypes.Float32
	}
	if f.ChannelsLast {
		x = graph.TransposeAllAxes(x, 0, 2, 3, 1)
	}
	values := make([]*graph.Node, len(n.Layers))
	values[0] = x
	for i, l := range n.Layers[1:] {
		in := make([]*graph.Node, len(l.In))
		for k, j := range l.In {
			in[k] = values[j]
		}
		values[i+1] = f.layer(l, in, n.Layers[l.In[0]].Out)
	}
	return graph.ConvertDType(values[len(values)-1], dtypes.Float32)
}

type forward struct {
	Lowering
	Params
	training bool
}

func (f *forward) perChannel(x *graph.Node, name string) *graph.Node {
	return spread(graph.ConvertDType(f.Value(name), x.DType()), x, f.ChannelsLast)
}

func (f *forward) layer(l Layer, in []*graph.Node, shape Shape) *graph.Node {
	x := in[0]
	switch l.Op {
	case Affine:
		x = graph.ConvertDType(x, dtypes.Float32)
		shift := graph.StopGradient(f.perChannel(x, l.Name+".shift"))
		scale := graph.StopGradient(f.perChannel(x, l.Name+".scale"))
		return graph.Mul(graph.Sub(x, shift), scale)
	case BatchNorm:
		return f.batchNorm(l, x)
	case Conv:
		w := f.Value(l.Name + ".weight")
		if f.ChannelsLast {
			w = graph.TransposeAllAxes(w, 0, 2, 3, 1)
		}
		p := f.pixels(l, shape)
		x = f.grouped(graph.ConvertDType(x, f.DType), shape.C, p)
		y := convolve(l, x, widened(l, graph.ConvertDType(w, f.DType), p), f.axes(), p)
		y = f.grouped(y, l.Channels, 1)
		if l.Bias {
			y = graph.Add(y, f.perChannel(y, l.Name+".bias"))
		}
		return y
	case Relu:
		return graph.Max(x, graph.ScalarZero(x.Graph(), x.DType()))
	case Add:
		return graph.Add(x, graph.ConvertDType(in[1], x.DType()))
	case MaxPool, AvgPool:
		return pool(l, x, f.ChannelsLast)
	case Mean:
		x = graph.ConvertDType(x, dtypes.Float32)
		if f.ChannelsLast {
			return graph.ReduceMean(x, 1, 2)
		}
		return graph.ReduceMean(x, 2, 3)
	case Flatten:
		if f.ChannelsLast && x.Rank() == 4 {
			x = graph.TransposeAllAxes(x, 0, 3, 1, 2)
		}
		return graph.Reshape(x, x.Shape().Dim(0), -1)
	case Dense:
		x = graph.ConvertDType(x, dtypes.Float32)
		y := graph.DotGeneral(x, []int{1}, nil, f.Value(l.Name+".weight"), []int{1}, nil)
		if l.Bias {
			y = graph.Add(y, f.perChannel(y, l.Name+".bias"))
		}
		return y
	}
	panic(fmt.Errorf("layer %q: operation %q cannot be trained", l.Name, l.Op))
}

// batchNorm normalises in float32 and returns the activations' type. The
// variance is E[x^2] - E[x]^2, one pass over memory, never below zero.
func (f *forward) batchNorm(l Layer, x *graph.Node) *graph.Node {
	dtype := x.DType()
	x = graph.ConvertDType(x, dtypes.Float32)
	g := x.Graph()
	gamma, beta := f.Value(l.Name+".weight"), f.Value(l.Name+".bias")
	mean, variance := f.Value(l.Name+".running_mean"), f.Value(l.Name+".running_var")
	if f.training {
		axes := []int{0, 2, 3}
		switch {
		case x.Rank() == 2:
			axes = []int{0}
		case f.ChannelsLast:
			axes = []int{0, 1, 2}
		}
		count := float64(x.Shape().Size() / gamma.Shape().Size())
		m := graph.ReduceMean(x, axes...)
		v := graph.Sub(graph.ReduceMean(graph.Square(x), axes...), graph.Square(m))
		v = graph.Max(v, graph.ScalarZero(g, dtypes.Float32))
		move := func(name string, running, batch *graph.Node) {
			if f.Move == nil {
				return
			}
			next := graph.Add(graph.MulScalar(running, 1-Momentum), graph.MulScalar(batch, Momentum))
			f.Move(name, graph.StopGradient(next))
		}
		move(l.Name+".running_mean", mean, m)
		move(l.Name+".running_var", variance, graph.MulScalar(v, count/max(count-1, 1)))
		mean, variance = m, v
	}
	scale := graph.Div(gamma, graph.Sqrt(graph.AddScalar(variance, l.Eps))) // GoMLX has no gradient of Rsqrt
	shift := graph.Sub(beta, graph.Mul(mean, scale))
	y := graph.Add(graph.Mul(x, spread(scale, x, f.ChannelsLast)), spread(shift, x, f.ChannelsLast))
	return graph.ConvertDType(y, dtype)
}
