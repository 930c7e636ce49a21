package cpu

import (
	"slices"
	"unsafe"
)

// lowerIota writes 0, 1, 2, ... as int64.
func lowerIota(n *node) (step, error) {
	return step{run: func(f *frame) {
		for i := range data[int64](f, n) {
			data[int64](f, n)[i] = int64(i)
		}
	}}, nil
}

// moveStep is a step of movers, one for each input.
func moveStep(n *node, movers ...*mover) (step, error) {
	return step{run: func(f *frame) {
		if n.shape.Size() == 0 {
			return
		}
		for i, m := range movers {
			if m != nil {
				m.run(f, f.ptr(n), f.ptr(n.inputs[i]))
			}
		}
	}}, nil
}

func lowerTranspose(n *node) (step, error) {
	in := n.inputs[0].shape
	from := denseStrides(in.Dimensions)
	src := make([]int, len(from))
	for i, a := range n.attrs.(axesAttrs).axes {
		src[i] = from[a]
	}
	return moveStep(n, newMover(in.DType.Size(), n.shape.Dimensions, denseStrides(n.shape.Dimensions), src, 0, 0))
}

func lowerBroadcast(n *node) (step, error) {
	in := n.inputs[0].shape
	src := make([]int, n.shape.Rank())
	from := denseStrides(in.Dimensions)
	for i, a := range n.attrs.(axesAttrs).axes {
		if in.Dimensions[i] != 1 {
			src[a] = from[i]
		}
	}
	return moveStep(n, newMover(in.DType.Size(), n.shape.Dimensions, denseStrides(n.shape.Dimensions), src, 0, 0))
}

func lowerSlice(n *node) (step, error) {
	in, attrs := n.inputs[0].shape, n.attrs.(sliceAttrs)
	src := denseStrides(in.Dimensions)
	at := 0
	for i := range src {
		at += attrs.starts[i] * src[i]
		src[i] *= attrs.strides[i]
	}
	return moveStep(n, newMover(in.DType.Size(), n.shape.Dimensions, denseStrides(n.shape.Dimensions), src, 0, at))
}

func lowerReverse(n *node) (step, error) {
	src := denseStrides(n.shape.Dimensions)
	at := 0
	for _, a := range n.attrs.(axesAttrs).axes {
		at += (n.shape.Dimensions[a] - 1) * src[a]
		src[a] = -src[a]
	}
	return moveStep(n, newMover(n.shape.DType.Size(), n.shape.Dimensions, denseStrides(n.shape.Dimensions), src, 0, at))
}

func lowerConcatenate(n *node) (step, error) {
	axis := n.attrs.(axesAttrs).axes[0]
	dst := denseStrides(n.shape.Dimensions)
	var movers []*mover
	at := 0
	for _, in := range n.inputs {
		movers = append(movers, newMover(n.shape.DType.Size(), in.shape.Dimensions, dst, denseStrides(in.shape.Dimensions), at, 0))
		at += in.shape.Dimensions[axis] * dst[axis]
	}
	return moveStep(n, movers...)
}

// lowerPad fills the result and copies what is left of the operand into it.
func lowerPad(n *node) (step, error) {
	in := n.inputs[0].shape
	dst, src := denseStrides(n.shape.Dimensions), denseStrides(in.Dimensions)
	dims := make([]int, in.Rank())
	dstAt, srcAt := 0, 0
	for i, p := range n.attrs.(padAttrs).axes {
		apart := p.Interior + 1
		// Element k of the operand goes to Start + k*apart.
		first := 0
		if p.Start < 0 {
			first = (-p.Start + apart - 1) / apart
		}
		last := in.Dimensions[i] - 1
		if room := n.shape.Dimensions[i] - 1 - p.Start; room < last*apart {
			if room < 0 {
				last = -1
			} else {
				last = room / apart
			}
		}
		dims[i] = max(0, last-first+1)
		dstAt += (p.Start + first*apart) * dst[i]
		srcAt += first * src[i]
		dst[i] *= apart
	}
	elem := n.shape.DType.Size()
	empty := slices.Contains(dims, 0)
	m := newMover(elem, dims, dst, src, dstAt, srcAt)
	return step{run: func(f *frame) {
		size := n.shape.Size()
		if size == 0 {
			return
		}
		fill := f.ptr(n.inputs[1])
		f.pool.Run((size+moveChunk-1)/moveChunk, func(task, _ int) {
			at := task * moveChunk
			fillValue(unsafe.Add(f.ptr(n), at*elem), fill, elem, min(moveChunk, size-at))
		})
		if !empty {
			m.run(f, f.ptr(n), f.ptr(n.inputs[0]))
		}
	}}, nil
}
