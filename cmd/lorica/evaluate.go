package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"lorica/certify"
	"lorica/counts"
	"lorica/metrics"
)

// evaluateFlags are what evaluate was asked for.
type evaluateFlags struct {
	question
	counts, certificates string
	skip                 int
	indices              []int
	json                 bool
}

// keep tells which examples of the file are meant.
func (f evaluateFlags) keep() func(int) bool {
	return func(i int) bool {
		if f.indices != nil {
			return slices.Contains(f.indices, i)
		}
		return i%f.skip == 0
	}
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
	f.register(fl)
	fl.IntVar(&f.skip, "skip", 1, "take only every `K`-th example of the data")
	fl.IntSliceVar(&f.indices, "indices", nil, "take only these examples: `0,20,...`")
	fl.BoolVar(&f.json, "json", false, "print metrics.json instead of tables")
	fl.StringVar(&f.certificates, "certificates", "", "write each example's radii to this `file` (JSON lines)")
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
	if f.counts == "" || f.Cost == "" {
		return usagef("evaluate needs --counts FILE and --cost COST (see lorica evaluate --help)")
	}
	if f.skip < 1 {
		return usagef("--skip %d: take every 1st, 2nd, ... example", f.skip)
	}
	results, sum, params, err := f.answer(c, f.counts, f.keep())
	if err != nil {
		return err
	}
	if f.certificates != "" {
		if err := writeCertificates(f.certificates, results); err != nil {
			return err
		}
	}
	if f.json {
		return writeJSON(c.OutOrStdout(), sum)
	}
	return printSummary(c.OutOrStdout(), sum, params.Cost)
}

// answer puts the question to the examples of a counts file that keep takes,
// or to all where it is nil. Doubts go to stderr.
func (q question) answer(c *cobra.Command, path string, keep func(index int) bool) ([]certify.Result, metrics.Summary, certify.Params, error) {
	fail := func(err error) ([]certify.Result, metrics.Summary, certify.Params, error) {
		return nil, metrics.Summary{}, certify.Params{}, err
	}
	in, err := counts.Open(path)
	if err != nil {
		return fail(err)
	}
	defer in.Close()
	params, opt, err := q.parse(in.Header())
	if err != nil {
		return fail(err)
	}
	results, err := certifyAll(c, in, params, keep)
	if err != nil {
		return fail(err)
	}
	sum, err := metrics.Compute(results, params, opt)
	if err != nil {
		return fail(err)
	}
	sampled, err := certify.FromHeader(in.Header())
	if err != nil {
		return fail(err)
	}
	sum.Warnings = append(sum.Warnings, sampled.Doubts(params, string(sum.Counting), opt.Eps)...)
	for _, w := range sum.Warnings {
		fmt.Fprintln(c.ErrOrStderr(), "warning:", w)
	}
	return results, sum, params, nil
}

// writeJSON writes metrics.json.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", " ")
	return enc.Encode(v)
}

// certifyAll reads records one by one and keeps only what they prove.
func certifyAll(c *cobra.Command, in *counts.Reader, p certify.Params, keep func(int) bool) ([]certify.Result, error) {
	var results []certify.Result
	for rec, err := range in.Records() {
		if err != nil {
			return nil, err
		}
		if keep != nil && !keep(rec.Index) {
			continue
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
