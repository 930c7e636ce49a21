package report

import (
	"math"
	"slices"
	"sort"

	"lorica/certify"
	"lorica/counts"
)

// An example's row has at most this many counts and pair claims: those of the
// most counted classes and of the weakest claims.
const maxDetails = 12

// row is one example for the script, as a JSON array to stay small. Radii are
// in ten-thousandths, cut; probabilities in millionths, cut below and rounded
// up above.
//
//	[index, label, top, r_std, r_group (-1: not sensitive), worst (-1), its cost,
//	 place of the picture (-1), p_top, n, [class, count, ...],
//	 [class, radius, upper bound, cost, ...], pair claims left out, p_std,
//	 first place of the slider where the counted group radius is not above it,
//	 the same of the prediction's, flags (1: the answer is in Omega, 2: abstained)]
type row [17]any

func (r *Run) row(i int, place map[int]int, eps []float64) row {
	res, rec := r.Results[i], r.Records[i]
	at, ok := place[res.Index]
	if !ok {
		at = -1
	}
	group, worst, cost := -1.0, -1, 0.0
	if res.Sensitive {
		group, worst, cost = floorTo(res.RGroup, 10000), res.Worst, r.Params.Cost.At(res.Label, res.Worst)
	}
	pairs, left := r.weakest(res)
	claims := []any{}
	for _, p := range pairs {
		claims = append(claims, p.Class, floorTo(p.Radius, 10000), ceilTo(p.Upper, 1000000), r.Params.Cost.At(res.Label, p.Class))
	}
	flags := 0
	if res.InOmega() {
		flags |= 1
	}
	if res.Abstained {
		flags |= 2
	}
	return row{res.Index, res.Label, res.Top, floorTo(res.RStd, 10000), group, worst, cost,
		at, floorTo(res.PTop, 1000000), res.N, mostCounted(rec), claims, left, floorTo(res.PStd, 1000000),
		sort.SearchFloat64s(eps, r.counted(res, res.RGroup)), sort.SearchFloat64s(eps, r.counted(res, res.RStd)), flags}
}

// weakest are the pair claims of the smallest radii, and how many are left out.
func (r *Run) weakest(res certify.Result) ([]certify.Pair, int) {
	if len(res.Pairs) <= maxDetails {
		return res.Pairs, 0
	}
	pairs := slices.Clone(res.Pairs)
	sort.SliceStable(pairs, func(i, j int) bool {
		if pairs[i].Radius != pairs[j].Radius {
			return pairs[i].Radius < pairs[j].Radius
		}
		return pairs[i].Upper > pairs[j].Upper
	})
	return pairs[:maxDetails], len(pairs) - maxDetails
}

// mostCounted are the classes with the most draws: class, count, class, …
func mostCounted(rec counts.Record) []int64 {
	var classes []int
	for k, n := range rec.Count {
		if n > 0 {
			classes = append(classes, k)
		}
	}
	sort.SliceStable(classes, func(i, j int) bool { return rec.Count[classes[i]] > rec.Count[classes[j]] })
	out := []int64{}
	for _, k := range classes[:min(len(classes), maxDetails)] {
		out = append(out, int64(k), rec.Count[k])
	}
	return out
}

// byInterest orders a run's examples for a reader: costly mistakes that are
// open at eps first, the dearest and the nearest to zero before the others;
// then the proved ones, the weakest first; normal examples last.
func (r *Run) byInterest(eps float64) []int {
	type key struct {
		part   int
		cost   float64
		radius float64
	}
	keys := make([]key, len(r.Results))
	order := make([]int, len(r.Results))
	for i, res := range r.Results {
		order[i] = i
		k := key{part: 2, radius: r.counted(res, res.RStd)}
		if res.Sensitive {
			k = key{part: 1, radius: r.counted(res, res.RGroup)}
			if k.radius <= eps {
				k.part, k.cost = 0, r.Params.Cost.At(res.Label, res.Worst)
			}
		}
		keys[i] = k
	}
	sort.SliceStable(order, func(i, j int) bool {
		a, b := keys[order[i]], keys[order[j]]
		if a.part != b.part {
			return a.part < b.part
		}
		if a.cost != b.cost {
			return a.cost > b.cost
		}
		if a.radius != b.radius {
			return a.radius < b.radius
		}
		return r.Results[order[i]].Index < r.Results[order[j]].Index
	})
	return order
}

// status of an example at eps, in a word. The script has the same rule.
func (r *Run) status(res certify.Result, eps float64) string {
	switch {
	case !res.Sensitive && !res.Correct():
		return "misread"
	case !res.Sensitive && res.RStd > eps:
		return "prediction proved"
	case !res.Sensitive:
		return "not proved"
	case r.counted(res, res.RGroup) > eps:
		return "proved safe"
	case res.InOmega():
		return "costly mistake"
	case !res.Correct():
		return "misread"
	}
	return "open"
}

// changes compares two runs on the examples they share: how many sensitive
// ones are proved safe at eps by both, only the first, only the second, none.
func changes(a, b *Run, eps float64) (both, onlyA, onlyB, none int) {
	other := make(map[int]certify.Result, len(b.Results))
	for _, res := range b.Results {
		other[res.Index] = res
	}
	for _, res := range a.Results {
		peer, ok := other[res.Index]
		if !ok || peer.Label != res.Label || !res.Sensitive || !peer.Sensitive {
			continue
		}
		safeA, safeB := a.counted(res, res.RGroup) > eps, b.counted(peer, peer.RGroup) > eps
		switch {
		case safeA && safeB:
			both++
		case safeA:
			onlyA++
		case safeB:
			onlyB++
		default:
			none++
		}
	}
	return
}

// largest is the largest radius of the runs, for axes that are not the slider's.
func largest(runs []*Run) float64 {
	top := 0.0
	for _, r := range runs {
		for _, res := range r.Results {
			top = math.Max(top, math.Max(res.RGroup, res.RStd))
		}
	}
	if top == 0 {
		return 1
	}
	return niceStep(top/10) * math.Ceil(top/niceStep(top/10)-1e-9)
}
