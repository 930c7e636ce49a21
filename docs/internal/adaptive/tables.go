package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"lorica/certify"
	"lorica/counts"
	"lorica/smooth"
)

// tables runs lorica's own rule and certificates.
func tables(reps int, only string) error {
	fmt.Printf("alpha %g, at most %d draws, %d runs\n\n", alpha, most, reps)
	fmt.Println("| model | costs | eps | draws, sensitive | times fewer | claims agree | group agrees | undecided | draws, others |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|")
	for _, m := range slices.Concat(models, larger) {
		examples, err := load(m.path)
		if err != nil {
			return err
		}
		for _, sc := range scenarios {
			for _, eps := range []float64{0.25, 0.5, 1} {
				if only != "" && only != fmt.Sprintf("%s/%g", sc.name, eps) {
					continue
				}
				rule, fixed, err := question(sc.cost, []float64{eps}, 0)
				if err != nil {
					return err
				}
				var s, rest score
				rng := rand.New(rand.NewPCG(seeds, 2))
				for range reps {
					for i := range examples {
						e := &examples[i]
						into := &s
						if !fixed.Cost.Sensitive(e.label) {
							into = &rest
						}
						if err := live(rng, e, rule, fixed, eps, into); err != nil {
							return err
						}
					}
				}
				n := float64(s.examples)
				fmt.Printf("| %s | %s `%s` | %g | %.0f | %.1f | %.2f%% | %.2f%% | %.2f%% | %.0f |\n", m.name, sc.name, sc.cost, eps,
					s.draws/n, most*n/s.draws, 100*float64(s.agreeClaim)/float64(s.claims), 100*float64(s.agreeGroup)/n,
					100*float64(s.atCap)/n, rest.draws/float64(rest.examples))
			}
		}
	}
	return nil
}

// question makes the rule and the parameters that certify all draws.
func question(expr string, eps []float64, tolerance float64) (*smooth.Decide, certify.Params, error) {
	fixed := certify.Params{Sigma: sigma, Alpha: alpha, Procedure: certify.Joint, Cost: matrix(expr)}
	staged := fixed
	looks := smooth.DefaultSchedule(most)
	staged.Schedule = &looks
	rule, err := smooth.NewDecide(staged, "strict", eps, tolerance)
	return rule, fixed, err
}

// stop draws an example until the rule says so, and returns its record there
// and with all draws.
func stop(rng *rand.Rand, e *example, rule *smooth.Decide) (stopped, all counts.Record, err error) {
	rec := counts.Record{Label: e.label, Select: e.selected, Count: make([]int64, len(e.frequencies))}
	for more := rule.More(&rec); more > 0; more = rule.More(&rec) {
		add(rng, rec.Count, more, e.frequencies)
		rec.N += more
	}
	all = rec
	all.Count = append([]int64(nil), rec.Count...)
	add(rng, all.Count, most-all.N, e.frequencies)
	all.N = most
	return rec, all, rule.Finish(&rec)
}

// staged are the parameters for records of the rule.
func staged(rule *smooth.Decide, fixed certify.Params) certify.Params {
	plan := rule.Plan()
	fixed.Schedule = &plan.Schedule
	return fixed
}

// live decides one example with lorica's code.
func live(rng *rand.Rand, e *example, rule *smooth.Decide, fixed certify.Params, eps float64, s *score) error {
	rec, all, err := stop(rng, e, rule)
	if err != nil {
		return err
	}
	got, err := certify.FromCounts(rec, staged(rule, fixed))
	if err != nil {
		return err
	}
	want, err := certify.FromCounts(all, fixed)
	if err != nil {
		return err
	}
	s.examples++
	s.draws += float64(rec.N)
	atEps := func(a, b, eps float64) {
		s.claims++
		if !want.Correct() || (a > eps) == (b > eps) {
			s.agreeClaim++
		}
	}
	atEps(got.RStd, want.RStd, 0)
	atEps(got.RStd, want.RStd, eps)
	undecided := rec.N == most && (got.RStd <= eps)
	for i := range got.Pairs {
		atEps(got.Pairs[i].Radius, want.Pairs[i].Radius, eps)
		undecided = undecided || rec.N == most && got.Pairs[i].Radius <= eps
	}
	if undecided {
		s.atCap++
	}
	if !want.Correct() || (got.RGroup > eps) == (want.RGroup > eps) {
		s.agreeGroup++
	}
	return nil
}

// toleranceTable measures --radius-tolerance on the group radius: against what
// the same run's last look proves with all draws, and what a fixed n proves.
func toleranceTable(reps int) error {
	fmt.Printf("S-Seed 3->*, sensitive examples, alpha %g, at most %d draws, %d runs\n\n", alpha, most, reps)
	fmt.Println("| model | tolerance | draws | times fewer | mean loss of the group radius | 95% of losses below | above the tolerance | mean loss against a fixed n |")
	fmt.Println("|---|---|---|---|---|---|---|---|")
	for _, m := range models {
		examples, err := load(m.path)
		if err != nil {
			return err
		}
		for _, tolerance := range []float64{0.1, 0.05, 0.02, 0.01} {
			rule, fixed, err := question("3->*", nil, tolerance)
			if err != nil {
				return err
			}
			rng := rand.New(rand.NewPCG(seeds, 2))
			var draws, sum, fixedSum float64
			var losses []float64
			n, above := 0, 0
			for range reps {
				for i := range examples {
					e := &examples[i]
					if e.label != 3 {
						continue
					}
					rec, all, err := stop(rng, e, rule)
					if err != nil {
						return err
					}
					got, err := certify.FromCounts(rec, staged(rule, fixed))
					if err != nil {
						return err
					}
					want, err := certify.FromCounts(all, fixed)
					if err != nil {
						return err
					}
					if err := rule.Finish(&all); err != nil {
						return err
					}
					end, err := certify.FromCounts(all, staged(rule, fixed))
					if err != nil {
						return err
					}
					n++
					draws += float64(rec.N)
					if !want.Correct() {
						continue
					}
					fixedSum += want.RGroup - got.RGroup
					loss := math.Max(0, end.RGroup-got.RGroup)
					sum += loss
					losses = append(losses, loss)
					if loss > tolerance {
						above++
					}
				}
			}
			fmt.Printf("| %s | %g | %.0f | %.1f | %.4f | %.4f | %.1f%% | %.4f |\n", m.name, tolerance, draws/float64(n), most*float64(n)/draws,
				sum/float64(len(losses)), quantile(losses, 0.95), 100*float64(above)/float64(len(losses)), fixedSum/float64(len(losses)))
		}
	}
	return nil
}
