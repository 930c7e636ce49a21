package cpu

import "unsafe"

// load brings an operand of a group to a tile: without a copy where it lies in
// the order of the tile, else by spreading it over a register.
type load struct {
	kind    loadKind
	elem    int   // bytes of an element
	dims    []int // the axes of the group, merged where the operand allows it
	strides []int // of the operand, in elements, 0 where it is broadcast
	spread  bool  // a loadSingle that some operation needs as a vector
	count   int   // elements in all, for a whole loadSingle
}

type loadKind int

const (
	loadDirect   loadKind = iota // in the order of the group: used where it lies
	loadSingle                   // one value for all of a tile
	loadPeriodic                 // the same values for each tile
	loadStrided                  // anything else
)

// tileElems is the usual number of elements in a tile: 4 KB of float32.
const tileElems = 1024

// newLoad merges axes that the operand walks through as if they were one.
func newLoad(dims, strides []int, elem int) load {
	l := load{elem: elem}
	for i, d := range dims {
		if d == 1 {
			continue
		}
		if k := len(l.dims) - 1; k >= 0 && l.strides[k] == strides[i]*d {
			l.dims[k] *= d
			l.strides[k] = strides[i]
			continue
		}
		l.dims = append(l.dims, d)
		l.strides = append(l.strides, strides[i])
	}
	if len(l.dims) == 0 {
		l.dims, l.strides = []int{1}, []int{0}
		for _, d := range dims {
			l.dims[0] *= d
		}
	}
	return l
}

// run is the length of the stretches over which the operand is one value.
func (l *load) run() int {
	if k := len(l.dims) - 1; l.strides[k] == 0 {
		return l.dims[k]
	}
	return 1
}

// period is the length after which the operand repeats, 0 if it does not.
func (l *load) period() int {
	if len(l.dims) == 2 && l.strides[0] == 0 && l.strides[1] == 1 {
		return l.dims[1]
	}
	return 0
}

// classify chooses the size of the tile so that operands that repeat, or that
// are constant over long stretches, cost little, and sets each load's kind.
// Tiles start at multiples of unit, or, if that is 0, of the tile's size.
func classify(loads []load, size, unit int) int {
	tile := tileElems
	for i := range loads {
		if p := loads[i].period(); p > 0 && p <= 2*tileElems && (unit == 0 || unit%p == 0) {
			tile = max(1, tileElems/p) * p
		}
	}
	if tile == tileElems {
		for i := range loads {
			r := loads[i].run()
			for t := min(r, 2*tileElems); r < size && t >= 256; t-- {
				if r%t == 0 {
					tile = t
					break
				}
			}
		}
	}
	for i := range loads {
		l := &loads[i]
		l.count = size
		p, r := l.period(), l.run()
		switch {
		case len(l.dims) == 1 && l.strides[0] == 1:
			l.kind = loadDirect
		case r >= size, r%tile == 0 && (unit == 0 || unit%tile == 0):
			l.kind = loadSingle
		case p > 0 && tile%p == 0 && (unit == 0 || unit%p == 0):
			l.kind = loadPeriodic
		default:
			l.kind = loadStrided
		}
	}
	return tile
}

// buffered is the number of bytes that the load needs for a tile.
func (l *load) buffered(tile int) int {
	if l.kind == loadDirect || l.kind == loadSingle && !l.spread {
		return 0
	}
	return tile * l.elem
}

// whole tells a loadSingle that is one value for the whole group.
func (l *load) whole() bool { return l.run() >= l.count }

// begin fills what stays the same for all tiles.
func (l *load) begin(reg *unsafe.Pointer, src unsafe.Pointer, tile int) {
	switch {
	case l.kind == loadSingle && l.whole():
		if l.spread {
			l.fill(*reg, src, 0, min(tile, l.count))
		} else {
			*reg = src
		}
	case l.kind == loadPeriodic:
		l.fill(*reg, src, 0, min(tile, l.count))
	}
}

// next brings the n elements at start.
func (l *load) next(reg *unsafe.Pointer, src unsafe.Pointer, start, n int) {
	switch l.kind {
	case loadDirect:
		*reg = unsafe.Add(src, start*l.elem)
	case loadSingle:
		switch {
		case l.whole():
		case l.spread:
			l.fill(*reg, src, start, n)
		default:
			*reg = unsafe.Add(src, l.offset(start)*l.elem)
		}
	case loadStrided:
		l.fill(*reg, src, start, n)
	}
}

// offset is where the operand has the group's element i.
func (l *load) offset(i int) int {
	at := 0
	for k := len(l.dims) - 1; k >= 0; k-- {
		at += i % l.dims[k] * l.strides[k]
		i /= l.dims[k]
	}
	return at
}

// fill copies the n elements at start to dst.
func (l *load) fill(dst, src unsafe.Pointer, start, n int) {
	switch l.elem {
	case 1:
		fillStrided[uint8](l, dst, src, start, n)
	case 2:
		fillStrided[uint16](l, dst, src, start, n)
	case 4:
		fillStrided[uint32](l, dst, src, start, n)
	case 8:
		fillStrided[uint64](l, dst, src, start, n)
	}
}

// fillStrided is fill for one size of element.
func fillStrided[T any](l *load, dst, src unsafe.Pointer, start, n int) {
	var e T
	size := int(unsafe.Sizeof(e))
	d := slice[T](dst, n)
	k := len(l.dims) - 1
	inner, stride := l.dims[k], l.strides[k]
	pos := start % inner
	for len(d) > 0 {
		m := min(inner-pos, len(d))
		from := unsafe.Add(src, l.offset(start)*size)
		switch stride {
		case 0:
			v := *(*T)(from)
			row := d[:m]
			for i := range row {
				row[i] = v
			}
		case 1:
			copy(d[:m], slice[T](from, m))
		default:
			for i := range m {
				d[i] = *(*T)(unsafe.Add(from, i*stride*size))
			}
		}
		d = d[m:]
		start += m
		pos = 0
	}
}
