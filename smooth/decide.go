package smooth

import (
	"encoding/json"
	"fmt"
	"math"

	"lorica/bound"
	"lorica/certify"
	"lorica/counts"
)

// Decide stops an example when its question is answered: when every claim that
// counts is, at every eps of the question, proved or not worth more draws; or,
// with a tolerance, when more draws would hardly enlarge a radius.
//
// What is proved is proved by package certify at the looks of a schedule, and
// holds whatever stops the sampling (package bound, Schedule). So nothing here
// can make a certificate false. A claim that is given up too soon costs power:
// it stays unproved though more draws might have proved it. How that is judged
// is in outlook.go.
//
// The claims that count for an example: that g answers the label (at eps 0,
// which is accuracy, and at each eps), and for each class of Omega that g never
// answers it, at each eps; the group claim is decided with them. Where the
// selection chose a wrong class nothing is left to prove under strict counting,
// and under harmless counting the claims about Omega, unless the class is in
// it. Such examples get the first look's draws, so that the file knows a little
// about everything.
type Decide struct {
	params certify.Params
	asked  certify.Asked
	plan   certify.Adaptive
}

// The looks of a Decide, unless told otherwise: each a quarter more draws than
// the one before, at least 64 (fewer would leave a device's batch to too many
// examples), and a quarter of alpha for the last, so that what all draws
// prove is close to what they prove in a run of a fixed n. docs/adaptive.md
// compares this with other designs.
const (
	lookGap   = 64
	lookRatio = 1.25
	lastShare = 0.25
)

// DefaultSchedule is the plan of looks for at most n draws.
func DefaultSchedule(n int64) bound.Schedule {
	s := bound.Geometric(min(lookGap, n), n, lookRatio)
	s.LastShare = lastShare
	return s
}

// NewDecide makes the rule for a question: p says how radii are proved, count
// how wrong predictions count ("strict" or "harmless"), eps what radii are
// compared with, and tolerance, where it is above 0, how well radii are to be
// known. p.Schedule is the plan of looks; its last look is the cap.
func NewDecide(p certify.Params, count string, eps []float64, tolerance float64) (*Decide, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if p.Schedule == nil {
		return nil, fmt.Errorf("no schedule of looks")
	}
	if count != "strict" && count != "harmless" {
		return nil, fmt.Errorf("unknown way of counting %q: want strict or harmless", count)
	}
	if len(eps) == 0 && tolerance == 0 {
		return nil, fmt.Errorf("nothing to decide: give an eps or a tolerance")
	}
	for _, e := range eps {
		if !(e >= 0) || math.IsInf(e, 0) {
			return nil, fmt.Errorf("eps = %v: want a finite number, 0 or above", e)
		}
	}
	if !(tolerance >= 0) || math.IsInf(tolerance, 0) {
		return nil, fmt.Errorf("radius tolerance = %v: want a finite number above 0", tolerance)
	}
	if p.Procedure == "" {
		p.Procedure = certify.Joint
	}
	d := &Decide{params: p, asked: certify.Asked{
		Cost: p.Cost.String(), Alpha: p.Alpha, Procedure: p.Procedure, Count: count, Eps: eps, Tolerance: tolerance,
	}}
	d.plan = certify.Adaptive{Bounds: certify.StagedClopperPearson, Schedule: *p.Schedule, Asked: d.asked}
	return d, nil
}

// Plan is what the header of the counts must say about this rule.
func (d *Decide) Plan() certify.Adaptive { return d.plan }

// Finish marks a record with the stage at which it stopped.
func (d *Decide) Finish(r *counts.Record) error { return d.plan.Mark(r) }

// More implements Rule.
func (d *Decide) More(r *counts.Record) int64 {
	next, ok := d.plan.Next(r.N)
	if !ok {
		return 0
	}
	if r.N > 0 && d.decided(r) {
		return 0
	}
	return next - r.N
}

// decided reports whether no claim needs more draws.
func (d *Decide) decided(r *counts.Record) bool {
	now, err := certify.FromCounts(at(r, d.plan.Stage(r.N)), d.params)
	if err != nil {
		return false // whoever reads the record will say what is wrong with it
	}
	counted := now.Sensitive && (now.Correct() || d.asked.Count == "harmless" && !now.InOmega())
	var proved []float64 // in the order of radii
	if now.Correct() {
		proved = append(proved, now.RStd)
	}
	if counted {
		for _, pair := range now.Pairs {
			proved = append(proved, pair.Radius)
		}
		proved = append(proved, now.RGroup)
	}
	if len(proved) == 0 {
		return true
	}
	o := outlook{rec: r, params: d.params, top: now.Top, prediction: now.Correct(), pairs: counted}
	if len(d.asked.Eps) > 0 {
		best := o.best(worthwhile(r.N, d.plan.Last()))
		if now.Correct() && proved[0] <= 0 && best[0] > 0 {
			return false // accuracy is open
		}
		for i := range proved {
			for _, eps := range d.asked.Eps {
				if proved[i] <= eps && best[i] > eps {
					return false
				}
			}
		}
	}
	if d.asked.Tolerance > 0 {
		for i, best := range o.best(hopes) {
			if math.Max(best, 0)-proved[i] > d.asked.Tolerance {
				return false
			}
		}
	}
	return true
}

// at is the record with the mark of a stage, sharing its counts.
func at(r *counts.Record, stage int) counts.Record {
	c := *r
	c.Extra = map[string]json.RawMessage{"stage": fmt.Appendf(nil, "%d", stage)}
	return c
}
