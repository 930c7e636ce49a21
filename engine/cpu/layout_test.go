package cpu

import (
	"math/rand/v2"
	"testing"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	timage "github.com/gomlx/gomlx/pkg/core/tensors/images"
)

// channelsFirst is a small residual network written N, C, H, W: two
// convolutions with biases, a shortcut, a mean over the image, a product.
func channelsFirst(in []*Node) []*Node {
	x, w1, b1, w2, w3 := in[0], in[1], in[2], in[3], in[4]
	conv := func(x, w *Node) *Node {
		return Convolve(x, w).AxesConfig(backends.ConvolveAxesConfig{
			InputBatch: 0, InputChannels: 1, InputSpatial: []int{2, 3},
			KernelOutputChannels: 0, KernelInputChannels: 1, KernelSpatial: []int{2, 3},
			OutputBatch: 0, OutputChannels: 1, OutputSpatial: []int{2, 3},
		}).PadSame().StridePerAxis(1, 1).DilationPerAxis(1, 1).InputDilationPerAxis(1, 1).Done()
	}
	relu := func(x *Node) *Node { return Max(x, ScalarZero(x.Graph(), x.DType())) }
	h := conv(x, w1)
	bias := BroadcastToDims(Reshape(b1, 1, b1.Shape().Dim(0), 1, 1), h.Shape().Dimensions...)
	h = relu(Add(h, bias))
	y := relu(Add(conv(h, w2), h))
	return []*Node{Dot(ReduceMean(y, 2, 3), w3), ReduceSum(y, 0, 2), Transpose(y, 1, 3), y}
}

// windows are the operations that go along with an order, with attributes that
// differ from axis to axis.
func windows(y *Node) []*Node {
	zero := ScalarZero(y.Graph(), y.DType())
	pool := MaxPool(y).ChannelsAxis(timage.ChannelsFirst).WindowPerAxis(2, 3).StridePerAxis(2, 1).PaddingPerDim([][2]int{{1, 0}, {0, 1}}).Done()
	padded := Pad(y, zero, PadAxis{}, PadAxis{Start: 1}, PadAxis{End: 2}, PadAxis{Start: 1, End: 1, Interior: 1})
	cut := Slice(y, AxisRange(0, 1), AxisRange(1, 6), AxisRange().Stride(2), AxisRange(1, 4))
	joined := Concatenate([]*Node{y, MulScalar(y, 2)}, 1)
	return []*Node{pool, padded, cut, joined, Reverse(y, 1, 3), Gradient(ReduceAllSum(Mul(pool, pool)), y)[0]}
}

// After a convolution they run channels last, on a parameter as the graph says:
// the values are the same.
func TestLayoutOfWindowsAndSlices(t *testing.T) {
	b, in := newBackend(t, ""), layoutInputs()
	y := func(in []*Node) *Node { return channelsFirst(in)[3] }
	value := evaluate(t, b, func(in []*Node) []*Node { return []*Node{y(in)} }, in)[0].([]float32)
	got := evaluate(t, b, func(in []*Node) []*Node { return windows(y(in)) }, in)
	want := evaluate(t, b, func(in []*Node) []*Node { return windows(in[0]) },
		[]*tensors.Tensor{tensors.FromFlatDataAndDimensions(value, 2, 7, 6, 5)})
	for i := range want {
		if err := same(got[i], want[i], 0); err != nil {
			t.Errorf("output %d: %v", i, err)
		}
	}
}

func randomTensor(r *rand.Rand, dims ...int) *tensors.Tensor {
	x := make([]float32, shapes.Make(dtypes.Float32, dims...).Size())
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return tensors.FromFlatDataAndDimensions(x, dims...)
}

func layoutInputs() []*tensors.Tensor {
	r := rand.New(rand.NewPCG(4, 2))
	return []*tensors.Tensor{randomTensor(r, 2, 3, 6, 5), randomTensor(r, 7, 3, 3, 3), randomTensor(r, 7), randomTensor(r, 7, 7, 3, 3), randomTensor(r, 7, 4)}
}

func TestLayoutKeepsValues(t *testing.T) {
	in := layoutInputs()
	got, want := evaluate(t, newBackend(t, ""), channelsFirst, in), evaluate(t, portable(), channelsFirst, in)
	for i := range want {
		if err := same(got[i], want[i], 1e-4); err != nil {
			t.Errorf("output %d: %v", i, err)
		}
	}
}

// recorder is a backend that keeps what it compiled.
type recorder struct {
	*Backend
	last *executable
}

func (r *recorder) Builder(name string) backends.Builder {
	return &recordingBuilder{r.Backend.Builder(name).(*Builder), r}
}

type recordingBuilder struct {
	*Builder
	r *recorder
}

func (b *recordingBuilder) Compile(outputs []backends.Op, shardings []*backends.ShardingSpec) (backends.Executable, error) {
	e, err := b.Builder.Compile(outputs, shardings)
	if err == nil {
		b.r.last = e.(*executable)
	}
	return e, err
}

// The network above runs as two convolutions with their epilogues, a mean and
// a product; nothing is transposed.
func TestLayoutAndEpilogues(t *testing.T) {
	r := &recorder{Backend: newBackend(t, "").(*Backend)}
	g := NewGraph(r, "layout")
	defer g.Finalize()
	var in []*Node
	for i, x := range layoutInputs() {
		in = append(in, Parameter(g, string(rune('a'+i)), x.Shape()))
	}
	g.Compile(channelsFirst(in)[0])
	var convs []convAttrs
	for _, s := range r.last.steps {
		switch s.node.op {
		case backends.OpTypeTranspose:
			t.Errorf("the network transposes a %s", s.node.shape)
		case backends.OpTypeConvGeneral:
			convs = append(convs, s.node.attrs.(convAttrs))
		}
	}
	if len(convs) != 2 || convs[0].bias == 0 || !convs[0].relu || convs[1].residual == 0 || !convs[1].relu {
		t.Errorf("convolutions are %+v, want two, with bias and rectifier, with residual and rectifier", convs)
	}
	if len(r.last.steps) > 5 {
		t.Errorf("%d steps", len(r.last.steps))
	}
}
