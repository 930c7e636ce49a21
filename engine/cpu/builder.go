package cpu

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/backends/notimplemented"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/pkg/errors"
)

// Builder captures a graph. It implements backends.Builder; what this package
// does not override is reported as missing by the embedded builder.
type Builder struct {
	notimplemented.Builder
	backend  *Backend
	name     string
	compiled bool
	nodes    []*node // inputs before users
	params   []*node
	byKey    map[string]*node // for common subexpressions
}

var _ backends.Builder = (*Builder)(nil)

// node is one value of the graph: an operation, its inputs and its attributes.
// Every node has one output. Passes rewrite nodes in place or replace them;
// after the last pass each node that is not a view becomes one step.
type node struct {
	id      int
	op      backends.OpType
	shape   shapes.Shape
	inputs  []*node
	attrs   any      // an attribute struct of the operation, nil for most
	builder *Builder // nil for nodes that passes made
	group   *group   // of an opGroup or a reduction, set by fuse
	slot    int      // where frames keep the value, set by plan
}

// Operations of this package's own, beside GoMLX's.
const (
	opRandomBits  = backends.OpTypeLast + 1 + iota // the values of RNGBitGenerator
	opRandomState                                  // its next state
	opGroup                                        // a fused chain of elementwise operations
)

// paramAttrs are the attributes of a Parameter.
type paramAttrs struct {
	name  string
	index int
}

// constAttrs are the attributes of a Constant: its value.
type constAttrs struct{ mem []byte }

// Name implements backends.Builder.
func (b *Builder) Name() string { return b.name }

// OpShape implements backends.Builder.
func (b *Builder) OpShape(op backends.Op) (shapes.Shape, error) {
	in, err := b.check("OpShape", op)
	if err != nil {
		return shapes.Invalid(), err
	}
	return in[0].shape, nil
}

// check turns operands into nodes of this builder.
func (b *Builder) check(what string, ops ...backends.Op) ([]*node, error) {
	if b.compiled {
		return nil, errors.Errorf("%s: the graph %q was compiled already", what, b.name)
	}
	nodes := make([]*node, len(ops))
	for i, op := range ops {
		n, ok := op.(*node)
		if !ok || n == nil || n.builder != b {
			return nil, errors.Errorf("%s: operand %d (%T) is not of the graph %q", what, i, op, b.name)
		}
		nodes[i] = n
	}
	return nodes, nil
}

// add returns a node for the operation: an equal one where there is one. Every
// operation here is a pure function, random bits included, so equal operation,
// attributes and inputs mean an equal value.
func (b *Builder) add(op backends.OpType, shape shapes.Shape, attrs any, inputs ...*node) *node {
	ids := make([]int, len(inputs))
	for i, in := range inputs {
		ids[i] = in.id
	}
	key := fmt.Sprintf("%d %s %v %+v", op, shape, ids, attrs)
	if n := b.byKey[key]; n != nil {
		return n
	}
	n := b.append(op, shape, attrs, inputs...)
	b.byKey[key] = n
	return n
}

// append adds a node without looking for an equal one.
func (b *Builder) append(op backends.OpType, shape shapes.Shape, attrs any, inputs ...*node) *node {
	n := &node{id: len(b.nodes), op: op, shape: shape.Clone(), inputs: slices.Clone(inputs), attrs: attrs, builder: b}
	b.nodes = append(b.nodes, n)
	return n
}

// Parameter implements backends.Builder.
func (b *Builder) Parameter(name string, shape shapes.Shape, sharding *backends.ShardingSpec) (backends.Op, error) {
	if sharding != nil {
		return nil, errors.Errorf("backend %q: Parameter %q: sharding is not supported", Name, name)
	}
	if _, err := b.check("Parameter"); err != nil {
		return nil, err
	}
	if err := checkDType("Parameter "+name, shape.DType); err != nil {
		return nil, err
	}
	n := b.append(backends.OpTypeParameter, shape, paramAttrs{name, len(b.params)})
	b.params = append(b.params, n)
	return n, nil
}

// Constant implements backends.Builder. The value is copied.
func (b *Builder) Constant(flat any, dims ...int) (backends.Op, error) {
	if _, err := b.check("Constant"); err != nil {
		return nil, err
	}
	shape, err := flatShape(flat, dims)
	if err != nil {
		return nil, err
	}
	return b.constant(shape, bytesOf(flat)), nil
}

// constant adds a constant. Small ones with equal bytes are one node.
func (b *Builder) constant(shape shapes.Shape, mem []byte) *node {
	attrs := &constAttrs{mem: b.backend.constantMemory(mem)}
	if len(mem) > 1024 {
		return b.append(backends.OpTypeConstant, shape, attrs)
	}
	key := fmt.Sprintf("constant %s %x", shape, mem)
	if n := b.byKey[key]; n != nil {
		return n
	}
	n := b.append(backends.OpTypeConstant, shape, attrs)
	b.byKey[key] = n
	return n
}

// constantMemory copies a value into aligned memory that is never recycled.
func (b *Backend) constantMemory(mem []byte) []byte {
	block := b.memory.get(len(mem))[:len(mem):len(mem)]
	copy(block, mem)
	return block
}

// Identity implements backends.Builder.
func (b *Builder) Identity(x backends.Op) (backends.Op, error) {
	in, err := b.check("Identity", x)
	if err != nil {
		return nil, err
	}
	return in[0], nil
}

// Compile implements backends.Builder.
func (b *Builder) Compile(outputs []backends.Op, shardings []*backends.ShardingSpec) (backends.Executable, error) {
	if len(shardings) != 0 {
		return nil, errors.Errorf("backend %q: Compile %q: sharding is not supported", Name, b.name)
	}
	outs, err := b.check("Compile", outputs...)
	if err != nil {
		return nil, err
	}
	b.compiled = true
	b.byKey = nil
	p := &program{backend: b.backend, name: b.name, nodes: b.nodes, params: b.params, outputs: outs}
	return p.compile()
}

// flatShape checks a constant's value against its dimensions.
func flatShape(flat any, dims []int) (shapes.Shape, error) {
	t := reflect.TypeOf(flat)
	if t == nil || t.Kind() != reflect.Slice {
		return shapes.Invalid(), errors.Errorf("Constant: want a slice, got %T", flat)
	}
	d := dtypes.FromGoType(t.Elem())
	if err := checkDType("Constant", d); err != nil {
		return shapes.Invalid(), err
	}
	shape := shapes.Make(d, dims...)
	return shape, checkFlat(flat, shape)
}
