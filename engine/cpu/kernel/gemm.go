package kernel

import "fmt"

// GemmSpec describes C[m,n] (+)= A[m,k] * B[k,n]. Matrices are row-major with
// leading dimensions; a transposed operand is stored as [k,m] or [n,k].
type GemmSpec struct {
	M, N, K        int
	LDA, LDB, LDC  int // zero means tight
	TransA, TransB bool
	Accumulate     bool // add to C rather than overwrite it

	// Batch products, each operand advancing by its stride (zero: the same
	// operand for all). Batch below 1 means one product.
	Batch                     int
	StrideA, StrideB, StrideC int
}

// normal fills in defaults.
func (g GemmSpec) normal() GemmSpec {
	def := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	if g.TransA {
		def(&g.LDA, g.M)
	} else {
		def(&g.LDA, g.K)
	}
	if g.TransB {
		def(&g.LDB, g.K)
	} else {
		def(&g.LDB, g.N)
	}
	def(&g.LDC, g.N)
	if g.Batch < 1 {
		g.Batch = 1
	}
	return g
}

// extent is the number of elements that a rows x cols matrix with leading
// dimension ld spans.
func extent(rows, cols, ld int) int {
	if rows == 0 || cols == 0 {
		return 0
	}
	return (rows-1)*ld + cols
}

func (g GemmSpec) check(a, b, c []float32) {
	if g.M < 0 || g.N < 0 || g.K < 0 {
		panic(fmt.Sprintf("kernel: matrix product of negative size %dx%dx%d", g.M, g.N, g.K))
	}
	ar, ac, br, bc := g.M, g.K, g.K, g.N
	if g.TransA {
		ar, ac = ac, ar
	}
	if g.TransB {
		br, bc = bc, br
	}
	for _, x := range []struct {
		name                 string
		rows, cols, ld, step int
		have                 int
	}{{"A", ar, ac, g.LDA, g.StrideA, len(a)}, {"B", br, bc, g.LDB, g.StrideB, len(b)}, {"C", g.M, g.N, g.LDC, g.StrideC, len(c)}} {
		need := extent(x.rows, x.cols, x.ld)
		if need > 0 {
			need += (g.Batch - 1) * x.step
		}
		if x.ld < x.cols || x.step < 0 || need > x.have {
			panic(fmt.Sprintf("kernel: %s of a %dx%dx%d product (leading dimension %d, batch %d, stride %d) does not fit %d elements",
				x.name, g.M, g.N, g.K, x.ld, g.Batch, x.step, x.have))
		}
	}
}

// Gemm computes the product (or the batch of products) that g describes.
func Gemm(p Par, g GemmSpec, a, b, c []float32) {
	g = g.normal()
	g.check(a, b, c)
	gemm(p, g, tilesOf(best), a, b, c)
}
