package cpu

import (
	"slices"

	"github.com/gomlx/gomlx/backends"
	"github.com/pkg/errors"
)

// program is a captured graph on its way to an executable. Passes work on its
// nodes; an input always stands before its users.
type program struct {
	backend *Backend
	name    string
	nodes   []*node
	params  []*node
	outputs []*node
}

// pass rewrites a program. It keeps the order of nodes, the parameters and the
// number and shapes of the outputs.
type pass struct {
	name string
	run  func(p *program) error
}

// passes run in this order. Each leaves a program that could be executed as it
// is, apart from the last, fuse: elementwise nodes have no other lowering than
// as members of groups.
var passes []pass

func init() {
	passes = []pass{
		{"prune", prune},
		{"fold constants", foldConstants},
		{"lay out axes", layoutAxes},
		{"fuse convolutions", fuseConvolutions},
		{"fuse", fuse},
	}
}

// compile runs the passes and lowers the result.
func (p *program) compile() (backends.Executable, error) {
	for _, s := range passes {
		if err := s.run(p); err != nil {
			return nil, errors.WithMessagef(err, "backend %q: compiling %q: %s", Name, p.name, s.name)
		}
	}
	return p.lower()
}

// lower turns a program that the passes have prepared into an executable.
func (p *program) lower() (*executable, error) {
	steps := make([]step, 0, len(p.nodes))
	scratch := 0
	for _, n := range p.nodes {
		if isStored(n) {
			continue
		}
		low := lowerings[n.op]
		if low == nil {
			return nil, errors.Errorf("backend %q: compiling %q: no lowering for operation %s", Name, p.name, n.op)
		}
		s, err := low(n)
		if err != nil {
			return nil, errors.WithMessagef(err, "backend %q: compiling %q: %s %s", Name, p.name, opName(n.op), n.shape)
		}
		s.node = n
		scratch = max(scratch, s.scratch)
		steps = append(steps, s)
	}
	e := &executable{backend: p.backend, name: p.name, params: p.params, outputs: p.outputs, steps: steps}
	e.scratch = (scratch + alignment - 1) &^ (alignment - 1)
	plan(e, p.nodes)
	return e, nil
}

// isStored tells the nodes that need no step: their value is there already, or
// is another's seen with another shape.
func isStored(n *node) bool {
	return n.op == backends.OpTypeParameter || n.op == backends.OpTypeConstant || isView(n)
}

// isView tells the nodes that are their input's memory under another shape.
func isView(n *node) bool {
	return n.op == backends.OpTypeReshape || n.op == backends.OpTypeBitcast
}

// base follows views to the node that owns the memory.
func base(n *node) *node {
	for isView(n) {
		n = n.inputs[0]
	}
	return n
}

// opName names an operation, this package's own included.
func opName(op backends.OpType) string {
	switch op {
	case opRandomBits:
		return "RandomBits"
	case opRandomState:
		return "RandomState"
	case opGroup:
		return "Group"
	}
	return op.String()
}

// prune drops the nodes that no output needs. Parameters stay known to the
// program; those that are not used get no memory.
func prune(p *program) error {
	live := make(map[*node]bool, len(p.nodes))
	for _, n := range p.outputs {
		live[n] = true
	}
	for _, n := range slices.Backward(p.nodes) {
		if live[n] {
			for _, in := range n.inputs {
				live[in] = true
			}
		}
	}
	p.nodes = slices.DeleteFunc(slices.Clone(p.nodes), func(n *node) bool { return !live[n] })
	return nil
}
