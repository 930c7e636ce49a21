package model

import (
	"math"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"
)

// narrowNet has narrow convolutions of several windows, added to one another
// and to what is not narrow or cannot be grouped.
func narrowNet(t *testing.T, image Shape) *Net {
	t.Helper()
	b := &builder{net: NewNet(image)}
	b.layer(Layer{Op: Affine, Name: normLayer})
	b.conv("first", 5, 3, 1, 1, true)
	b.norm("bn")
	b.relu()
	b.conv("five", 7, 5, 1, 2, false)
	b.relu()
	b.block("a", "downsample", 7, 1)
	b.conv("wide", 20, 3, 1, 1, false)
	b.relu()
	b.block("b", "downsample", 9, 2)
	b.maxPool(3, 2, 1)
	b.layer(Layer{Op: Flatten})
	b.dense("fc", 3)
	if b.err != nil {
		t.Fatal(b.err)
	}
	return b.net
}

func TestPixelsTakenAtOnce(t *testing.T) {
	how := Lowering{ChannelsLast: true, Wide: true}
	window := Layer{Op: Conv, Channels: 16, Kernel: [2]int{3, 3}, Stride: [2]int{1, 1}, Pad: [4]int{1, 1, 1, 1}, Groups: 1}
	with := func(change func(l *Layer)) Layer {
		l := window
		change(&l)
		return l
	}
	for _, c := range []struct {
		l    Layer
		in   Shape
		want int
	}{
		{window, Shape{16, 32, 32}, 4},
		{window, Shape{3, 32, 30}, 2},
		{window, Shape{16, 32, 31}, 1},
		{window, Shape{17, 32, 32}, 1},
		{with(func(l *Layer) { l.Channels = 32 }), Shape{16, 32, 32}, 1},
		{with(func(l *Layer) { l.Stride = [2]int{2, 2} }), Shape{16, 32, 32}, 1},
		{with(func(l *Layer) { l.Groups = 2 }), Shape{16, 32, 32}, 1},
		{with(func(l *Layer) { l.Pad = [4]int{} }), Shape{16, 32, 32}, 1},
		{with(func(l *Layer) { l.Kernel[1], l.Pad = 1, [4]int{1, 0, 1, 0} }), Shape{16, 32, 32}, 1},
		{with(func(l *Layer) { l.Kernel[1], l.Pad = 11, [4]int{1, 5, 1, 5} }), Shape{16, 32, 32}, 1},
		{with(func(l *Layer) { l.Kernel[1], l.Pad = 7, [4]int{1, 3, 1, 3} }), Shape{16, 32, 30}, 1},
	} {
		if got := how.pixels(c.l, c.in); got != c.want {
			t.Errorf("%+v on %s takes %d pixels at once, want %d", c.l, c.in, got, c.want)
		}
	}
	for _, how := range []Lowering{{Wide: true}, {ChannelsLast: true}} {
		if p := how.pixels(window, Shape{16, 32, 32}); p != 1 {
			t.Errorf("%+v takes %d pixels at once", how, p)
		}
	}
}

// Taking pixels together changes no answer, in inference and in training, and
// no gradient.
func TestWideAgreesWithNarrow(t *testing.T) {
	for _, image := range []Shape{{3, 8, 8}, {3, 6, 10}, {3, 6, 7}} {
		n := narrowNet(t, image)
		w := initialised(t, n)
		m, err := FromNet("narrow", n, w)
		if err != nil {
			t.Fatal(err)
		}
		x := randomImages(3, m.Image)
		plain, wide := Lowering{ChannelsLast: true}, Lowering{ChannelsLast: true, Wide: true}
		if d := largestDifference(logits(t, m, x, wide), logits(t, m, x, plain)); d > 1e-5 {
			t.Errorf("%s: logits differ by %g", image, d)
		}
		want := gradients(t, n, w, x, plain)
		for name, got := range gradients(t, n, w, x, wide) {
			for i, v := range got {
				if math.Abs(float64(v-want[name][i])) > 2e-5*(1+math.Abs(float64(want[name][i]))) {
					t.Errorf("%s: gradient %d of %s is %g, want %g", image, i, name, v, want[name][i])
					break
				}
			}
		}
		half := wide
		half.DType = dtypes.BFloat16
		if d := largestDifference(logits(t, m, x, half), logits(t, m, x, plain)); d == 0 || d > 0.05 {
			t.Errorf("%s: bfloat16 differs by %g: expected a small difference, and one", image, d)
		}
	}
}

// gradients are those of the sum of squared logits in training, by parameter.
func gradients(t *testing.T, n *Net, w Weights, x []float32, how Lowering) map[string][]float32 {
	t.Helper()
	backend, ctx := placed(t, n, w)
	var names []string
	for name, p := range n.Params() {
		if p.Learned {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	exec := context.MustNewExec(backend, ctx, func(ctx *context.Context, x *graph.Node) []*graph.Node {
		values := make([]*graph.Node, len(names))
		for i, name := range names {
			values[i] = ctx.In(Scope).GetVariable(name).ValueGraph(x.Graph())
		}
		z := n.Forward(ctx, x, true, how)
		return graph.Gradient(graph.ReduceAllSum(graph.Square(z)), values...)
	})
	s := n.Image()
	out := exec.MustExec(tensors.FromFlatDataAndDimensions(x, len(x)/s.Size(), s.C, s.H, s.W))
	grads := map[string][]float32{}
	largest := float32(0)
	for i, name := range names {
		if err := out[i].ConstFlatData(func(flat any) { grads[name] = slices.Clone(flat.([]float32)) }); err != nil {
			t.Fatal(err)
		}
		largest = max(largest, slices.Max(grads[name]))
	}
	if largest == 0 {
		t.Fatal("all gradients are zero")
	}
	return grads
}
