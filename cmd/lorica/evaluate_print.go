package main

import (
	"fmt"
	"io"
	"math"
	"strings"

	"lorica/certify"
	"lorica/cost"
	"lorica/metrics"
)

// printSummary shows a summary to people. Figures are rounded to the side that
// claims less: robust shares and radii down, costs up.
func printSummary(w io.Writer, s metrics.Summary, c *cost.Matrix) error {
	p := &printer{w: w}
	p.f("%d examples, %d of them sensitive, cost %s\n", s.Examples, s.Sensitive, s.Cost)
	p.f("sigma %g, alpha %g, procedure %s, counting %s\n\n", s.Sigma, s.Alpha, s.Procedure, s.Counting)
	p.f("Acc       %s  of all predictions are right, and proved at radius 0\n\n", percent(s.Acc))
	p.f("%-6s  %-22s  %-22s  %s\n", "eps", "Rob_cs", "Rob_cost", "certified accuracy")
	for _, l := range s.Levels {
		p.f("%-6g  %-22s  %-22s  %s\n", l.Eps, percent(l.RobCS), meanText(l.RobCost), percent(l.CertAcc))
	}
	p.f("\n")
	for _, l := range s.Levels {
		p.f("Within %g no costly mistake can be forced on %d of %d sensitive examples.\n", l.Eps, l.RobCS.Hits, l.RobCS.Of)
	}
	p.f("%d examples are abstained on (nothing is proved about them).\n", s.Abstained)
	p.atOnce(s.AtOnce)
	p.radii(s)
	p.errors(s, c)
	if s.Positive != nil {
		p.f("\n%s: precision %s, recall %s\n", c.Name(s.Positive.Class), percent(s.Positive.Precision), percent(s.Positive.Recall))
	}
	return p.err
}

// printer keeps the first error, so that a closed pipe is noticed once.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) f(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

// atOnce says what holds for all certificates together.
func (p *printer) atOnce(a metrics.AtOnce) {
	if a.Group.Of == 0 {
		return
	}
	p.f("With confidence %g at most %d of %d group proofs are false, so on these very examples\n", a.Confidence, a.Group.Most, a.Group.Of)
	for _, l := range a.Levels {
		p.f("  within %g  Rob_cs is at least %s%%, Rob_cost at most %s\n", l.Eps,
			certify.FormatRadius(100*l.RobCS, 1), certify.FormatRadius(l.RobCost+0.00099999, 3))
	}
}

func (p *printer) radii(s metrics.Summary) {
	p.f("\n%-28s  %8s  %8s  %8s  %8s\n", "radii (counted)", "above 0", "median", "90%", "largest")
	for _, r := range []struct {
		name string
		d    metrics.Distribution
	}{
		{"group, sensitive examples", s.Radii.SensitiveGroup},
		{"prediction, sensitive", s.Radii.SensitiveStd},
		{"prediction, the others", s.Radii.Normal},
	} {
		if r.d.Of > 0 {
			q := func(i int) string { return certify.FormatRadius(r.d.Quantiles[i], 3) }
			p.f("%-28s  %8d  %8s  %8s  %8s\n", r.name, r.d.Positive, q(10), q(18), q(20))
		}
	}
	for _, sw := range s.StdWins {
		p.f("the prediction's radius is above the group's on %d of %d (|Omega| = %d)\n", sw.Share.Hits, sw.Share.Of, sw.Omega)
	}
}

// maxErrors keeps the list of pairs on a screen.
const maxErrors = 12

func (p *printer) errors(s metrics.Summary, c *cost.Matrix) {
	for _, l := range s.Levels {
		p.f("\nnot ruled out within %g\n", l.Eps)
		for i, e := range l.RobustErrors {
			if i == maxErrors {
				p.f("  … and %d pairs more (--json has them)\n", len(l.RobustErrors)-i)
				break
			}
			name := c.Name(e.Label) + " -> " + c.Name(e.Class)
			p.f("  %-24s cost %-6g %s\n", name, e.Cost, worse(e.Share))
		}
	}
}

// percent prints a share whose largeness is the claim: rounded down, and its
// interval outward.
func percent(s metrics.Share) string {
	if s.Of == 0 {
		return "-"
	}
	return fmt.Sprintf("%s%% [%s, %s]", down(100*s.Value), down(100*s.Low), up(100*s.High))
}

// worse prints a share whose smallness is the claim: rounded up.
func worse(s metrics.Share) string {
	if s.Of == 0 {
		return "no examples"
	}
	return fmt.Sprintf("%s%% [%s, %s] of %d", up(100*s.Value), down(100*s.Low), up(100*s.High), s.Of)
}

// meanText prints a mean cost: rounded up.
func meanText(m metrics.Mean) string {
	if m.Of == 0 {
		return "-"
	}
	cut := func(v float64, round func(float64) float64) string { return fmt.Sprintf("%.3f", round(v*1000)/1000) }
	return fmt.Sprintf("%s [%s, %s]", cut(m.Value, upward), cut(m.Low, downward), cut(m.High, upward))
}

// upward and downward forgive the last digits of a float64: 52.70000000000001
// is 52.7 to a reader.
func upward(v float64) float64   { return math.Ceil(v-1e-9) + 0 } // + 0: no "-0.0"
func downward(v float64) float64 { return math.Floor(v + 1e-9) }

func down(v float64) string { return trim(downward(v*10) / 10) }
func up(v float64) string   { return trim(upward(v*10) / 10) }

func trim(v float64) string { return strings.TrimSpace(fmt.Sprintf("%.1f", v)) }
