package kernel

import "math"

// lanes is the number of partial results that a reduction keeps, on every
// processor: element i goes to lane i%lanes, and the lanes are then folded in
// halves. So a sum is the same whatever instructions computed it.
const lanes = 64

// Sum is the sum of x in a fixed order (64 interleaved partial sums, folded in
// halves), the same on every machine. The sum of nothing is 0.
func Sum(x []float32) float32 {
	var acc [lanes]float32
	n := len(x) / lanes * lanes
	for i := 0; i < n; i += lanes {
		for j, v := range x[i : i+lanes] {
			acc[j] += v
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
// x[i*ld+j], in order of i.
func SumRows(dst, x []float32, rows, ld int) {
	for i := range rows {
		row := x[i*ld:][:len(dst)]
		for j := range dst {
			dst[j] += row[j]
		}
	}
}
