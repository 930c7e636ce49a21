package main

import (
	"fmt"
	"math/rand/v2"
	"sort"

	"lorica/bound"
	"lorica/smooth"
)

// falseProofs measures how often a proof at any look of the default design is
// false: exactly, and by simulation as a check on the sum.
func falseProofs(runs int) {
	looks := smooth.DefaultSchedule(most)
	fmt.Printf("%d looks from %d to %d, alpha %g: %.3g at each look and %.3g at the last\n\n",
		len(looks.Looks), looks.Looks[0], looks.Last(), alpha, looks.Level(looks.Looks[0], alpha), looks.Level(looks.Last(), alpha))
	level := func(n int64) float64 { return looks.Level(n, alpha) }
	fmt.Printf("| true p | false-proof probability, exact | of %d runs | 99.9%% upper bound on the rate |\n|---|---|---|---|\n", runs)
	for _, p := range []float64{0.3, 0.5, 0.6915, 0.8413, 0.9772, 0.999, 0.9999} {
		rng := rand.New(rand.NewPCG(seeds, 7))
		least := make([]int64, len(looks.Looks))
		for j, n := range looks.Looks {
			least[j] = leastAbove(n, level(n), p)
		}
		failed := int64(0)
		for range runs {
			k, prev := int64(0), int64(0)
			for j, n := range looks.Looks {
				k += binomial(rng, n-prev, p)
				prev = n
				if k >= least[j] {
					failed++
					break
				}
			}
		}
		fmt.Printf("| %g | %.6f | %d | %.6f |\n", p, falseProof(looks.Looks, level, p), failed, bound.Upper(failed, int64(runs), 0.001))
	}
}

func quantile(x []float64, q float64) float64 {
	sort.Float64s(x)
	return x[int(q*float64(len(x)-1))]
}
