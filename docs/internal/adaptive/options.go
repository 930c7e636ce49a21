package main

import (
	"fmt"
	"math/rand/v2"

	"lorica/certify"
	"lorica/counts"
)

// options measures what the split of alpha and randomised bounds gain in the
// radii of a run of fixed n.
func options(reps int) error {
	fmt.Printf("sensitive examples whose label is predicted, alpha %g, %d runs: mean group radius, and its gain\n\n", alpha, reps)
	fmt.Println("| model | costs | n | plain | split selected | randomised | both |")
	fmt.Println("|---|---|---|---|---|---|---|")
	for _, m := range models {
		examples, err := load(m.path)
		if err != nil {
			return err
		}
		for _, sc := range scenarios {
			for _, n := range []int64{1000, 10_000, 100_000} {
				plain := certify.Params{Sigma: sigma, Alpha: alpha, Procedure: certify.Joint, Cost: matrix(sc.cost), Seed: seeds}
				ways := make([]certify.Params, 4)
				for i := range ways {
					ways[i] = plain
					ways[i].Randomize = i >= 2
					if i%2 == 1 {
						ways[i].Split = certify.Selected
					}
				}
				sum, of := make([]float64, len(ways)), 0.0
				rng := rand.New(rand.NewPCG(seeds, 2))
				for rep := range reps {
					for i := range examples {
						e := &examples[i]
						if e.label != 3 || argMax(e.selected) != 3 {
							continue
						}
						rec := counts.Record{Index: rep*len(examples) + i, Label: 3, Select: e.selected, Count: make([]int64, 10), N: n}
						add(rng, rec.Count, n, e.frequencies)
						of++
						for w, p := range ways {
							res, err := certify.FromCounts(rec, p)
							if err != nil {
								return err
							}
							sum[w] += res.RGroup
						}
					}
				}
				fmt.Printf("| %s | %s | %d | %.4f | %+.4f | %+.4f | %+.4f |\n", m.name, sc.name, n,
					sum[0]/of, (sum[1]-sum[0])/of, (sum[2]-sum[0])/of, (sum[3]-sum[0])/of)
			}
		}
	}
	return nil
}
