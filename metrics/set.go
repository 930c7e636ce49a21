// Package metrics sums certificates up over a data set: accuracy, cost-sensitive
// robustness, robust cost, their curves and intervals.
//
// S is the set of examples, S^s its sensitive part (a label with a non-empty
// Omega). The figures:
//
//	Acc           share of S   with Top = label and RStd > 0
//	CertAcc(eps)  share of S   with Top = label and RStd > eps
//	Rob_cs(eps)   share of S^s with RGroup > eps
//	Rob_cost(eps) mean over S^s of sum_{j in Omega} C[y][j] 1{RPair(j) <= eps}
//
// Two ways of counting a wrong prediction: Strict (the paper's definition)
// counts every radius of the example as 0; Harmless (the released code's
// habit) lets its claims stand as they are. A claim about the class that was
// predicted, and the group claim where that class is in Omega, is 0 either way.
//
// Every share carries a two-sided 95% Clopper-Pearson interval and Rob_cost a
// sound one for bounded values; they are over the choice of examples, at fixed
// certificates. The package refuses to mix matrices: the results must have been
// certified under the matrix it is given.
package metrics

import (
	"fmt"
	"sort"

	"lorica/certify"
	"lorica/cost"
)

// Counting is a way of counting examples whose prediction is wrong.
type Counting string

const (
	Strict   Counting = "strict"   // every radius of a wrong prediction is 0; the default
	Harmless Counting = "harmless" // claims about classes that were not predicted stand
)

// ParseCounting reads a counting rule's name.
func ParseCounting(s string) (Counting, error) {
	switch c := Counting(s); c {
	case Strict, Harmless:
		return c, nil
	}
	return "", fmt.Errorf("unknown way of counting %q: want strict or harmless", s)
}

// Set holds results ready to be asked at any eps: each question is a binary
// search.
type Set struct {
	results  []certify.Result
	cost     *cost.Matrix
	counting Counting

	sensitive int
	std       []float64 // RStd of right predictions, ascending; the rest are 0
	group     []float64 // counted RGroup of sensitive examples, ascending
	pair      []float64 // counted radii of all pair claims, ascending
	upTo      []float64 // upTo[i] is the cost of pair[:i]
	top       float64   // the most a sensitive example can add to Rob_cost
	twoValued bool      // it adds 0 or top
}

// NewSet prepares results that were certified under c.
func NewSet(results []certify.Result, c *cost.Matrix, counting Counting) (*Set, error) {
	if counting == "" {
		counting = Strict
	}
	if _, err := ParseCounting(string(counting)); err != nil {
		return nil, err
	}
	s := &Set{results: results, cost: c, counting: counting}
	type priced struct{ radius, cost float64 }
	var pairs []priced
	for _, r := range results {
		if r.Label < 0 || r.Label >= c.Classes() || len(r.Pairs) != len(c.Omega(r.Label)) {
			return nil, fmt.Errorf("example %d was certified under another cost matrix", r.Index)
		}
		if r.Correct() {
			s.std = append(s.std, r.RStd)
		}
		if !r.Sensitive {
			continue
		}
		s.sensitive++
		s.group = append(s.group, s.counted(r, r.RGroup))
		for _, p := range r.Pairs {
			pairs = append(pairs, priced{s.counted(r, p.Radius), c.At(r.Label, p.Class)})
		}
	}
	sort.Float64s(s.std)
	sort.Float64s(s.group)
	sort.Slice(pairs, func(i, j int) bool { return pairs[i].radius < pairs[j].radius })
	s.upTo = make([]float64, len(pairs)+1)
	for i, p := range pairs {
		s.pair = append(s.pair, p.radius)
		s.upTo[i+1] = s.upTo[i] + p.cost
	}
	s.bounds()
	return s, nil
}

// bounds finds the range of one example's cost from the matrix alone, so that
// the kind of interval does not depend on the data.
func (s *Set) bounds() {
	s.twoValued = true
	for y := range s.cost.Classes() {
		if !s.cost.Sensitive(y) {
			continue
		}
		m := s.cost.RowMax(y)
		s.twoValued = s.twoValued && len(s.cost.Omega(y)) == 1 && (s.top == 0 || s.top == m)
		s.top = max(s.top, m)
	}
}

// counted is a radius of r under the counting rule.
func (s *Set) counted(r certify.Result, radius float64) float64 {
	if s.counting == Strict && !r.Correct() {
		return 0
	}
	return radius
}

// Examples is |S| and Sensitive |S^s|.
func (s *Set) Examples() int  { return len(s.results) }
func (s *Set) Sensitive() int { return s.sensitive }

// above counts the radii of an ascending list that are larger than eps.
func above(radii []float64, eps float64) int {
	return len(radii) - upTo(radii, eps)
}

// upTo counts the radii of an ascending list that are at most eps.
func upTo(radii []float64, eps float64) int {
	return sort.Search(len(radii), func(i int) bool { return radii[i] > eps })
}

// Acc is the share of S whose label is predicted with a positive radius.
func (s *Set) Acc() Share { return s.CertAcc(0) }

// CertAcc is the share of S whose label is predicted all over the ball of eps.
func (s *Set) CertAcc(eps float64) Share { return share(above(s.std, eps), len(s.results)) }

// RobCS is the share of S^s on which no costly mistake can be forced within eps.
func (s *Set) RobCS(eps float64) Share { return share(above(s.group, eps), s.sensitive) }

// RobCost is the mean over S^s of the cost of the mistakes that are not ruled
// out within eps.
func (s *Set) RobCost(eps float64) Mean {
	return mean(s.upTo[upTo(s.pair, eps)], s.sensitive, s.top, s.twoValued)
}

// PairError is how often the claim "a Label is never called Class" fails.
type PairError struct {
	Label int     `json:"label"`
	Class int     `json:"class"`
	Cost  float64 `json:"cost"`
	Share Share   `json:"share"` // of the examples of Label
}

// RobustErrors is the matrix of robust errors at eps, one entry a sensitive
// pair in the order of the matrix.
func (s *Set) RobustErrors(eps float64) []PairError {
	failed := make([]map[int]int, s.cost.Classes())
	of := make([]int, s.cost.Classes())
	for _, r := range s.results {
		of[r.Label]++
		for _, p := range r.Pairs {
			if s.counted(r, p.Radius) <= eps {
				if failed[r.Label] == nil {
					failed[r.Label] = map[int]int{}
				}
				failed[r.Label][p.Class]++
			}
		}
	}
	var out []PairError
	for y := range s.cost.Classes() {
		for _, k := range s.cost.Omega(y) {
			out = append(out, PairError{Label: y, Class: k, Cost: s.cost.At(y, k), Share: share(failed[y][k], of[y])})
		}
	}
	return out
}
