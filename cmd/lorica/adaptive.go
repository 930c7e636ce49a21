package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"lorica/certify"
	"lorica/counts"
	"lorica/smooth"
)

// adaptive is the wish to stop each example when its question is answered.
type adaptive struct {
	decide    string
	tolerance float64
}

func (a *adaptive) register(fl *pflag.FlagSet) {
	fl.StringVar(&a.decide, "decide", "", "draw only until it is known whether radii are above `EPS`; a comma separates several")
	fl.Float64Var(&a.tolerance, "radius-tolerance", 0, "draw only until radii are within `T` of what all draws would prove")
}

// rule makes the stopping rule for a question and writes into the header what
// makes its counts valid later. Without a wish there is none: every example
// gets all draws.
func (a adaptive) rule(p *certify.Params, count string, head *counts.Header) (smooth.Rule, error) {
	if a.decide == "" && a.tolerance == 0 {
		return nil, nil
	}
	var eps []float64
	if a.decide != "" {
		var err error
		if eps, err = parseEps("--decide", a.decide); err != nil {
			return nil, err
		}
	}
	looks := smooth.DefaultSchedule(head.N)
	p.Schedule = &looks
	d, err := smooth.NewDecide(*p, count, eps, a.tolerance)
	if err != nil {
		return nil, usagef("--decide, --radius-tolerance: %w", err)
	}
	*head, err = d.Plan().Header(*head)
	return d, err
}

// spared says what an adaptive run came to, for people.
func spared(examples int, draws, n int64) string {
	mean := float64(draws) / float64(max(examples, 1))
	return fmt.Sprintf("%.0f estimation draws an example instead of %d: %.1f times fewer", mean, n, float64(n)/max(mean, 1))
}
