package cpu

import (
	"time"
	"unsafe"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/pkg/errors"
)

// step is one operation of an executable.
type step struct {
	node       *node
	run        func(f *frame)
	scratch    int   // bytes that each worker needs while the step runs
	workspace  int   // bytes that the step needs in common
	overwrites []int // inputs whose memory the result may take over
	workAt     int   // where plan put the workspace
}

// place says where a value lives.
type place struct {
	kind     placeKind
	index    int // of the parameter or output
	offset   int // in the arena
	size     int
	constant []byte
}

type placeKind int

const (
	inArena placeKind = iota
	inParam
	inOutput
	inConst
)

// copyOut is an output whose memory is another value's.
type copyOut struct {
	output int
	from   *node
}

// executable is a planned program. It is not changed by running.
type executable struct {
	backend *Backend
	name    string
	params  []*node
	outputs []*node
	steps   []step
	owner   map[*node]place // by the node that owns memory
	copies  []copyOut
	scratch int // bytes for each worker
	arena   int // bytes in all
	places  []place
	trace   func(n *node, took time.Duration) // for tests and profiles; nil
}

var _ backends.Executable = (*executable)(nil)

// frame is the memory of one execution.
type frame struct {
	pool    *pool
	mem     [][]byte // by slot
	arena   []byte
	scratch int
	workAt  int
}

// bind numbers the places, so that steps find memory by index.
func (e *executable) bind() {
	for n, p := range e.owner {
		n.slot = len(e.places)
		e.places = append(e.places, p)
	}
	e.owner = nil
}

// of returns the memory of a value.
func (f *frame) of(n *node) []byte { return f.mem[base(n).slot] }

// ptr returns the address of a value.
func (f *frame) ptr(n *node) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(f.of(n))) }

// data returns a value as a slice of its Go type.
func data[T any](f *frame, n *node) []T { return view[T](f.of(n)) }

// workerScratch is the memory of one worker.
func (f *frame) workerScratch(worker int) []byte {
	return f.arena[worker*f.scratch : (worker+1)*f.scratch : (worker+1)*f.scratch]
}

// workspace is the memory of the running step, with size bytes.
func (f *frame) workspace(size int) []byte { return f.arena[f.workAt : f.workAt+size : f.workAt+size] }

// Inputs implements backends.Executable.
func (e *executable) Inputs() ([]string, []shapes.Shape) {
	names, in := make([]string, len(e.params)), make([]shapes.Shape, len(e.params))
	for i, n := range e.params {
		names[i], in[i] = n.attrs.(paramAttrs).name, n.shape
	}
	return names, in
}

// Outputs implements backends.Executable.
func (e *executable) Outputs() []shapes.Shape {
	out := make([]shapes.Shape, len(e.outputs))
	for i, n := range e.outputs {
		out[i] = n.shape
	}
	return out
}

// Finalize implements backends.Executable. The collector does the work.
func (e *executable) Finalize() { e.steps, e.places = nil, nil }

// Execute implements backends.Executable. Donated inputs are freed when the
// outputs are ready; their memory serves the next execution.
func (e *executable) Execute(inputs []backends.Buffer, donate []bool, _ backends.DeviceNum) ([]backends.Buffer, error) {
	if e.places == nil && len(e.outputs) > 0 {
		return nil, errors.Errorf("backend %q: executable %q was finalized", Name, e.name)
	}
	in, err := e.checkInputs(inputs, donate)
	if err != nil {
		return nil, err
	}
	b := e.backend
	b.pool.acquire()
	defer b.pool.release()
	outs := make([]*buffer, len(e.outputs))
	for i, n := range e.outputs {
		outs[i] = b.newBuffer(n.shape)
	}
	f := &frame{pool: b.pool, arena: b.memory.get(e.arena), scratch: e.scratch, mem: make([][]byte, len(e.places))}
	for i, p := range e.places {
		switch p.kind {
		case inArena:
			f.mem[i] = f.arena[p.offset : p.offset+p.size : p.offset+p.size]
		case inParam:
			f.mem[i] = in[p.index].mem
		case inOutput:
			f.mem[i] = outs[p.index].mem
		case inConst:
			f.mem[i] = p.constant
		}
	}
	for i := range e.steps {
		s := &e.steps[i]
		f.workAt = s.workAt
		if e.trace == nil {
			s.run(f)
			continue
		}
		start := time.Now()
		s.run(f)
		e.trace(s.node, time.Since(start))
	}
	for _, c := range e.copies {
		copy(outs[c.output].mem, f.of(c.from))
	}
	b.memory.put(f.arena)
	result := make([]backends.Buffer, len(outs))
	for i, o := range outs {
		result[i] = o
	}
	for i, u := range in {
		if donate != nil && donate[i] && u.block != nil {
			u.free()
		}
	}
	return result, nil
}

// checkInputs checks number, ownership and shapes of the inputs.
func (e *executable) checkInputs(inputs []backends.Buffer, donate []bool) ([]*buffer, error) {
	if len(inputs) != len(e.params) {
		return nil, errors.Errorf("backend %q: executable %q takes %d inputs, got %d", Name, e.name, len(e.params), len(inputs))
	}
	if donate != nil && len(donate) != len(inputs) {
		return nil, errors.Errorf("backend %q: executable %q: %d inputs but %d donate flags", Name, e.name, len(inputs), len(donate))
	}
	in := make([]*buffer, len(inputs))
	for i, x := range inputs {
		u, err := e.backend.own(x)
		if err != nil {
			return nil, errors.WithMessagef(err, "input %d of %q", i, e.name)
		}
		if !u.shape.Equal(e.params[i].shape) {
			return nil, errors.Errorf("backend %q: input %d of %q has shape %s, want %s", Name, i, e.name, u.shape, e.params[i].shape)
		}
		in[i] = u
	}
	return in, nil
}
