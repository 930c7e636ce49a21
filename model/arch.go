package model

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// architecture is a network that lorica can train from scratch.
type architecture struct {
	name  string
	image Shape // the default
	build func(b *builder, classes int)
}

// The architectures of the paper, and a LeNet for MNIST's size.
func architectures() []architecture {
	cifar, large := Shape{3, 32, 32}, Shape{3, 160, 160}
	return []architecture{
		{"resnet20", cifar, func(b *builder, k int) { b.cifarResNet(20, k) }},
		{"resnet56", cifar, func(b *builder, k int) { b.cifarResNet(56, k) }},
		{"resnet110", cifar, func(b *builder, k int) { b.cifarResNet(110, k) }},
		{"resnet56-wide", large, func(b *builder, k int) { b.imageNetResNet([]int{9, 9, 9}, k) }},
		{"resnet18", Shape{3, 224, 224}, func(b *builder, k int) { b.imageNetResNet([]int{2, 2, 2, 2}, k) }},
		{"lenet", Shape{1, 28, 28}, func(b *builder, k int) { b.lenet(k) }},
	}
}

// Architectures names the networks that NewArchitecture builds.
func Architectures() []string {
	var names []string
	for _, a := range architectures() {
		names = append(names, a.name)
	}
	return names
}

// NewArchitecture builds a network for images and classes; the zero image
// means the one that the architecture was made for. Its parameters have
// PyTorch's names.
//
//	resnet20, resnet56, resnet110  3 stages of basic blocks, 16/32/64 channels (32x32)
//	resnet56-wide                  7x7/2 stem, max-pool, [9,9,9] blocks of 64/128/256
//	resnet18                       torchvision's
//	lenet                          two convolutions, three products (28x28)
func NewArchitecture(name string, image Shape, classes int) (*Net, error) {
	i := slices.IndexFunc(architectures(), func(a architecture) bool { return a.name == name })
	if i < 0 {
		return nil, fmt.Errorf("no architecture %q (there are: %s)", name, strings.Join(Architectures(), ", "))
	}
	a := architectures()[i]
	if image == (Shape{}) {
		image = a.image
	}
	if classes < 2 {
		return nil, fmt.Errorf("a classifier has at least two classes, not %d", classes)
	}
	b := &builder{net: NewNet(image)}
	b.layer(Layer{Op: Affine, Name: normLayer})
	a.build(b, classes)
	if b.err != nil {
		return nil, fmt.Errorf("architecture %s for images of %s: %w", name, image, b.err)
	}
	return b.net, nil
}

// normLayer is the name of the layer that normalises an architecture's input.
const normLayer = "norm"

// builder appends layers, each reading the one before; the first error stays.
type builder struct {
	net  *Net
	last int
	err  error
}

func (b *builder) layer(l Layer) {
	if b.err != nil {
		return
	}
	if l.In == nil {
		l.In = []int{b.last}
	}
	b.last, b.err = b.net.Append(l)
}

func (b *builder) conv(name string, channels, kernel, stride, pad int, bias bool) {
	b.layer(Layer{Op: Conv, Name: name, Channels: channels, Kernel: [2]int{kernel, kernel},
		Stride: [2]int{stride, stride}, Pad: [4]int{pad, pad, pad, pad}, Bias: bias})
}

func (b *builder) norm(name string) { b.layer(Layer{Op: BatchNorm, Name: name, Eps: 1e-5}) }

func (b *builder) maxPool(kernel, stride, pad int) {
	b.layer(Layer{Op: MaxPool, Kernel: [2]int{kernel, kernel}, Stride: [2]int{stride, stride}, Pad: [4]int{pad, pad, pad, pad}})
}

func (b *builder) relu() { b.layer(Layer{Op: Relu}) }

func (b *builder) dense(name string, outputs int) {
	b.layer(Layer{Op: Dense, Name: name, Channels: outputs, Bias: true})
}

// block is a basic residual block; shortcut names its 1x1 convolution and norm.
func (b *builder) block(name, shortcut string, channels, stride int) {
	in := b.last
	b.conv(name+".conv1", channels, 3, stride, 1, false)
	b.norm(name + ".bn1")
	b.relu()
	b.conv(name+".conv2", channels, 3, 1, 1, false)
	b.norm(name + ".bn2")
	main, side := b.last, in
	if b.err == nil && (stride != 1 || b.net.Layers[in].Out.C != channels) {
		b.last = in
		b.conv(name+"."+shortcut+".0", channels, 1, stride, 0, false)
		b.norm(name + "." + shortcut + ".1")
		side = b.last
	}
	b.layer(Layer{Op: Add, In: []int{main, side}})
	b.relu()
}

func (b *builder) cifarResNet(depth, classes int) {
	b.conv("conv", 16, 3, 1, 1, false)
	b.norm("bn")
	b.relu()
	i := 0
	for stage, channels := range []int{16, 32, 64} {
		for k := range (depth - 2) / 6 {
			stride := 1
			if stage > 0 && k == 0 {
				stride = 2
			}
			b.block(fmt.Sprintf("blocks.%d", i), "short", channels, stride)
			i++
		}
	}
	b.layer(Layer{Op: Mean})
	b.dense("fc", classes)
}

func (b *builder) imageNetResNet(stages []int, classes int) {
	b.conv("conv1", 64, 7, 2, 3, false)
	b.norm("bn1")
	b.relu()
	b.maxPool(3, 2, 1)
	for stage, blocks := range stages {
		for k := range blocks {
			stride := 1
			if stage > 0 && k == 0 {
				stride = 2
			}
			b.block(fmt.Sprintf("layer%d.%d", stage+1, k), "downsample", 64<<stage, stride)
		}
	}
	b.layer(Layer{Op: Mean})
	b.dense("fc", classes)
}

func (b *builder) lenet(classes int) {
	b.conv("conv1", 6, 5, 1, 2, true)
	b.relu()
	b.maxPool(2, 2, 0)
	b.conv("conv2", 16, 5, 1, 0, true)
	b.relu()
	b.maxPool(2, 2, 0)
	b.layer(Layer{Op: Flatten})
	b.dense("fc1", 120)
	b.relu()
	b.dense("fc2", 84)
	b.relu()
	b.dense("fc3", classes)
}

// Normalisation is what a model subtracts from an image and divides it by, a
// channel each.
type Normalisation struct {
	Mean []float32 `json:"mean"`
	Std  []float32 `json:"std"`
}

// NormalisationFor is the usual one for a data set ("cifar10", "mnist", ...), or
// mean and deviation one half for data without one.
func NormalisationFor(data string, channels int) Normalisation {
	switch {
	case strings.HasPrefix(data, "cifar10") || data == "builtin":
		return Normalisation{Mean: []float32{.4914, .4822, .4465}, Std: []float32{.2023, .1994, .2010}}
	case strings.HasPrefix(data, "imagen") && channels == 3:
		return Normalisation{Mean: []float32{.485, .456, .406}, Std: []float32{.229, .224, .225}}
	case strings.HasPrefix(data, "mnist") && channels == 1:
		return Normalisation{Mean: []float32{.1307}, Std: []float32{.3081}}
	}
	half := slices.Repeat([]float32{.5}, channels)
	return Normalisation{Mean: half, Std: slices.Clone(half)}
}

// Init draws the weights that training starts from: Kaiming's normal
// distribution for convolutions, PyTorch's uniform one for products. The
// weights depend on the seed and the net alone.
func (n *Net) Init(seed uint64, norm Normalisation) (Weights, error) {
	if c := n.Image().C; len(norm.Mean) != c || len(norm.Std) != c {
		return nil, fmt.Errorf("normalisation has %d means and %d deviations, the images have %d channels", len(norm.Mean), len(norm.Std), c)
	}
	w := Weights{}
	fill := func(name string, index int, f func(r *rand.Rand) float32) {
		shape := n.Params()[name].Shape
		a := Array{Shape: shape, Data: make([]float32, elements(shape))}
		r := rand.New(rand.NewPCG(seed, uint64(index)))
		for i := range a.Data {
			a.Data[i] = f(r)
		}
		w[name] = a
	}
	constant := func(v float32) func(*rand.Rand) float32 { return func(*rand.Rand) float32 { return v } }
	uniform := func(bound float64) func(*rand.Rand) float32 {
		return func(r *rand.Rand) float32 { return float32((2*r.Float64() - 1) * bound) }
	}
	for i, l := range n.Layers[1:] {
		in := n.Layers[l.In[0]].Out.C
		switch l.Op {
		case Affine:
			a := Array{Shape: []int{in}, Data: slices.Clone(norm.Mean)}
			s := Array{Shape: []int{in}, Data: make([]float32, in)}
			for c := range s.Data {
				s.Data[c] = 1 / norm.Std[c]
			}
			w[l.Name+".shift"], w[l.Name+".scale"] = a, s
		case Conv:
			fan := float64(in / l.Groups * l.Kernel[0] * l.Kernel[1])
			std := math.Sqrt(2 / fan)
			fill(l.Name+".weight", 2*i, func(r *rand.Rand) float32 { return float32(r.NormFloat64() * std) })
			if l.Bias {
				fill(l.Name+".bias", 2*i+1, uniform(1/math.Sqrt(fan)))
			}
		case Dense:
			bound := 1 / math.Sqrt(float64(in))
			fill(l.Name+".weight", 2*i, uniform(bound))
			if l.Bias {
				fill(l.Name+".bias", 2*i+1, uniform(bound))
			}
		case BatchNorm:
			fill(l.Name+".weight", 0, constant(1))
			fill(l.Name+".running_var", 0, constant(1))
			fill(l.Name+".bias", 0, constant(0))
			fill(l.Name+".running_mean", 0, constant(0))
		}
	}
	return w, n.Check(w)
}
