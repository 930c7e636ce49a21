package bound

import (
	"math"
	"testing"
)

// Exact: for each k the bound exceeds p for u below some u*(k), so the
// false-proof probability is the sum of P(X = k) u*(k).
func TestRandomizedBoundsByEnumeration(t *testing.T) {
	for _, n := range []int64{1, 2, 30} {
		for _, alpha := range []float64{0.001, 0.05, 0.2} {
			for p := 0.05; p < 1; p += 0.15 {
				lower, upper := 0.0, 0.0
				for k := range n + 1 {
					mass := math.Exp(lchoose(n, k)) * math.Pow(p, float64(k)) * math.Pow(1-p, float64(n-k))
					lower += mass * largestU(func(u float64) bool { return LowerRandomized(k, n, alpha, u) > p })
					upper += mass * largestU(func(u float64) bool { return UpperRandomized(k, n, alpha, u) < p })
				}
				if lower > alpha*(1+1e-6) || upper > alpha*(1+1e-6) {
					t.Errorf("n %d, alpha %v, p %v: false with probability %v and %v", n, alpha, p, lower, upper)
				}
				if n == 30 && alpha == 0.05 && p > 0.3 && p < 0.7 && (lower < 0.99*alpha || upper < 0.99*alpha) {
					t.Errorf("n %d, alpha %v, p %v: probability %v and %v: randomising should use up alpha", n, alpha, p, lower, upper)
				}
			}
		}
	}
}

// largestU is the supremum of the u for which holds is true: it is true below
// it and false above.
func largestU(holds func(u float64) bool) float64 {
	lo, hi := 0.0, 1.0
	if !holds(0) {
		return 0
	}
	for range 40 {
		if mid := (lo + hi) / 2; mid < 1 && holds(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

func lchoose(n, k int64) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c
}

func TestRandomizedIsBetweenTwoCounts(t *testing.T) {
	for _, c := range []struct{ k, n int64 }{{0, 10}, {1, 10}, {9, 10}, {10, 10}, {84_000, 100_000}, {3, 100_000}, {100_000, 100_000}, {99_999, 100_000}} {
		for _, u := range []float64{0, 0.3, 0.999} {
			got, low := LowerRandomized(c.k, c.n, 0.001, u), Lower(c.k, c.n, 0.001)
			high := 1.0
			if c.k < c.n {
				high = Lower(c.k+1, c.n, 0.001)
			}
			if got < low*(1-1e-11) || got > high || got >= 1 {
				t.Errorf("k %d, n %d, u %v: %v is not between %v and %v", c.k, c.n, u, got, low, high)
			}
			up := UpperRandomized(c.n-c.k, c.n, 0.001, u)
			if math.Abs(up-(1-got)) > 1e-15 || up <= 0 {
				t.Errorf("k %d, n %d, u %v: the upper bound is %v", c.k, c.n, u, up)
			}
		}
	}
	for _, u := range []float64{-0.1, 1, math.NaN()} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("u = %v is accepted", u)
				}
			}()
			LowerRandomized(1, 2, 0.1, u)
		}()
	}
}
