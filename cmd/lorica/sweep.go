package main

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lorica/certify"
	"lorica/metrics"
	"lorica/smooth"
	"lorica/train"
)

// setting is one value of one flag of a grid.
type setting struct{ flag, value string }

// parseGrid reads 'lambda2=1,2,3;gamma2=8,16' and gives every combination, the
// last flag turning fastest.
func parseGrid(s string) ([][]setting, error) {
	points := [][]setting{nil}
	seen := map[string]bool{}
	for part := range strings.SplitSeq(s, ";") {
		name, values, ok := strings.Cut(part, "=")
		name = strings.TrimPrefix(strings.TrimSpace(name), "--")
		if !ok || name == "" || seen[name] {
			return nil, usagef("--sweep %q: want different settings such as 'lambda2=1,2,3;gamma2=8,16'", s)
		}
		seen[name] = true
		var next [][]setting
		for _, point := range points {
			for v := range strings.SplitSeq(values, ",") {
				if v = strings.TrimSpace(v); v == "" {
					return nil, usagef("--sweep %q: %s has an empty value", s, name)
				}
				next = append(next, append(point[:len(point):len(point)], setting{name, v}))
			}
		}
		points = next
	}
	return points, nil
}

// apply sets the flags of a point on a configuration.
func apply(c train.Config, point []setting) (train.Config, error) {
	fl := pflag.NewFlagSet("", pflag.ContinueOnError)
	configFlags(fl, &c)
	for _, s := range point {
		if fl.Lookup(s.flag) == nil || s.flag == "method" || s.flag == "cost" {
			return c, usagef("--sweep: %q is not a setting of training", s.flag)
		}
		if !train.Uses(c.Method, strings.ReplaceAll(s.flag, "-", "_")) {
			return c, usagef("--sweep: method %s has no %s", c.Method, s.flag)
		}
		if err := fl.Set(s.flag, s.value); err != nil {
			return c, usagef("--sweep: %w", err)
		}
	}
	return c, nil
}

// sweep trains every point of the grid into its own folder, certifies a small
// set with each and prints the trade-off. Points that are finished are not made
// again.
func sweep(c *cobra.Command, f trainFlags, base train.Config) error {
	points, err := parseGrid(f.sweep)
	if err != nil {
		return err
	}
	if base.Cost == "" {
		return usagef("--sweep needs --cost: robustness is what it states")
	}
	configs := make([]train.Config, len(points))
	for i, point := range points {
		if configs[i], err = apply(base, point); err != nil {
			return err
		}
	}
	table := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
	var head []string
	for _, s := range points[0] {
		head = append(head, s.flag)
	}
	fmt.Fprintf(table, "%s\tAcc\tRob_cs\tRob_cost\trun\n", strings.Join(head, "\t"))
	for i, point := range points {
		var names, values []string
		for _, s := range point {
			names, values = append(names, s.flag+"="+s.value), append(values, s.value)
		}
		at := f
		at.out = filepath.Join(f.out, strings.Join(names, ","))
		fmt.Fprintf(c.ErrOrStderr(), "%d of %d: %s\n", i+1, len(points), strings.Join(names, " "))
		if err := trainOnce(c, c.ErrOrStderr(), at, configs[i]); err != nil {
			return err
		}
		acc, rob, cost, err := tradeOff(c, at, configs[i])
		if err != nil {
			return err
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", strings.Join(values, "\t"), percent(acc), percent(rob), meanText(cost), at.out)
	}
	return table.Flush()
}

// tradeOff certifies a trained run on examples that it did not see: accuracy is
// that of the spread ones, robustness that of all sensitive ones.
func tradeOff(c *cobra.Command, f trainFlags, config train.Config) (acc, rob metrics.Share, cost metrics.Mean, err error) {
	set, err := openTraining(f)
	if err != nil {
		return acc, rob, cost, err
	}
	_, held, err := divide(f, set)
	if err != nil {
		return acc, rob, cost, err
	}
	cf := certifyFlags{Config: smooth.DefaultConfig(), model: filepath.Join(f.out, "model.safetensors"),
		data: f.data, split: held.set.Split(), out: filepath.Join(f.out, "certified"), skip: 1}
	cf.at = place{engine: f.engine, precision: string(config.Precision)}
	if cf.at.precision == "" {
		cf.at.precision = "float32"
	}
	cf.N, cf.Sigma = f.sweepN, config.Sigma
	cf.question = question{Cost: config.Cost, Alpha: 0.001, Eps: strconv.FormatFloat(f.eps, 'g', -1, 64), Procedure: string(certify.Joint), Count: string(metrics.Strict)}
	run, err := prepare(c, cf)
	if err != nil {
		return acc, rob, cost, err
	}
	indices, spread := held.choose(f.sweepExamples, run.params.Cost)
	run.plan = indices
	if err := run.sample(c); err != nil {
		return acc, rob, cost, err
	}
	if _, err := run.conclude(c); err != nil {
		return acc, rob, cost, err
	}
	results, sum, _, err := run.answer(c, run.path("counts.jsonl"), nil)
	if err != nil {
		return acc, rob, cost, err
	}
	want := map[int]bool{}
	for _, i := range indices[:spread] {
		want[i] = true
	}
	var of []certify.Result
	for _, r := range results {
		if want[r.Index] {
			of = append(of, r)
		}
	}
	s, err := metrics.NewSet(of, run.params.Cost, metrics.Strict)
	if err != nil {
		return acc, rob, cost, err
	}
	return s.Acc(), sum.Levels[0].RobCS, sum.Levels[0].RobCost, nil
}
