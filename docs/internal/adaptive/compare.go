package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"lorica/bound"
)

// score is what a design came to on sensitive examples.
type score struct {
	examples, claims       int
	draws                  float64
	atCap                  int
	agreeGroup, agreeClaim int
}

func (s score) String() string {
	n := float64(s.examples)
	return fmt.Sprintf(" %.0f | %.2f%% | %.2f%% | %.2f%% |", s.draws/n,
		100*float64(s.agreeClaim)/float64(s.claims), 100*float64(s.agreeGroup)/n, 100*float64(s.atCap)/n)
}

func compareDesigns(reps int) error {
	const eps = 0.5
	fmt.Printf("S-Seed 3->*, eps %g, sensitive examples, alpha %g, at most %d draws, %d runs\n\n", eps, alpha, most, reps)
	fmt.Print("| construction | looks |")
	for _, m := range models {
		fmt.Printf(" %s: draws | claims | group | at cap |", m.name)
	}
	fmt.Print("\n|---|---|---|---|---|---|---|---|---|---|\n")
	omega := matrix("3->*").Omega(3)
	for _, d := range allDesigns() {
		fmt.Printf("| %s | %d |", d.name, len(d.looks))
		for _, m := range models {
			examples, err := load(m.path)
			if err != nil {
				return err
			}
			rng := rand.New(rand.NewPCG(seeds, 2))
			var s score
			for range reps {
				for i := range examples {
					if examples[i].label == 3 {
						d.run(rng, &examples[i], omega, eps, &s)
					}
				}
			}
			fmt.Print(s)
		}
		fmt.Println()
	}
	return nil
}

// run decides one example and compares with what all draws decide.
func (d design) run(rng *rand.Rand, e *example, omega []int, eps float64, s *score) {
	type claim struct {
		k   int
		eps float64
	}
	claims := []claim{{-1, 0}, {-1, eps}}
	for _, k := range omega {
		claims = append(claims, claim{k, eps})
	}
	s.examples++
	s.claims += len(claims)
	top := argMax(e.selected)
	if top != e.label { // nothing to prove
		s.draws += float64(d.looks[0])
		s.agreeGroup++
		s.agreeClaim += len(claims)
		return
	}
	c := make([]int64, len(e.frequencies))
	proved := make([]bool, len(claims))
	last := len(d.looks) - 1
	prev, stopped := int64(0), false
	for j, n := range d.looks {
		add(rng, c, n-prev, e.frequencies)
		prev = n
		if stopped {
			continue
		}
		open := false
		for i, cl := range claims {
			proved[i] = d.proves(e, c, top, cl.k, n, j, cl.eps)
			if !proved[i] && j < last {
				open = open || d.hopeful(e, c, top, cl.k, n, cl.eps)
			}
		}
		if !open {
			stopped = true
			s.draws += float64(n)
			if j == last {
				s.atCap++
			}
		}
	}
	group, groupFixed := true, true
	for i, cl := range claims {
		fixed := joint(c, top, cl.k, most, alpha) > cl.eps
		if fixed == proved[i] {
			s.agreeClaim++
		}
		if cl.k >= 0 {
			group, groupFixed = group && proved[i], groupFixed && fixed
		}
	}
	if group == groupFixed {
		s.agreeGroup++
	}
}

// hopeful is package smooth's forecast for any design: could the last look
// prove the claim with a chance worth the draws?
func (d design) hopeful(e *example, c []int64, top, k int, n int64, eps float64) bool {
	scaled := func(v int64) int64 { return int64(float64(v) / float64(n) * most) }
	end := make([]int64, len(c))
	end[top] = scaled(c[top])
	a := (float64(c[top]) + 0.5) / (float64(n) + 1)
	da := sigma / density(a)
	variance := da * da * a * (1 - a)
	if k >= 0 {
		end[k] = scaled(c[k])
		b := math.Min((float64(c[k])+0.5)/(float64(n)+1), 1-a)
		da, db := da/2, sigma/2/density(b)
		variance = da*da*a*(1-a) + db*db*b*(1-b) + 2*da*db*a*b
	}
	sd := math.Sqrt(variance * (1/float64(n) - 1./most))
	z := bound.QuantileUp(1 - math.Min(0.5, 1.5*math.Sqrt(float64(n)/most)))
	return d.proves(e, end, top, k, most, len(d.looks)-1, eps-z*sd)
}

func density(p float64) float64 {
	z := bound.QuantileUp(p)
	return math.Exp(-z*z/2) / math.Sqrt(2*math.Pi)
}
