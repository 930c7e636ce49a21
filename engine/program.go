package engine

import (
	"fmt"
	"strings"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"lorica/model"
)

// program is a classifier compiled for one batch size.
//
// On a host engine its input is the noisy batch [rows, C, H, W] and its output
// the logits [rows, K]. On a device its inputs are images [slots, C, H, W], the
// slot of each row [rows] and the words of each row's draw [words, rows]; its
// output is the counts [slots, K+1], the last column for NaN.
type program struct {
	rows, slots int
	g           *graph.Graph
	inputs      []backends.Buffer // of all parameters; nil where a call fills them in
	donate      []bool
	free        []graph.ParameterHandle // the ones to fill in, in the order above
	shapes      []shapes.Shape          // of those
	out         shapes.Shape
}

// compile builds and compiles the program for a number of rows.
func compile(e *Engine, m *model.Model, ctx *context.Context, c SamplerConfig, rows, slots int) (p *program, err error) {
	defer Recovered(&err)
	g := graph.NewGraph(e.backend, "sampler")
	p = &program{rows: rows, slots: slots, g: g}
	s := m.Image
	how := model.Lowering{DType: c.dtype(), ChannelsLast: c.channelsLast(), Wide: !e.host, Constants: e.host}

	var params []*graph.Node
	var out *graph.Node
	if e.host {
		x := graph.Parameter(g, "x", shapes.Make(dtypes.Float32, rows, s.C, s.H, s.W))
		params = []*graph.Node{x}
		out = m.Logits(ctx, x, how)
	} else {
		images := graph.Parameter(g, "images", shapes.Make(dtypes.Float32, slots, s.Size()))
		slot := graph.Parameter(g, "slot", shapes.Make(dtypes.Int32, rows))
		ids := graph.Parameter(g, "ids", shapes.Make(dtypes.Uint32, words, rows))
		params = []*graph.Node{images, slot, ids}
		// A row beyond the work has slot -1: it reads slot 0 and counts nowhere.
		from := graph.Max(slot, graph.Const(g, int32(0)))
		x := graph.Gather(images, graph.Reshape(from, rows, 1))
		x = graph.Add(x, graph.MulScalar(Noise(ids, s.Size()), c.Sigma))
		logits := m.Logits(ctx, graph.Reshape(x, rows, s.C, s.H, s.W), how)
		out = countGraph(classGraph(logits), slot, slots, m.Labels+1)
	}
	p.out = out.Shape()
	g.Compile(out)

	p.inputs = make([]backends.Buffer, g.NumParameters())
	p.donate = make([]bool, g.NumParameters())
	variables := graph.ParamsMap{}
	ctx.ExecPopulateGraphParamsMap(g, variables)
	for node, value := range variables {
		b, err := tensorBuffer(e.backend, value)
		if err != nil {
			return nil, err
		}
		p.inputs[node.GetParameterHandle()] = b
	}
	for _, n := range params {
		p.free = append(p.free, n.GetParameterHandle())
		p.shapes = append(p.shapes, n.Shape())
	}
	return p, nil
}

// classGraph is the answer of each row of logits: the arg max, ties to the
// lowest index, or K where any logit is NaN.
func classGraph(logits *graph.Node) *graph.Node {
	g, dims := logits.Graph(), logits.Shape().Dimensions
	k := dims[1]
	index := graph.Iota(g, shapes.Make(dtypes.Int32, dims...), 1)
	constant := func(v int) *graph.Node { return graph.BroadcastToDims(graph.Const(g, int32(v)), dims...) }
	top := graph.ReduceAndKeep(logits, graph.ReduceMax, 1)
	candidates := graph.Where(graph.Equal(logits, graph.BroadcastToDims(top, dims...)), index, constant(k))
	candidates = graph.Where(graph.Equal(logits, logits), candidates, constant(-1))
	class := graph.ReduceMin(candidates, 1)
	return graph.Where(graph.LessThan(class, graph.Const(g, int32(0))),
		graph.BroadcastToDims(graph.Const(g, int32(k)), dims[0]), class)
}

// countGraph counts classes by slot: [rows] and [rows] to [slots, classes].
// A product of zeros and ones is exact in float32 below 2^24 rows.
func countGraph(class, slot *graph.Node, slots, classes int) *graph.Node {
	g, rows := class.Graph(), class.Shape().Dim(0)
	oneHot := func(v *graph.Node, n int) *graph.Node {
		dims := []int{rows, n}
		same := graph.Equal(graph.BroadcastToDims(graph.Reshape(v, rows, 1), dims...),
			graph.Iota(g, shapes.Make(dtypes.Int32, dims...), 1))
		return graph.ConvertDType(same, dtypes.Float32)
	}
	counts := graph.DotGeneral(oneHot(slot, slots), []int{0}, nil, oneHot(class, classes), []int{0}, nil)
	return graph.ConvertDType(counts, dtypes.Int32)
}

// run executes the program on its free inputs and reads its output into out, a
// slice of the output's type.
func (p *program) run(b backends.Backend, free []backends.Buffer, out any) (err error) {
	defer Recovered(&err)
	inputs := make([]backends.Buffer, len(p.inputs))
	copy(inputs, p.inputs)
	for i, h := range p.free {
		inputs[h] = free[i]
	}
	results := p.g.RunWithBuffers(inputs, p.donate, 0)
	t := results[0]
	defer t.FinalizeAll()
	buf, err := t.Buffer(b, 0)
	if err != nil {
		return err
	}
	return b.BufferToFlatData(buf, out)
}

func (p *program) close() { p.g.Finalize() }

// outOfMemory recognises a device that is full.
func outOfMemory(err error) bool {
	if err == nil {
		return false
	}
	text := strings.ToLower(err.Error())
	for _, s := range []string{"resource_exhausted", "out of memory", "failed to allocate", "out_of_memory"} {
		if strings.Contains(text, s) {
			return true
		}
	}
	return false
}

func tensorBuffer(b backends.Backend, value any) (backends.Buffer, error) {
	t, ok := value.(interface {
		Buffer(backends.Backend, backends.DeviceNum) (backends.Buffer, error)
	})
	if !ok {
		return nil, fmt.Errorf("engine: a variable's value is a %T", value)
	}
	return t.Buffer(b, 0)
}
