package cpu

import (
	"slices"
	"unsafe"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/backends/shapeinference"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/pkg/errors"
)

// reduceAttrs are the attributes of a reduction.
type reduceAttrs struct {
	axes []int        // sorted
	from shapes.Shape // of the operand
}

var reduceOps = []backends.OpType{
	backends.OpTypeReduceSum, backends.OpTypeReduceProduct, backends.OpTypeReduceMax, backends.OpTypeReduceMin,
	backends.OpTypeReduceBitwiseAnd, backends.OpTypeReduceBitwiseOr, backends.OpTypeReduceBitwiseXor,
	backends.OpTypeReduceLogicalAnd, backends.OpTypeReduceLogicalOr, backends.OpTypeReduceLogicalXor,
}

// reducible tells the reductions, which head groups.
func reducible(n *node) bool { return slices.Contains(reduceOps, n.op) }

// reduce adds a reduction over axes, all of them if none is given.
func (b *Builder) reduce(op backends.OpType, x backends.Op, axes []int) (backends.Op, error) {
	in, err := b.check(op.String(), x)
	if err != nil {
		return nil, err
	}
	from := in[0].shape
	if len(axes) == 0 {
		for i := range from.Rank() {
			axes = append(axes, i)
		}
	}
	if from.IsScalar() {
		return in[0], nil
	}
	axes = slices.Sorted(slices.Values(axes))
	for i, a := range axes {
		if a < 0 || a >= from.Rank() || i > 0 && a == axes[i-1] {
			return nil, errors.Errorf("%s: axes %v do not fit shape %s", op, axes, from)
		}
	}
	shape, err := shapeinference.ReduceOp(from, axes)
	if err != nil {
		return nil, err
	}
	if newFolder(op, b.widen(in)[0].shape.DType) == nil {
		return nil, errors.Errorf("backend %q: operation %s is not defined for %s", Name, op, from.DType)
	}
	return b.throughFloat32(op, shape, func(in []*node) any { return reduceAttrs{axes, in[0].shape} }, in...), nil
}

// throughFloat32 adds an operation that keeps the data type, with half
// precision computed in float32.
func (b *Builder) throughFloat32(op backends.OpType, shape shapes.Shape, attrs func(in []*node) any, in ...*node) *node {
	if !isHalf(shape.DType) {
		return b.add(op, shape, attrs(in), in...)
	}
	wide := b.widen(in)
	d := shape.DType
	shape = shape.Clone()
	shape.DType = dtypes.Float32
	return b.convert(b.add(op, shape, attrs(wide), wide...), d)
}

// segment is a run of neighbouring axes that are all reduced or all kept.
type segment struct {
	size    int
	reduced bool
}

// segmentsOf merges axes into segments, outermost first.
func segmentsOf(dims, axes []int) []segment {
	var s []segment
	for i, d := range dims {
		if d == 1 {
			continue
		}
		r := slices.Contains(axes, i)
		if k := len(s) - 1; k >= 0 && s[k].reduced == r {
			s[k].size *= d
		} else {
			s = append(s, segment{d, r})
		}
	}
	if len(s) == 0 {
		s = []segment{{1, true}}
	}
	return s
}

// reduceChunk is about how many elements a task of a reduction folds.
const reduceChunk = 1 << 15

// lowerReduce is the lowering of reductions. The operand is cut along its
// outermost segment into ranges. Where that segment is kept, ranges fold into
// separate results; where it is reduced, each folds into a result of its own,
// and those are folded in order at the end. The cut depends on the shape alone.
func lowerReduce(n *node) (step, error) {
	attrs := n.attrs.(reduceAttrs)
	segs := segmentsOf(attrs.from.Dimensions, attrs.axes)
	size := attrs.from.Size()
	outer := segs[0].size
	if size == 0 {
		outer = 1
	}
	unit := max(1, size/outer) // elements of one step along the outer segment
	c, err := lowerGroup(n.group, n.inputs, unit)
	if err != nil {
		return step{}, err
	}
	d := n.shape.DType
	fold := newFolder(n.op, d)
	if fold == nil {
		return step{}, errors.Errorf("not defined for %s", d)
	}
	per := max(1, reduceChunk/unit) // outer steps in a task
	if segs[0].reduced {
		// Few results of their own: folding them must not cost more than
		// making them.
		per = max(per, min(outer, 8), (outer+31)/32)
	}
	tasks := (outer + per - 1) / per
	outSize := n.shape.Size()
	outBytes := outSize * d.Size()
	s := step{scratch: c.scratch}
	partial := segs[0].reduced && tasks > 1
	if partial {
		s.workspace = tasks * outBytes
	}
	s.run = func(f *frame) {
		out := f.ptr(n)
		parts := out
		if partial {
			parts = unsafe.Pointer(unsafe.SliceData(f.workspace(tasks * outBytes)))
		} else {
			fold.init(out, outSize)
		}
		if size == 0 {
			return
		}
		f.pool.Run(tasks, func(task, worker int) {
			acc := out
			if partial {
				acc = unsafe.Add(parts, task*outBytes)
				fold.init(acc, outSize)
			}
			var t tiler
			t.begin(c, f, worker)
			w := newWalk(segs, task*per*unit)
			end := min(outer, (task+1)*per) * unit
			for i := task * per * unit; i < end; i += c.tile {
				m := min(c.tile, end-i)
				fold.tile(acc, &w, t.run(i, m, nil), m)
			}
		})
		if partial {
			fold.init(out, outSize)
			for task := range tasks {
				fold.merge(out, unsafe.Add(parts, task*outBytes), outSize)
			}
		}
	}
	return s, nil
}

// walk goes through the operand of a reduction and knows which result each
// element belongs to.
type walk struct {
	segs  []segment
	index [16]int // position in each segment
	steps [16]int // of the result, for one step along each segment
	at    int     // of the result, without the innermost position
}

func newWalk(segs []segment, start int) walk {
	w := walk{segs: segs}
	step := 1
	for k := len(segs) - 1; k >= 0; k-- {
		w.index[k] = start % segs[k].size
		start /= segs[k].size
		if !segs[k].reduced {
			w.steps[k] = step
			step *= segs[k].size
		}
		if k < len(segs)-1 {
			w.at += w.index[k] * w.steps[k]
		}
	}
	return w
}

// left is how many elements the innermost segment still has.
func (w *walk) left() int {
	k := len(w.segs) - 1
	return w.segs[k].size - w.index[k]
}

// advance goes m elements on, at most to the end of the innermost segment.
func (w *walk) advance(m int) { w.skip(len(w.segs)-1, m) }

// skip goes m steps on along segment k, at most to its end.
func (w *walk) skip(k, m int) {
	w.index[k] += m
	for k > 0 && w.index[k] == w.segs[k].size {
		w.index[k] = 0
		k--
		w.index[k]++
	}
	w.at = 0
	for i := range len(w.segs) - 1 {
		w.at += w.index[i] * w.steps[i]
	}
}
