package certify

import (
	"math"
	"testing"

	"lorica/bound"
	"lorica/cost"
	"lorica/counts"
)

// outcome is one way n draws over three classes can fall, and what it proves.
type outcome struct {
	n   [3]int64
	res Result
}

// truth is what the claims are held against: P(f = k) and the largest radii
// that are true for the worst classifier with these probabilities.
type truth struct{ p [3]float64 }

func (tr truth) pair(top, k int) float64 {
	if tr.p[k] == 0 { // a set without mass stays so under a shift
		return math.Inf(1)
	}
	return math.Max(0, 0.5*(quantile(tr.p[top])-quantile(tr.p[k])))
}

// quantile is the plain normal quantile: the middle of the safe ones.
func quantile(p float64) float64 {
	switch {
	case p <= 0:
		return math.Inf(-1)
	case p >= 1:
		return math.Inf(1)
	}
	return (bound.QuantileDown(p) + bound.QuantileUp(p)) / 2
}

// Every outcome of n draws over three classes is enumerated: the probability
// that a claim is false is summed exactly, for any selected class (also one
// that is not the true top class) and for probabilities at which bounds are
// tight. Joint must keep each claim within alpha; paper is proved at 1.5 alpha.
func TestFalseClaimsByEnumeration(t *testing.T) {
	m, err := cost.ParseExpr("0->1,2", 3, nil)
	if err != nil {
		t.Fatal(err)
	}
	worst := map[Procedure]map[string]float64{Joint: {}, Paper: {}} // probability over alpha
	for _, n := range []int64{1, 7, 25, 60} {
		for _, alpha := range []float64{0.001, 0.05, 0.2} {
			for _, procedure := range []Procedure{Joint, Paper} {
				for top := range 3 {
					all := enumerate(t, n, top, Params{Sigma: 1, Alpha: alpha, Procedure: procedure, Cost: m})
					for _, tr := range truths(n, alpha) {
						for claim, p := range falseClaims(all, top, tr) {
							worst[procedure][claim] = math.Max(worst[procedure][claim], p/alpha)
							limit := alpha
							if procedure == Paper {
								limit = 1.5 * alpha
							}
							if p > limit*(1+1e-9) {
								t.Errorf("%s n=%d alpha=%g top=%d p=%v: claim %q is false with probability %g", procedure, n, alpha, top, tr.p, claim, p)
							}
						}
					}
				}
			}
		}
	}
	for _, procedure := range []Procedure{Joint, Paper} {
		t.Logf("%s: largest probability of a false claim, over alpha: %v", procedure, worst[procedure])
		for _, claim := range []string{"prediction", "pair 1", "group"} {
			if w := worst[procedure][claim]; w < 0.3 {
				t.Errorf("%s %s: at most %g of alpha is spent: the test is blunt", procedure, claim, w)
			}
		}
	}
}

func enumerate(t *testing.T, n int64, top int, p Params) []outcome {
	t.Helper()
	var all []outcome
	sel := make([]int64, 3)
	sel[top] = 1
	for a := int64(0); a <= n; a++ {
		for b := int64(0); a+b <= n; b++ {
			o := outcome{n: [3]int64{a, b, n - a - b}}
			var err error
			o.res, err = FromCounts(counts.Record{Select: sel, Count: o.n[:], N: n}, p)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, o)
		}
	}
	return all
}

// truths mixes plain probabilities with those just inside a bound, where a
// false claim is as likely as it can be.
func truths(n int64, alpha float64) []truth {
	var out []truth
	for _, p := range [][3]float64{
		{0.6, 0.3, 0.1}, {0.34, 0.33, 0.33}, {0.5, 0.5, 0}, {0.9, 0.05, 0.05}, {0.3, 0.4, 0.3}, {0.2, 0.1, 0.7}, {0.98, 0.01, 0.01},
	} {
		out = append(out, truth{p})
	}
	for _, level := range []float64{alpha, alpha / 2, alpha / 4} {
		for _, k := range []int64{n, n * 9 / 10, n * 2 / 3, n / 2} {
			p := bound.Lower(k, n, level) * (1 - 1e-12)
			for _, split := range []float64{1, 0.5, 0.1} {
				out = append(out, truth{[3]float64{p, (1 - p) * split, (1 - p) * (1 - split)}})
			}
			// A rival just above its upper bound.
			if q := math.Min(1, bound.Upper(n-k, n, level)*(1+1e-12)); q < 1 {
				out = append(out, truth{[3]float64{1 - q, q, 0}}, truth{[3]float64{(1 - q) / 2, q, (1 - q) / 2}})
			}
		}
	}
	return out
}

// falseClaims sums the probability of the outcomes whose claim is false.
func falseClaims(all []outcome, top int, tr truth) map[string]float64 {
	limit := [3]float64{}
	for k := range 3 {
		limit[k] = tr.pair(top, k)
	}
	std := math.Inf(1) // g = top needs every other class beaten
	for k := range 3 {
		if k != top {
			std = math.Min(std, limit[k])
		}
	}
	sums := map[string]float64{"prediction": 0, "pair 1": 0, "pair 2": 0, "group": 0}
	for _, o := range all {
		p := multinomial(o.n, tr.p)
		const tiny = 1e-12 // a tie is true; the limits here are rounded
		if o.res.RStd > std+tiny {
			sums["prediction"] += p
		}
		if o.res.Pairs[0].Radius > limit[1]+tiny {
			sums["pair 1"] += p
		}
		if o.res.Pairs[1].Radius > limit[2]+tiny {
			sums["pair 2"] += p
		}
		if o.res.RGroup > math.Min(limit[1], limit[2])+tiny {
			sums["group"] += p
		}
	}
	return sums
}

func multinomial(n [3]int64, p [3]float64) float64 {
	log, _ := math.Lgamma(float64(n[0]+n[1]+n[2]) + 1)
	for k := range 3 {
		if n[k] == 0 {
			continue
		}
		if p[k] == 0 {
			return 0
		}
		l, _ := math.Lgamma(float64(n[k]) + 1)
		log += float64(n[k])*math.Log(p[k]) - l
	}
	return math.Exp(log)
}
