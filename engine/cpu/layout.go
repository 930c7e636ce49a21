package cpu

import (
	"slices"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/shapes"
)

// layoutAxes chooses the order in which values lie in memory. Convolutions
// write channels last, whatever order the graph asked for, because their
// kernels compute a vector of channels at a time; elementwise operations,
// reductions, broadcasts, windows and slices go along with the order of what
// they read; a transpose only renames axes. Where an operation needs the order that the
// graph gave, the value is transposed for it, once. So a network that is
// written channels first runs channels last from its first convolution to its
// last, and the conversions stand at its edges.
func layoutAxes(p *program) error {
	l := &layout{at: map[*node]placed{}, moved: map[movedKey]*node{}}
	for _, n := range p.nodes {
		l.visit(n)
	}
	for i, n := range p.outputs {
		p.outputs[i] = l.as(n, nil)
	}
	p.nodes = l.nodes
	return prune(p)
}

// layout is the state of the pass: a new program, and where the values of the
// old one are in it.
type layout struct {
	nodes []*node
	at    map[*node]placed
	moved map[movedKey]*node // values in further orders
}

// placed is a value of the old program in the new one: axis i of n is axis
// order[i] of the old value. A nil order is the old one.
type placed struct {
	n     *node
	order []int
}

func (l *layout) add(n *node) *node {
	l.nodes = append(l.nodes, n)
	return n
}

// normalOrder is the order, nil if it changes nothing.
func normalOrder(order []int) []int {
	for i, a := range order {
		if a != i {
			return order
		}
	}
	return nil
}

// inverse is where each old axis went.
func inverse(order []int, rank int) []int {
	inv := make([]int, rank)
	for i := range inv {
		inv[i] = i
	}
	for i, a := range order {
		inv[a] = i
	}
	return inv
}

// reorder is the shape with its axes in an order.
func reorder(s shapes.Shape, order []int) shapes.Shape {
	s = s.Clone()
	if order != nil {
		dims := slices.Clone(s.Dimensions)
		for i, a := range order {
			s.Dimensions[i] = dims[a]
		}
	}
	return s
}

// as returns an old value in the wanted order.
func (l *layout) as(n *node, order []int) *node {
	p := l.at[n]
	if slices.Equal(p.order, order) {
		return p.n
	}
	key := orderKey(n, order)
	if m := l.moved[key]; m != nil {
		return m
	}
	var m *node
	if n.op == backends.OpTypeBroadcastInDim { // as well spread in this order
		m = l.broadcast(n, order)
	} else {
		have := inverse(p.order, n.shape.Rank())
		axes := make([]int, n.shape.Rank())
		for i := range axes {
			axes[i] = have[i]
			if order != nil {
				axes[i] = have[order[i]]
			}
		}
		m = &node{op: backends.OpTypeTranspose, shape: reorder(n.shape, order), inputs: []*node{p.n}, attrs: axesAttrs{axes}}
		if keepsMemory(p.n.shape, axes) {
			m.op, m.attrs = backends.OpTypeReshape, nil
		}
		l.add(m)
	}
	l.moved[key] = m
	return m
}

// movedKey names a value in an order.
type movedKey struct {
	n     *node
	order string
}

func orderKey(n *node, order []int) movedKey {
	key := make([]byte, len(order))
	for i, a := range order {
		key[i] = byte(a)
	}
	return movedKey{n, string(key)}
}

// keepsMemory tells the transposes that move axes of size one only.
func keepsMemory(s shapes.Shape, axes []int) bool {
	last := -1
	for _, a := range axes {
		if s.Dimensions[a] == 1 {
			continue
		}
		if a < last {
			return false
		}
		last = a
	}
	return true
}

// visit brings one node over.
func (l *layout) visit(n *node) {
	switch {
	case n.op == backends.OpTypeBroadcastInDim:
		l.at[n] = placed{n: l.broadcast(n, nil)}
	case n.op == backends.OpTypeParameter || n.op == backends.OpTypeConstant:
		l.nodes = append(l.nodes, n)
		l.at[n] = placed{n: n}
	case n.op == backends.OpTypeConvGeneral && len(n.attrs.(convAttrs).strides) == 2 && n.shape.DType == dtypes.Float32:
		l.at[n] = l.conv(n)
	case elementwise[n.op]:
		l.at[n] = l.elementwise(n)
	case reducible(n):
		l.at[n] = l.reduce(n)
	case n.op == backends.OpTypeTranspose:
		p := l.at[n.inputs[0]]
		inv := inverse(n.attrs.(axesAttrs).axes, n.shape.Rank())
		order := make([]int, n.shape.Rank())
		for i := range order {
			order[i] = inv[i]
			if p.order != nil {
				order[i] = inv[p.order[i]]
			}
		}
		l.at[n] = placed{p.n, normalOrder(order)}
	default:
		if p, ok := l.along(n); ok {
			l.at[n] = p
			return
		}
		l.at[n] = placed{n: l.plain(n)}
	}
}

// plain copies a node that needs its operands in the graph's order.
func (l *layout) plain(n *node) *node {
	c := *n
	c.inputs = make([]*node, len(n.inputs))
	for i, in := range n.inputs {
		c.inputs[i] = l.as(in, nil)
	}
	return l.add(&c)
}

// elementwise goes along with the first operand that is not in the graph's
// order; broadcasts take any order and have no say.
func (l *layout) elementwise(n *node) placed {
	var order []int
	for _, in := range n.inputs {
		if p := l.at[in]; p.order != nil && in.op != backends.OpTypeBroadcastInDim && in.shape.Rank() == n.shape.Rank() {
			order = p.order
			break
		}
	}
	c := *n
	c.shape = reorder(n.shape, order)
	c.inputs = make([]*node, len(n.inputs))
	for i, in := range n.inputs {
		if in.shape.Rank() == n.shape.Rank() {
			c.inputs[i] = l.as(in, order)
		} else {
			c.inputs[i] = l.as(in, nil)
		}
	}
	return placed{l.add(&c), order}
}

// broadcast spreads a value over a shape with its axes in an order.
func (l *layout) broadcast(n *node, order []int) *node {
	inv := inverse(order, n.shape.Rank())
	axes := slices.Clone(n.attrs.(axesAttrs).axes)
	for i, a := range axes {
		axes[i] = inv[a]
	}
	return l.add(&node{op: n.op, shape: reorder(n.shape, order), inputs: []*node{l.as(n.inputs[0], nil)}, attrs: axesAttrs{axes}})
}

// reduce drops the same axes from the operand as it lies.
func (l *layout) reduce(n *node) placed {
	p := l.at[n.inputs[0]]
	if p.order == nil {
		return placed{n: l.plain(n)}
	}
	a := n.attrs.(reduceAttrs)
	kept := make([]int, 0, n.shape.Rank()) // the old value's axes that stay, in the new order
	var axes []int
	for i, old := range p.order {
		if slices.Contains(a.axes, old) {
			axes = append(axes, i)
		} else {
			kept = append(kept, old)
		}
	}
	sorted := slices.Sorted(slices.Values(kept))
	order := make([]int, len(kept))
	for i, old := range kept {
		order[i] = slices.Index(sorted, old)
	}
	c := *n
	c.inputs = []*node{p.n}
	c.attrs = reduceAttrs{axes, p.n.shape}
	c.shape = reorder(n.shape, order)
	return placed{l.add(&c), normalOrder(order)}
}

// conv reads its operands as they lie and writes channels last. The gradient
// of a kernel, whose output is smaller than its window, is left in the graph's
// order: nothing is gained there.
func (l *layout) conv(n *node) placed {
	a := n.attrs.(convAttrs)
	in, ker := l.at[n.inputs[0]], l.at[n.inputs[1]]
	a.axes = a.axes.Clone()
	rename := func(order []int, axes ...*int) {
		inv := inverse(order, n.shape.Rank())
		for _, x := range axes {
			*x = inv[*x]
		}
	}
	x := &a.axes
	var order []int
	window, image := 1, 1
	for i := range a.strides {
		window *= n.inputs[1].shape.Dimensions[x.KernelSpatial[i]]
		image *= n.shape.Dimensions[x.OutputSpatial[i]]
	}
	if window <= image {
		order = normalOrder([]int{x.OutputBatch, x.OutputSpatial[0], x.OutputSpatial[1], x.OutputChannels})
	}
	rename(in.order, &x.InputBatch, &x.InputChannels, &x.InputSpatial[0], &x.InputSpatial[1])
	rename(ker.order, &x.KernelInputChannels, &x.KernelOutputChannels, &x.KernelSpatial[0], &x.KernelSpatial[1])
	rename(order, &x.OutputBatch, &x.OutputChannels, &x.OutputSpatial[0], &x.OutputSpatial[1])
	c := *n
	c.attrs = a
	c.shape = reorder(n.shape, order)
	c.inputs = slices.Clone(n.inputs)
	c.inputs[0], c.inputs[1] = in.n, ker.n
	for i := 2; i < len(c.inputs); i++ {
		if i == a.residual {
			c.inputs[i] = l.as(n.inputs[i], order)
		} else {
			c.inputs[i] = l.as(n.inputs[i], nil)
		}
	}
	return placed{l.add(&c), order}
}
