package kernel

import (
	"math"
	"math/rand/v2"
	"testing"
)

// ulps is the distance between got and the exact value in units in the last
// place of float32.
func ulps(got float32, want float64) float64 {
	w := float32(want)
	switch {
	case math.IsNaN(want) || got != got:
		if math.IsNaN(want) && got != got {
			return 0
		}
		return math.Inf(1)
	case got == w:
		return 0
	case math.IsInf(float64(got), 0) || math.IsInf(float64(w), 0):
		return math.Inf(1)
	}
	ulp := float64(math.Nextafter32(float32(math.Abs(want)), float32(math.Inf(1)))) - math.Abs(float64(float32(math.Abs(want))))
	return math.Abs(float64(got)-want) / ulp
}

type unaryFunc struct {
	name string
	at   func(Level, []float32, []float32)
	want func(float64) float64
	ulp  float64
}

var unaryFuncs = []unaryFunc{
	{"neg", negAt, func(x float64) float64 { return -x }, 0},
	{"abs", absAt, math.Abs, 0},
	{"relu", reluAt, func(x float64) float64 { return max(x, 0) }, 0},
	{"sign", signAt, func(x float64) float64 {
		if x == 0 || x != x {
			return x
		}
		return math.Copysign(1, x)
	}, 0},
	{"floor", floorAt, math.Floor, 0},
	{"ceil", ceilAt, math.Ceil, 0},
	{"round", roundAt, math.RoundToEven, 0},
	{"sqrt", sqrtAt, math.Sqrt, 0.501},
	{"rsqrt", rsqrtAt, func(x float64) float64 { return 1 / math.Sqrt(x) }, 2},
	{"exp", expAt, math.Exp, 2},
	{"expm1", expm1At, math.Expm1, 2},
	{"log", logAt, math.Log, 2},
	{"log1p", log1pAt, math.Log1p, 2.5},
	{"tanh", tanhAt, math.Tanh, 2.5},
	{"logistic", logisticAt, func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }, 2.5},
	{"erf", erfAt, math.Erf, 2},
}

func TestUnaryAccuracy(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var x []float32
	for _, s := range []float64{1e-30, 1e-6, 0.01, 0.3, 1, 3, 10, 90, 1e5, 1e30} {
		for range 5000 {
			x = append(x, float32(r.NormFloat64()*s))
		}
	}
	inf := float32(math.Inf(1))
	x = append(x, 0, float32(math.Copysign(0, -1)), inf, -inf, float32(math.NaN()), math.MaxFloat32, -math.MaxFloat32,
		math.SmallestNonzeroFloat32, 1e-40, 1, -1, 0.5, 2, 88.7, 88.8, -87.3, -103.9, -104.1, -200, 1<<24, -0.99999994)
	got := make([]float32, len(x))
	for _, f := range unaryFuncs {
		for _, l := range levels() {
			f.at(l, got, x)
			worst, at := 0.0, 0
			for i := range x {
				want := f.want(float64(x[i]))
				if a := math.Abs(want); a < 1.2e-38 && math.Abs(float64(got[i])-want) <= 1.2e-38 {
					continue // subnormal results may be flushed
				}
				if u := ulps(got[i], want); u > worst {
					worst, at = u, i
				}
			}
			if worst > f.ulp {
				t.Errorf("%s at %v: %s(%v) = %v, want %v: %.2f ulp", f.name, l, f.name, x[at], got[at], f.want(float64(x[at])), worst)
			}
		}
	}
}

// A value does not depend on where it stands in a slice.
func TestUnaryTails(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	x := randomSlice(r, 67)
	for _, f := range unaryFuncs {
		for _, l := range levels() {
			whole := make([]float32, len(x))
			f.at(l, whole, x)
			for n := range len(x) {
				part := make([]float32, n+1)
				f.at(l, part[:n], x[:n])
				for i := range n {
					if math.Float32bits(part[i]) != math.Float32bits(whole[i]) {
						t.Fatalf("%s at %v: element %d of %d is %v, in a longer slice %v", f.name, l, i, n, part[i], whole[i])
					}
				}
				if part[n] != 0 {
					t.Fatalf("%s at %v wrote beyond %d elements", f.name, l, n)
				}
			}
		}
	}
}

func TestBinary(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	a, b, c := randomSlice(r, 103), randomSlice(r, 103), randomSlice(r, 103)
	copy(a, []float32{nan, 1, nan, inf, -inf, 0, 2})
	copy(b, []float32{1, nan, nan, 1, inf, 0, 2})
	const s = 0.75
	same := func(x, y float32) bool { return x == y || (x != x && y != y) }
	for name, f := range map[string]struct {
		at   func(l Level, dst []float32)
		want func(i int) float32
	}{
		"add":       {func(l Level, d []float32) { addAt(l, d, a, b) }, func(i int) float32 { return a[i] + b[i] }},
		"sub":       {func(l Level, d []float32) { subAt(l, d, a, b) }, func(i int) float32 { return a[i] - b[i] }},
		"mul":       {func(l Level, d []float32) { mulAt(l, d, a, b) }, func(i int) float32 { return a[i] * b[i] }},
		"div":       {func(l Level, d []float32) { divAt(l, d, a, b) }, func(i int) float32 { return a[i] / b[i] }},
		"max":       {func(l Level, d []float32) { maxAt(l, d, a, b) }, func(i int) float32 { return max(a[i], b[i]) }},
		"min":       {func(l Level, d []float32) { minAt(l, d, a, b) }, func(i int) float32 { return min(a[i], b[i]) }},
		"addScalar": {func(l Level, d []float32) { addScalarAt(l, d, a, s) }, func(i int) float32 { return a[i] + s }},
		"subScalar": {func(l Level, d []float32) { subScalarAt(l, d, a, s) }, func(i int) float32 { return a[i] - s }},
		"scalarSub": {func(l Level, d []float32) { scalarSubAt(l, d, a, s) }, func(i int) float32 { return s - a[i] }},
		"mulScalar": {func(l Level, d []float32) { mulScalarAt(l, d, a, s) }, func(i int) float32 { return a[i] * s }},
		"divScalar": {func(l Level, d []float32) { divScalarAt(l, d, a, s) }, func(i int) float32 { return a[i] / s }},
		"scalarDiv": {func(l Level, d []float32) { scalarDivAt(l, d, a, s) }, func(i int) float32 { return s / a[i] }},
		"maxScalar": {func(l Level, d []float32) { maxScalarAt(l, d, a, s) }, func(i int) float32 { return max(a[i], s) }},
		"minScalar": {func(l Level, d []float32) { minScalarAt(l, d, a, s) }, func(i int) float32 { return min(a[i], s) }},
	} {
		for _, l := range levels() {
			for _, n := range []int{0, 1, 15, 16, 17, 103} {
				got := make([]float32, n)
				f.at(l, got)
				for i := range got {
					if !same(got[i], f.want(i)) {
						t.Fatalf("%s at %v, element %d of %d: %v, want %v (a=%v b=%v)", name, l, i, n, got[i], f.want(i), a[i], b[i])
					}
				}
			}
		}
	}
	for _, l := range levels() {
		got := make([]float32, 103)
		mulAddAt(l, got, a, b, c)
		for i := range got {
			want := float64(a[i])*float64(b[i]) + float64(c[i])
			if d := math.Abs(float64(got[i]) - want); !same(got[i], float32(want)) && !(d < 1e-6) {
				t.Fatalf("mulAdd at %v, element %d: %v, want %v", l, i, got[i], want)
			}
		}
	}
}

func TestSums(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 1))
	for _, n := range []int{0, 1, 63, 64, 65, 1000, 4096} {
		x := randomSlice(r, n)
		want := 0.0
		for _, v := range x {
			want += float64(v)
		}
		base := sumAt(Portable, x)
		for _, l := range levels() {
			if got := sumAt(l, x); got != base || math.Abs(float64(got)-want) > 1e-6*float64(n+1) {
				t.Errorf("sum of %d at %v: %v, portable %v, exact %v", n, l, got, base, want)
			}
		}
	}
	for _, cols := range []int{1, 5, 16, 17, 48} {
		for _, rows := range []int{0, 1, 3, 4, 5, 33, 128} {
			ld := cols + r.IntN(3)
			x := randomSlice(r, rows*ld+cols)
			var base []float32
			for _, l := range levels() {
				got := make([]float32, cols)
				sumRowsAt(l, got, x, rows, ld)
				if l == Portable {
					base = got
				}
				for j := range got {
					want := 0.0
					for i := range rows {
						want += float64(x[i*ld+j])
					}
					if got[j] != base[j] || math.Abs(float64(got[j])-want) > 1e-5 {
						t.Fatalf("%dx%d at %v: column %d is %v, portable %v, exact %v", rows, cols, l, j, got[j], base[j], want)
					}
				}
			}
		}
	}
}

func TestExtremesAndTranspose(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 1))
	x := randomSlice(r, 1000)
	x[371], x[20] = 50, -60
	if MaxOf(x) != 50 || MinOf(x) != -60 {
		t.Errorf("extremes %v and %v", MaxOf(x), MinOf(x))
	}
	x[999] = float32(math.NaN())
	if v := MaxOf(x); v == v {
		t.Errorf("the maximum of a slice with NaN is %v", v)
	}
	for range 100 {
		rows, cols := 1+r.IntN(40), 1+r.IntN(40)
		lds, ldd := cols+r.IntN(3), rows+r.IntN(3)
		src := randomSlice(r, rows*lds)
		for _, l := range levels() {
			dst := make([]float32, cols*ldd)
			transpose(tilesOf(l), dst, src, rows, cols, ldd, lds)
			for j := range cols {
				for i := range ldd {
					want := float32(0)
					if i < rows {
						want = src[i*lds+j]
					}
					if dst[j*ldd+i] != want {
						t.Fatalf("%v: transpose of %dx%d: element %d,%d is %v, want %v", l, rows, cols, j, i, dst[j*ldd+i], want)
					}
				}
			}
		}
	}
}

func BenchmarkVector(b *testing.B) {
	r := rand.New(rand.NewPCG(6, 1))
	x, y := randomSlice(r, 4096), make([]float32, 4096)
	for _, f := range unaryFuncs {
		b.Run(f.name, func(b *testing.B) { rate(b, float64(len(x)), "values/ns", func() { f.at(best, y, x) }) })
	}
	b.Run("add", func(b *testing.B) { rate(b, float64(len(x)), "values/ns", func() { Add(y, y, x) }) })
	b.Run("sum", func(b *testing.B) { rate(b, float64(len(x)), "values/ns", func() { Sum(x) }) })
}

func TestCompareAndSelect(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 1))
	nan := float32(math.NaN())
	a, b := randomSlice(r, 70), randomSlice(r, 70)
	copy(b[30:], a[30:50])
	copy(a, []float32{nan, 1, nan, 0})
	copy(b, []float32{1, nan, nan, float32(math.Copysign(0, -1))})
	for name, f := range map[string]struct {
		at   func(l Level, dst []bool, a, b []float32)
		want func(a, b float32) bool
	}{
		"equal":     {equalAt, func(a, b float32) bool { return a == b }},
		"notEqual":  {notEqualAt, func(a, b float32) bool { return a != b }},
		"less":      {lessAt, func(a, b float32) bool { return a < b }},
		"lessEqual": {lessEqualAt, func(a, b float32) bool { return a <= b }},
	} {
		for _, l := range levels() {
			for _, n := range []int{0, 1, 16, 31, 70} {
				got := make([]bool, n)
				f.at(l, got, a, b)
				picked := make([]float32, n)
				selectAt(l, picked, got, a, b)
				for i := range got {
					if got[i] != f.want(a[i], b[i]) {
						t.Fatalf("%s at %v of %v and %v: %v", name, l, a[i], b[i], got[i])
					}
					want := b[i]
					if got[i] {
						want = a[i]
					}
					if math.Float32bits(picked[i]) != math.Float32bits(want) {
						t.Fatalf("select at %v: element %d is %v, want %v", l, i, picked[i], want)
					}
				}
			}
		}
	}
}
