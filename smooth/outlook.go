package smooth

import (
	"math"

	"lorica/bound"
	"lorica/certify"
	"lorica/counts"
)

// outlook judges what more draws could prove about an example. It is a
// forecast, not a bound. It may use the same draws that prove: no judgement
// about when to stop can make a proof false, since the proofs hold at every
// look together; a bad forecast only wastes draws or gives a claim up too soon.
//
// The forecast: if the frequencies stay as they are, the last look proves a
// radius r. By chance the frequency of the top class may come out higher, or
// that of a rival lower; let r' and r" be what the last look then proves, each
// frequency at its one-sided binomial limit of the given chance, drawn in by
// sqrt(1 - n/last) for the part of the last look's draws that is already known.
// The two do not happen together unless their counts are tied, so the gains add
// up like the deviations of correlated numbers, the correlation being that of
// two counts of a multinomial.
type outlook struct {
	rec               *counts.Record
	params            certify.Params
	top               int
	prediction, pairs bool // which claims are asked about
}

// price is how fast the least chance of a proof that is worth more draws grows
// with the draws already spent.
const price = 1.5

// hopes is the chance with which the last look's radius exceeds what a
// tolerance takes for its possible best.
const hopes = 0.05

// worthwhile is the least chance of a proof at the last look for which a claim
// gets more draws after n. It grows with the draws already spent, since so does
// the price of the next look: early claims are hardly ever given up, and after
// a ninth of all draws a claim goes on only if its frequencies, as they are,
// would prove it. docs/adaptive.md shows what that costs.
func worthwhile(n, last int64) float64 {
	return math.Min(0.5, price*math.Sqrt(float64(n)/float64(last)))
}

// best is, for each claim, the radius that the last look exceeds only with
// about the given chance: the prediction's, the pairs' and the group's, as far
// as they are asked about. Radii below 0 stand for claims that would fail.
func (o outlook) best(chance float64) []float64 {
	r := o.radii(o.project(chance, false, false))
	up := o.radii(o.project(chance, true, false))
	down := o.radii(o.project(chance, false, true))
	n := float64(o.rec.N)
	a := float64(o.rec.Count[o.top]) / n
	omega := o.params.Cost.Omega(o.rec.Label)
	best := make([]float64, len(r))
	for i := range r {
		pair := i // among the pairs
		if o.prediction {
			pair--
		}
		top, rival := up[i]-r[i], down[i]-r[i]
		if math.IsInf(r[i], -1) { // no draw of the top class yet
			best[i] = math.Max(up[i], down[i])
			continue
		}
		tie := 0.0
		if pair >= 0 && pair < len(omega) {
			b := float64(o.rec.Count[omega[pair]]) / n
			tie = math.Min(1, math.Sqrt(a*b/math.Max((1-a)*(1-b), 1e-12)))
		}
		best[i] = r[i] + math.Sqrt(top*top+rival*rival+2*tie*top*rival)
	}
	if o.pairs { // the group cannot do better than the pair that can do least
		group := len(best) - 1
		least := math.Inf(1)
		for _, b := range best[group-len(omega) : group] {
			least = math.Min(least, b)
		}
		best[group] = math.Max(least, r[group])
	}
	return best
}

// project certifies what the last look will see if the frequencies stay as
// they are, or if luck has it: more of the top class, less of its rivals. What
// the roundings leave, and the draws that go elsewhere, count for no class.
func (o outlook) project(chance float64, topUp, rivalsDown bool) certify.Result {
	n, last := o.rec.N, o.params.Schedule.Last()
	unknown := math.Sqrt(1 - float64(n)/float64(last))
	rec := at(o.rec, len(o.params.Schedule.Looks))
	rec.N, rec.Count, rec.Invalid = last, make([]int64, len(o.rec.Count)), last
	room := last
	set := func(k int, f float64) {
		rec.Count[k] = min(int64(f*float64(last)), room)
		room -= rec.Count[k]
		rec.Invalid = room
	}
	frequency := func(k int) float64 { return float64(o.rec.Count[k]) / float64(n) }
	f := frequency(o.top)
	if topUp {
		f += (bound.Upper(o.rec.Count[o.top], n, chance) - f) * unknown
	}
	set(o.top, f)
	for k := range rec.Count {
		if k == o.top {
			continue
		}
		f := frequency(k)
		if rivalsDown {
			f -= (f - bound.Lower(o.rec.Count[k], n, chance)) * unknown
		}
		set(k, f)
	}
	res, err := certify.FromCounts(rec, o.params)
	if err != nil { // the record it was made from has been certified
		panic(err)
	}
	return res
}

// radii are the claims' radii without the cut at 0: where certify withdraws a
// claim the forecast must know by how much it fails.
func (o outlook) radii(res certify.Result) []float64 {
	raw := func(lower, upper float64) float64 {
		return o.params.Sigma / 2 * (bound.QuantileDown(lower) - bound.QuantileUp(upper))
	}
	std := raw(res.PStd, 1-res.PStd)
	var out []float64
	if o.prediction {
		out = append(out, std)
	}
	if !o.pairs {
		return out
	}
	group := math.Inf(1)
	for _, p := range res.Pairs {
		r := raw(p.Lower, p.Upper)
		if o.params.Procedure == certify.Paper {
			r = math.Max(r, std)
		}
		out = append(out, r)
		group = math.Min(group, r)
	}
	if res.RGroup > 0 { // under procedure paper not the smallest of the pairs'
		group = res.RGroup
	}
	return append(out, group)
}
