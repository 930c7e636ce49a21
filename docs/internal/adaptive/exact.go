package main

import (
	"math"

	"lorica/bound"
)

// falseProof is the probability that the Clopper-Pearson bound at the given
// levels is above p at any look: a sum over all paths of the number of
// successes. Counts whose probability is below 1e-18 are taken for failures,
// so that the sum is not below the truth by more than rounding.
func falseProof(looks []int64, level func(n int64) float64, p float64) float64 {
	alive, base := []float64{1}, int64(0) // alive[i]: base+i successes, no false proof so far
	failed, prev := 0.0, int64(0)
	for _, n := range looks {
		step, from := masses(n-prev, p)
		next := make([]float64, len(alive)+len(step)-1)
		for i, w := range alive {
			for j, s := range step {
				next[i+j] += w * s
			}
		}
		base, prev = base+from, n
		least := leastAbove(n, level(n), p)
		keep := min(int64(len(next)), max(0, least-base))
		for _, w := range next[keep:] {
			failed += w
		}
		next = next[:keep]
		for len(next) > 0 && next[0] < 1e-18 {
			failed += next[0]
			next, base = next[1:], base+1
		}
		alive = next
	}
	return failed
}

// masses are the binomial probabilities above 1e-20 and the first count.
func masses(n int64, p float64) (mass []float64, from int64) {
	lp, lq := math.Log(p), math.Log1p(-p)
	all := logFactorial(float64(n))
	at := func(k int64) float64 {
		return math.Exp(all - logFactorial(float64(k)) - logFactorial(float64(n-k)) + float64(k)*lp + float64(n-k)*lq)
	}
	mode := min(int64(float64(n+1)*p), n)
	from = mode
	for from > 0 && at(from-1) > 1e-20 {
		from--
	}
	for k := from; k <= n; k++ {
		m := at(k)
		if k > mode && m < 1e-20 {
			break
		}
		mass = append(mass, m)
	}
	return mass, from
}

// leastAbove is the smallest count whose bound is above p; n+1 where none is.
func leastAbove(n int64, level, p float64) int64 {
	lo, hi := int64(0), n+1
	for lo < hi {
		if mid := (lo + hi) / 2; bound.Lower(mid, n, level) > p {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo
}

// calibrate finds by how much the levels of the looks could grow if alpha
// had to hold at this p only: what the union bound gives away.
func calibrate(s bound.Schedule, p float64) float64 {
	lo, hi := 1.0, float64(len(s.Looks))
	for range 12 {
		mid := (lo + hi) / 2
		if falseProof(s.Looks, func(n int64) float64 { return s.Level(n, mid*alpha) }, p) > alpha {
			hi = mid
		} else {
			lo = mid
		}
	}
	return lo
}
