// Package cpu is a GoMLX backend for the processor at hand: it captures a
// graph, plans it once, and runs it with vector kernels on all cores.
//
// Importing the package registers the backend as "cpu". Its configuration is
// "cpu" or "cpu:threads=N".
//
// Guarantees:
//   - Results do not depend on the number of threads, on the load of the
//     machine, or on what else runs: work is cut into pieces by shape alone,
//     and sums are taken in a fixed order.
//   - An operation or data type that is not supported is an error when the
//     graph is built, and the error names it. Nothing is approximated in
//     silence.
//   - Executables may be run by any number of goroutines at once. Together
//     they use no more threads than the backend was given.
//
// The way of a graph: builder.go captures it as nodes, passes.go rewrites the
// nodes, plan.go assigns memory, lower.go turns each node into a step, and
// exec.go runs the steps in order.
package cpu

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/backends/notimplemented"
	"github.com/pkg/errors"
)

// Name is the name under which GoMLX finds the backend.
const Name = "cpu"

func init() {
	backends.Register(Name, New)
}

// Backend implements backends.Backend. Make one with New.
type Backend struct {
	pool      *pool
	memory    memory
	finalized atomic.Bool
}

var _ backends.Backend = (*Backend)(nil)

// New returns a backend. The configuration is empty or "threads=N"; without
// it the backend uses as many threads as the Go runtime runs at once.
func New(config string) (backends.Backend, error) {
	threads := runtime.GOMAXPROCS(0)
	for part := range strings.SplitSeq(config, ",") {
		if part == "" {
			continue
		}
		key, value, _ := strings.Cut(part, "=")
		if key != "threads" {
			return nil, errors.Errorf("backend %q: unknown option %q, the only one is threads=N", Name, part)
		}
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > 1024 {
			return nil, errors.Errorf("backend %q: option %q: want a number of threads from 1 to 1024", Name, part)
		}
		threads = n
	}
	return &Backend{pool: newPool(threads)}, nil
}

// Name implements backends.Backend.
func (b *Backend) Name() string { return Name }

// String implements backends.Backend.
func (b *Backend) String() string { return Name }

// Description implements backends.Backend.
func (b *Backend) Description() string {
	return fmt.Sprintf("lorica's CPU engine, %d threads", b.pool.threads)
}

// NumDevices implements backends.Backend: the processor is one device.
func (b *Backend) NumDevices() int { return 1 }

// DeviceDescription implements backends.Backend.
func (b *Backend) DeviceDescription(backends.DeviceNum) string {
	return runtime.GOARCH + " processor"
}

// Capabilities implements backends.Backend.
func (b *Backend) Capabilities() backends.Capabilities { return capabilities() }

// Builder implements backends.Backend.
func (b *Backend) Builder(name string) backends.Builder {
	return &Builder{
		Builder: notimplemented.Builder{ErrFn: func(op backends.OpType) error {
			return errors.Wrapf(notimplemented.NotImplementedError, "backend %q has no operation %s", Name, op)
		}},
		backend: b,
		name:    name,
		byKey:   map[string]*node{},
	}
}

// Finalize implements backends.Backend. Idle threads end; memory that was kept
// for reuse is dropped.
func (b *Backend) Finalize() {
	if b.finalized.CompareAndSwap(false, true) {
		b.pool.close()
		b.memory.drop()
	}
}

// IsFinalized implements backends.Backend.
func (b *Backend) IsFinalized() bool { return b.finalized.Load() }
