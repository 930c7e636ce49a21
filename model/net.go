package model

import (
	"fmt"
	"maps"
	"slices"
)

// Op is what a layer computes.
type Op string

// The operations of a Net: enough for convolutional image classifiers.
const (
	Input     Op = "input"     // the image; layer 0 and no other
	Affine    Op = "affine"    // (x - shift) * scale, a channel each: parameters Name.shift, Name.scale
	Conv      Op = "conv"      // Name.weight [out, in/groups, kh, kw] and Name.bias [out]
	BatchNorm Op = "batchnorm" // Name.weight, .bias, .running_mean, .running_var [channels]
	Relu      Op = "relu"      //
	Add       Op = "add"       // of two layers of one shape
	MaxPool   Op = "maxpool"   //
	AvgPool   Op = "avgpool"   // the padding counts as zeros
	Mean      Op = "mean"      // over height and width: C x H x W to C
	Flatten   Op = "flatten"   // in the order channel, row, column
	Dense     Op = "dense"     // Name.weight [out, in] and Name.bias [out]
)

// Shape is the shape of one example's value: channels, height and width, or
// (with H and W zero) a plain vector of C values.
type Shape struct {
	C int `json:"channels"`
	H int `json:"height"`
	W int `json:"width"`
}

// Size is the number of values.
func (s Shape) Size() int { return s.C * max(s.H, 1) * max(s.W, 1) }

// Vector tells whether the shape is that of a plain vector.
func (s Shape) Vector() bool { return s.H == 0 && s.W == 0 }

func (s Shape) String() string {
	if s.Vector() {
		return fmt.Sprint(s.C)
	}
	return fmt.Sprintf("%dx%dx%d", s.C, s.H, s.W)
}

// Layer is one operation of a Net. Name is the path of PyTorch's module
// ("blocks.3.conv1"): its parameters are called Name.weight and so on.
type Layer struct {
	Op   Op
	Name string
	In   []int // indices of the layers that it reads, all before it
	Out  Shape

	// Conv and the pools.
	Channels int    // Conv, Dense: outputs
	Kernel   [2]int // height, width
	Stride   [2]int
	Pad      [4]int // top, left, bottom, right
	Groups   int
	Bias     bool    // Conv, Dense
	Eps      float64 // BatchNorm
}

// Net is a convolutional classifier as a list of layers in order of
// computation: the one form from which lorica infers, trains, counts and
// exports. The last layer's value is the logits.
type Net struct{ Layers []Layer }

// NewNet begins a net for images of the given shape.
func NewNet(image Shape) *Net {
	return &Net{Layers: []Layer{{Op: Input, Out: image}}}
}

// Image is the shape of the input.
func (n *Net) Image() Shape { return n.Layers[0].Out }

// Classes is the number of logits.
func (n *Net) Classes() int { return n.Layers[len(n.Layers)-1].Out.C }

// Append infers the shape of a layer, adds it at the end and returns its index.
func (n *Net) Append(l Layer) (int, error) {
	out, err := n.infer(&l)
	if err != nil {
		return 0, fmt.Errorf("%s %q: %w", l.Op, l.Name, err)
	}
	l.Out = out
	n.Layers = append(n.Layers, l)
	return len(n.Layers) - 1, nil
}

// maxValues bounds the values of one layer of one example: a file that asks
// for more is corrupt, and must not exhaust the memory.
const maxValues = 1 << 28

func (n *Net) infer(l *Layer) (Shape, error) {
	for _, i := range l.In {
		if i < 0 || i >= len(n.Layers) {
			return Shape{}, fmt.Errorf("reads layer %d, which is not before it", i)
		}
	}
	operands := 1
	if l.Op == Add {
		operands = 2
	}
	if len(l.In) != operands {
		return Shape{}, fmt.Errorf("has %d operands, not %d", len(l.In), operands)
	}
	x := n.Layers[l.In[0]].Out
	switch l.Op {
	case Affine, BatchNorm, Relu:
		return x, nil
	case Add:
		if y := n.Layers[l.In[1]].Out; y != x {
			return Shape{}, fmt.Errorf("adds a %s to a %s", x, y)
		}
		return x, nil
	case Conv:
		l.Groups = max(l.Groups, 1)
		if l.Channels < 1 || x.C%l.Groups != 0 || l.Channels%l.Groups != 0 {
			return Shape{}, fmt.Errorf("%d channels in, %d out do not divide into %d groups", x.C, l.Channels, l.Groups)
		}
		return windowed(l, x, l.Channels)
	case MaxPool, AvgPool:
		return windowed(l, x, x.C)
	case Mean:
		if x.Vector() {
			return Shape{}, fmt.Errorf("reads a vector of %s, not an image", x)
		}
		return Shape{C: x.C}, nil
	case Flatten:
		return Shape{C: x.Size()}, nil
	case Dense:
		if !x.Vector() {
			return Shape{}, fmt.Errorf("reads a %s, not a vector", x)
		}
		if l.Channels < 1 || l.Channels > maxValues {
			return Shape{}, fmt.Errorf("has %d outputs", l.Channels)
		}
		return Shape{C: l.Channels}, nil
	}
	return Shape{}, fmt.Errorf("is not an operation that a net knows")
}

// windowed is the shape after a convolution or a pool.
func windowed(l *Layer, x Shape, channels int) (Shape, error) {
	if x.Vector() {
		return Shape{}, fmt.Errorf("reads a vector of %s, not an image", x)
	}
	out := Shape{C: channels}
	for axis, size := range [2]int{x.H, x.W} {
		if l.Stride[axis] == 0 {
			l.Stride[axis] = 1
		}
		k, s, before, after := l.Kernel[axis], l.Stride[axis], l.Pad[axis], l.Pad[axis+2]
		if k < 1 || s < 1 || before < 0 || after < 0 || before > maxValues || after > maxValues || size+before+after < k {
			return Shape{}, fmt.Errorf("window %v, stride %v, padding %v do not fit a %s", l.Kernel, l.Stride, l.Pad, x)
		}
		v := (size+before+after-k)/s + 1
		if axis == 0 {
			out.H = v
		} else {
			out.W = v
		}
	}
	if out.H > maxValues || out.W > maxValues/out.H || out.C > maxValues/(out.H*out.W) {
		return Shape{}, fmt.Errorf("gives a %s, too large for one example", out)
	}
	return out, nil
}

// Param is the shape of one parameter, and whether training learns it.
type Param struct {
	Shape   []int
	Learned bool
}

// Params lists the parameters by name.
func (n *Net) Params() map[string]Param {
	ps := map[string]Param{}
	for _, l := range n.Layers {
		if len(l.In) == 0 {
			continue
		}
		x := n.Layers[l.In[0]].Out
		switch l.Op {
		case Affine:
			ps[l.Name+".shift"] = Param{Shape: []int{x.C}}
			ps[l.Name+".scale"] = Param{Shape: []int{x.C}}
		case Conv:
			ps[l.Name+".weight"] = Param{Shape: []int{l.Channels, x.C / l.Groups, l.Kernel[0], l.Kernel[1]}, Learned: true}
		case Dense:
			ps[l.Name+".weight"] = Param{Shape: []int{l.Channels, x.C}, Learned: true}
		case BatchNorm:
			for _, p := range []string{".weight", ".bias"} {
				ps[l.Name+p] = Param{Shape: []int{x.C}, Learned: true}
			}
			for _, p := range []string{".running_mean", ".running_var"} {
				ps[l.Name+p] = Param{Shape: []int{x.C}}
			}
		}
		if l.Bias {
			ps[l.Name+".bias"] = Param{Shape: []int{l.Channels}, Learned: true}
		}
	}
	return ps
}

// Learned is the number of values that training learns.
func (n *Net) Learned() int {
	total := 0
	for _, p := range n.Params() {
		if p.Learned {
			total += elements(p.Shape)
		}
	}
	return total
}

func elements(shape []int) int {
	size := 1
	for _, d := range shape {
		size *= d
	}
	return size
}

// Weights holds the values of a net's parameters by name.
type Weights map[string]Array

// Array is a dense array in row-major order.
type Array struct {
	Shape []int
	Data  []float32
}

// Check tells whether the weights are the net's: the first parameter that is
// missing, unexpected or of another shape is named.
func (n *Net) Check(w Weights) error {
	ps := n.Params()
	for _, name := range slices.Sorted(maps.Keys(ps)) {
		a, ok := w[name]
		switch {
		case !ok:
			return fmt.Errorf("tensor %q is missing (expected shape %v)", name, ps[name].Shape)
		case !slices.Equal(a.Shape, ps[name].Shape):
			return fmt.Errorf("tensor %q has shape %v, expected %v", name, a.Shape, ps[name].Shape)
		case len(a.Data) != elements(a.Shape):
			return fmt.Errorf("tensor %q has %d values for shape %v", name, len(a.Data), a.Shape)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w)) {
		if _, ok := ps[name]; !ok {
			return fmt.Errorf("tensor %q is not a parameter of this architecture", name)
		}
	}
	return nil
}
