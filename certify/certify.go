// Package certify turns class counts into certificates: l2 radii inside which
// no perturbation can force a costly mistake.
//
// f is the base classifier, g(x) = arg max_k P(f(x + N(0, sigma² I)) = k) the
// smoothed one. For an example x with label y and Omega = {k : C[y][k] > 0} a
// Result holds three kinds of claims, kept apart because they say different
// things. Each one is true with probability at least 1 - alpha over the draws:
//
//	prediction  g(x+d) = Top          for all |d| < RStd
//	pair j      g(x+d) != j           for all |d| < RPair(j), j in Omega
//	group       g(x+d) not in Omega   for all |d| < RGroup
//
// A group or pair claim does not say that g answers Top: where the lower bound
// on the top class is below 1/2 another class outside Omega may win. It says
// that no class of Omega (or not j) does. The level is that of one claim, not
// of several together. A radius of 0 claims nothing.
//
// # Why it is true
//
// Let c = Top; it comes from the selection draws alone, so it is fixed where
// the estimation draws are made. Write p* = P(f = c) and q*_k = P(f = k) at x.
// The lemma of Cohen, Rosenfeld and Kolter (2019, a consequence of
// Neyman-Pearson) bounds what a shift of size |d| = e can do:
//
//	P(f(x+d+N) = c) >= Phi(Phi^-1(p*)   - e/sigma)
//	P(f(x+d+N) = k) <= Phi(Phi^-1(q*_k) + e/sigma)
//
// so while e < r*_k = sigma/2 (Phi^-1(p*) - Phi^-1(q*_k)) the class c beats k
// and g(x+d) != k. This needs neither c = y nor that c is the true arg max:
// where k beats c, r*_k is negative, and a claim about k is just false. So a
// radius is true if it is at most r*_k, whatever the selection chose; what is
// left is to bound r*_k from below.
//
// Pair (procedure joint). p is the lower Clopper-Pearson bound of p* and u_j
// the upper bound of q*_j, each at level alpha/2. With probability at least
// 1 - alpha both hold (union bound), and then p <= p*, q*_j <= u_j and also
// q*_j <= 1 - p* <= 1 - p, so q_j = min(1-p, u_j) >= q*_j at no further cost:
// the second bound uses the same event as p. Phi^-1 is increasing, so
// r_pair(j) = sigma/2 (Phi^-1(p) - Phi^-1(q_j)) <= r*_j.
//
// Group (procedure joint). Let k* be a class of Omega with the largest true
// q*_k. It does not depend on the draws, and r*_{k*} is the smallest of the
// r*_k. RGroup = min_k r_pair(k) <= r_pair(k*), and r_pair(k*) <= r*_{k*} on
// the event {p <= p*, q*_{k*} <= u_{k*}}, which has probability at least
// 1 - alpha. Only the bound of one fixed class is ever needed, so alpha is not
// divided by |Omega|.
//
// Prediction. With probability 1 - alpha the bound at level alpha is at most
// p*, and every other class has q*_k <= 1 - p*: sigma Phi^-1(bound) <= r*_k.
//
// Draws that gave no class (NaN logits) are part of n and of no count: an
// outcome outside all classes. Every inequality above holds with it.
//
// # The procedure paper
//
// It follows Algorithms 1 and 2 of the paper to the letter: UCBs at
// alpha/(2|Omega|) for the group and alpha/2 for a pair, then the larger of
// that radius and RStd. The larger of the two rests on bounds at alpha/2,
// alpha/2 and alpha on nested events ({p_alpha > p*} contains
// {p_{alpha/2} > p*}), so it is proved at 1 - 1.5 alpha only.
package certify

import (
	"fmt"
	"math"

	"lorica/bound"
	"lorica/cost"
	"lorica/counts"
)

// Procedure is a way from counts to the radii of pairs and groups.
type Procedure string

const (
	Joint Procedure = "joint" // proved at 1 - alpha; the default
	Paper Procedure = "paper" // Algorithms 1 and 2; proved at 1 - 1.5 alpha
)

// ParseProcedure reads a procedure's name.
func ParseProcedure(s string) (Procedure, error) {
	switch p := Procedure(s); p {
	case Joint, Paper:
		return p, nil
	}
	return "", fmt.Errorf("unknown procedure %q: want joint or paper", s)
}

// Params says what to certify. Procedure "" is Joint.
type Params struct {
	Sigma     float64      // of the noise the counts were drawn with
	Alpha     float64      // each claim is false with at most this probability
	Procedure Procedure    // see the package comment
	Cost      *cost.Matrix // what counts as a costly mistake

	// Schedule is that of the counts' header (see FromHeader) where the run was
	// adaptive, nil where it was not.
	Schedule *bound.Schedule

	Split     Split  // of alpha in a pair claim; "" is Half
	Randomize bool   // randomised bounds: alpha is then also over Seed
	Seed      uint64 // of the run, from the counts' header; used by Randomize

	planned float64 // the level of the schedule's last look
}

// Validate reports the first field that is out of its domain.
func (p Params) Validate() error {
	switch {
	case !(p.Sigma > 0) || math.IsInf(p.Sigma, 0):
		return fmt.Errorf("sigma = %v: want a finite number above 0", p.Sigma)
	case !(p.Alpha > 0 && p.Alpha < 1):
		return fmt.Errorf("alpha = %v: want a number between 0 and 1", p.Alpha)
	case p.Cost == nil:
		return fmt.Errorf("no cost matrix")
	}
	if p.Schedule != nil {
		if err := p.Schedule.Validate(); err != nil {
			return err
		}
	}
	if p.Split != "" {
		if _, err := ParseSplit(string(p.Split)); err != nil {
			return err
		}
		if p.Split == Selected && p.Procedure == Paper {
			return fmt.Errorf("procedure paper splits alpha in halves: split selected goes with joint")
		}
	}
	if p.Procedure != "" {
		if _, err := ParseProcedure(string(p.Procedure)); err != nil {
			return err
		}
	}
	return nil
}

// Pair is the claim that g never answers Class within Radius.
type Pair struct {
	Class  int
	Radius float64
	Lower  float64 // the lower bound on P(f = Top) it rests on
	Upper  float64 // and the upper bound on P(f = Class)
}

// Result is what is proved about one example.
type Result struct {
	Index     int
	Label     int
	Top       int  // the class of the prediction claim, from the selection draws
	Abstained bool // every claim is withdrawn
	Sensitive bool // Omega is not empty: there are group and pair claims

	RStd   float64 // prediction claim
	RGroup float64 // group claim; 0 where not Sensitive
	Pairs  []Pair  // pair claims: one a class of Omega, ascending

	Worst   int     // the class of Omega whose claim is weakest; only where Sensitive
	StdWins bool    // RStd is above the group radius (in paper: before the larger is taken)
	PStd    float64 // lower bound on P(f = Top) at alpha, behind RStd
	PTop    float64 // the same at alpha/2, behind RGroup and Pairs
	N       int64   // estimation draws
}

// Correct reports whether the prediction is the label.
func (r Result) Correct() bool { return r.Top == r.Label }

// InOmega reports whether the prediction itself is a costly mistake.
func (r Result) InOmega() bool {
	_, ok := r.Pair(r.Top)
	return ok
}

// Pair finds the claim about class j; ok is false where j is not in Omega.
func (r Result) Pair(j int) (p Pair, ok bool) {
	for _, p := range r.Pairs {
		if p.Class == j {
			return p, true
		}
	}
	return Pair{}, false
}

// FromCounts certifies one record. It is a pure function: the same counts
// answer for any cost matrix, level and procedure.
func FromCounts(rec counts.Record, p Params) (Result, error) {
	if err := p.Validate(); err != nil {
		return Result{}, err
	}
	if err := check(rec, p.Cost.Classes()); err != nil {
		return Result{}, fmt.Errorf("example %d: %w", rec.Index, err)
	}
	if p.Schedule != nil {
		p.planned = p.Schedule.Level(p.Schedule.Last(), p.Alpha)
	}
	var err error
	if p.Alpha, err = p.level(&rec); err != nil { // from here on: of one look
		return Result{}, fmt.Errorf("example %d: %w", rec.Index, err)
	}
	top := argMax(rec.Select)
	res := Result{
		Index: rec.Index, Label: rec.Label, Top: top, N: rec.N,
		Sensitive: p.Cost.Sensitive(rec.Label),
		PStd:      p.lower(&rec, top, p.Alpha),
	}
	res.RStd = positive(p.Sigma * bound.QuantileDown(res.PStd))
	if res.Sensitive {
		res.PTop = p.lower(&rec, top, p.Alpha/2)
		rivals(&res, rec, p)
	}
	res.Abstained = res.RStd == 0 && res.RGroup == 0
	for _, pair := range res.Pairs {
		res.Abstained = res.Abstained && pair.Radius == 0
	}
	return res, nil
}

// rivals fills in the claims about Omega.
func rivals(res *Result, rec counts.Record, p Params) {
	omega := p.Cost.Omega(rec.Label)
	worst := omega[0] // most counted, so of the largest upper bound at any level
	inOmega := false
	res.Pairs = make([]Pair, len(omega))
	for i, k := range omega {
		share, lower := p.share(&rec, res.Top, k), res.PTop
		if share != 0.5 {
			lower = p.lower(&rec, res.Top, p.Alpha*share)
		}
		upper := p.upper(&rec, k, p.Alpha*(1-share))
		if p.Procedure != Paper {
			upper = math.Min(upper, complement(lower))
		}
		pair := Pair{Class: k, Lower: lower, Upper: upper, Radius: radius(p.Sigma, lower, upper)}
		if p.Procedure == Paper {
			pair.Radius = math.Max(pair.Radius, res.RStd)
		}
		if k == res.Top { // g(x) = k itself is likely: nothing to claim
			pair.Radius, inOmega = 0, true
		}
		res.Pairs[i] = pair
		if rec.Count[k] > rec.Count[worst] {
			worst = k
		}
	}
	res.Worst = worst
	if inOmega {
		res.Worst = res.Top
		return // RGroup stays 0
	}
	if p.Procedure == Paper {
		upper := p.upper(&rec, worst, p.Alpha/(2*float64(len(omega))))
		group := radius(p.Sigma, res.PTop, upper)
		res.RGroup, res.StdWins = math.Max(group, res.RStd), res.RStd > group
		return
	}
	res.RGroup = math.Inf(1)
	for _, pair := range res.Pairs {
		if pair.Radius < res.RGroup {
			res.RGroup = pair.Radius
			if p.Split == Selected || p.Randomize { // the most counted need not be the worst
				res.Worst, res.PTop = pair.Class, pair.Lower
			}
		}
	}
	res.StdWins = res.RStd > res.RGroup
}

// radius is sigma/2 (Phi^-1(p) - Phi^-1(q)), not over-estimated: the quantiles
// are widened by far more than the two roundings here.
func radius(sigma, p, q float64) float64 {
	return positive(sigma / 2 * (bound.QuantileDown(p) - bound.QuantileUp(q)))
}

// positive withdraws a claim whose radius is not above 0.
func positive(r float64) float64 { return math.Max(r, 0) }

// complement is 1-p, not under-estimated.
func complement(p float64) float64 { return math.Min(1, math.Nextafter(1-p, 1)) }

// argMax is the class with the most draws; ties go to the lowest.
func argMax(c []int64) int {
	best := 0
	for k, v := range c {
		if v > c[best] {
			best = k
		}
	}
	return best
}

// check refuses a record whose numbers cannot be what they claim to be: bounds
// from it would prove nothing.
func check(rec counts.Record, classes int) error {
	if len(rec.Select) != classes || len(rec.Count) != classes {
		return fmt.Errorf("counts of %d classes, the cost matrix has %d", max(len(rec.Select), len(rec.Count)), classes)
	}
	if rec.Label < 0 || rec.Label >= classes {
		return fmt.Errorf("label %d is not a class: there are %d", rec.Label, classes)
	}
	if rec.N < 1 || rec.N > bound.MaxTrials {
		return fmt.Errorf("n = %d: want 1 to %d draws", rec.N, int64(bound.MaxTrials))
	}
	sum := rec.Invalid
	negative := rec.Invalid < 0
	for _, v := range rec.Count {
		negative = negative || v < 0
		sum += v
	}
	if negative {
		return fmt.Errorf("a negative count")
	}
	if sum != rec.N {
		return fmt.Errorf("the counts sum to %d, n is %d", sum, rec.N)
	}
	return nil
}
