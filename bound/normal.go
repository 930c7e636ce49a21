package bound

import "math"

// quantileSlack is the widening of QuantileDown and QuantileUp, relative to
// |q| + 0.1. The refinement ends within 1e-15 relative of the root of a
// computed Phi whose error is below 2 ulps of erfc and one of its argument; an
// argument error of one ulp is one ulp of the quantile, and near p = 1/2 an ulp
// of Phi is 3e-16 of q, absolute. 1e-14 is several times the sum. The tests
// compare with a series in 400 bits and more.
const quantileSlack = 1e-14

// tiniest is the smallest probability whose quantile is computed; below it the
// answers are clamped to the safe side.
const tiniest = 1e-300

// QuantileDown is the normal quantile, never over-estimated: the value to use
// where a larger quantile would claim more (the top class). It is -Inf for
// p <= 0 and panics for p >= 1 or NaN.
func QuantileDown(p float64) float64 {
	switch {
	case p != p || p >= 1:
		panic("bound: QuantileDown needs p < 1")
	case p < tiniest:
		return math.Inf(-1)
	}
	q := quantile(p)
	return q - quantileSlack*(0.1+math.Abs(q))
}

// QuantileUp is the normal quantile, never under-estimated: the value to use
// where a smaller quantile would claim more (a rival class). It is +Inf for
// p >= 1 and panics for p <= 0 or NaN.
func QuantileUp(p float64) float64 {
	switch {
	case p != p || p <= 0:
		panic("bound: QuantileUp needs p > 0")
	case p >= 1:
		return math.Inf(1)
	}
	q := quantile(math.Max(p, tiniest))
	return q + quantileSlack*(0.1+math.Abs(q))
}

// quantile is the inverse of the normal distribution function on [1e-300, 1).
func quantile(p float64) float64 {
	if p == 0.5 {
		return 0
	}
	if p > 0.5 {
		return -quantile(1 - p) // exact: 1-p does not round for p in [1/2, 1]
	}
	z := roughQuantile(p)
	for range 3 { // Halley's method, each step cubing the error
		step := 0.5*math.Erfc(-z/math.Sqrt2) - p
		step *= math.Sqrt(2*math.Pi) * math.Exp(z*z/2) // over the density
		step /= 1 + z*step/2
		z -= step
		if math.Abs(step) <= 1e-9*math.Abs(z) { // what is left is its cube
			break
		}
	}
	return z
}

// roughQuantile is within 4.5e-4 for p <= 1/2 (Abramowitz and Stegun 26.2.23).
func roughQuantile(p float64) float64 {
	t := math.Sqrt(-2 * math.Log(p))
	return -t + (2.515517+t*(0.802853+t*0.010328))/(1+t*(1.432788+t*(0.189269+t*0.001308)))
}
