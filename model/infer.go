package model

import (
	"fmt"
	"math"
	"slices"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/dtypes/bfloat16"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"
)

// Lowering says how a classifier is written into a graph for inference.
type Lowering struct {
	// DType is the type of weights and activations: Float32 (also the zero
	// value) or BFloat16. The
	// normalisation, the mean before the logits and the logits are float32.
	DType dtypes.DType
	// ChannelsLast lays activations out N, H, W, C (what GPUs like in bfloat16).
	ChannelsLast bool
	// Wide takes several pixels of narrow convolutions at once (wide.go), which
	// suits matrix units and needs ChannelsLast.
	Wide bool
	// Constants writes the weights into the graph, where an engine on the host
	// can pack them once; otherwise they are variables of the context.
	Constants bool
}

// lowerer writes one net into one graph.
type lowerer struct {
	Lowering
	ctx *context.Context
	net *Net
	w   Weights
}

// lower appends the net to the graph of x (images, N x C x H x W, float32) and
// returns the logits, N x K, float32. It panics where GoMLX does.
func (n *Net) lower(ctx *context.Context, w Weights, x *graph.Node, how Lowering) *graph.Node {
	if how.DType == dtypes.InvalidDType {
		how.DType = dtypes.Float32
	}
	net, w := n.Fold(w)
	if how.DType == dtypes.BFloat16 {
		w = net.Halve(w)
	}
	lo := &lowerer{Lowering: how, ctx: ctx, net: net, w: w}
	values := make([]*graph.Node, len(net.Layers))
	if lo.ChannelsLast {
		x = graph.TransposeAllAxes(x, 0, 2, 3, 1)
	}
	values[0] = x
	for i, l := range net.Layers[1:] {
		in := make([]*graph.Node, len(l.In))
		for k, j := range l.In {
			in[k] = values[j]
		}
		values[i+1] = lo.layer(l, in, net.Layers[l.In[0]].Out)
	}
	return graph.ConvertDType(values[len(values)-1], dtypes.Float32)
}

// layer appends one layer, which reads values of the given shape.
func (lo *lowerer) layer(l Layer, in []*graph.Node, shape Shape) *graph.Node {
	x := in[0]
	if l.Op != Relu && l.Op != Add { // which take any number of pixels at once
		x = lo.grouped(x, shape.C, lo.pixels(l, shape))
	}
	switch l.Op {
	case Affine:
		// In float32: an image has few channels and the noise is drawn there.
		x = graph.ConvertDType(x, dtypes.Float32)
		shift := lo.perChannel(x, l.Name+".shift", lo.w[l.Name+".shift"].Data)
		scale := lo.perChannel(x, l.Name+".scale", lo.w[l.Name+".scale"].Data)
		return graph.Mul(graph.Sub(x, shift), scale)
	case BatchNorm:
		a, b := batchNormAffine(l, lo.w)
		scale := lo.perChannel(x, l.Name+".a", float32s(a))
		shift := lo.perChannel(x, l.Name+".b", float32s(b))
		return graph.Add(graph.Mul(x, scale), shift)
	case Conv:
		return lo.conv(l, graph.ConvertDType(x, lo.DType), lo.pixels(l, shape))
	case Relu:
		x = graph.Max(x, graph.ScalarZero(x.Graph(), x.DType()))
		if lo.DType == dtypes.BFloat16 {
			x = graph.ConvertDType(x, lo.DType)
		}
		return x
	case Add:
		other := graph.Reshape(in[1], x.Shape().Dimensions...)
		if x.DType() != other.DType() {
			x, other = graph.ConvertDType(x, dtypes.Float32), graph.ConvertDType(other, dtypes.Float32)
		}
		return graph.Add(x, other)
	case MaxPool, AvgPool:
		return lo.pool(l, x)
	case Mean:
		x = graph.ConvertDType(x, dtypes.Float32)
		if lo.ChannelsLast {
			return graph.ReduceMean(x, 1, 2)
		}
		return graph.ReduceMean(x, 2, 3)
	case Flatten:
		if lo.ChannelsLast && x.Rank() == 4 {
			x = graph.TransposeAllAxes(x, 0, 3, 1, 2)
		}
		return graph.Reshape(x, x.Shape().Dim(0), -1)
	case Dense:
		w := lo.weight(x.Graph(), l.Name+".weight", lo.w[l.Name+".weight"], x.DType())
		y := graph.DotGeneral(x, []int{1}, nil, w, []int{1}, nil)
		if l.Bias {
			y = graph.Add(y, lo.perChannel(y, l.Name+".bias", lo.w[l.Name+".bias"].Data))
		}
		return y
	}
	panic(fmt.Errorf("layer %q: operation %q cannot be lowered", l.Name, l.Op))
}

// axes are the axis numbers of a convolution in either layout. Kernels follow
// the activations: out, in, h, w or out, h, w, in.
func (lo Lowering) axes() backends.ConvolveAxesConfig {
	ch, sp := 1, []int{2, 3}
	if lo.ChannelsLast {
		ch, sp = 3, []int{1, 2}
	}
	return backends.ConvolveAxesConfig{
		InputBatch: 0, InputChannels: ch, InputSpatial: sp,
		KernelOutputChannels: 0, KernelInputChannels: ch, KernelSpatial: sp,
		OutputBatch: 0, OutputChannels: ch, OutputSpatial: sp,
	}
}

// conv convolves p pixels at once. A bias that bfloat16 does not hold is added
// in float32; cuDNN makes one kernel of a convolution, a bias in its own type
// and a ReLU, so the others are not.
func (lo *lowerer) conv(l Layer, x *graph.Node, p int) *graph.Node {
	a := lo.w[l.Name+".weight"]
	if lo.ChannelsLast {
		a = channelsLast(a)
	}
	w := lo.weight(x.Graph(), l.Name+".weight", a, lo.DType)
	y := convolve(l, x, widened(l, w, p), lo.axes(), p)
	if !l.Bias {
		return y
	}
	bias := lo.w[l.Name+".bias"]
	if lo.DType == dtypes.BFloat16 && slices.ContainsFunc(bias.Data, inexact) {
		y = graph.ConvertDType(y, dtypes.Float32)
	}
	v := lo.weight(x.Graph(), l.Name+".bias", bias, y.DType())
	return graph.Add(y, spread(repeated(v, p), y, lo.ChannelsLast))
}

// inexact tells whether bfloat16 does not hold a value.
func inexact(v float32) bool { return roundBFloat16(v).Float32() != v }

// convolve applies a Conv layer's window to x, p pixels of a row at once: then
// its window reaches one group of them to either side.
func convolve(l Layer, x, w *graph.Node, axes backends.ConvolveAxesConfig, p int) *graph.Node {
	across := [2]int{l.Pad[1], l.Pad[3]}
	if p > 1 {
		across = [2]int{1, 1}
	}
	c := graph.Convolve(x, w).AxesConfig(axes).StridePerAxis(l.Stride[0], l.Stride[1]).
		PaddingPerDim([][2]int{{l.Pad[0], l.Pad[2]}, across})
	if l.Groups > 1 {
		c = c.ChannelGroupCount(l.Groups)
	}
	return c.Done()
}

func (lo *lowerer) pool(l Layer, x *graph.Node) *graph.Node { return pool(l, x, lo.ChannelsLast) }

// pool applies a MaxPool or AvgPool layer.
func pool(l Layer, x *graph.Node, channelsLast bool) *graph.Node {
	window, strides := []int{1, 1, l.Kernel[0], l.Kernel[1]}, []int{1, 1, l.Stride[0], l.Stride[1]}
	pads := [][2]int{{}, {}, {l.Pad[0], l.Pad[2]}, {l.Pad[1], l.Pad[3]}}
	if channelsLast {
		window, strides = []int{1, l.Kernel[0], l.Kernel[1], 1}, []int{1, l.Stride[0], l.Stride[1], 1}
		pads = [][2]int{{}, pads[2], pads[3], {}}
	}
	kind := graph.ReduceOpType(backends.ReduceOpMax)
	if l.Op == AvgPool {
		kind = backends.ReduceOpSum
	}
	y := graph.BackendReduceWindow(x, kind, window, strides, nil, nil, pads)
	if l.Op == AvgPool {
		y = graph.DivScalar(y, float64(l.Kernel[0]*l.Kernel[1]))
	}
	return y
}

// perChannel makes one number a channel, shaped to broadcast over x.
func (lo *lowerer) perChannel(x *graph.Node, name string, data []float32) *graph.Node {
	v := lo.weight(x.Graph(), name, Array{Shape: []int{len(data)}, Data: data}, x.DType())
	return spread(v, x, lo.ChannelsLast)
}

// spread shapes one number a channel to broadcast over x.
func spread(v, x *graph.Node, channelsLast bool) *graph.Node {
	shape := make([]int, x.Rank())
	for i := range shape {
		shape[i] = 1
	}
	if channelsLast || x.Rank() == 2 {
		shape[x.Rank()-1] = v.Shape().Size()
	} else {
		shape[1] = v.Shape().Size()
	}
	return graph.Reshape(v, shape...)
}

// weight places an array in the graph.
func (lo *lowerer) weight(g *graph.Graph, name string, a Array, dtype dtypes.DType) *graph.Node {
	if lo.Constants {
		return graph.Const(g, tensorOf(a, dtype))
	}
	ctx := lo.ctx.In("weights").Checked(false)
	if v := ctx.GetVariable(name); v != nil {
		return v.ValueGraph(g)
	}
	return ctx.VariableWithValue(name, tensorOf(a, dtype)).SetTrainable(false).ValueGraph(g)
}

func tensorOf(a Array, dtype dtypes.DType) *tensors.Tensor {
	if dtype == dtypes.BFloat16 {
		half := make([]bfloat16.BFloat16, len(a.Data))
		for i, v := range a.Data {
			half[i] = roundBFloat16(v)
		}
		return tensors.FromFlatDataAndDimensions(half, a.Shape...)
	}
	return tensors.FromFlatDataAndDimensions(a.Data, a.Shape...)
}

// roundBFloat16 rounds to nearest, ties to even (GoMLX's own conversion
// truncates, which biases every weight towards zero).
func roundBFloat16(v float32) bfloat16.BFloat16 {
	bits := math.Float32bits(v)
	if v != v {
		return bfloat16.FromBits(uint16(bits>>16) | 0x40)
	}
	return bfloat16.FromBits(uint16((bits + 0x7fff + bits>>16&1) >> 16))
}

// channelsLast turns a kernel from out, in, h, w into out, h, w, in.
func channelsLast(a Array) Array {
	o, in, h, w := a.Shape[0], a.Shape[1], a.Shape[2], a.Shape[3]
	out := Array{Shape: []int{o, h, w, in}, Data: make([]float32, len(a.Data))}
	for k := range o {
		for c := range in {
			for p := range h * w {
				out.Data[(k*h*w+p)*in+c] = a.Data[(k*in+c)*h*w+p]
			}
		}
	}
	return out
}

func float32s(v []float64) []float32 {
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(x)
	}
	return out
}
