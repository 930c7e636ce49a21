package cpu

import (
	"slices"

	"github.com/gomlx/gomlx/backends"
)

// plan gives every value of an executable its memory: a parameter's or an
// output's buffer, a constant, or a place in the arena, which is one block for
// all intermediate values. Two values share a place if they are not alive at
// the same time.
func plan(e *executable, nodes []*node) {
	e.owner = map[*node]place{}
	for _, n := range nodes {
		switch n.op {
		case backends.OpTypeParameter:
			e.owner[n] = place{kind: inParam, index: n.attrs.(paramAttrs).index}
		case backends.OpTypeConstant:
			e.owner[n] = place{kind: inConst, constant: n.attrs.(*constAttrs).mem}
		}
	}
	// An output lives in its own buffer from the start, unless its memory is
	// a parameter's, a constant's or another output's: then it is copied.
	for i, n := range e.outputs {
		o := base(n)
		if _, taken := e.owner[o]; taken {
			e.copies = append(e.copies, copyOut{i, o})
			continue
		}
		e.owner[o] = place{kind: inOutput, index: i}
	}
	last := map[*node]int{} // the last step that reads a value
	for i, s := range e.steps {
		for _, in := range s.node.inputs {
			last[base(in)] = i
		}
	}
	for _, c := range e.copies {
		last[c.from] = len(e.steps)
	}
	top := e.scratch * e.backend.pool.threads
	a := arena{top: top, high: top}
	for i, s := range e.steps {
		n := s.node
		size := n.shape.Size() * n.shape.DType.Size()
		if _, done := e.owner[n]; !done {
			if at, ok := inPlace(e, s, i, last); ok {
				e.owner[n] = place{kind: inArena, offset: at, size: size}
				a.rename(at, n)
			} else {
				e.owner[n] = place{kind: inArena, offset: a.take(size, n), size: size}
			}
		}
		if s.workspace > 0 {
			e.steps[i].workAt = a.take(s.workspace, nil)
			a.give(e.steps[i].workAt)
		}
		if _, used := last[n]; !used && e.owner[n].kind == inArena {
			a.give(e.owner[n].offset)
		}
		for _, in := range s.node.inputs {
			o := base(in)
			if p := e.owner[o]; p.kind == inArena && last[o] == i && a.holds(p.offset, o) {
				a.give(p.offset)
			}
		}
	}
	e.arena = a.high
	e.bind()
}

// inPlace finds a place of an operand that ends here and that the step may
// overwrite with its result.
func inPlace(e *executable, s step, i int, last map[*node]int) (int, bool) {
	size := s.node.shape.Size() * s.node.shape.DType.Size()
	for _, k := range s.overwrites {
		o := base(s.node.inputs[k])
		p := e.owner[o]
		if p.kind == inArena && p.size == size && last[o] == i {
			return p.offset, true
		}
	}
	return 0, false
}

// arena simulates the block of intermediate values: first fit over the gaps.
type arena struct {
	top  int // where the values start, after the scratch of the workers
	high int
	used []region // sorted by offset
}

type region struct {
	at, size int
	owner    *node
}

// take finds room for a value.
func (a *arena) take(size int, owner *node) int {
	size = max(1, (size+alignment-1)/alignment) * alignment
	at, best, where := a.top, -1, -1
	for i, r := range a.used {
		if gap := r.at - at; gap >= size && (best < 0 || gap < best) {
			best, where = gap, i
		}
		at = r.at + r.size
	}
	i := len(a.used)
	if where >= 0 { // the tightest gap
		i = where
		at = a.top
		if i > 0 {
			at = a.used[i-1].at + a.used[i-1].size
		}
	}
	a.used = slices.Insert(a.used, i, region{at, size, owner})
	a.high = max(a.high, at+size)
	return at
}

func (a *arena) find(at int) int {
	i, ok := slices.BinarySearchFunc(a.used, at, func(r region, at int) int { return r.at - at })
	if !ok {
		return -1
	}
	return i
}

// holds tells whether the region at an offset belongs to a value.
func (a *arena) holds(at int, owner *node) bool {
	i := a.find(at)
	return i >= 0 && a.used[i].owner == owner
}

// rename hands a region to another value.
func (a *arena) rename(at int, owner *node) { a.used[a.find(at)].owner = owner }

// give frees the region at an offset.
func (a *arena) give(at int) {
	i := a.find(at)
	a.used = slices.Delete(a.used, i, i+1)
}
