package train

import (
	"fmt"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/core/tensors"

	"lorica/engine"
)

// program is a compiled graph of named inputs.
type program struct {
	backend backends.Backend
	g       *graph.Graph
	inputs  []input
}

// input is one parameter of a program. A spent one is given up by the call: its
// successor is among the outputs.
type input struct {
	name  string
	shape shapes.Shape
	spent bool
}

// compile builds a program; build gets the inputs by name.
func compile(b backends.Backend, name string, inputs []input, build func(in map[string]*graph.Node) []*graph.Node) (p *program, err error) {
	defer engine.Recovered(&err)
	g := graph.NewGraph(b, name)
	in := map[string]*graph.Node{}
	for _, i := range inputs {
		in[i.name] = graph.Parameter(g, i.name, i.shape)
	}
	g.Compile(build(in)...)
	return &program{backend: b, g: g, inputs: inputs}, nil
}

// run executes the program on its inputs by name.
func (p *program) run(in map[string]*tensors.Tensor) (out []*tensors.Tensor, err error) {
	defer engine.Recovered(&err)
	buffers, donate := make([]backends.Buffer, len(p.inputs)), make([]bool, len(p.inputs))
	for i, input := range p.inputs {
		t := in[input.name]
		if t == nil {
			return nil, fmt.Errorf("program %s: no input %q", p.g.Name(), input.name)
		}
		if donate[i] = input.spent; input.spent {
			buffers[i], err = t.DonateBuffer(p.backend, 0)
		} else {
			buffers[i], err = t.Buffer(p.backend, 0)
		}
		if err != nil {
			return nil, fmt.Errorf("program %s: input %q: %w", p.g.Name(), input.name, err)
		}
	}
	return p.g.RunWithBuffers(buffers, donate, 0), nil
}

func (p *program) close() {
	if p != nil {
		p.g.Finalize()
	}
}

// upload puts values on the device.
func upload(b backends.Backend, values any, dims ...int) (*tensors.Tensor, error) {
	buf, err := b.BufferFromFlatData(0, values, shapes.Make(dtypeOf(values), dims...))
	if err != nil {
		return nil, err
	}
	return tensors.FromBuffer(b, buf)
}

func dtypeOf(values any) dtypes.DType {
	switch values.(type) {
	case []uint8:
		return dtypes.Uint8
	case []int32:
		return dtypes.Int32
	case []uint32:
		return dtypes.Uint32
	}
	return dtypes.Float32
}

// download copies a tensor's values into a slice of its type.
func download(b backends.Backend, t *tensors.Tensor, into any) error {
	buf, err := t.Buffer(b, 0)
	if err != nil {
		return err
	}
	return b.BufferToFlatData(buf, into)
}
