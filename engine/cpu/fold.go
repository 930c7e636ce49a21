package cpu

import (
	"slices"

	"github.com/gomlx/gomlx/backends"
)

// foldLimit is the largest constant, in bytes, that is computed at compile
// time: beyond it the memory costs more than the computation.
const foldLimit = 1 << 16

// foldConstants computes at compile time what depends on no parameter, by
// compiling and running that part as a program of its own.
func foldConstants(p *program) error {
	fixed := map[*node]bool{}
	for _, n := range p.nodes {
		size := n.shape.Size() * n.shape.DType.Size()
		fixed[n] = n.op == backends.OpTypeConstant || n.op != backends.OpTypeParameter && size <= foldLimit &&
			!slices.ContainsFunc(n.inputs, func(in *node) bool { return !fixed[in] })
	}
	wanted := map[*node]bool{} // fixed nodes that others see
	want := func(n *node) {
		for n.op == backends.OpTypeBroadcastInDim { // groups read through it
			n = n.inputs[0]
		}
		if fixed[n] && n.op != backends.OpTypeConstant {
			wanted[n] = true
		}
	}
	for _, n := range p.nodes {
		if !fixed[n] {
			for _, in := range n.inputs {
				want(in)
			}
		}
	}
	for _, n := range p.outputs {
		want(n)
	}
	if len(wanted) == 0 {
		return nil
	}
	sub := &program{backend: p.backend, name: p.name + " (constants)"}
	copies := map[*node]*node{} // passes work in place, so the part is copied
	var results []*node
	for _, n := range p.nodes {
		if !fixed[n] {
			continue
		}
		c := *n
		c.inputs = slices.Clone(n.inputs)
		for i, in := range c.inputs {
			c.inputs[i] = copies[in]
		}
		copies[n] = &c
		sub.nodes = append(sub.nodes, &c)
		if wanted[n] {
			sub.outputs = append(sub.outputs, &c)
			results = append(results, n)
		}
	}
	values, err := sub.evaluate()
	if err != nil {
		return err
	}
	for i, n := range results {
		n.op, n.inputs, n.attrs = backends.OpTypeConstant, nil, &constAttrs{mem: values[i]}
	}
	return prune(p)
}

// evaluate compiles and runs a program without parameters.
func (p *program) evaluate() ([][]byte, error) {
	for _, s := range passes {
		if s.name == "fold constants" {
			continue
		}
		if err := s.run(p); err != nil {
			return nil, err
		}
	}
	e, err := p.lower()
	if err != nil {
		return nil, err
	}
	outs, err := e.Execute(nil, nil, 0)
	if err != nil {
		return nil, err
	}
	values := make([][]byte, len(outs))
	for i, o := range outs {
		values[i] = o.(*buffer).mem
	}
	return values, nil
}
