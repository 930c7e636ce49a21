package smooth

import (
	"math"

	"lorica/bound"
	"lorica/counts"
)

// outlook judges what more draws could prove about an example. It is a
// forecast by the normal approximation, not a bound: the draws that stopped
// the sampling are the ones that prove, and no judgement about them can make
// the proof false, so a forecast is enough. If the frequencies stay as they
// are, the last look proves a radius "end"; the frequencies then differ from
// today's by chance, which moves the radius by about
//
//	s sqrt(1/n - 1/last),   s² n = the variance of the estimated radius
//
// (the delta method on Phi^-1). What is asked of this forecast:
//
//   - settled: is the chance that the last look proves more than eps below
//     half sqrt(n/last)? The chance that more draws must have grows with the
//     draws already spent, since so does the price of the next look.
//   - best: the radius that the last look exceeds with a chance of 5%.
type outlook struct {
	rec   *counts.Record
	top   int
	sigma float64
	last  int64
}

// patience is the least chance of a proof that a look close to the last is
// worth; before it the chance is smaller by sqrt(n/last).
const patience = 0.5

// hopes is the normal quantile of the chance that best is exceeded with.
const hopes = 1.6448536269514722 // Phi^-1(0.95)

// raw is the radius that two bounds give, below 0 too: where certify withdraws
// a claim the forecast must know by how much it fails.
func (o outlook) raw(lower, upper float64) float64 {
	return o.sigma / 2 * (bound.QuantileDown(lower) - bound.QuantileUp(upper))
}

// settled reports whether a claim is decided at eps: proved, or not worth more
// draws.
func (o outlook) settled(now, end, sd, eps float64) bool {
	if now > eps {
		return true
	}
	chance := patience * math.Sqrt(float64(o.rec.N)/float64(o.last))
	return end+bound.QuantileUp(1-chance)*sd <= eps
}

// best is what the last look may hopefully prove.
func (o outlook) best(end, sd float64) float64 { return end + hopes*sd }

// deviation is the standard deviation by which the radius proved at the last
// look will differ from the one that today's frequencies promise: of the pair
// claim about class k, or of the prediction for k < 0.
func (o outlook) deviation(k int) float64 {
	n := float64(o.rec.N)
	// Half a success and half a failure more keep the slopes finite.
	a := (float64(o.rec.Count[o.top]) + 0.5) / (n + 1)
	da := o.sigma / density(a)
	var variance float64
	if k < 0 || k == o.top {
		variance = da * da * a * (1 - a)
	} else {
		b := math.Min((float64(o.rec.Count[k])+0.5)/(n+1), 1-a)
		da, db := da/2, o.sigma/2/density(b)
		// The two frequencies have covariance -ab, the radius slopes da and -db.
		variance = da*da*a*(1-a) + db*db*b*(1-b) + 2*da*db*a*b
	}
	return math.Sqrt(variance * math.Max(0, 1/n-1/float64(o.last)))
}

// density is that of the normal distribution at its quantile of p.
func density(p float64) float64 {
	z := bound.QuantileUp(p)
	return math.Exp(-z*z/2) / math.Sqrt(2*math.Pi)
}

// project is the record that the last look will see if the frequencies stay as
// they are.
func project(r *counts.Record, s *bound.Schedule) counts.Record {
	last := s.Last()
	c := at(r, len(s.Looks))
	c.N, c.Count, c.Invalid = last, make([]int64, len(r.Count)), last
	for k, v := range r.Count {
		c.Count[k] = int64(float64(v) / float64(r.N) * float64(last))
		c.Invalid -= c.Count[k] // with what the roundings leave
	}
	return c
}
