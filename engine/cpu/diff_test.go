package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/backends/simplego"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/core/tensors"
)

// newBackend returns a backend of this package that ends with the test.
func newBackend(t testing.TB, config string) backends.Backend {
	t.Helper()
	b, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Finalize)
	return b
}

// graphFn builds the operation under test.
type graphFn func(in []*Node) []*Node

// evaluate runs a graph on a backend and returns the outputs as flat slices.
func evaluate(t testing.TB, b backends.Backend, fn graphFn, inputs []*tensors.Tensor) []any {
	t.Helper()
	exec, err := NewExec(b, func(in []*Node) []*Node { return fn(in) })
	if err != nil {
		t.Fatal(err)
	}
	defer exec.Finalize()
	args := make([]any, len(inputs))
	for i, x := range inputs {
		c, err := x.LocalClone()
		if err != nil {
			t.Fatal(err)
		}
		args[i] = c
	}
	outs, err := exec.Exec(args...)
	if err != nil {
		t.Fatal(err)
	}
	flats := make([]any, len(outs))
	for i, o := range outs {
		err := o.ConstFlatData(func(flat any) {
			v := reflect.ValueOf(flat)
			c := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			reflect.Copy(c, v)
			flats[i] = c.Interface()
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return flats
}

// same compares two flat slices: numbers to a relative tolerance, NaN with
// NaN, everything else exactly.
func same(got, want any, tol float64) error {
	g, w := reflect.ValueOf(got), reflect.ValueOf(want)
	if g.Type() != w.Type() || g.Len() != w.Len() {
		return fmt.Errorf("got %d of %s, want %d of %s", g.Len(), g.Type(), w.Len(), w.Type())
	}
	for i := range g.Len() {
		a, b := g.Index(i), w.Index(i)
		if !a.CanFloat() {
			if !a.Equal(b) {
				return fmt.Errorf("element %d is %v, want %v", i, a, b)
			}
			continue
		}
		x, y := a.Float(), b.Float()
		if x == y || math.IsNaN(x) && math.IsNaN(y) {
			continue
		}
		if !(math.Abs(x-y) <= tol*(1+math.Abs(y))) {
			return fmt.Errorf("element %d is %v, want %v", i, x, y)
		}
	}
	return nil
}

// portable is GoMLX's own backend in Go, one operation at a time: it has data
// races when it runs several.
var portable = sync.OnceValue(func() backends.Backend {
	b, err := simplego.New("ops_sequential,dotgeneral_small")
	if err != nil {
		panic(err)
	}
	return b
})

// differs runs a graph on this backend and on GoMLX's portable one.
func differs(t *testing.T, b backends.Backend, tol float64, fn graphFn, inputs ...*tensors.Tensor) {
	t.Helper()
	got := evaluate(t, b, fn, inputs)
	want := evaluate(t, portable(), fn, inputs)
	for i := range want {
		if err := same(got[i], want[i], tol); err != nil {
			t.Errorf("output %d: %v", i, err)
		}
	}
}

// random returns a tensor of values in [lo, hi), NaN and infinities not among
// them. Booleans are true for one in two.
func random(rng *rand.Rand, d dtypes.DType, lo, hi float64, dims ...int) *tensors.Tensor {
	x := tensors.FromShape(shapes.Make(d, dims...))
	x.MutableFlatData(func(flat any) {
		v := reflect.ValueOf(flat)
		for i := range v.Len() {
			r := lo + (hi-lo)*rng.Float64()
			switch e := v.Index(i); {
			case e.Kind() == reflect.Bool:
				e.SetBool(rng.IntN(2) == 0)
			case e.CanFloat():
				e.SetFloat(r)
			case e.CanInt():
				e.SetInt(int64(math.Floor(r)))
			case e.CanUint():
				e.SetUint(uint64(max(0, math.Floor(r))))
			}
		}
	})
	return x
}

// args is a list of tensors.
func args(x ...*tensors.Tensor) []*tensors.Tensor { return x }
