package cpu

import (
	"slices"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
)

<<<<<<< HEAD
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
=======
// fuseConvolutions draws into a convolution what the kernel can do while the
// sums are still in registers: a bias a channel, a residual, a ReLU; and what
// it can do while it reads the kernel: a reversal.
func fuseConvolutions(p *program) error {
	users := p.users()
	for _, n := range p.nodes {
		switch n.op {
		case backends.OpTypeConvGeneral:
			absorbReverse(n)
		case backends.OpTypeAdd:
			for k, c := range n.inputs {
				if canExtend(c, users) && absorbAdd(n, c, n.inputs[1-k]) {
					break
				}
			}
		case backends.OpTypeMax:
			for k, c := range n.inputs {
				if canExtend(c, users) && isZero(n.inputs[1-k]) {
					become(n, c, func(a *convAttrs) { a.relu = true })
					break
>>>>>>> 84202d9 (Fuse convolutions' epilogues and recompute cheap values; late helpers do not delay a loop)
				}
			}
		}
	}
	return prune(p)
}

<<<<<<< HEAD
// dropReverse reads the kernel backwards in place of a reversed copy.
func dropReverse(n *node) {
	a := n.attrs.(convAttrs)
	k := n.inputs[1]
	if k.op != backends.OpTypeReverse {
		return
	}
	reversed := slices.Clone(a.reversed)
	for _, axis := range k.attrs.(axesAttrs).axes {
=======
// canExtend tells a convolution of the kernel package that has one user and
// whose epilogue does not end in a ReLU yet.
func canExtend(n *node, users map[*node]int) bool {
	if n.op != backends.OpTypeConvGeneral || n.shape.DType != dtypes.Float32 || users[n] != 1 {
		return false
	}
	a := n.attrs.(convAttrs)
	return len(a.strides) <= 2 && !a.relu
}

// absorbAdd makes the sum n of a convolution and another value a convolution
// with an epilogue, if the value is a bias or a residual.
func absorbAdd(n, c, other *node) bool {
	a := c.attrs.(convAttrs)
	if !n.shape.Equal(c.shape) {
		return false
	}
	src, strides := source(other, n.shape)
	channels := a.axes.OutputChannels
	perChannel := src.shape.Size() == n.shape.Dimensions[channels]
	for i, s := range strides {
		perChannel = perChannel && (s == 1) == (i == channels && n.shape.Dimensions[i] > 1)
	}
	switch {
	case perChannel && a.bias == 0 && src.shape.Size() > 0:
		become(n, c, func(a *convAttrs) { a.bias = len(c.inputs) }, src)
		return true
	case a.residual == 0 && other.shape.Equal(n.shape) && other.op != backends.OpTypeBroadcastInDim:
		become(n, c, func(a *convAttrs) { a.residual = len(c.inputs) }, other)
		return true
	}
	return false
}

// become turns a user of a convolution into that convolution with more in its
// epilogue. The user stands after all that it needs, so the order holds.
func become(n, c *node, change func(a *convAttrs), more ...*node) {
	a := c.attrs.(convAttrs)
	change(&a)
	n.op, n.attrs, n.inputs = c.op, a, slices.Concat(c.inputs, more)
}

// absorbReverse lets the convolution read its kernel backwards.
func absorbReverse(n *node) {
	r := n.inputs[1]
	if r.op != backends.OpTypeReverse {
		return
	}
	a := n.attrs.(convAttrs)
	a.reversed = slices.Clone(a.reversed)
	for _, axis := range r.attrs.(axesAttrs).axes {
>>>>>>> 84202d9 (Fuse convolutions' epilogues and recompute cheap values; late helpers do not delay a loop)
		i := slices.Index(a.axes.KernelSpatial, axis)
		if i < 0 {
			return
		}
<<<<<<< HEAD
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
	case a.residual == 0 && src == other:
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
=======
		a.reversed[i] = !a.reversed[i]
	}
	n.attrs = a
	n.inputs[1] = r.inputs[0]
}

// isZero tells a constant of zeros, broadcast or not.
func isZero(n *node) bool {
	for n.op == backends.OpTypeBroadcastInDim || n.op == backends.OpTypeReshape {
		n = n.inputs[0]
	}
	if n.op != backends.OpTypeConstant {
		return false
	}
	return !slices.ContainsFunc(n.attrs.(*constAttrs).mem, func(b byte) bool { return b != 0 })
>>>>>>> 84202d9 (Fuse convolutions' epilogues and recompute cheap values; late helpers do not delay a loop)
}
