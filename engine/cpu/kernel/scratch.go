package kernel

import (
	"sync"
	"unsafe"
)

// aligned returns n floats that begin on a cache line, reusing buf's memory
// where it is large enough.
func aligned(buf []float32, n int) []float32 {
	if cap(buf) < n+2*unit || buf == nil {
		buf = make([]float32, n+2*unit)
	}
	buf = buf[:cap(buf)]
	if r := uintptr(unsafe.Pointer(&buf[0])) % 64; r != 0 {
		buf = buf[(64-r)/4:]
	}
	return buf[:n]
}

// scratch is one worker's memory.
type scratch struct {
	args      tileArgs
	pack, out []float32
	taps      []tap
}

// workspace is the memory of one running call; it goes back to a pool.
type workspace struct {
	shared, more []float32
	workers      []*scratch
}

func takeWorkspace(pool *sync.Pool, workers int) *workspace {
	w, _ := pool.Get().(*workspace)
	if w == nil {
		w = &workspace{}
	}
	for len(w.workers) < workers {
		w.workers = append(w.workers, &scratch{})
	}
	return w
}

// blank drops the pointers into callers' memory that the arguments still hold.
func (w *workspace) blank() {
	for _, s := range w.workers {
		s.args = tileArgs{}
	}
}

func ptr(x []float32) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(x)) }

func at(x []float32, i int) unsafe.Pointer { return unsafe.Pointer(&x[i]) }
