package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

func checkGemm(t *testing.T, r *rand.Rand, g GemmSpec, level Level) {
	t.Helper()
	n := g.normal()
	size := func(rows, cols, ld, step int, trans bool) int {
		if trans {
			rows, cols = cols, rows
		}
		return extent(rows, cols, ld) + (n.Batch-1)*step
	}
	a := randomSlice(r, size(n.M, n.K, n.LDA, n.StrideA, n.TransA))
	b := randomSlice(r, size(n.K, n.N, n.LDB, n.StrideB, n.TransB))
	c := randomSlice(r, size(n.M, n.N, n.LDC, n.StrideC, false))
	before := append([]float32(nil), c...)
	again := append([]float32(nil), c...)
	n.check(a, b, c)
	gemm(Serial{}, n, tilesOf(level), a, b, c)
	gemm(team(3), n, tilesOf(level), a, b, again)
	touched := make([]bool, len(c))
	for x := range n.Batch {
		for i := range n.M {
			for j := range n.N {
				at := x*n.StrideC + i*n.LDC + j
				touched[at] = true
				want := 0.0
				if n.Accumulate {
					want = float64(before[at])
				}
				for k := range n.K {
					ai, bi := i*n.LDA+k, k*n.LDB+j
					if n.TransA {
						ai = k*n.LDA + i
					}
					if n.TransB {
						bi = j*n.LDB + k
					}
					want += float64(a[x*n.StrideA+ai]) * float64(b[x*n.StrideB+bi])
				}
				if d := math.Abs(float64(c[at]) - want); !(d <= 2e-6*(1+math.Sqrt(float64(n.K)))*math.Log2(float64(n.K)+2)) {
					t.Fatalf("%v %+v: C[%d,%d] is %v, want %v", level, g, i, j, c[at], want)
				}
			}
		}
	}
	for i := range c {
		if !touched[i] && c[i] != before[i] {
			t.Fatalf("%v %+v: element %d outside the product was written", level, g, i)
		}
		if c[i] != again[i] {
			t.Fatalf("%v %+v: element %d differs between one worker and three", level, g, i)
		}
	}
}

func TestGemmShapes(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	sizes := []int{1, 2, 7, 14, 15, 16, 17, 31, 32, 33, 64, 113}
	pick := func() int { return sizes[r.IntN(len(sizes))] }
	for i := range 100 {
		g := GemmSpec{M: pick(), N: pick(), K: pick(), TransA: i&1 != 0, TransB: i&2 != 0, Accumulate: i&4 != 0}
		switch r.IntN(6) {
		case 0:
			g.K = []int{0, 255, 256, 257, 300}[r.IntN(5)]
		case 1:
			g.N = 600 + r.IntN(20)
		case 2:
			g.M = 120 + r.IntN(20)
		case 3:
			g.Batch = 1 + r.IntN(6)
			g.StrideA, g.StrideB, g.StrideC = g.M*g.K, g.K*g.N*r.IntN(2), g.M*g.N
		case 4:
			n := g.normal()
			g.LDA, g.LDB, g.LDC = n.LDA+r.IntN(3), n.LDB+r.IntN(3), n.LDC+r.IntN(3)
		}
		for _, l := range levels() {
			checkGemm(t, r, g, l)
		}
	}
}

// FuzzGemm computes products of shapes that the fuzzer finds.
func FuzzGemm(f *testing.F) {
	f.Add(uint64(1), uint8(3), uint8(17), uint8(33), uint8(7))
	f.Fuzz(func(t *testing.T, seed uint64, m, n, k, flags uint8) {
		g := GemmSpec{M: int(m), N: int(n), K: int(k), TransA: flags&1 != 0, TransB: flags&2 != 0, Accumulate: flags&4 != 0, Batch: int(flags>>3) % 6}
		g.StrideA, g.StrideB, g.StrideC = g.M*g.K, g.K*g.N, g.M*g.N
		for _, l := range levels() {
			checkGemm(t, rand.New(rand.NewPCG(seed, 0)), g, l)
		}
	})
}

func TestGemmRefusesShortSlices(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a product that does not fit its slice did not panic")
		}
	}()
	Gemm(Serial{}, GemmSpec{M: 4, N: 4, K: 4}, make([]float32, 16), make([]float32, 15), make([]float32, 16))
}

func BenchmarkGemm(b *testing.B) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, k := range []struct {
		m, n, k int
		ta, tb  bool
	}{{1024, 1024, 1024, false, false}, {1024, 1024, 1024, true, false}, {1024, 1024, 1024, false, true}, {256, 256, 256, false, false},
		{64, 64, 64, false, false}, {64, 10, 64, false, false}, {64, 512, 768, false, false}} {
		b.Run(fmt.Sprintf("%dx%dx%d_%v_%v", k.m, k.n, k.k, k.ta, k.tb), func(b *testing.B) {
			x, y, z := randomSlice(r, k.m*k.k), randomSlice(r, k.k*k.n), make([]float32, k.m*k.n)
			rate(b, 2*float64(k.m*k.n*k.k), "GFLOP/s", func() {
				Gemm(Serial{}, GemmSpec{M: k.m, N: k.n, K: k.k, TransA: k.ta, TransB: k.tb}, x, y, z)
			})
		})
	}
}
