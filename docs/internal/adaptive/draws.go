package main

import (
	"math"
	"math/rand/v2"
)

// binomial draws exactly: by the gaps between successes where they are few,
// else by rejection from a transformed uniform (Hörmann 1993, "The generation
// of binomial random variates", algorithm BTRS).
func binomial(rng *rand.Rand, n int64, p float64) int64 {
	switch {
	case p > 0.5:
		return n - binomial(rng, n, 1-p)
	case p <= 0 || n == 0:
		return 0
	case float64(n)*p < 10:
		return sparse(rng, n, p)
	}
	fn := float64(n)
	spread := math.Sqrt(fn * p * (1 - p))
	b := 1.15 + 2.53*spread
	a := -0.0873 + 0.0248*b + 0.01*p
	centre := fn*p + 0.5
	inner := 0.92 - 4.2/b
	scale := (2.83 + 5.1/b) * spread
	mode := math.Floor((fn + 1) * p)
	top := logFactorial(mode) + logFactorial(fn-mode)
	odds := math.Log(p / (1 - p))
	for {
		v, u := rng.Float64(), rng.Float64()-0.5
		us := 0.5 - math.Abs(u)
		k := math.Floor((2*a/us+b)*u + centre)
		if us >= 0.07 && v <= inner {
			return int64(k)
		}
		if k < 0 || k > fn {
			continue
		}
		v = math.Log(v * scale / (a/(us*us) + b))
		if v <= top-logFactorial(k)-logFactorial(fn-k)+(k-mode)*odds {
			return int64(k)
		}
	}
}

func sparse(rng *rand.Rand, n int64, p float64) int64 {
	gap := math.Log1p(-p)
	for i, k := int64(0), int64(0); ; k++ {
		next := math.Floor(math.Log(1-rng.Float64())/gap) + 1
		if next > float64(n-i) {
			return k
		}
		i += int64(next)
	}
}

func logFactorial(k float64) float64 { return logGamma(k + 1) }

func logGamma(x float64) float64 {
	v, _ := math.Lgamma(x)
	return v
}

// add draws n times from the frequencies, which sum to 1, and adds the counts.
func add(rng *rand.Rand, into []int64, n int64, frequencies []float64) {
	rest := 1.0
	for k, p := range frequencies {
		if p <= 0 || n == 0 {
			continue
		}
		x := n
		if rest-p > 1e-9 {
			x = binomial(rng, n, p/rest)
		}
		into[k] += x
		n -= x
		rest -= p
	}
}
