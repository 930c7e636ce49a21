package cpu

import (
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
)

// compiled builds x -> (softmax(x w), sum of squares, x itself, a view of x)
// and returns what GoMLX would run.
func compiled(b *Backend, rows int) backends.Executable {
	tr := &tracer{Backend: b, spent: map[string]time.Duration{}}
	g := NewGraph(tr, "small")
	x := Parameter(g, "x", shapes.Make(dtypes.Float32, rows, 8))
	w := Const(g, [][]float32{{1, 2}, {3, 4}, {5, 6}, {7, 8}, {1, 0}, {0, 1}, {2, 2}, {3, 3}})
	g.Compile(Softmax(Dot(x, w), -1), ReduceAllSum(Square(x)), Identity(x), Reshape(x, -1))
	tr.last.trace = nil
	return tr.last
}

// TestNoGrowth runs a small executable 10,000 times and looks at the heap.
func TestNoGrowth(t *testing.T) {
	b := newBackend(t, "threads=2").(*Backend)
	e := compiled(b, 30)
	in, flat, err := b.NewSharedBuffer(0, shapes.Make(dtypes.Float32, 30, 8))
	if err != nil {
		t.Fatal(err)
	}
	for i := range flat.([]float32) {
		flat.([]float32)[i] = float32(i%7) / 7
	}
	run := func(n int) {
		for range n {
			outs, err := e.Execute([]backends.Buffer{in}, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range outs {
				if err := b.BufferFinalize(o); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	run(100)
	before, kept := heap(), b.memory.kept
	run(10000)
	if after := heap(); after > before+1<<18 {
		t.Errorf("the heap grew from %d to %d bytes in 10,000 runs", before, after)
	}
	if b.memory.kept != kept {
		t.Errorf("memory kept for reuse went from %d to %d bytes", kept, b.memory.kept)
	}
}

// TestDonation checks that donated buffers are gone and others are not, and
// that outputs never share memory with inputs or each other.
func TestDonation(t *testing.T) {
	b := newBackend(t, "").(*Backend)
	e := compiled(b, 4)
	make1 := func(v float32) backends.Buffer {
		flat := make([]float32, 32)
		for i := range flat {
			flat[i] = v
		}
		u, err := b.BufferFromFlatData(0, flat, shapes.Make(dtypes.Float32, 4, 8))
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	kept := make1(2)
	first, err := e.Execute([]backends.Buffer{kept}, []bool{false}, 0)
	if err != nil {
		t.Fatal(err)
	}
	flat, err := b.BufferData(kept)
	if err != nil {
		t.Fatal("an input that was not donated is gone:", err)
	}
	flat.([]float32)[0] = 99 // must not show in outputs
	for _, k := range []int{2, 3} {
		got, err := b.BufferData(first[k])
		if err != nil {
			t.Fatal(err)
		}
		if v := got.([]float32)[0]; v != 2 {
			t.Errorf("output %d shares memory with the input: %v", k, v)
		}
	}
	donated := make1(3)
	if _, err := e.Execute([]backends.Buffer{donated}, []bool{true}, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := b.BufferData(donated); err == nil {
		t.Error("a donated buffer can still be read")
	}
	if _, err := e.Execute([]backends.Buffer{donated}, nil, 0); err == nil {
		t.Error("a donated buffer can be used again")
	}
	if err := b.BufferFinalize(kept); err != nil {
		t.Error(err)
	}
	if err := b.BufferFinalize(kept); err == nil {
		t.Error("a buffer can be finalized twice")
	}
}

// TestConcurrent runs several executables from many goroutines: results are
// the same as alone, and no more threads work than the backend was given.
func TestConcurrent(t *testing.T) {
	b := newBackend(t, "threads=3").(*Backend)
	rng := rand.New(rand.NewPCG(19, 1))
	type work struct {
		e    backends.Executable
		in   backends.Buffer
		want []float32
	}
	var list []work
	for i := range 4 {
		rows := 1000 + 700*i
		flat := make([]float32, rows*8)
		for k := range flat {
			flat[k] = rng.Float32()
		}
		in, err := b.BufferFromFlatData(0, flat, shapes.Make(dtypes.Float32, rows, 8))
		if err != nil {
			t.Fatal(err)
		}
		w := work{e: compiled(b, rows), in: in}
		outs, err := w.e.Execute([]backends.Buffer{in}, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		w.want = append(view[float32](outs[0].(*buffer).mem), view[float32](outs[1].(*buffer).mem)...)
		list = append(list, w)
	}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 25 {
				w := list[(g+i)%len(list)]
				outs, err := w.e.Execute([]backends.Buffer{w.in}, nil, 0)
				if err != nil {
					t.Error(err)
					return
				}
				got := append(view[float32](outs[0].(*buffer).mem), view[float32](outs[1].(*buffer).mem)...)
				if err := same(got, w.want, 0); err != nil {
					t.Error(err)
				}
				for _, o := range outs {
					o.(*buffer).free()
				}
			}
		})
	}
	wg.Wait()
	var now, most atomic.Int64
	for range 6 {
		wg.Go(func() {
			b.pool.acquire()
			defer b.pool.release()
			for range 50 {
				b.pool.Run(7, func(_, worker int) {
					if worker >= b.pool.Workers() {
						t.Errorf("worker %d of %d", worker, b.pool.Workers())
					}
					n := now.Add(1)
					for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
					}
					runtime.Gosched()
					now.Add(-1)
				})
			}
		})
	}
	wg.Wait()
	if most.Load() > 3 {
		t.Errorf("%d threads at work, the backend has 3", most.Load())
	}
}

// TestPanic checks that a panic in a task reaches the caller, and that the
// pool is whole after it.
func TestPanic(t *testing.T) {
	b := newBackend(t, "threads=4").(*Backend)
	for range 20 {
		b.pool.acquire()
		func() {
			defer func() {
				if e := recover(); e != "task 5" {
					t.Errorf("recovered %v", e)
				}
			}()
			b.pool.Run(64, func(task, _ int) {
				if task == 5 {
					panic("task 5")
				}
			})
		}()
		b.pool.release()
	}
	for range 4 { // all tokens come back; a helper may be giving its own back still
		b.pool.acquire()
	}
	for range 4 {
		b.pool.release()
	}
}

// TestErrors checks that what is missing is named when the graph is built.
func TestErrors(t *testing.T) {
	if _, err := New("threads=0"); err == nil || !strings.Contains(err.Error(), "threads=0") {
		t.Errorf("threads=0: %v", err)
	}
	if _, err := New("speed=11"); err == nil || !strings.Contains(err.Error(), "speed=11") {
		t.Errorf("speed=11: %v", err)
	}
	b := newBackend(t, "")
	builder := b.Builder("errors")
	x, err := builder.Parameter("x", shapes.Make(dtypes.Float32, 4), nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := builder.Parameter("p", shapes.Make(dtypes.Bool, 4), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]func() error{
		"Complex64": func() error {
			_, err := builder.Parameter("c", shapes.Make(dtypes.Complex64, 4), nil)
			return err
		},
		"FFT":         func() error { _, err := builder.FFT(x, backends.FFTForward, []int{4}); return err },
		"BitwiseAnd":  func() error { _, err := builder.BitwiseAnd(x, x); return err },
		"Bool":        func() error { _, err := builder.DotGeneral(p, []int{0}, nil, p, []int{0}, nil); return err },
		"ReduceSum":   func() error { _, err := builder.ReduceSum(p, 0); return err },
		"axis":        func() error { _, err := builder.Transpose(x, 1); return err },
		"another":     func() error { _, err := builder.Add(x, "another"); return err },
		"Float32":     func() error { _, err := builder.ShiftLeft(x, x); return err },
		"ShiftLeft":   func() error { _, err := builder.ShiftLeft(p, p); return err },
		"OutOfBounds": func() error { _, err := builder.Slice(x, []int{2}, []int{9}, []int{1}); return err },
	} {
		err := f()
		if err == nil {
			t.Errorf("%s: no error", name)
		} else if name != "axis" && name != "another" && name != "OutOfBounds" && !strings.Contains(err.Error(), name) {
			t.Errorf("%s is not named: %v", name, err)
		}
	}
	c := b.Capabilities()
	if c.Operations[backends.OpTypeFFT] || c.DTypes[dtypes.Complex64] || !c.Operations[backends.OpTypeConvGeneral] || !c.DTypes[dtypes.BFloat16] {
		t.Errorf("capabilities: %+v", c)
	}
}

// TestHalf computes in half precision through the graph.
func TestHalf(t *testing.T) {
	b := newBackend(t, "")
	rng := rand.New(rand.NewPCG(20, 1))
	x, y := random(rng, dtypes.Float32, -2, 2, 6, 8), random(rng, dtypes.Float32, -2, 2, 8, 5)
	for d, tol := range map[dtypes.DType]float64{dtypes.Float16: 2e-2, dtypes.BFloat16: 1e-1} {
		got := evaluate(t, b, func(in []*Node) []*Node {
			var out []*Node
			for _, d := range []dtypes.DType{d, dtypes.Float32} {
				x, y := ConvertDType(in[0], d), ConvertDType(in[1], d)
				p := Dot(x, y)
				for _, n := range []*Node{p, Add(Exp(x), x), ReduceSum(x, 0), ReduceMax(p, 1), TransposeAllDims(p, 1, 0), Softmax(p, -1)} {
					if n.DType() != d {
						t.Errorf("%s became %s", d, n.DType())
					}
					out = append(out, ConvertDType(n, dtypes.Float32))
				}
				out = append(out, ArgMax(p, 1))
			}
			return out
		}, args(x, y))
		for i := range 7 {
			if err := same(got[i], got[7+i], tol); err != nil {
				t.Errorf("%s, output %d: %v", d, i, err)
			}
		}
	}
}
