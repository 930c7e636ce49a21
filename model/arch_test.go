package model

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"lorica/engine/cpu"
)

// The parameter counts of the paper's networks, of torchvision's ResNet-18 and
// of LeNet-5.
func TestParameterCounts(t *testing.T) {
	for _, c := range []struct {
		name    string
		classes int
		want    int
	}{
		{"resnet20", 10, 272_474},
		{"resnet56", 10, 855_770},
		{"resnet110", 10, 1_730_714},
		{"resnet56-wide", 10, 13_635_914},
		{"resnet18", 1000, 11_689_512},
		{"lenet", 10, 61_706},
	} {
		n, err := NewArchitecture(c.name, Shape{}, c.classes)
		if err != nil {
			t.Fatal(err)
		}
		if got := n.Learned(); got != c.want {
			t.Errorf("%s has %d learned parameters, want %d", c.name, got, c.want)
		}
	}
}

func TestArchitectureErrors(t *testing.T) {
	for _, c := range []struct {
		name    string
		image   Shape
		classes int
	}{{"resnet9000", Shape{}, 10}, {"resnet20", Shape{}, 1}, {"lenet", Shape{1, 3, 3}, 10}} {
		if _, err := NewArchitecture(c.name, c.image, c.classes); err == nil {
			t.Errorf("%v: no error", c)
		}
	}
}

// small is a residual network with every operation of the architectures, tiny
// enough for GoMLX's portable backend.
func small(t *testing.T) *Net {
	t.Helper()
	b := &builder{net: NewNet(Shape{2, 8, 8})}
	b.layer(Layer{Op: Affine, Name: normLayer})
	b.conv("conv1", 4, 3, 1, 1, true)
	b.norm("bn1")
	b.relu()
	b.maxPool(3, 2, 1)
	b.block("layer1.0", "downsample", 4, 1)
	b.block("layer2.0", "downsample", 6, 2)
	b.layer(Layer{Op: Mean})
	b.dense("fc", 3)
	if b.err != nil {
		t.Fatal(b.err)
	}
	return b.net
}

func initialised(t *testing.T, n *Net) Weights {
	t.Helper()
	w, err := n.Init(5, NormalisationFor("", n.Image().C))
	if err != nil {
		t.Fatal(err)
	}
	// Statistics as after some training, so that batch norm does something.
	for name, a := range w {
		for i := range a.Data {
			switch {
			case len(name) > 12 && name[len(name)-12:] == "running_mean":
				a.Data[i] = 0.1 * float32(i-1)
			case len(name) > 11 && name[len(name)-11:] == "running_var":
				a.Data[i] = 0.5 + 0.2*float32(i)
			}
		}
	}
	return w
}

// Inference with folded batch norms must answer as the network that training
// builds does, in either layout.
func TestFoldedInferenceAgreesWithForward(t *testing.T) {
	n := small(t)
	w := initialised(t, n)
	m, err := FromNet("small", n, w)
	if err != nil {
		t.Fatal(err)
	}
	x := randomImages(3, m.Image)
	for _, last := range []bool{false, true} {
		want := forwardLogits(t, n, w, x, Lowering{ChannelsLast: last}, false)
		if d := largestDifference(logits(t, m, x, Lowering{ChannelsLast: last}), want); d > 1e-5 {
			t.Errorf("channels last %v: logits differ by %g", last, d)
		}
	}
}

// placed is a backend, and a context with a net's variables.
func placed(t *testing.T, n *Net, w Weights) (backends.Backend, *context.Context) {
	t.Helper()
	backend, err := cpu.New("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(backend.Finalize)
	ctx := context.New()
	if err := n.Place(ctx, w); err != nil {
		t.Fatal(err)
	}
	return backend, ctx
}

func forwardLogits(t *testing.T, n *Net, w Weights, x []float32, how Lowering, training bool) [][]float32 {
	t.Helper()
	backend, ctx := placed(t, n, w)
	exec := context.MustNewExec(backend, ctx, func(ctx *context.Context, x *graph.Node) *graph.Node {
		return n.Forward(ctx, x, training, how)
	})
	s := n.Image()
	out := exec.MustExec(tensors.FromFlatDataAndDimensions(x, len(x)/s.Size(), s.C, s.H, s.W))[0]
	return out.Value().([][]float32)
}

// In training a batch norm gives outputs of mean beta and deviation gamma, and
// moves the running statistics by a tenth towards the batch's.
func TestBatchNormInTraining(t *testing.T) {
	n := NewNet(Shape{2, 3, 3})
	if _, err := n.Append(Layer{Op: BatchNorm, Name: "bn", In: []int{0}, Eps: 1e-5}); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Append(Layer{Op: Flatten, In: []int{1}}); err != nil {
		t.Fatal(err)
	}
	w := Weights{
		"bn.weight": {Shape: []int{2}, Data: []float32{2, 3}}, "bn.bias": {Shape: []int{2}, Data: []float32{-1, 5}},
		"bn.running_mean": {Shape: []int{2}, Data: []float32{10, 20}}, "bn.running_var": {Shape: []int{2}, Data: []float32{4, 8}},
	}
	backend, err := cpu.New("")
	if err != nil {
		t.Fatal(err)
	}
	defer backend.Finalize()
	ctx := context.New()
	if err := n.Place(ctx, w); err != nil {
		t.Fatal(err)
	}
	exec := context.MustNewExec(backend, ctx, func(ctx *context.Context, x *graph.Node) *graph.Node {
		return n.Forward(ctx, x, true, Lowering{})
	})
	x := randomImages(4, n.Image())
	out := exec.MustExec(tensors.FromFlatDataAndDimensions(x, 4, 2, 3, 3))[0].Value().([][]float32)
	got, err := n.Take(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for c := range 2 {
		var in, res []float64
		for b := range 4 {
			for p := range 9 {
				in = append(in, float64(x[(b*2+c)*9+p]))
				res = append(res, float64(out[b][c*9+p]))
			}
		}
		mean, variance := moments(in)
		outMean, outVar := moments(res)
		near := func(what string, got, want float64) {
			if math.Abs(got-want) > 1e-3 {
				t.Errorf("channel %d: %s is %g, want %g", c, what, got, want)
			}
		}
		near("mean of the output", outMean, float64(w["bn.bias"].Data[c]))
		near("deviation of the output", math.Sqrt(outVar), float64(w["bn.weight"].Data[c]))
		near("running mean", float64(got["bn.running_mean"].Data[c]), 0.9*float64(w["bn.running_mean"].Data[c])+0.1*mean)
		near("running variance", float64(got["bn.running_var"].Data[c]), 0.9*float64(w["bn.running_var"].Data[c])+0.1*variance*36/35)
	}
}

func moments(v []float64) (mean, variance float64) {
	for _, x := range v {
		mean += x / float64(len(v))
	}
	for _, x := range v {
		variance += (x - mean) * (x - mean) / float64(len(v))
	}
	return mean, variance
}

// Kaiming's initialisation keeps the scale of activations.
func TestInitIsKaiming(t *testing.T) {
	n, err := NewArchitecture("resnet20", Shape{}, 10)
	if err != nil {
		t.Fatal(err)
	}
	w, err := n.Init(1, NormalisationFor("cifar10", 3))
	if err != nil {
		t.Fatal(err)
	}
	a := w["blocks.8.conv2.weight"]
	var sum float64
	for _, v := range a.Data {
		sum += float64(v) * float64(v)
	}
	if got, want := math.Sqrt(sum/float64(len(a.Data))), math.Sqrt(2./(64*9)); math.Abs(got/want-1) > 0.02 {
		t.Errorf("deviation %g, want %g", got, want)
	}
	again, _ := n.Init(1, NormalisationFor("cifar10", 3))
	other, _ := n.Init(2, NormalisationFor("cifar10", 3))
	if again["conv.weight"].Data[0] != w["conv.weight"].Data[0] || other["conv.weight"].Data[0] == w["conv.weight"].Data[0] {
		t.Error("the weights are not a function of the seed")
	}
}

// In bfloat16 the logits are those of float32 up to its eight bits.
func TestBFloat16(t *testing.T) {
	n := small(t)
	m, err := FromNet("small", n, initialised(t, n))
	if err != nil {
		t.Fatal(err)
	}
	x := randomImages(4, m.Image)
	want := logits(t, m, x, Lowering{})
	got := logits(t, m, x, Lowering{DType: dtypes.BFloat16, ChannelsLast: true})
	d := largestDifference(got, want)
	if d == 0 || d > 0.05 {
		t.Errorf("logits differ by %g: expected a small difference, and one", d)
	}
}

func TestRoundBFloat16(t *testing.T) {
	for _, c := range []struct {
		in   uint32
		want uint16
	}{
		{0x3f800000, 0x3f80}, {0x3f808000, 0x3f80}, // a tie goes to the even 3f80
		{0x3f818000, 0x3f82}, {0x3f808001, 0x3f81}, {0xbf80ffff, 0xbf81},
		{0x7f7fffff, 0x7f80}, {0x7f800000, 0x7f80}, {0x7f800001, 0x7fc0},
	} {
		if got := roundBFloat16(math.Float32frombits(c.in)).Bits(); got != c.want {
			t.Errorf("%08x rounds to %04x, want %04x", c.in, got, c.want)
		}
	}
}
