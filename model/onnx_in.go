package model

import (
	"errors"
	"fmt"
	"slices"
)

// errOutside marks a graph that is not a Net: it is run by the general
// importer instead (onnx_general.go).
var errOutside = errors.New("outside the operations of a net")

func outside(n onnxNode, why string) error {
	return fmt.Errorf("%w: %s %q %s", errOutside, n.op, n.name, why)
}

// value is what an ONNX name stands for while a graph is turned into a Net.
type value struct {
	layer   int
	nhwc    bool // the ONNX value is laid out N, H, W, C
	pooled  bool // the ONNX value is N, C, 1, 1 where the layer is a plain vector
	isShape bool // a computed shape: only a reshape to a vector may read it
}

type onnxReader struct {
	g      *onnxGraph
	net    *Net
	w      Weights
	values map[string]value
	uses   map[string][]onnxNode
}

// netFromOnnx turns a graph into a Net. The error is errOutside where the
// graph has operations or forms that a Net does not know.
func netFromOnnx(g *onnxGraph, image Shape, nhwc bool) (*Net, Weights, error) {
	r := &onnxReader{g: g, net: NewNet(image), w: Weights{}, values: map[string]value{}, uses: map[string][]onnxNode{}}
	for _, n := range g.nodes {
		for _, in := range n.inputs {
			r.uses[in] = append(r.uses[in], n)
		}
	}
	r.values[g.inputs[0].name] = value{nhwc: nhwc}
	for _, n := range g.nodes {
		if err := r.node(n); err != nil {
			return nil, nil, err
		}
	}
	out, ok := r.values[g.outputs[0].name]
	if !ok {
		return nil, nil, fmt.Errorf("%w: output %q is not computed from the image", errOutside, g.outputs[0].name)
	}
	if out.layer != len(r.net.Layers)-1 || !r.net.Layers[out.layer].Out.Vector() || out.layer == 0 {
		return nil, nil, fmt.Errorf("%w: output %q is not a vector of logits", errOutside, g.outputs[0].name)
	}
	if err := r.net.Check(r.w); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errOutside, err)
	}
	return r.net, r.w, nil
}

func (r *onnxReader) node(n onnxNode) error {
	if len(n.outputs) == 0 || (n.domain != "" && n.domain != "ai.onnx") {
		return outside(n, "is of another domain or has no output")
	}
	if n.op == "Constant" {
		t := n.attrs["value"].tensor
		if t == nil {
			return outside(n, "has no tensor")
		}
		r.g.tensors[n.outputs[0]] = *t
		return nil
	}
	if len(n.inputs) == 0 {
		return outside(n, "has no input")
	}
	v, err := r.convert(n)
	if err != nil {
		return err
	}
	r.values[n.outputs[0]] = v
	return nil
}

// convert adds the layers of a node and says what its first output stands for.
func (r *onnxReader) convert(n onnxNode) (value, error) {
	switch n.op {
	case "Shape":
		return value{isShape: true}, nil
	case "Gather", "Unsqueeze", "Concat", "Slice", "Cast":
		for _, in := range n.inputs {
			if _, constant := r.g.tensors[in]; !constant && !r.values[in].isShape {
				return value{}, outside(n, "works on values")
			}
		}
		return value{isShape: true}, nil
	case "Add", "Sub", "Mul", "Div":
		return r.binary(n)
	}
	x, ok := r.values[n.inputs[0]]
	if !ok || x.isShape {
		return value{}, outside(n, "reads something else than the image's values")
	}
	switch n.op {
	case "Identity", "Dropout":
		return x, nil
	case "Softmax", "LogSoftmax":
		// Monotone: the arg max is that of the logits under it.
		if n.outputs[0] != r.g.outputs[0].name {
			return value{}, outside(n, "is inside the network")
		}
		return x, nil
	case "Transpose":
		if x.nhwc && slices.Equal(n.attrs["perm"].ints, []int64{0, 3, 1, 2}) {
			return value{layer: x.layer}, nil
		}
		return value{}, outside(n, "is not the one from N, H, W, C")
	case "Relu":
		i, err := r.add(n, Layer{Op: Relu, In: []int{x.layer}})
		x.layer = i
		return x, err
	}
	if x.nhwc {
		return value{}, outside(n, "reads an image laid out N, H, W, C")
	}
	switch n.op {
	case "Conv":
		return r.conv(n, x)
	case "BatchNormalization":
		return r.batchNorm(n, x)
	case "MaxPool", "AveragePool":
		return r.pool(n, x)
	case "GlobalAveragePool":
		i, err := r.add(n, Layer{Op: Mean, In: []int{x.layer}})
		return value{layer: i, pooled: true}, err
	case "ReduceMean":
		return r.reduceMean(n, x)
	case "Flatten", "Reshape", "Squeeze":
		return r.flatten(n, x)
	case "Gemm", "MatMul":
		return r.dense(n, x)
	}
	return value{}, outside(n, "is not among them")
}

func (r *onnxReader) add(n onnxNode, l Layer) (int, error) {
	l.Name = fmt.Sprintf("%03d", len(r.net.Layers))
	i, err := r.net.Append(l)
	if err != nil {
		return 0, outside(n, err.Error())
	}
	return i, nil
}

// constant gives a float tensor of the graph.
func (r *onnxReader) constant(n onnxNode, input int) (Array, error) {
	if input >= len(n.inputs) {
		return Array{}, outside(n, fmt.Sprintf("lacks input %d", input))
	}
	t, ok := r.g.tensors[n.inputs[input]]
	if !ok {
		return Array{}, outside(n, fmt.Sprintf("computes its input %d", input))
	}
	data, err := t.values()
	if err != nil {
		return Array{}, err
	}
	return Array{Shape: t.dims, Data: data}, nil
}

func (r *onnxReader) binary(n onnxNode) (value, error) {
	if len(n.inputs) != 2 {
		return value{}, outside(n, "does not have two inputs")
	}
	a, aok := r.values[n.inputs[0]]
	b, bok := r.values[n.inputs[1]]
	if a.isShape || b.isShape {
		return value{isShape: true}, nil
	}
	if aok && bok {
		if n.op != "Add" || a.nhwc || b.nhwc || a.pooled != b.pooled {
			return value{}, outside(n, "joins two branches")
		}
		i, err := r.add(n, Layer{Op: Add, In: []int{a.layer, b.layer}})
		return value{layer: i, pooled: a.pooled}, err
	}
	x, other := a, 1
	if !aok {
		x, other = b, 0
		if !bok || n.op == "Sub" || n.op == "Div" {
			return value{}, outside(n, "has a constant first")
		}
	}
	c, err := r.constant(n, other)
	if err != nil {
		return value{}, err
	}
	channels := r.net.Layers[x.layer].Out.C
	per, ok := perChannel(c, channels, x, r.net.Layers[x.layer].Out.Vector())
	if !ok {
		return value{}, outside(n, fmt.Sprintf("has a constant of shape %v that is not one number a channel", c.Shape))
	}
	shift, scale := make([]float32, channels), make([]float32, channels)
	for i, v := range per {
		scale[i] = 1
		switch n.op {
		case "Sub":
			shift[i] = v
		case "Add":
			shift[i] = -v
		case "Mul":
			scale[i] = v
		case "Div":
			scale[i] = 1 / v
		}
	}
	// (x - mean) and / std in one layer.
	if last := &r.net.Layers[x.layer]; last.Op == Affine && (n.op == "Mul" || n.op == "Div") && len(r.uses[n.inputs[1-other]]) == 1 {
		for i := range scale {
			r.w[last.Name+".scale"].Data[i] *= scale[i]
		}
		return x, nil
	}
	i, err := r.add(n, Layer{Op: Affine, In: []int{x.layer}})
	if err != nil {
		return value{}, err
	}
	name := r.net.Layers[i].Name
	r.w[name+".shift"] = Array{Shape: []int{channels}, Data: shift}
	r.w[name+".scale"] = Array{Shape: []int{channels}, Data: scale}
	x.layer = i
	return x, nil
}

// perChannel spreads a constant that broadcasts over an image's channels.
func perChannel(c Array, channels int, x value, vector bool) ([]float32, bool) {
	if len(c.Data) == 1 {
		return slices.Repeat(c.Data, channels), true
	}
	fromEnd := 3 // the channel axis in N, C, H, W
	if x.nhwc || (vector && !x.pooled) {
		fromEnd = 1
	}
	axis := len(c.Shape) - fromEnd
	if len(c.Data) != channels || axis < 0 || len(c.Shape) > 4 || c.Shape[axis] != channels {
		return nil, false
	}
	return c.Data, true
}

// flatten accepts every way of writing "one vector an example".
func (r *onnxReader) flatten(n onnxNode, x value) (value, error) {
	l := r.net.Layers[x.layer]
	size := int64(l.Out.Size())
	switch n.op {
	case "Flatten":
		if a, ok := n.attrs["axis"]; ok && a.i != 1 {
			return value{}, outside(n, "does not flatten from axis 1")
		}
	case "Squeeze":
		if !x.pooled {
			return value{}, outside(n, "squeezes something else than a pooled image")
		}
	case "Reshape":
		if len(n.inputs) < 2 {
			return value{}, outside(n, "has no shape")
		}
		if t, ok := r.g.tensors[n.inputs[1]]; ok {
			shape, err := t.integers()
			if err != nil || len(shape) != 2 || (shape[1] != -1 && shape[1] != size) {
				return value{}, outside(n, "does not give one vector an example")
			}
		} else if !r.values[n.inputs[1]].isShape {
			return value{}, outside(n, "computes its shape")
		} else {
			for _, u := range r.uses[n.outputs[0]] {
				if u.op != "Gemm" && u.op != "MatMul" {
					return value{}, outside(n, "computes its shape")
				}
			}
		}
	}
	if l.Out.Vector() {
		return value{layer: x.layer}, nil
	}
	i, err := r.add(n, Layer{Op: Flatten, In: []int{x.layer}})
	return value{layer: i}, err
}
