package report

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"lorica/metrics"
)

// A frame is everything on the page that depends on eps, for one run and one
// place of the slider. All numbers of the page are made here, in Go; the
// script only shows the frame that the slider stands at.
type frame struct {
	Sentence string   `json:"s"`
	Cert     figure   `json:"a"` // certified accuracy
	RobCS    figure   `json:"g"`
	RobCost  figure   `json:"c"`
	Together string   `json:"t"` // what holds for all examples at once
	Heat     []int    `json:"h"` // robust error per shown sensitive cell, permille, rounded up
	Open     []string `json:"o"` // the costliest open mistakes in words
}

// figure is a number with its interval, as text.
type figure struct {
	Value string `json:"v"`
	Range string `json:"r"`
}

// grid is the places of the slider: from 0 to past the largest radius, in
// round steps, with the radius of every run among them.
func grid(runs []*Run) []float64 {
	top := 0.0
	for _, r := range runs {
		for _, res := range r.Results {
			top = math.Max(top, math.Max(r.counted(res, res.RGroup), r.counted(res, res.RStd)))
		}
		top = math.Max(top, r.Eps*1.25)
	}
	if top == 0 {
		top = 1
	}
	step := niceStep(top / 80)
	var out []float64
	for i := 0; ; i++ {
		v := math.Round(float64(i)*step*1e9) / 1e9
		out = append(out, v)
		if v >= top {
			break
		}
	}
	for _, r := range runs {
		if !slices.Contains(out, r.Eps) {
			out = append(out, r.Eps)
		}
	}
	sort.Float64s(out)
	return out
}

// cellID is a sensitive pair: a costly mistake.
type cellID struct{ label, class int }

// sweep counts, for ascending eps, how often each sensitive pair is open, in
// one pass over all pair claims. It is made for a thousand classes: the counts
// of one eps live at a time.
type sweep struct {
	run    *Run
	of     []int   // examples by label
	open   []int32 // by label*classes + class
	byStep [][]int32
}

func newSweep(r *Run, eps []float64) *sweep {
	n := r.Params.Cost.Classes()
	s := &sweep{run: r, of: make([]int, n), open: make([]int32, n*n), byStep: make([][]int32, len(eps)+1)}
	for _, res := range r.Results {
		s.of[res.Label]++
		for _, p := range res.Pairs {
			i := sort.SearchFloat64s(eps, r.counted(res, p.Radius)) // the first eps at which it is open
			s.byStep[i] = append(s.byStep[i], int32(res.Label*n+p.Class))
		}
	}
	return s
}

// step moves to place i; places are visited in order.
func (s *sweep) step(i int) {
	for _, at := range s.byStep[i] {
		s.open[at]++
	}
}

// mistake is an open costly mistake.
type mistake struct {
	cellID
	cost     float64
	open, of int
}

// weight is what the mistake adds to the sum that Rob_cost averages.
func (m mistake) weight() float64 { return m.cost * float64(m.open) }

// costliest are the k open mistakes that weigh most; ties go to the dearer
// one, then to the lower class numbers.
func (s *sweep) costliest(k int) []mistake {
	var best []mistake
	c := s.run.Params.Cost
	n := c.Classes()
	for y := range n {
		if s.of[y] == 0 {
			continue
		}
		for _, j := range c.Omega(y) {
			m := mistake{cellID{y, j}, c.At(y, j), int(s.open[y*n+j]), s.of[y]}
			if m.open == 0 {
				continue
			}
			at := len(best)
			for at > 0 && heavier(m, best[at-1]) {
				at--
			}
			if at < k {
				best = slices.Insert(best, at, m)
				best = best[:min(len(best), k)]
			}
		}
	}
	return best
}

func heavier(a, b mistake) bool {
	if a.weight() != b.weight() {
		return a.weight() > b.weight()
	}
	return a.cost > b.cost
}

// inWords says what a mistake is.
func (r *Run) inWords(m mistake, eps float64, answered int) string {
	s := fmt.Sprintf("%s read as %s, at cost %s: not ruled out within %s for %d of %d (%s)",
		r.className(m.label), r.className(m.class), plainCost(m.cost), epsText(eps), m.open, m.of, up(m.open, m.of))
	switch {
	case answered > 0:
		s += fmt.Sprintf("; %d answered so already", answered)
	}
	return s + "."
}

// frames computes the run at every place of the slider, and the mistakes that
// weigh most at the place start.
func (r *Run) frames(eps []float64, cells []cellID) []frame {
	sw := newSweep(r, eps)
	n := r.Params.Cost.Classes()
	answered := map[cellID]int{}
	for _, res := range r.Results {
		answered[cellID{res.Label, res.Top}]++
	}
	together := r.Set.AtOnce(r.Params, eps, atOnce)
	out := make([]frame, len(eps))
	for i, e := range eps {
		sw.step(i)
		f := frame{Sentence: r.sentence(e), Open: []string{}, Heat: make([]int, len(cells))}
		cert, cs, mean := r.Set.CertAcc(e), r.Set.RobCS(e), r.Set.RobCost(e)
		f.Cert = figure{down(cert.Hits, cert.Of), interval(cert)}
		f.RobCS = figure{down(cs.Hits, cs.Of), interval(cs)}
		f.RobCost = costFigure(mean)
		f.Together = r.together(together, together.Levels[i])
		for c, id := range cells {
			f.Heat[c] = permilleUp(int(sw.open[id.label*n+id.class]), sw.of[id.label])
		}
		for _, m := range sw.costliest(3) {
			f.Open = append(f.Open, r.inWords(m, e, answered[m.cellID]))
		}
		out[i] = f
	}
	return out
}

func costFigure(m metrics.Mean) figure {
	if m.Of == 0 {
		return figure{"–", "nothing to count"}
	}
	return figure{costUp(m.Value), costInterval(m)}
}

// permilleUp is hits of n in thousandths, rounded up; -1 of nothing.
func permilleUp(hits, of int) int {
	if of == 0 {
		return -1
	}
	return (hits*1000 + of - 1) / of
}

// answered counts the examples of a label that get an answer.
func (r *Run) answered(id cellID) int {
	n := 0
	for _, res := range r.Results {
		if res.Label == id.label && res.Top == id.class {
			n++
		}
	}
	return n
}
