package metrics

import (
	"math"

	"lorica/certify"
)

// Every figure of this package counts certificates that are each true with
// probability 1 - alpha, so of many a few may be false. AtOnce is the version
// that holds for the data set as a whole.
//
// Why it is true: an example's certificate of one kind (its prediction radius,
// its group radius) is false with probability at most alpha, given its
// selection draws; false means that the radius is above the true one, at
// whatever eps it is used. Examples are drawn apart, so these events are
// independent, and the number of false ones among m certificates is
// stochastically at most binomial with m and alpha. If f is the smallest number
// with P(Binomial(m, alpha) > f) <= 1 - confidence, then with that confidence no
// more than f are false, wherever they are, at all eps together: taking f away
// from a count of proofs leaves a number that are true. m counts the examples
// whose selection draws let them count at all, which the estimation draws
// cannot change. For the robust cost the pairs of an example may fail together;
// an example has a false one with probability at most |Omega| alpha, and then
// at most its whole row is lost.

// AtOnce says what holds for the whole data set with one confidence.
type AtOnce struct {
	Confidence float64       `json:"confidence"`
	Prediction FalseProofs   `json:"prediction"` // behind CertAcc
	Group      FalseProofs   `json:"group"`      // behind Rob_cs
	Pairs      FalseProofs   `json:"pairs"`      // behind Rob_cost
	Levels     []AtOnceLevel `json:"levels"`
}

// FalseProofs bounds the false certificates of one kind.
type FalseProofs struct {
	Of   int `json:"of"`   // examples that could have a false one
	Most int `json:"most"` // and how many have, at most
}

// AtOnceLevel is what is true of this data set at one eps, at least or at most.
// These are not estimates for other data: the intervals of Share are.
type AtOnceLevel struct {
	Eps     float64 `json:"eps"`
	CertAcc float64 `json:"cert_acc_at_least"`
	RobCS   float64 `json:"rob_cs_at_least"`
	RobCost float64 `json:"rob_cost_at_most"`
}

// AtOnce makes the statements for results that were certified with p.
func (s *Set) AtOnce(p certify.Params, eps []float64, confidence float64) AtOnce {
	var prediction, group, omega int
	lost := 0.0 // the most that one example can cost
	for _, r := range s.results {
		if r.Correct() {
			prediction++
		}
		if r.Sensitive && !r.InOmega() && (s.counting == Harmless || r.Correct()) {
			group++
		}
		omega = max(omega, len(r.Pairs))
		lost = max(lost, s.cost.RowMax(r.Label))
	}
	// Under harmless counting the pair claims of a costly prediction stand too.
	pairs := group
	if s.counting == Harmless {
		pairs = s.sensitive
	}
	alpha := p.Alpha
	if p.Procedure == certify.Paper {
		alpha *= 1.5 // what its larger of two radii is proved at
	}
	predictionAlpha := p.Alpha // procedure paper bounds it as joint does
	out := AtOnce{
		Confidence: confidence,
		Prediction: FalseProofs{prediction, mostFalse(prediction, predictionAlpha, confidence)},
		Group:      FalseProofs{group, mostFalse(group, alpha, confidence)},
		Pairs:      FalseProofs{pairs, mostFalse(pairs, math.Min(1, alpha*float64(omega)), confidence)},
	}
	for _, e := range eps {
		l := AtOnceLevel{Eps: e}
		if n := len(s.results); n > 0 {
			l.CertAcc = float64(max(0, s.CertAcc(e).Hits-out.Prediction.Most)) / float64(n)
		}
		if s.sensitive > 0 {
			n := float64(s.sensitive)
			l.RobCS = float64(max(0, s.RobCS(e).Hits-out.Group.Most)) / n
			l.RobCost = math.Min(s.top, s.RobCost(e).Value+float64(out.Pairs.Most)*lost/n)
		}
		out.Levels = append(out.Levels, l)
	}
	return out
}

// mostFalse is the smallest f with P(Binomial(m, alpha) > f) <= 1 - confidence,
// rounding against us.
func mostFalse(m int, alpha, confidence float64) int {
	if alpha >= 1 {
		return m
	}
	if m == 0 {
		return 0
	}
	const slack = 1e-9 // above the error of the sum
	rest := 1.0        // P(Binomial > f)
	term := float64(m) * math.Log1p(-alpha)
	for f := 0; f < m; f++ {
		rest -= math.Exp(term)
		if rest+slack <= 1-confidence {
			return f
		}
		term += math.Log(float64(m-f)) - math.Log(float64(f+1)) + math.Log(alpha) - math.Log1p(-alpha)
	}
	return m
}
