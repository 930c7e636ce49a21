package cpu

import (
	"slices"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/backends/shapeinference"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/pkg/errors"

	"lorica/engine/cpu/kernel"
)

// convAttrs are the attributes of a ConvGeneral, with defaults filled in. The
// epilogue is what fuseConvolutions has drawn in from the users: bias and
// residual are the numbers of inputs, 0 if there is none.
type convAttrs struct {
	axes                    backends.ConvolveAxesConfig
	strides                 []int
	pads                    [][2]int
	inDilation, kerDilation []int
	reversed                []bool // spatial axes of the kernel
	groups, batchGroups     int
	bias, residual          int
	relu                    bool
}

// ConvGeneral implements backends.Builder.
func (b *Builder) ConvGeneral(input, kern backends.Op, axes backends.ConvolveAxesConfig, strides []int, paddings [][2]int,
	inputDilations, kernelDilations []int, channelGroups, batchGroups int) (backends.Op, error) {
	in, err := b.check("ConvGeneral", input, kern)
	if err != nil {
		return nil, err
	}
	rank := in[0].shape.Rank() - 2
	a := convAttrs{
		axes:        axes.Clone(),
		strides:     onesFor(strides, rank),
		pads:        slices.Clone(paddings),
		inDilation:  onesFor(inputDilations, rank),
		kerDilation: onesFor(kernelDilations, rank),
		reversed:    make([]bool, max(0, rank)),
		groups:      max(1, channelGroups),
		batchGroups: max(1, batchGroups),
	}
	if len(a.pads) == 0 {
		a.pads = make([][2]int, max(0, rank))
	}
	if x, k := in[0].shape.DType, in[1].shape.DType; x != k || x == dtypes.Bool {
		return nil, errors.Errorf("backend %q: operation ConvGeneral is not defined for %s with %s", Name, x, k)
	}
	shape, err := shapeinference.ConvGeneralOp(in[0].shape, in[1].shape, a.axes, a.strides, a.pads,
		a.inDilation, a.kerDilation, a.groups, a.batchGroups)
	if err != nil {
		return nil, err
	}
	return b.throughFloat32(backends.OpTypeConvGeneral, shape, func([]*node) any { return a }, in...), nil
}

// onesFor is v, or ones if v is empty.
func onesFor(v []int, rank int) []int {
	if len(v) == 0 {
		return slices.Repeat([]int{1}, max(0, rank))
	}
	return slices.Clone(v)
}

// lowerConv is the lowering of ConvGeneral: the kernel package's convolution
// for float32 with one or two spatial axes, plain loops for the rest.
func lowerConv(n *node) (step, error) {
	a := n.attrs.(convAttrs)
	if n.shape.Size() == 0 {
		return step{run: func(*frame) {}}, nil
	}
	switch d := n.shape.DType; d {
	case dtypes.Float32:
		if len(a.strides) <= 2 {
			return lowerConvFloat32(n, a)
		}
		return convPlain[float32](n, a), nil
	case dtypes.Float64:
		return convPlain[float64](n, a), nil
	case dtypes.Int8:
		return convPlain[int8](n, a), nil
	case dtypes.Int16:
		return convPlain[int16](n, a), nil
	case dtypes.Int32:
		return convPlain[int32](n, a), nil
	case dtypes.Int64:
		return convPlain[int64](n, a), nil
	case dtypes.Uint8:
		return convPlain[uint8](n, a), nil
	case dtypes.Uint16:
		return convPlain[uint16](n, a), nil
	case dtypes.Uint32:
		return convPlain[uint32](n, a), nil
	case dtypes.Uint64:
		return convPlain[uint64](n, a), nil
	default:
		return step{}, errors.Errorf("ConvGeneral is not defined for %s", d)
	}
}

// lowerConvFloat32 describes the convolution to the kernel package.
func lowerConvFloat32(n *node, a convAttrs) (step, error) {
	in, ker := n.inputs[0].shape, n.inputs[1].shape
	s := kernel.ConvSpec{
		Batch:       in.Dimensions[a.axes.InputBatch],
		InChannels:  in.Dimensions[a.axes.InputChannels],
		OutChannels: ker.Dimensions[a.axes.KernelOutputChannels],
		InSize:      [2]int{1, 1},
		KernelSize:  [2]int{1, 1},
		Groups:      a.groups,
		BatchGroups: a.batchGroups,
	}
	is, ks, os := denseStrides(in.Dimensions), denseStrides(ker.Dimensions), denseStrides(n.shape.Dimensions)
	s.In.N, s.In.C = is[a.axes.InputBatch], is[a.axes.InputChannels]
	s.Kernel.N, s.Kernel.C = ks[a.axes.KernelOutputChannels], ks[a.axes.KernelInputChannels]
	s.Out.N, s.Out.C = os[a.axes.OutputBatch], os[a.axes.OutputChannels]
	for i := range a.strides {
		d := 2 - len(a.strides) + i // a single axis is the width
		x, k, o := a.axes.InputSpatial[i], a.axes.KernelSpatial[i], a.axes.OutputSpatial[i]
		s.InSize[d], s.KernelSize[d] = in.Dimensions[x], ker.Dimensions[k]
		s.Stride[d], s.InDilation[d], s.KernelDilation[d] = a.strides[i], a.inDilation[i], a.kerDilation[i]
		s.PadLow[d], s.PadHigh[d] = a.pads[i][0], a.pads[i][1]
		s.ReverseKernel[d] = a.reversed[i]
		for _, l := range []struct {
			to     *kernel.Layout
			stride int
		}{{&s.In, is[x]}, {&s.Kernel, ks[k]}, {&s.Out, os[o]}} {
			if d == 0 {
				l.to.H = l.stride
			} else {
				l.to.W = l.stride
			}
		}
	}
	c, err := kernel.PlanConv(s)
	if err != nil {
		return step{}, err
	}
	var packed *kernel.Packed // a constant kernel is packed once
	if k := base(n.inputs[1]); k.op == backends.OpTypeConstant {
		packed = c.Pack(kernel.Serial{}, view[float32](k.attrs.(*constAttrs).mem))
	}
	return step{run: func(f *frame) {
		ep := kernel.Epilogue{ReLU: a.relu}
		if a.bias > 0 {
			ep.Bias = data[float32](f, n.inputs[a.bias])
		}
		if a.residual > 0 {
			ep.Residual = data[float32](f, n.inputs[a.residual])
		}
		if packed != nil {
			c.RunPacked(f.pool, data[float32](f, n.inputs[0]), packed, data[float32](f, n), ep)
			return
		}
		c.Run(f.pool, data[float32](f, n.inputs[0]), data[float32](f, n.inputs[1]), data[float32](f, n), ep)
	}}, nil
}

// convPlain is the definition of the convolution, for any number type and any
// number of spatial axes.
func convPlain[T number](n *node, a convAttrs) step {
	in, ker, out := n.inputs[0].shape.Dimensions, n.inputs[1].shape.Dimensions, n.shape.Dimensions
	is, ks, os := denseStrides(in), denseStrides(ker), denseStrides(out)
	rank := len(a.strides)
	window := 1
	for _, ax := range a.axes.KernelSpatial {
		window *= ker[ax]
	}
	channels := ker[a.axes.KernelInputChannels]
	perGroup := ker[a.axes.KernelOutputChannels] / a.groups
	perBatchGroup := ker[a.axes.KernelOutputChannels] / a.batchGroups
	batch := out[a.axes.OutputBatch]
	element := func(x, k []T, i int) T {
		coord := func(axis int) int { return i / os[axis] % out[axis] }
		o := coord(a.axes.OutputChannels)
		b := coord(a.axes.OutputBatch) + o/perBatchGroup*batch
		at := b*is[a.axes.InputBatch] + o/perGroup*channels*is[a.axes.InputChannels]
		var sum T
	taps:
		for t := range window {
			inAt, kerAt := at, o*ks[a.axes.KernelOutputChannels]
			rest := t
			for d := rank - 1; d >= 0; d-- {
				size := ker[a.axes.KernelSpatial[d]]
				w := rest % size
				rest /= size
				pos := coord(a.axes.OutputSpatial[d])*a.strides[d] + w*a.kerDilation[d] - a.pads[d][0]
				if pos < 0 || pos%a.inDilation[d] != 0 || pos/a.inDilation[d] >= in[a.axes.InputSpatial[d]] {
					continue taps
				}
				inAt += pos / a.inDilation[d] * is[a.axes.InputSpatial[d]]
				if a.reversed[d] {
					w = size - 1 - w
				}
				kerAt += w * ks[a.axes.KernelSpatial[d]]
			}
			for c := range channels {
				sum += x[inAt+c*is[a.axes.InputChannels]] * k[kerAt+c*ks[a.axes.KernelInputChannels]]
			}
		}
		return sum
	}
	return step{run: func(f *frame) {
		x, k, y := data[T](f, n.inputs[0]), data[T](f, n.inputs[1]), data[T](f, n)
		const per = 256
		f.pool.Run((len(y)+per-1)/per, func(task, _ int) {
			for i := task * per; i < min(len(y), (task+1)*per); i++ {
				y[i] = element(x, k, i)
			}
		})
	}}
}
