package certify

import (
	"math"
	"math/rand/v2"
	"testing"

	"lorica/bound"
	"lorica/counts"
)

// Whatever the options, a claim is false with probability at most alpha: drawn
// from probabilities at which each pair's truth is known, so that false claims
// can be counted.
func TestOptionsKeepTheLevel(t *testing.T) {
	const alpha, runs = 0.2, 500
	c := matrix(t, "0->1,2", 3)
	looks := bound.Schedule{Looks: []int64{40, 120, 400}, LastShare: 0.25}
	for name, p := range map[string]Params{
		"selected":           {Sigma: 1, Alpha: alpha, Cost: c, Split: Selected},
		"randomised":         {Sigma: 1, Alpha: alpha, Cost: c, Randomize: true, Seed: 5},
		"both":               {Sigma: 1, Alpha: alpha, Cost: c, Split: Selected, Randomize: true, Seed: 5},
		"both, with a stage": {Sigma: 1, Alpha: alpha, Cost: c, Split: Selected, Randomize: true, Seed: 5, Schedule: &looks},
	} {
		for _, q := range []float64{0.3, 0.05, 0.001} {
			rng := rand.New(rand.NewPCG(1, uint64(1000*q)))
			const pTop = 0.6
			truth := (quantile(pTop) - quantile(q)) / 2
			var std, pair, group int64
			for i := range runs {
				rec := counts.Record{Index: i, N: 400, Select: make([]int64, 3), Count: make([]int64, 3)}
				for j := range 440 {
					into := rec.Select
					if j >= 40 {
						into = rec.Count
					}
					switch u := rng.Float64(); {
					case u < pTop:
						into[0]++
					case u < pTop+q:
						into[1]++
					default:
						into[2]++
					}
				}
				rec.Select[0] += 1000 // the top class is not in question here
				if p.Schedule != nil {
					rec.Extra = stageMark(3)
				}
				res := fromCounts(t, rec, p)
				if res.RStd > quantile(pTop) {
					std++
				}
				if got, _ := res.Pair(1); got.Radius > truth {
					pair++
				}
				if worst := math.Min(truth, (quantile(pTop)-quantile(1-pTop-q))/2); res.RGroup > math.Max(worst, 0) {
					group++
				}
			}
			for what, failed := range map[string]int64{"prediction": std, "pair": pair, "group": group} {
				if bound.Lower(failed, runs, 1e-7) > alpha {
					t.Errorf("%s, q %v: %d of %d claims (%s) are false at alpha %v", name, q, failed, runs, what, alpha)
				}
			}
		}
	}
}

func TestSplitFollowsTheSelection(t *testing.T) {
	p := Params{Sigma: 1, Alpha: 0.001, Cost: matrix(t, "0->1", 3), Split: Selected}
	record := func(sel, c []int64) counts.Record {
		return counts.Record{N: c[0] + c[1] + c[2], Select: sel, Count: c}
	}
	half := p
	half.Split = Half
	for name, test := range map[string]struct {
		rec  counts.Record
		want float64 // the top class's share
	}{
		// Two classes only: the rival's bound is what the top class leaves.
		"two classes": {record([]int64{90, 10, 0}, []int64{9000, 1000, 0}), 0.8},
		// A rival that is rare needs a bound of its own.
		"a rare rival": {record([]int64{60, 1, 39}, []int64{6000, 100, 3900}), 0.4},
	} {
		if s := p.share(&test.rec, 0, 1); s != test.want {
			t.Errorf("%s: the top class gets %v of alpha", name, s)
		}
		if a, b := fromCounts(t, test.rec, p), fromCounts(t, test.rec, half); a.RGroup <= b.RGroup {
			t.Errorf("%s: the radius is %v, with halves %v", name, a.RGroup, b.RGroup)
		}
	}
	// The estimation draws must not change the split: the same selection with
	// other counts bounds the top class at the same level.
	rare := record([]int64{60, 1, 39}, []int64{6000, 100, 3900})
	s := p.share(&rare, 0, 1)
	other := record([]int64{60, 1, 39}, []int64{9000, 900, 100})
	if got := p.share(&other, 0, 1); got != s {
		t.Errorf("the split is %v and %v for one selection", s, got)
	}
}

func TestRandomisationIsReproducible(t *testing.T) {
	p := Params{Sigma: 1, Alpha: 0.001, Cost: matrix(t, "0->1", 3), Randomize: true, Seed: 3}
	rec := counts.Record{Index: 4, N: 1000, Select: []int64{9, 1, 0}, Count: []int64{900, 90, 10}}
	a, b := fromCounts(t, rec, p), fromCounts(t, rec, p)
	if a.RStd != b.RStd || a.RGroup != b.RGroup {
		t.Error("the same question got another answer")
	}
	plain := p
	plain.Randomize = false
	if c := fromCounts(t, rec, plain); c.RStd >= a.RStd || c.RGroup >= a.RGroup {
		t.Errorf("randomised %v, %v; plain %v, %v", a.RStd, a.RGroup, c.RStd, c.RGroup)
	}
	// The numbers look uniform and differ by every part of their name.
	sum, seen := 0.0, map[float64]bool{}
	for i := range 1000 {
		for side := range 2 {
			u := p.uniform(i, i%7, side)
			if u < 0 || u >= 1 {
				t.Fatalf("u = %v", u)
			}
			sum += u
			seen[u] = true
		}
	}
	if len(seen) != 2000 || math.Abs(sum/2000-0.5) > 0.03 {
		t.Errorf("%d different numbers of mean %v", len(seen), sum/2000)
	}
}
