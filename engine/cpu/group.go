package cpu

import (
	"slices"
	"unsafe"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/pkg/errors"
)

// group is a chain (in truth a graph) of elementwise operations that run
// together: tile by tile, each value of a tile staying in the first-level
// cache between the operation that makes it and the one that reads it. Only
// operands from outside are read from memory, and only the last value written.
//
// opGroup nodes and reductions have one; their inputs are the operands from
// outside.
type group struct {
	shape   shapes.Shape  // of all members, and of the result
	members []*node       // inputs before users; the last one is the result
	strides [][]int       // of each input over the axes of shape, in elements
	index   map[*node]int // which input an operand of a member is
}

// A group has at most maxMembers operations; with three operands from outside
// and one result each, that makes at most maxOperands values.
const (
	maxMembers  = 32
	maxOperands = 4 * maxMembers
)

// operand is a value of a lowered group: the number of an input, or, counted
// from the number of inputs on, of a register.
type operand = int

// instr is one operation on a tile.
type instr struct {
	fn   vecFn
	dst  operand
	args [3]operand // -1 where there is none
}

// code is a lowered group.
type code struct {
	inputs  []*node
	loads   []load
	instrs  []instr
	result  operand
	offsets []int // of operands in a worker's scratch, -1 for those in memory
	scratch int   // bytes for each worker
	size    int   // elements in all
	tile    int   // elements of a tile
}

// lowerGroup writes the code of a group. Tiles start at multiples of unit, or,
// if that is 0, of the tile's size.
func lowerGroup(g *group, inputs []*node, unit int) (*code, error) {
	c := &code{inputs: inputs, size: g.shape.Size()}
	for i, in := range inputs {
		c.loads = append(c.loads, newLoad(g.shape.Dimensions, g.strides[i], in.shape.DType.Size()))
	}
	c.tile = classify(c.loads, c.size, unit)
	last := map[*node]int{}
	for i, m := range g.members {
		for _, in := range m.inputs {
			last[in] = i
		}
	}
	value := map[*node]operand{}
	next, width := len(inputs), 1
	var free []operand
	for i, m := range g.members {
		ins := instr{args: [3]operand{-1, -1, -1}}
		for k, in := range m.inputs {
			if v, ok := value[in]; ok {
				ins.args[k] = v
			} else {
				ins.args[k] = g.index[in]
			}
		}
		if err := c.choose(m, &ins); err != nil {
			return nil, err
		}
		// A register that ends here may take the result, if elements have
		// the same size: a function may run over its operand only in step.
		var after []operand
		for k, in := range m.inputs {
			v, ok := value[in]
			switch {
			case !ok || last[in] != i || slices.Contains(m.inputs[:k], in):
			case in.shape.DType.Size() == m.shape.DType.Size():
				free = append(free, v)
			default:
				after = append(after, v)
			}
		}
		if len(free) > 0 {
			ins.dst, free = free[len(free)-1], free[:len(free)-1]
		} else {
			ins.dst = next
			next++
		}
		free = append(free, after...)
		value[m] = ins.dst
		width = max(width, m.shape.DType.Size())
		c.instrs = append(c.instrs, ins)
		c.result = ins.dst
	}
	if len(g.members) == 0 { // a reduction of an operand as it is
		c.loads[0].spread = true
	}
	for i := range next {
		size := c.tile * width
		if i < len(inputs) {
			size = c.loads[i].buffered(c.tile)
		}
		at := -1
		if size > 0 {
			at = c.scratch
			c.scratch += (size + alignment - 1) &^ (alignment - 1)
		}
		c.offsets = append(c.offsets, at)
	}
	return c, nil
}

// choose picks the function of a member: the one that takes an operand as a
// single value where that operand is constant over a tile, else the one that
// takes vectors.
func (c *code) choose(m *node, ins *instr) error {
	single := -1
	if m.op == backends.OpTypeConvertDType {
		ins.fn = convertFn(m.inputs[0].shape.DType, m.shape.DType)
	} else {
		d := m.inputs[len(m.inputs)-1].shape.DType
		for k := range m.inputs {
			a := ins.args[k]
			if a < len(c.loads) && c.loads[a].kind == loadSingle && ins.fn == nil && m.inputs[k].shape.DType == dtypes.Float32 {
				if ins.fn = scalarFn(m.op, k); ins.fn != nil {
					single = k
				}
			}
		}
		if ins.fn == nil {
			ins.fn = vectorFn(m.op, d)
		}
	}
	if ins.fn == nil {
		return errors.Errorf("operation %s is not defined for %s", m.op, m.inputs[0].shape.DType)
	}
	for k := range m.inputs {
		if a := ins.args[k]; k != single && a < len(c.loads) {
			c.loads[a].spread = true
		}
	}
	return nil
}

// tiler runs a code's tiles on one worker.
type tiler struct {
	c   *code
	src [maxOperands]unsafe.Pointer // of inputs
	ptr [maxOperands]unsafe.Pointer // of operands, for the tile at hand
}

// begin prepares what stays the same from tile to tile.
func (t *tiler) begin(c *code, f *frame, worker int) {
	t.c = c
	var scratch unsafe.Pointer
	if c.scratch > 0 {
		scratch = unsafe.Pointer(unsafe.SliceData(f.workerScratch(worker)))
	}
	for i, at := range c.offsets {
		if at >= 0 {
			t.ptr[i] = unsafe.Add(scratch, at)
		}
	}
	for i := range c.loads {
		t.src[i] = f.ptr(c.inputs[i])
		c.loads[i].begin(&t.ptr[i], t.src[i], c.tile)
	}
}

// run computes the tile of n elements at start, into dst if that is not nil,
// and returns where the result is.
func (t *tiler) run(start, n int, dst unsafe.Pointer) unsafe.Pointer {
	c := t.c
	for i := range c.loads {
		c.loads[i].next(&t.ptr[i], t.src[i], start, n)
	}
	last := len(c.instrs) - 1
	for i := range c.instrs {
		ins := &c.instrs[i]
		var a [3]unsafe.Pointer
		for k, o := range ins.args {
			if o >= 0 {
				a[k] = t.ptr[o]
			}
		}
		to := t.ptr[ins.dst]
		if i == last && dst != nil {
			to = dst
		}
		ins.fn(to, a[0], a[1], a[2], n)
	}
	if dst != nil {
		return dst
	}
	return t.ptr[c.result]
}

// lowerElementwise is the lowering of opGroup.
func lowerElementwise(n *node) (step, error) {
	c, err := lowerGroup(n.group, n.inputs, 0)
	if err != nil {
		return step{}, err
	}
	elem := n.shape.DType.Size()
	const tilesPerTask = 16
	chunk := tilesPerTask * c.tile
	return step{
		scratch:    c.scratch,
		overwrites: c.overwritable(elem),
		run: func(f *frame) {
			out := f.ptr(n)
			f.pool.Run((c.size+chunk-1)/chunk, func(task, worker int) {
				var t tiler
				t.begin(c, f, worker)
				end := min(c.size, (task+1)*chunk)
				for i := task * chunk; i < end; i += c.tile {
					t.run(i, min(c.tile, end-i), unsafe.Add(out, i*elem))
				}
			})
		},
	}, nil
}

// overwritable lists the inputs whose memory the result may take: those that
// are read in step with it, and in no other way.
func (c *code) overwritable(elem int) []int {
	var list []int
	for i, in := range c.inputs {
		ok := true
		for k, other := range c.inputs {
			if base(other) == base(in) && (c.loads[k].kind != loadDirect || c.loads[k].elem != elem) {
				ok = false
			}
		}
		if ok {
			list = append(list, i)
		}
	}
	return list
}
