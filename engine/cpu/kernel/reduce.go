package kernel

import "math"

// lanes is the number of partial results that a reduction keeps, on every
// processor: element i goes to lane i%lanes, and the lanes are then folded in
// halves. So a sum is the same whatever instructions computed it.
const lanes = 64

// Sum is the sum of x in a fixed order (64 interleaved partial sums, folded in
// halves), the same on every machine. The sum of nothing is 0.
func Sum(x []float32) float32 { return sumAt(best, x) }

func sumAt(l Level, x []float32) float32 {
	var acc [lanes]float32
	n := len(x) / lanes * lanes
	if n > 0 && !sumBlocks(l, &acc, &x[0], n/lanes) {
		for i := 0; i < n; i += lanes {
			for j, v := range x[i : i+lanes] {
				acc[j] += v
			}
		}
	}
	for j, v := range x[n:] {
		acc[j] += v
	}
	for h := lanes / 2; h > 0; h /= 2 {
		for j := range h {
			acc[j] += acc[j+h]
		}
	}
	return acc[0]
}

// MaxOf is the largest element of x, NaN if there is one, and minus infinity
// if x is empty.
func MaxOf(x []float32) float32 {
	m := float32(math.Inf(-1))
	for _, v := range x {
		m = max(m, v)
	}
	return m
}

// MinOf is the smallest element of x, NaN if there is one, and infinity if x
// is empty.
func MinOf(x []float32) float32 {
	m := float32(math.Inf(1))
	for _, v := range x {
		m = min(m, v)
	}
	return m
}

// SumRows adds the rows of a row-major matrix to dst: dst[j] += sum over i of
// x[i*ld+j]. Row i goes to one of four partial sums, i%4, which are added in
// pairs: the same order on every machine.
func SumRows(dst, x []float32, rows, ld int) { sumRowsAt(best, dst, x, rows, ld) }

func sumRowsAt(l Level, dst, x []float32, rows, ld int) {
	if rows <= 0 || len(dst) == 0 {
		return
	}
	_ = x[(rows-1)*ld+len(dst)-1]
	for j := 0; j < len(dst); j += unit {
		var acc [lanes]float32
		n := min(unit, len(dst)-j)
		i := 0
		if n == unit && sumRowBlocks(l, &acc, &x[j], ld, rows) {
			i = rows / 4 * 4
		}
		for ; i < rows; i++ {
			part := acc[i%4*unit:][:n]
			for k, v := range x[i*ld+j:][:n] {
				part[k] += v
			}
		}
		for k := range n {
			dst[j+k] += (acc[k] + acc[2*unit+k]) + (acc[unit+k] + acc[3*unit+k])
		}
	}
}
