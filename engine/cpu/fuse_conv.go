package cpu

import (
	"slices"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
)

// fuseConvolutions draws into a convolution what its kernel does on the way:
// a reversed kernel before it; after it a bias for each channel, a residual
// and a rectifier, each where nothing else reads the value in between.
func fuseConvolutions(p *program) error {
	users := map[*node][]*node{}
	for _, n := range p.nodes {
		for _, in := range n.inputs {
			users[in] = append(users[in], n)
		}
	}
	for _, n := range p.outputs {
		users[n] = append(users[n], nil)
	}
	for _, n := range p.nodes {
		if n.op != backends.OpTypeConvGeneral || n.shape.DType != dtypes.Float32 || len(n.attrs.(convAttrs).strides) > 2 {
			continue
		}
		dropReverse(n)
		if len(users[n]) != 1 || users[n][0] == nil {
			continue
		}
		u := users[n][0]
		if absorb(n, u) {
			for _, in := range n.inputs {
				for i, x := range users[in] {
					if x == n {
						users[in][i] = u
					}
				}
			}
		}
	}
	return prune(p)
}

// dropReverse reads the kernel backwards in place of a reversed copy.
func dropReverse(n *node) {
	a := n.attrs.(convAttrs)
	k := n.inputs[1]
	if k.op != backends.OpTypeReverse {
		return
	}
	reversed := slices.Clone(a.reversed)
	for _, axis := range k.attrs.(axesAttrs).axes {
		i := slices.Index(a.axes.KernelSpatial, axis)
		if i < 0 {
			return
		}
		reversed[i] = !reversed[i]
	}
	a.reversed = reversed
	n.attrs = a
	n.inputs[1] = k.inputs[0]
}

// absorb turns the one user of a convolution into the convolution with that
// step in its epilogue, if the kernel has such a step.
func absorb(n, u *node) bool {
	a := n.attrs.(convAttrs)
	if a.relu || !u.shape.Equal(n.shape) || len(u.inputs) != 2 || u.inputs[0] == u.inputs[1] {
		return false
	}
	other := u.inputs[0]
	if other == n {
		other = u.inputs[1]
	}
	inputs := slices.Clone(n.inputs)
	src, strides := source(other, n.shape)
	switch {
	case u.op == backends.OpTypeMax && isZero(src):
		a.relu = true
	case u.op != backends.OpTypeAdd:
		return false
	case a.bias == 0 && perChannel(strides, a.axes.OutputChannels) && src.shape.Size() == n.shape.Dimensions[a.axes.OutputChannels]:
		a.bias = len(inputs)
		inputs = append(inputs, src)
	case a.residual == 0 && src == other && other.shape.Equal(n.shape):
		a.residual = len(inputs)
		inputs = append(inputs, other)
	default:
		return false
	}
	u.op, u.attrs, u.inputs = n.op, a, inputs
	return true
}

// perChannel tells the strides of a value that differs along one axis only.
func perChannel(strides []int, axis int) bool {
	for i, s := range strides {
		if i == axis && s != 1 || i != axis && s != 0 {
			return false
		}
	}
	return true
}

// isZero tells a constant zero.
func isZero(n *node) bool {
	if n.op != backends.OpTypeConstant || n.shape.Size() != 1 || n.shape.DType != dtypes.Float32 {
		return false
	}
	return view[float32](n.attrs.(*constAttrs).mem)[0] == 0
}
