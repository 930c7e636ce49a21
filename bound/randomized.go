package bound

import "math"

// LowerRandomized is the randomised Clopper-Pearson lower bound: with U uniform
// on [0, 1) and independent of X, for every p
//
//	P(LowerRandomized(X, n, alpha, U) > p) <= alpha,
//
// with equality but for the smallest counts. It is the p at which
// P(X > k | p) + u P(X = k | p) = alpha: between Lower of k and of k+1, on
// average half a count better than Lower.
//
// The probability is over U as well as over the draws. Whoever may choose u
// after seeing k can choose it small: u must be fixed beforehand.
// It panics like Lower, and unless 0 <= u < 1.
func LowerRandomized(k, n int64, alpha, u float64) float64 {
	checkDomain(k, n, alpha)
	if !(u >= 0 && u < 1) {
		panic("bound: LowerRandomized needs 0 <= u < 1")
	}
	if alpha > 0.25 || k == 0 { // nothing to gain that is worth the cases
		return Lower(k, n, alpha)
	}
	if k == n {
		// A small u could prove p = 1. A larger one is always safe.
		u = math.Max(u, 2*alpha)
		l := math.Log(alpha/u) / float64(n)
		return math.Exp(l-8*eps*math.Abs(l)) * (1 - 4*eps)
	}
	fits := func(p float64) bool { // is the probability at p surely at most alpha?
		const slack = 1 + 1e-9 // far above the error of the two terms
		logit := math.Log(p) - math.Log1p(-p)
		x, y := expit(logit)
		more := math.Exp(float64(n) * math.Log(x)) // P(X = n), for k+1 = n
		if k+1 < n {
			h, _, err := logTail(k+1, n, logit)
			more = math.Exp(h + err)
		}
		return (more+u*math.Exp(logPMF(k, n, x, y)))*slack <= alpha
	}
	lo, hi := Lower(k, n, alpha), Lower(k+1, n, alpha)
	for range 40 { // to 1e-12 of the gap between two counts
		if mid := (lo + hi) / 2; fits(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo * (1 - 1e-12)
}

// UpperRandomized is the randomised upper bound: LowerRandomized of the
// failures, mirrored.
func UpperRandomized(k, n int64, alpha, u float64) float64 {
	return math.Min(1, math.Nextafter(1-LowerRandomized(n-k, n, alpha, u), 2))
}
