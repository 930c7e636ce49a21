package model

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gomlx/gomlx/backends/simplego"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"github.com/gomlx/onnx-gomlx/onnx"
)

// generalOnnx is an ONNX classifier beyond the operations of a Net, converted
// by onnx-gomlx: any operation that it knows, in float32.
type generalOnnx struct {
	m     *onnx.Model
	input string
	nhwc  bool
	fixed int    // the batch size that the file fixes, or 0
	why   string // what put it beyond a Net
}

// convertible lists the operations that onnx-gomlx v0.3.4 converts
// (its function convertNode).
var convertible = strings.Fields(`Abs Add And AveragePool BatchNormalization BitwiseAnd BitwiseNot BitwiseOr
	BitwiseXor Cast Ceil Clip Concat Constant ConstantOfShape Conv Cos CumSum DequantizeLinear Div
	DynamicQuantizeLinear Equal Erf Exp Expand Flatten Floor Gather GatherElements Gemm GlobalAveragePool
	Greater GreaterOrEqual Identity If LSTM LayerNormalization Less LessOrEqual Log MatMul MatMulInteger Max
	MaxPool Min Mul Neg Not Or Pad Pow QLinearMatMul QuantizeLinear Range ReduceMean Relu Reshape ScatterND
	Shape Sign Sin Slice Softmax Split Sqrt Squeeze Sub Tanh Tile Transpose Trilu Unsqueeze Where Xor`)

// parseOnnx reads an ONNX file into the model.
func (m *Model) parseOnnx(b []byte) error {
	g, err := decodeOnnx(b)
	if err != nil {
		return err
	}
	image, nhwc, err := g.image()
	if err != nil {
		return err
	}
	m.Image = image
	m.Net, m.Weights, err = netFromOnnx(g, image, nhwc)
	if err == nil {
		m.Labels = m.Net.Classes()
		return nil
	}
	if !errors.Is(err, errOutside) {
		return err
	}
	return m.parseGeneral(b, g, nhwc, err)
}

// image finds the image input and its shape.
func (g *onnxGraph) image() (s Shape, nhwc bool, err error) {
	if len(g.inputs) != 1 {
		names := make([]string, len(g.inputs))
		for i, v := range g.inputs {
			names[i] = v.name
		}
		return s, false, fmt.Errorf("it has %d inputs (%s); a classifier of images has one", len(g.inputs), strings.Join(names, ", "))
	}
	if len(g.outputs) == 0 {
		return s, false, errOnnxTruncated
	}
	v := g.inputs[0]
	if v.dtype == onnxInt64 || v.dtype == onnxInt32 || v.dtype == onnxString {
		return s, false, fmt.Errorf("its input %q is %s: that is a model of text or tokens; lorica certifies classifiers of images (float32)", v.name, onnxTypeName(v.dtype))
	}
	if v.dtype != onnxFloat {
		return s, false, fmt.Errorf("its input %q is %s; export the model with float32 input", v.name, onnxTypeName(v.dtype))
	}
	if len(v.dims) != 4 {
		return s, false, fmt.Errorf("its input %q has shape %v; an image input has four axes, N x C x H x W or N x H x W x C", v.name, v.dims)
	}
	d := v.dims
	colours := func(n int64) bool { return n == 1 || n == 3 || n == 4 }
	nhwc = colours(d[3]) && !colours(d[1])
	s = Shape{C: int(d[1]), H: int(d[2]), W: int(d[3])}
	if nhwc {
		s = Shape{C: int(d[3]), H: int(d[1]), W: int(d[2])}
	}
	if s.C < 1 || s.H < 1 || s.W < 1 || s.C > 1<<12 || s.H > 1<<14 || s.W > 1<<14 || s.Size() > maxValues {
		return s, false, fmt.Errorf("its input %q has shape %v: channels, height and width must be fixed when the model is exported (only the batch may vary)", v.name, v.dims)
	}
	return s, nhwc, nil
}

func (m *Model) parseGeneral(b []byte, g *onnxGraph, nhwc bool, why error) (err error) {
	missing := map[string]bool{}
	for _, n := range g.nodes {
		if !slices.Contains(convertible, n.op) || (n.domain != "" && n.domain != "ai.onnx") {
			missing[strings.TrimPrefix(n.domain+".", ".")+n.op] = true
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("it uses operations that lorica lacks: %s", strings.Join(slices.Sorted(maps.Keys(missing)), ", "))
	}
	if g.sparse {
		return errors.New("it has sparse weights, which lorica cannot read")
	}
	for _, t := range g.tensors {
		if t.external {
			return fmt.Errorf("tensor %q lies in another file: export the model with its weights inside", t.name)
		}
	}
	defer func() {
		// The importer panics on what it does not expect in a file.
		if r := recover(); r != nil {
			err = fmt.Errorf("it cannot be converted: %v", r)
		}
	}()
	om, err := onnx.Parse(b)
	if err != nil {
		return fmt.Errorf("it cannot be read: %w", err)
	}
	gen := &generalOnnx{m: om, input: g.inputs[0].name, nhwc: nhwc, fixed: int(g.inputs[0].dims[0])}
	gen.why = strings.TrimPrefix(why.Error(), errOutside.Error()+": ")
	m.general = gen

	// Building the graph once finds what the importer refuses, and the number of classes.
	backend, err := simplego.New("")
	if err != nil {
		return err
	}
	defer backend.Finalize()
	gr := graph.NewGraph(backend, "classes")
	defer gr.Finalize()
	x := graph.Parameter(gr, "x", shapes.Make(dtypes.Float32, 2, m.Image.C, m.Image.H, m.Image.W))
	m.Labels = gen.logits(context.New(), x).Shape().Dim(1)
	return nil
}

func (o *generalOnnx) logits(ctx *context.Context, x *graph.Node) *graph.Node {
	if err := o.m.VariablesToContext(ctx.Checked(false)); err != nil {
		panic(err)
	}
	if o.nhwc {
		x = graph.TransposeAllAxes(x, 0, 2, 3, 1)
	}
	n := x.Shape().Dim(0)
	if o.fixed != 0 && o.fixed != n {
		panic(fmt.Errorf("the file fixes the batch size at %d, and its graph is not one that lorica can rewrite (%s): export it with a dynamic batch axis", o.fixed, o.why))
	}
	out := o.m.CallGraph(ctx, x.Graph(), map[string]*graph.Node{o.input: x}, o.m.OutputsNames[0])[0]
	if out.Rank() != 2 || out.Shape().Dim(0) != n {
		panic(fmt.Errorf("its output %q has shape %s; a classifier gives one number a class", o.m.OutputsNames[0], out.Shape()))
	}
	return graph.ConvertDType(out, dtypes.Float32)
}
