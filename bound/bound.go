// Package bound gives one-sided binomial confidence bounds and the normal
// quantile, on the safe side by construction.
//
// The guarantee: let X be binomial with n trials and unknown success
// probability p. For every p,
//
//	P(Lower(X, n, alpha) > p) <= alpha   and   P(Upper(X, n, alpha) < p) <= alpha.
//
// These are the Clopper-Pearson bounds: Lower is the p at which
// P(X >= k | p) = alpha and Upper the p at which P(X <= k | p) = alpha. What is
// returned is moved outward from the computed root by more than the error of
// the computation, so that floating point cannot spend more than alpha either.
// The price is a relative widening below 1e-11.
//
// The package refuses to guess: a call outside its domain panics.
package bound

import (
	"fmt"
	"math"
)

// MaxTrials is the largest n the error analysis covers.
const MaxTrials = 1_000_000_000

// Lower is the Clopper-Pearson lower bound at level alpha for k successes in n
// trials: for every p, P(Lower > p) <= alpha. It is 0 for k = 0.
// It panics unless 0 <= k <= n, 1 <= n <= MaxTrials and 0 < alpha < 1.
func Lower(k, n int64, alpha float64) float64 {
	checkDomain(k, n, alpha)
	if k == 0 {
		return 0
	}
	x, y := tailRoot(k, n, alpha)
	if x <= 0.5 {
		return x
	}
	return math.Nextafter(1-y, 0) // 1-y rounds by half an ulp
}

// Upper is the Clopper-Pearson upper bound at level alpha for k successes in n
// trials: for every p, P(Upper < p) <= alpha. It is 1 for k = n.
// It panics unless 0 <= k <= n, 1 <= n <= MaxTrials and 0 < alpha < 1.
func Upper(k, n int64, alpha float64) float64 {
	checkDomain(k, n, alpha)
	if k == n {
		return 1
	}
	// k successes are n-k failures: the failures' lower bound, mirrored. The
	// root comes with its complement, so a small bound keeps its digits.
	x, y := tailRoot(n-k, n, alpha)
	if y <= 0.5 {
		return y
	}
	return math.Nextafter(1-x, 1)
}

func checkDomain(k, n int64, alpha float64) {
	if n < 1 || n > MaxTrials || k < 0 || k > n {
		panic(fmt.Sprintf("bound: %d successes in %d trials: want 0 <= k <= n and 1 <= n <= %d", k, n, int64(MaxTrials)))
	}
	if !(alpha > 0 && alpha < 1) {
		panic(fmt.Sprintf("bound: alpha = %v: want 0 < alpha < 1", alpha))
	}
}
