package metrics

import (
	"fmt"
	"sort"
)

// Confusion is what the smoothed classifier answers: Counts[y][k] examples of
// label y were predicted k with a proof (RStd > 0), Unproved[y] were not.
type Confusion struct {
	Counts   [][]int `json:"counts"`
	Unproved []int   `json:"unproved"`
}

// Confusion tallies the predictions; its diagonal is Acc.
func (s *Set) Confusion() Confusion {
	n := s.cost.Classes()
	c := Confusion{Counts: make([][]int, n), Unproved: make([]int, n)}
	for y := range c.Counts {
		c.Counts[y] = make([]int, n)
	}
	for _, r := range s.results {
		if r.RStd > 0 {
			c.Counts[r.Label][r.Top]++
		} else {
			c.Unproved[r.Label]++
		}
	}
	return c
}

// Positive is precision and recall of one class, over proved predictions: an
// unproved one is a miss for recall and no answer for precision.
type Positive struct {
	Class     int   `json:"class"`
	Precision Share `json:"precision"`
	Recall    Share `json:"recall"`
}

// Positive evaluates class k as the positive one.
func (s *Set) Positive(k int) (Positive, error) {
	if k < 0 || k >= s.cost.Classes() {
		return Positive{}, fmt.Errorf("positive class %d: there are %d classes", k, s.cost.Classes())
	}
	hits, answered, there := 0, 0, 0
	for _, r := range s.results {
		says := r.RStd > 0 && r.Top == k
		if says {
			answered++
		}
		if r.Label == k {
			there++
			if says {
				hits++
			}
		}
	}
	return Positive{Class: k, Precision: share(hits, answered), Recall: share(hits, there)}, nil
}

// Distributions describes the counted radii by part of the data set.
type Distributions struct {
	SensitiveGroup Distribution `json:"sensitive_group"` // RGroup of S^s
	SensitiveStd   Distribution `json:"sensitive_std"`   // RStd of S^s
	Normal         Distribution `json:"normal_std"`      // RStd of the rest
	All            Distribution `json:"all_std"`         // RStd of S
}

// Distribution holds the quantiles 0, 0.05, ..., 1 of a list of radii.
type Distribution struct {
	Of        int       `json:"of"`
	Positive  int       `json:"positive"` // above 0
	Mean      float64   `json:"mean"`
	Quantiles []float64 `json:"quantiles"`
}

// Distributions describes the radii under the set's counting rule.
func (s *Set) Distributions() Distributions {
	var group, sensitive, normal, all []float64
	for _, r := range s.results {
		std := s.counted(r, r.RStd)
		all = append(all, std)
		if r.Sensitive {
			sensitive = append(sensitive, std)
			group = append(group, s.counted(r, r.RGroup))
		} else {
			normal = append(normal, std)
		}
	}
	return Distributions{describe(group), describe(sensitive), describe(normal), describe(all)}
}

// describe sorts radii. A quantile is the radius at rank floor(q (n-1)): one
// that occurs, and never above the interpolated one.
func describe(radii []float64) Distribution {
	d := Distribution{Of: len(radii), Quantiles: []float64{}}
	if len(radii) == 0 {
		return d
	}
	sort.Float64s(radii)
	d.Positive = above(radii, 0)
	for _, r := range radii {
		d.Mean += r / float64(len(radii))
	}
	for i := range 21 {
		d.Quantiles = append(d.Quantiles, radii[i*(len(radii)-1)/20])
	}
	return d
}
