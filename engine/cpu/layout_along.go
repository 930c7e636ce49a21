package cpu

import (
	"slices"

	"github.com/gomlx/gomlx/backends"
)

// along brings over an operation that has its attributes axis by axis (windows,
// padding, slices, concatenation, reversal): it goes along with the order of
// its first operand, the attributes in that order too. It returns false for
// every other operation.
func (l *layout) along(n *node) (placed, bool) {
	if len(n.inputs) == 0 {
		return placed{}, false
	}
	order := l.at[n.inputs[0]].order
	if order == nil {
		return placed{}, false
	}
	attrs, ok := reorderAttrs(n, order)
	if !ok {
		return placed{}, false
	}
	c := *n
	c.attrs = attrs
	c.shape = reorder(n.shape, order)
	c.inputs = make([]*node, len(n.inputs))
	for i, in := range n.inputs {
		if in.shape.Rank() == n.shape.Rank() {
			c.inputs[i] = l.as(in, order)
		} else {
			c.inputs[i] = l.as(in, nil)
		}
	}
	return placed{l.add(&c), order}, true
}

// reorderAttrs are the attributes with axis i taking those of axis order[i].
func reorderAttrs(n *node, order []int) (any, bool) {
	inv := inverse(order, len(order))
	switch n.op {
	case backends.OpTypeReduceWindow, backends.OpTypeSelectAndScatterMax, backends.OpTypeSelectAndScatterMin:
		a := n.attrs.(windowAttrs)
		last := -1
		for _, axis := range order { // which of several equal elements is selected must not change
			if a.size[axis] > 1 && axis < last {
				return nil, false
			}
			if a.size[axis] > 1 {
				last = axis
			}
		}
		a.size, a.stride, a.dilation, a.base = pick(a.size, order), pick(a.stride, order), pick(a.dilation, order), pick(a.base, order)
		a.pads = pick(a.pads, order)
		return a, true
	case backends.OpTypePad:
		return padAttrs{pick(n.attrs.(padAttrs).axes, order)}, true
	case backends.OpTypeSlice:
		a := n.attrs.(sliceAttrs)
		return sliceAttrs{pick(a.starts, order), pick(a.strides, order)}, true
	case backends.OpTypeConcatenate:
		return axesAttrs{[]int{inv[n.attrs.(axesAttrs).axes[0]]}}, true
	case backends.OpTypeReverse:
		axes := slices.Clone(n.attrs.(axesAttrs).axes)
		for i, a := range axes {
			axes[i] = inv[a]
		}
		return axesAttrs{axes}, true
	}
	return nil, false
}

func pick[T any](v []T, order []int) []T {
	out := make([]T, len(order))
	for i, a := range order {
		out[i] = v[a]
	}
	return out
}
