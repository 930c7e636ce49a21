package cpu

import (
	"slices"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/shapes"
)

// fuse gathers elementwise operations into groups. A node joins the group of
// its users if they are all in one group and have its shape; else it is the
// result of a group of its own, written to memory once. A reduction is the
// head of a group too: what only it reads is never written at all. Broadcasts
// that groups read cost nothing: a group reads their source.
func fuse(p *program) error {
	users := map[*node][]*node{}
	for _, n := range p.nodes {
		for _, in := range n.inputs {
			users[in] = append(users[in], n)
		}
	}
	isOutput := map[*node]bool{}
	for _, n := range p.outputs {
		isOutput[n] = true
	}
	heads := map[*node][]*node{} // of a node, the heads of the groups that it is in
	members := map[*node][]*node{}
	for _, n := range slices.Backward(p.nodes) {
		if reducible(n) {
			heads[n] = []*node{n}
			continue
		}
		if !elementwise[n.op] {
			continue
		}
		heads[n] = joined(n, users[n], heads, members)
		if isOutput[n] || heads[n] == nil {
			heads[n] = []*node{n}
		}
		for _, h := range heads[n] {
			members[h] = append(members[h], n)
		}
	}
	for _, n := range p.nodes {
		if slices.Equal(heads[n], []*node{n}) {
			formGroup(n, members[n])
		}
	}
	return prune(p)
}

// formGroup makes a head into the node of its group. Members come last first.
func formGroup(n *node, list []*node) {
	g := &group{shape: groupShape(n), index: map[*node]int{}}
	slices.Reverse(list)
	operands := n.inputs
	n.inputs, n.group, g.members = nil, g, list
	if reducible(n) {
		if len(list) == 0 {
			g.operand(n, operands[0])
		}
	} else {
		result := *n
		result.inputs, result.group = operands, nil
		list[len(list)-1] = &result
		n.op, n.attrs = opGroup, nil
	}
	inside := map[*node]bool{}
	for _, m := range list {
		inside[m] = true
		for _, in := range m.inputs {
			if !inside[in] {
				g.operand(n, in)
			}
		}
	}
}

// maxCopies is how many groups may compute a cheap value each for itself.
const maxCopies = 6

// joined lists the heads of the groups that a node joins, nil if it cannot
// join its users: one group that has them all, or, if the node costs less to
// compute again than to write and read, each of several.
func joined(n *node, users []*node, heads, members map[*node][]*node) []*node {
	var list []*node
	for _, u := range users {
		if len(heads[u]) == 0 {
			return nil
		}
		for _, h := range heads[u] {
			if !slices.Contains(list, h) {
				list = append(list, h)
			}
		}
	}
	if len(list) > 1 && (len(list) > maxCopies || !cheap(n)) {
		return nil
	}
	for _, h := range list {
		if len(members[h]) >= maxMembers || !n.shape.EqualDimensions(groupShape(h)) {
			return nil
		}
	}
	return list
}

// cheap tells an operation of a few instructions with one operand of full
// size, so that computing it again reads no more than its result would be.
func cheap(n *node) bool {
	switch n.op {
	case backends.OpTypeAdd, backends.OpTypeSub, backends.OpTypeMul, backends.OpTypeMax, backends.OpTypeMin,
		backends.OpTypeNeg, backends.OpTypeAbs, backends.OpTypeConvertDType, backends.OpTypeLogicalNot,
		backends.OpTypeEqual, backends.OpTypeNotEqual, backends.OpTypeLessThan, backends.OpTypeLessOrEqual,
		backends.OpTypeGreaterThan, backends.OpTypeGreaterOrEqual:
	default:
		return false
	}
	full := map[*node]bool{}
	for _, in := range n.inputs {
		if src, _ := source(in, n.shape); src.shape.Size() == n.shape.Size() {
			full[src] = true
		}
	}
	return len(full) <= 1
}

// groupShape is the shape over which the group of a head runs.
func groupShape(h *node) shapes.Shape {
	if reducible(h) {
		return h.attrs.(reduceAttrs).from
	}
	return h.shape
}

// operand makes a value from outside an input of the group's node.
func (g *group) operand(n, in *node) {
	if _, done := g.index[in]; done {
		return
	}
	src, strides := source(in, g.shape)
	for i, have := range n.inputs {
		if have == src && slices.Equal(g.strides[i], strides) {
			g.index[in] = i
			return
		}
	}
	g.index[in] = len(n.inputs)
	n.inputs = append(n.inputs, src)
	g.strides = append(g.strides, strides)
}

// source looks through broadcasts: it returns the node to read and its strides
// over the axes of the shape that reads it.
func source(in *node, shape shapes.Shape) (*node, []int) {
	axes := make([]int, in.shape.Rank()) // of shape, for each axis of in
	for i := range axes {
		axes[i] = i
	}
	for in.op == backends.OpTypeBroadcastInDim {
		inner := in.attrs.(axesAttrs).axes
		next := make([]int, len(inner))
		for i, a := range inner {
			next[i] = axes[a]
		}
		axes, in = next, in.inputs[0]
	}
	strides := make([]int, shape.Rank())
	step := 1
	for i, d := range slices.Backward(in.shape.Dimensions) {
		if d != 1 {
			strides[axes[i]] = step
		}
		step *= d
	}
	return in, strides
}
