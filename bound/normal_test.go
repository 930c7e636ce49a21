package bound

import (
	"math"
	"math/big"
	"testing"
)

// bigPhi is the normal distribution function at the exact number z by its
// Taylor series, with enough bits that the alternation cancels nothing that
// matters.
func bigPhi(z float64) *big.Float {
	bits := uint(400 + 3*z*z)
	num := func(v float64) *big.Float { return new(big.Float).SetPrec(bits).SetFloat64(v) }
	z2 := num(z)
	z2.Mul(z2, z2)
	term, sum := num(z), num(z)
	for n := 1.0; ; n++ { // term = (-1)^n z^(2n+1) / (2^n n!)
		term.Mul(term, z2).Quo(term, num(-2*n))
		part := new(big.Float).Quo(term, num(2*n+1))
		sum.Add(sum, part)
		if part.Sign() == 0 || n > z*z && part.MantExp(nil) < -int(bits) {
			break
		}
	}
	return sum.Quo(sum, rootTwoPi(bits)).Add(sum, num(0.5))
}

// rootTwoPi computes pi by Machin's formula: 400 bits and more are needed.
func rootTwoPi(bits uint) *big.Float {
	arctan := func(x int64) *big.Float { // arctan(1/x)
		sum, pow := new(big.Float).SetPrec(bits), new(big.Float).SetPrec(bits).SetInt64(1)
		pow.Quo(pow, new(big.Float).SetInt64(x))
		for n := int64(1); pow.MantExp(nil) > -int(bits)-8; n += 2 {
			sum.Add(sum, new(big.Float).Quo(pow, new(big.Float).SetInt64(n)))
			pow.Quo(pow, new(big.Float).SetInt64(-x*x))
		}
		return sum
	}
	two := arctan(5)
	two.Mul(two, new(big.Float).SetInt64(4)).Sub(two, arctan(239)) // pi/4
	two.Mul(two, new(big.Float).SetInt64(8))                       // 2 pi
	return two.Sqrt(two)
}

func TestQuantileBrackets(t *testing.T) {
	ps := []float64{0.5, 0.25, 0.75, 0.9, 0.999, 1 - 1e-6, 1 - 1e-12, math.Nextafter(1, 0), math.Nextafter(0.5, 0), math.Nextafter(0.5, 1)}
	for e := -1.0; e > -60; e -= 1.37 {
		ps = append(ps, math.Pow(10, e))
	}
	ps = append(ps, 1e-100, 1e-200, 2e-300)
	for i := 1.0; i < 100; i += 3 {
		ps = append(ps, i/100)
	}
	for _, p := range ps {
		lo, hi := QuantileDown(p), QuantileUp(p)
		if bigPhi(lo).Cmp(bf(p)) > 0 {
			t.Errorf("QuantileDown(%v) = %v is above the quantile", p, lo)
		}
		if bigPhi(hi).Cmp(bf(p)) < 0 {
			t.Errorf("QuantileUp(%v) = %v is below the quantile", p, hi)
		}
		if hi-lo > 3e-14*(math.Abs(hi)+0.1) {
			t.Errorf("quantiles of %v are %g apart", p, hi-lo)
		}
	}
}

func TestQuantileEnds(t *testing.T) {
	if q := QuantileDown(0); !math.IsInf(q, -1) {
		t.Errorf("QuantileDown(0) = %v", q)
	}
	if q := QuantileUp(1); !math.IsInf(q, 1) {
		t.Errorf("QuantileUp(1) = %v", q)
	}
	if q := QuantileUp(5e-324); !(q < -37 && q > -38.5) {
		t.Errorf("QuantileUp(5e-324) = %v: want the clamped quantile", q)
	}
	for _, f := range []func(){
		func() { QuantileDown(1) }, func() { QuantileDown(math.NaN()) },
		func() { QuantileUp(0) }, func() { QuantileUp(math.NaN()) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("a call out of the domain did not panic")
				}
			}()
			f()
		}()
	}
}

func BenchmarkQuantile(b *testing.B) {
	for b.Loop() {
		QuantileDown(0.99)
	}
}
