package kernel

import (
	"fmt"
	"sync"
)

// Layout gives the element strides of a four-dimensional tensor. For images
// N is the batch axis and C the channel axis; for kernels N is the output
// channel axis and C the input channel axis. Any axis order can be written so.
type Layout struct{ N, C, H, W int }

// NCHW is the layout of a dense tensor with axes batch, channel, row, column.
func NCHW(c, h, w int) Layout { return Layout{c * h * w, h * w, w, 1} }

// NHWC is the layout of a dense tensor with axes batch, row, column, channel.
func NHWC(c, h, w int) Layout { return Layout{h * w * c, 1, w * c, c} }

// ConvSpec describes a two-dimensional convolution as XLA means it (a
// cross-correlation):
//
//	out[b,o,y,x] = sum over c,ky,kx of
//	  in[b, c, (y*Stride + ky*KernelDilation - PadLow) / InDilation] * kernel[o,c,ky,kx]
//
// where an input position that is outside, or not a multiple of InDilation,
// counts as zero. A one-dimensional convolution has height 1.
type ConvSpec struct {
	Batch, InChannels, OutChannels int    // of the whole input and of the whole kernel
	InSize, KernelSize             [2]int // height, width

	Stride, InDilation, KernelDilation [2]int // zero means 1
	PadLow, PadHigh                    [2]int // may be negative (a crop)
	ReverseKernel                      [2]bool

	// Groups cuts input and output channels; the kernel then has
	// InChannels/Groups input channels. BatchGroups cuts the batch and the
	// output channels; the output's batch is then Batch/BatchGroups. Zero
	// means 1; at most one of them may be above 1.
	Groups, BatchGroups int

	In, Kernel, Out Layout
}

// Epilogue is applied to each output element while it is still in a register:
// out = relu(Scale[channel]*sum + Bias[channel] + Residual[element]).
// Nil slices and a false ReLU leave a step out.
type Epilogue struct {
	Scale, Bias []float32 // one per output channel
	Residual    []float32 // with the layout of the output
	ReLU        bool
}

// Conv is a planned convolution. It may be run by several goroutines at once.
type Conv struct {
	spec    ConvSpec // with defaults filled in
	outSize [2]int
	tiles   *tileSet
	direct  *direct // one of these two, or neither where there is nothing to compute
	field   *field
	pool    sync.Pool // of *workspace
}

// OutSize is the height and width of the output.
func (c *Conv) OutSize() (h, w int) { return c.outSize[0], c.outSize[1] }

// OutSize is the height and width of the output of s, 0 where the window does
// not fit.
func (s ConvSpec) OutSize() (h, w int) {
	s = s.normal()
	var out [2]int
	for d := range 2 {
		in := 0
		if s.InSize[d] > 0 {
			in = (s.InSize[d]-1)*s.InDilation[d] + 1
		}
		in += s.PadLow[d] + s.PadHigh[d]
		window := (s.KernelSize[d]-1)*s.KernelDilation[d] + 1
		if in >= window && window > 0 {
			out[d] = (in-window)/s.Stride[d] + 1
		}
	}
	return out[0], out[1]
}

func (s ConvSpec) normal() ConvSpec {
	for d := range 2 {
		s.Stride[d] = max(s.Stride[d], 1)
		s.InDilation[d] = max(s.InDilation[d], 1)
		s.KernelDilation[d] = max(s.KernelDilation[d], 1)
	}
	s.Groups = max(s.Groups, 1)
	s.BatchGroups = max(s.BatchGroups, 1)
	return s
}

// PlanConv checks s and decides how to compute it.
func PlanConv(s ConvSpec) (*Conv, error) { return planConv(s, best) }

func planConv(s ConvSpec, level Level) (*Conv, error) {
	s = s.normal()
	switch {
	case s.Batch < 0 || s.InChannels < 0 || s.OutChannels < 0 || min(s.InSize[0], s.InSize[1], s.KernelSize[0], s.KernelSize[1]) < 0:
		return nil, fmt.Errorf("kernel: convolution with a negative dimension: %+v", s)
	case s.Groups > 1 && s.BatchGroups > 1:
		return nil, fmt.Errorf("kernel: convolution with both %d channel groups and %d batch groups", s.Groups, s.BatchGroups)
	case s.InChannels%s.Groups != 0 || s.OutChannels%s.Groups != 0:
		return nil, fmt.Errorf("kernel: %d channel groups do not divide %d input and %d output channels", s.Groups, s.InChannels, s.OutChannels)
	case s.Batch%s.BatchGroups != 0 || s.OutChannels%s.BatchGroups != 0:
		return nil, fmt.Errorf("kernel: %d batch groups do not divide a batch of %d and %d output channels", s.BatchGroups, s.Batch, s.OutChannels)
	}
	for _, l := range []Layout{s.In, s.Kernel, s.Out} {
		if min(l.N, l.C, l.H, l.W) < 0 {
			return nil, fmt.Errorf("kernel: convolution with a negative stride in %+v", l)
		}
	}
	c := &Conv{spec: s, tiles: tilesOf(level)}
	c.outSize[0], c.outSize[1] = s.OutSize()
	if c.outSize[0] > 0 && c.outSize[1] > 0 && s.OutChannels > 0 && s.Batch > 0 {
		if c.prefersField() {
			c.field = c.planField()
		} else {
			c.direct = c.planDirect()
		}
	}
	return c, nil
}

// prefersField says whether pixels are better the sum than the rows of a tile.
func (c *Conv) prefersField() bool {
	s := c.spec
	if s.InDilation != [2]int{1, 1} || s.InChannels == 0 {
		return false
	}
	window, image := s.KernelSize[0]*s.KernelSize[1], c.outSize[0]*c.outSize[1]
	return window > 4*image || window > image && s.Batch/s.BatchGroups > c.outSize[1]
}

// span is the number of elements that a tensor with these strides reaches.
func span(l Layout, n, c, h, w int) int {
	if n == 0 || c == 0 || h == 0 || w == 0 {
		return 0
	}
	return (n-1)*l.N + (c-1)*l.C + (h-1)*l.H + (w-1)*l.W + 1
}

func (c *Conv) check(in, kern, out []float32, ep Epilogue) {
	s := c.spec
	need := func(name string, have, want int) {
		if have < want {
			panic(fmt.Sprintf("kernel: convolution's %s has %d elements, its layout reaches %d", name, have, want))
		}
	}
	need("input", len(in), span(s.In, s.Batch, s.InChannels, s.InSize[0], s.InSize[1]))
	need("kernel", len(kern), span(s.Kernel, s.OutChannels, s.InChannels/s.Groups, s.KernelSize[0], s.KernelSize[1]))
	o := span(s.Out, s.Batch/s.BatchGroups, s.OutChannels, c.outSize[0], c.outSize[1])
	need("output", len(out), o)
	if ep.Residual != nil {
		need("residual", len(ep.Residual), o)
	}
	if ep.Bias != nil {
		need("bias", len(ep.Bias), s.OutChannels)
	}
	if ep.Scale != nil {
		need("scale", len(ep.Scale), s.OutChannels)
	}
}

// Run computes the convolution.
func (c *Conv) Run(p Par, in, kern, out []float32, ep Epilogue) {
	c.check(in, kern, out, ep)
	switch {
	case c.field != nil:
		c.runField(p, in, kern, out, ep)
	case c.direct != nil:
		c.runDirect(p, in, kern, nil, out, ep)
	}
}

// Packed is a kernel made ready for one convolution, once, for many runs.
type Packed struct {
	kern, packed []float32
}

// Pack makes a kernel ready. The slice is kept and must not change.
func (c *Conv) Pack(p Par, kern []float32) *Packed {
	s := c.spec
	if n := span(s.Kernel, s.OutChannels, s.InChannels/s.Groups, s.KernelSize[0], s.KernelSize[1]); len(kern) < n {
		panic(fmt.Sprintf("kernel: convolution's kernel has %d elements, its layout reaches %d", len(kern), n))
	}
	k := &Packed{kern: kern}
	if c.direct != nil {
		k.packed = aligned(nil, max(unit, s.Groups*s.BatchGroups*c.direct.wLen))
		c.packAll(p, k.packed, kern, nil)
	}
	return k
}

// RunPacked is Run with a kernel that Pack of the same Conv has made ready. An
// epilogue with a scale packs it anew.
func (c *Conv) RunPacked(p Par, in []float32, kern *Packed, out []float32, ep Epilogue) {
	if c.direct == nil || ep.Scale != nil {
		c.Run(p, in, kern.kern, out, ep)
		return
	}
	c.check(in, kern.kern, out, ep)
	c.runDirect(p, in, nil, kern.packed, out, ep)
}
