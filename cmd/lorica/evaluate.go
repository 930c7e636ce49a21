package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"lorica/certify"
	"lorica/cost"
	"lorica/counts"
	"lorica/metrics"
)

// evaluateFlags are what evaluate was asked for, as written.
type evaluateFlags struct {
	counts, cost, procedure, count, eps string
	alpha                               float64
	certificates, positive              string
	json                                bool
}

func newEvaluate() *cobra.Command {
	var f evaluateFlags
	c := &cobra.Command{
		Use:   "evaluate --counts FILE --cost COST",
		Short: "Prove what counts can prove, under any cost matrix",
		Long: `Turn a file of class counts into certificates and figures. No model and no data
is needed: one sampling run answers for any cost matrix, alpha or epsilon.

COST is a .csv or .json matrix or an expression: '3->*' (no mistake on class 3
may be forced), '3->5', '3->2:1,4:1,5:10', '2->*;4->*', with class names where
the counts have them ('cat->dog').

Each claim is true with probability 1 - alpha. Procedure joint is proved at that
level; paper follows the published algorithms, proved at 1 - 1.5 alpha. A wrong
prediction counts as radius 0 (--count strict, the paper's definition), or its
claims about classes that were not predicted stand (--count harmless, as in the
paper's released code). The intervals in brackets are 95% over examples.`,
		Example: `  lorica evaluate --counts run/counts.jsonl --cost '3->*' --eps 0.25,0.5,1
  lorica evaluate --counts run/counts.jsonl --cost costs.csv --json > metrics.json`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return evaluate(c, f) },
	}
	fl := c.Flags()
	fl.StringVar(&f.counts, "counts", "", "counts `file` to read, plain or gzipped")
	fl.StringVar(&f.cost, "cost", "", "cost `matrix`: a .csv or .json file or an expression")
	fl.Float64Var(&f.alpha, "alpha", 0.001, "a claim is false with at most this probability")
	fl.StringVar(&f.eps, "eps", "0.5", "l2 `radius` to state the figures at; a comma separates several")
	fl.StringVar(&f.procedure, "procedure", string(certify.Joint), "how radii are proved: joint or paper")
	fl.StringVar(&f.count, "count", string(metrics.Strict), "how wrong predictions count: strict or harmless")
	fl.BoolVar(&f.json, "json", false, "print metrics.json instead of tables")
	fl.StringVar(&f.certificates, "certificates", "", "write each example's radii to this `file` (JSON lines)")
	fl.StringVar(&f.positive, "positive", "", "`class` to give precision and recall for")
	return c
}

// usageArgs makes a mistake in the arguments a usage error.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if err := check(c, args); err != nil {
			return usagef("%w (see %s --help)", err, c.CommandPath())
		}
		return nil
	}
}

func evaluate(c *cobra.Command, f evaluateFlags) error {
	if f.counts == "" || f.cost == "" {
		return usagef("evaluate needs --counts FILE and --cost COST (see lorica evaluate --help)")
	}
	eps, err := parseEps(f.eps)
	if err != nil {
		return err
	}
	opt := metrics.Options{Eps: eps}
	params := certify.Params{Alpha: f.alpha}
	if params.Procedure, err = certify.ParseProcedure(f.procedure); err != nil {
		return usagef("--procedure: %w", err)
	}
	if opt.Counting, err = metrics.ParseCounting(f.count); err != nil {
		return usagef("--count: %w", err)
	}
	if !(f.alpha > 0 && f.alpha < 1) {
		return usagef("--alpha %v: want a number between 0 and 1", f.alpha)
	}
	in, err := counts.Open(f.counts)
	if err != nil {
		return err
	}
	defer in.Close()
	head := in.Header()
	params.Sigma = head.Sigma
	if params.Cost, err = cost.Parse(f.cost, head.Classes, head.Names); err != nil {
		return usagef("--cost: %w", err)
	}
	if f.positive != "" {
		k, err := params.Cost.Class(f.positive)
		if err != nil {
			return usagef("--positive: %w", err)
		}
		opt.Positive = &k
	}
	results, err := certifyAll(c, in, params)
	if err != nil {
		return err
	}
	sum, err := metrics.Compute(results, params, opt)
	if err != nil {
		return err
	}
	if f.certificates != "" {
		if err := writeCertificates(f.certificates, results); err != nil {
			return err
		}
	}
	for _, w := range sum.Warnings {
		fmt.Fprintln(c.ErrOrStderr(), "warning:", w)
	}
	if f.json {
		enc := json.NewEncoder(c.OutOrStdout())
		enc.SetIndent("", " ")
		return enc.Encode(sum)
	}
	return printSummary(c.OutOrStdout(), sum, params.Cost)
}

// certifyAll reads records one by one and keeps only what they prove.
func certifyAll(c *cobra.Command, in *counts.Reader, p certify.Params) ([]certify.Result, error) {
	var results []certify.Result
	for rec, err := range in.Records() {
		if err != nil {
			return nil, err
		}
		res, err := certify.FromCounts(rec, p)
		if err != nil {
			return nil, err
		}
		results = append(results, res)
		if err := c.Context().Err(); err != nil {
			return nil, err
		}
	}
	if in.Cut() {
		fmt.Fprintln(c.ErrOrStderr(), "warning: the last line of the counts is cut short and was left out")
	}
	return results, nil
}

// parseEps reads a list of radii such as 0.25,0.5.
func parseEps(s string) ([]float64, error) {
	var eps []float64
	for part := range strings.SplitSeq(s, ",") {
		e, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil || !(e >= 0) || e > 1e300 {
			return nil, usagef("--eps %q: want numbers, 0 or above, separated by commas", s)
		}
		eps = append(eps, e)
	}
	return eps, nil
}

func writeCertificates(path string, results []certify.Result) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	return certify.WriteJSONL(f, results)
}
