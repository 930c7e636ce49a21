package main

import (
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"lorica/certify"
	"lorica/cost"
	"lorica/counts"
	"lorica/metrics"
)

// question is what counts are asked: which mistakes cost, how sure, how far.
// It is as written on the command line, so that a run folder can keep it.
type question struct {
	Cost      string  `json:"cost"`
	Alpha     float64 `json:"alpha"`
	Eps       string  `json:"eps"`
	Procedure string  `json:"procedure"`
	Count     string  `json:"count"`
	Positive  string  `json:"positive,omitempty"`
	Split     string  `json:"alpha_split,omitempty"`
	Randomise bool    `json:"randomise,omitempty"`
	AtOnce    float64 `json:"at_once,omitempty"`
}

func (q *question) register(fl *pflag.FlagSet) {
	fl.StringVar(&q.Cost, "cost", "", "cost `matrix`: a .csv or .json file or an expression")
	fl.Float64Var(&q.Alpha, "alpha", 0.001, "a claim is false with at most this probability")
	fl.StringVar(&q.Eps, "eps", "0.5", "l2 `radius` to state the figures at; a comma separates several")
	fl.StringVar(&q.Procedure, "procedure", string(certify.Joint), "how radii are proved: joint or paper")
	fl.StringVar(&q.Count, "count", string(metrics.Strict), "how wrong predictions count: strict or harmless")
	fl.StringVar(&q.Positive, "positive", "", "`class` to give precision and recall for")
	fl.Float64Var(&q.AtOnce, "at-once", 0.99, "`confidence` of the statements about all examples together")
	fl.StringVar(&q.Split, "alpha-split", string(certify.Half), "how a pair claim divides alpha between its two bounds: half, or selected by the selection draws")
	fl.BoolVar(&q.Randomise, "randomise", false, "randomised bounds: a little tighter, and alpha is then also over the run's seed")
}

// parse checks the question against the counts it will be put to.
func (q question) parse(head counts.Header) (certify.Params, metrics.Options, error) {
	var opt metrics.Options
	p := certify.Params{Sigma: head.Sigma, Alpha: q.Alpha, Randomize: q.Randomise, Seed: head.Seed}
	sampled, err := certify.FromHeader(head)
	if err != nil {
		return p, opt, err
	}
	if sampled != nil {
		p.Schedule = &sampled.Schedule
	}
	if opt.Eps, err = parseEps("--eps", q.Eps); err != nil {
		return p, opt, err
	}
	if p.Procedure, err = certify.ParseProcedure(q.Procedure); err != nil {
		return p, opt, usagef("--procedure: %w", err)
	}
	if q.Split != "" {
		if p.Split, err = certify.ParseSplit(q.Split); err != nil {
			return p, opt, usagef("--alpha-split: %w", err)
		}
		if p.Split == certify.Selected && p.Procedure == certify.Paper {
			return p, opt, usagef("--alpha-split selected goes with --procedure joint")
		}
	}
	if opt.Confidence = q.AtOnce; q.AtOnce != 0 && !(q.AtOnce > 0 && q.AtOnce < 1) {
		return p, opt, usagef("--at-once %v: want a number between 0 and 1", q.AtOnce)
	}
	if opt.Counting, err = metrics.ParseCounting(q.Count); err != nil {
		return p, opt, usagef("--count: %w", err)
	}
	if !(q.Alpha > 0 && q.Alpha < 1) {
		return p, opt, usagef("--alpha %v: want a number between 0 and 1", q.Alpha)
	}
	if p.Cost, err = cost.Parse(q.Cost, head.Classes, head.Names); err != nil {
		return p, opt, usagef("--cost: %w", err)
	}
	if q.Positive != "" {
		k, err := p.Cost.Class(q.Positive)
		if err != nil {
			return p, opt, usagef("--positive: %w", err)
		}
		opt.Positive = &k
	}
	return p, opt, nil
}

// parseEps reads a list of radii such as 0.25,0.5.
func parseEps(flag, s string) ([]float64, error) {
	var eps []float64
	for part := range strings.SplitSeq(s, ",") {
		e, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil || !(e >= 0) || e > 1e300 {
			return nil, usagef("%s %q: want numbers, 0 or above, separated by commas", flag, s)
		}
		eps = append(eps, e)
	}
	return eps, nil
}
