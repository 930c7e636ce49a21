package metrics

import (
	"math"
	"math/rand/v2"
	"testing"

	"lorica/certify"
)

// The bound on false proofs against the binomial's own sum, term by term.
func TestMostFalse(t *testing.T) {
	for _, m := range []int{0, 1, 5, 292, 10_000} {
		for _, alpha := range []float64{0.001, 0.05, 0.9, 1} {
			for _, confidence := range []float64{0.5, 0.95, 0.999} {
				f := mostFalse(m, alpha, confidence)
				if f > 0 && tail(m, f-1, alpha) <= 1-confidence-1e-6 || f < m && tail(m, f, alpha) > 1-confidence {
					t.Errorf("m %d, alpha %v, confidence %v: %d, with probabilities %v and %v of more",
						m, alpha, confidence, f, tail(m, f-1, alpha), tail(m, f, alpha))
				}
			}
		}
	}
	if f := mostFalse(292, 0.001, 0.99); f != 2 {
		t.Errorf("of 292 at .001 at most %d are false", f)
	}
}

// tail is P(Binomial(m, alpha) > f).
func tail(m, f int, alpha float64) float64 {
	if alpha == 1 {
		if f < m {
			return 1
		}
		return 0
	}
	sum := 0.0
	for k := f + 1; k <= m; k++ {
		a, _ := math.Lgamma(float64(m + 1))
		b, _ := math.Lgamma(float64(k + 1))
		c, _ := math.Lgamma(float64(m - k + 1))
		sum += math.Exp(a - b - c + float64(k)*math.Log(alpha) + float64(m-k)*math.Log1p(-alpha))
	}
	return sum
}

// Simulated data sets of which the truth is known: the statement about the
// whole fails no more often than its confidence says.
func TestAtOnceHolds(t *testing.T) {
	const alpha, confidence, examples, sets = 0.1, 0.9, 60, 300
	c := matrix(t, "0->1", 2)
	p := certify.Params{Sigma: 1, Alpha: alpha, Cost: c}
	rng := rand.New(rand.NewPCG(1, 2))
	wrong := 0
	for range sets {
		var results []certify.Result
		trulyAbove := 0
		const eps = 0.5
		for i := range examples {
			// A certificate that claims too much with probability alpha, as far
			// as any may, on an example that is not robust at eps.
			r := certify.Result{Index: i, Top: 0, Label: 0, Sensitive: true, Pairs: []certify.Pair{{Class: 1}}}
			switch {
			case i%3 == 0:
				trulyAbove++
				r.RGroup, r.RStd = 0.9, 0.9
			case rng.Float64() < alpha:
				r.RGroup, r.RStd = 0.6, 0.6
			}
			r.Pairs[0].Radius = r.RGroup
			results = append(results, r)
		}
		s, err := NewSet(results, c, Strict)
		if err != nil {
			t.Fatal(err)
		}
		a := s.AtOnce(p, []float64{eps}, confidence)
		truth := float64(trulyAbove) / examples
		if l := a.Levels[0]; l.RobCS > truth || l.CertAcc > truth || l.RobCost < 1-truth {
			wrong++
		}
		if a.Group.Of != examples || a.Group.Most >= examples/2 {
			t.Fatalf("%+v", a.Group)
		}
	}
	if wrong > 50 { // 30 expected at most, deviation 5.2
		t.Errorf("%d of %d statements are wrong at confidence %v", wrong, sets, confidence)
	}
	if wrong == 0 {
		t.Error("no statement is wrong: the test sees nothing")
	}
}

func TestAtOnceCountsWhatTheSelectionLeaves(t *testing.T) {
	c := matrix(t, "0->1,2", 4)
	pairs := []certify.Pair{{Class: 1, Radius: 1}, {Class: 2, Radius: 1}}
	results := []certify.Result{
		{Top: 0, Label: 0, Sensitive: true, Pairs: pairs, RGroup: 1, RStd: 1},
		{Top: 3, Label: 0, Sensitive: true, Pairs: pairs, RGroup: 1, RStd: 1}, // harmless mistake
		{Top: 1, Label: 0, Sensitive: true, Pairs: pairs, RStd: 1},            // costly one
		{Top: 2, Label: 2, RStd: 1},
	}
	p := certify.Params{Sigma: 1, Alpha: 0.01, Cost: c}
	for counting, want := range map[Counting][3]int{Strict: {2, 1, 1}, Harmless: {2, 2, 3}} {
		s, err := NewSet(results, c, counting)
		if err != nil {
			t.Fatal(err)
		}
		a := s.AtOnce(p, nil, 0.99)
		if got := [3]int{a.Prediction.Of, a.Group.Of, a.Pairs.Of}; got != want {
			t.Errorf("%s: %v examples could be false, want %v", counting, got, want)
		}
	}
}
