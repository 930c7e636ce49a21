package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"lorica/certify"
	"lorica/counts"
	"lorica/dataset"
	"lorica/metrics"
	"lorica/model"
	"lorica/smooth"
)

// certifyFlags are what certify was asked for.
type certifyFlags struct {
	question
	smooth.Config
	adaptive
	at                      place
	spread                  clusterFlags
	model, data, split, out string
	skip, max               int
	indices                 []int
	onlySensitive           bool
	json                    bool
}

func newCertify() *cobra.Command {
	f := certifyFlags{Config: smooth.DefaultConfig()}
	c := &cobra.Command{
		Use:   "certify --model MODEL --data DATA --cost COST --sigma S --out RUN",
		Short: "Sample a model under noise and prove which costly mistakes nobody can force",
		Long: `Sample a classifier under Gaussian noise, keep the class counts, and prove for
every example an l2 radius inside which no perturbation can force a mistake that
costs anything, with probability 1 - alpha.

MODEL is an ONNX file, a lorica checkpoint, or builtin:gaussian or
builtin:margin-cs. DATA is one of
` + dataset.Specs + `
COST is a .csv or .json matrix or an expression such as 'cat->*' or '3->2:1,5:10'.

The run folder gets counts.jsonl (all that was drawn: 'lorica evaluate' answers
any other question from it), certificates.jsonl and metrics.json. A run that was
interrupted goes on where it stopped when the same command is given again, and
ends with the same file, bit for bit.

With --decide EPS an example is drawn in growing stages until each claim about it
is proved at EPS or not worth more draws, --n at most: the same answers from a
thirtieth of the draws. The proofs hold at the same alpha, because all stages
share it. --radius-tolerance T does the same for whole curves.

With --cluster the draws are made by the workers ('lorica worker') that join the
run over NATS JetStream; with --listen they join this process, and --workers N
starts some here. The counts are those of a single machine with their engine.`,
		Example: `  lorica certify --model builtin:margin-cs --data builtin --cost 'cat->*' --sigma 0.5 --n 1000 --out run
  lorica certify --model m.onnx --data cifar10:DIR --cost costs.csv --sigma 0.25 --skip 20 --out run
  lorica certify --model m.onnx --data cifar10:DIR --cost 'cat->*' --decide 0.25,0.5 --out run
  lorica certify --model m.onnx --data cifar10:DIR --cost costs.csv --sigma 0.25 --cluster nats://head:4222 --out run`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if f.decide != "" && !c.Flags().Changed("eps") {
				if _, err := parseEps("--decide", f.decide); err != nil {
					return err
				}
				f.Eps = f.decide // what was decided is what is asked
			}
			return certifyRun(c, f)
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.model, "model", "", "`model` to certify: ONNX, checkpoint or builtin:NAME")
	fl.StringVar(&f.data, "data", "", "`data` set to certify it on")
	fl.StringVar(&f.split, "split", "", "`part` of the data (default: test)")
	fl.StringVar(&f.out, "out", "", "run `folder` to write, or to go on with")
	f.question.register(fl)
	fl.Float64Var(&f.Sigma, "sigma", f.Sigma, "noise level, in units of pixels in [0,1]")
	fl.Int64Var(&f.N0, "n0", f.N0, "draws that choose the class")
	fl.Int64Var(&f.N, "n", f.N, "draws that bound its probability, or the most of them")
	f.adaptive.register(fl)
	fl.Uint64Var(&f.Seed, "seed", f.Seed, "seed of all draws")
	fl.IntVar(&f.Chunk, "chunk", f.Chunk, "draws in one unit of work; changes no count")
	fl.IntVar(&f.skip, "skip", 1, "take every `K`-th example")
	fl.IntVar(&f.max, "max", 0, "take at most `K` examples (0: all)")
	fl.IntSliceVar(&f.indices, "indices", nil, "take these examples: `0,20,...`")
	fl.BoolVar(&f.onlySensitive, "only-sensitive", false, "take only examples whose label has a cost (accuracy is then theirs alone)")
	fl.BoolVar(&f.json, "json", false, "print metrics.json instead of tables")
	f.at.register(fl)
	f.spread.register(fl)
	return c
}

// certifyRun samples what is missing of a run, then answers the question.
func certifyRun(c *cobra.Command, f certifyFlags) error {
	if f.model == "" || f.data == "" || f.Cost == "" || f.out == "" {
		return usagef("certify needs --model, --data, --cost and --out (see lorica certify --help)")
	}
	if err := f.Validate(); err != nil {
		return usageError{err}
	}
	if err := f.spread.validate(); err != nil {
		return err
	}
	run, err := prepare(c, f)
	if err != nil {
		return err
	}
	if err := run.sample(c); err != nil {
		return err
	}
	sum, err := run.conclude(c)
	if err != nil {
		return err
	}
	if f.json {
		return writeJSON(c.OutOrStdout(), sum)
	}
	if err := printSummary(c.OutOrStdout(), sum, run.params.Cost); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "\nwritten to %s\n", f.out)
	return err
}

// certification is one run folder on its way.
type certification struct {
	certifyFlags
	set    dataset.Set
	model  *model.Model
	params certify.Params
	plan   []int
	header counts.Header
	rule   smooth.Rule // nil: all draws for every example
}

func (r *certification) path(name string) string { return filepath.Join(r.out, name) }

// prepare opens and checks everything before the first draw: what is wrong is
// said now, not after an hour.
func prepare(c *cobra.Command, f certifyFlags) (*certification, error) {
	r := &certification{certifyFlags: f}
	var err error
	if r.set, err = dataset.Open(f.data, f.split); err != nil {
		return nil, err
	}
	for _, w := range r.set.Warnings() {
		fmt.Fprintln(c.ErrOrStderr(), "warning:", w)
	}
	if r.model, err = loadModel(f.model); err != nil {
		return nil, err
	}
	names := r.set.Classes()
	channels, height, width := r.set.Shape()
	if err := r.model.Fits(model.Shape{C: channels, H: height, W: width}, len(names)); err != nil {
		return nil, err
	}
	r.header = counts.Header{
		Lorica: "counts", Version: 1, Classes: len(names), Names: names,
		Sigma: f.Sigma, N0: f.N0, N: f.N, Seed: f.Seed, Chunk: f.Chunk,
		Model: counts.Model{Path: f.model, SHA256: r.model.SHA256},
		Data:  r.set.Identity(), Split: r.set.Split(),
	}
	if f.spread.mixed {
		r.header.Extra = map[string]json.RawMessage{"mixed_engines": json.RawMessage("true")}
	}
	if r.params, _, err = f.question.parse(r.header); err != nil {
		return nil, err
	}
	if r.rule, err = f.adaptive.rule(&r.params, f.Count, &r.header); err != nil {
		return nil, err
	}
	pick := smooth.Selection{Skip: f.skip, Max: f.max, Indices: f.indices}
	if f.onlySensitive {
		pick.Only = r.params.Cost.Sensitive
	}
	if r.plan, err = pick.Plan(r.set.Len(), r.set.Label); err != nil {
		return nil, usageError{err}
	}
	return r, nil
}

// sample draws what the counts file lacks of the plan.
func (r *certification) sample(c *cobra.Command) (err error) {
	if done, err := r.complete(); done || err != nil {
		return err
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	d, err := r.supply(c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	r.header.Engine = d.engine
	path := r.path("counts.jsonl")
	w, done, err := counts.Resume(path, r.header)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	todo := slices.DeleteFunc(slices.Clone(r.plan), done.Has)
	if kept := len(r.plan) - len(todo); kept > 0 {
		fmt.Fprintf(c.ErrOrStderr(), "going on with %s: it has %d of %d examples\n", path, kept, len(r.plan))
	}
	m := newMeter(c.ErrOrStderr(), "samples")
	var last smooth.Progress
	err = smooth.Run(c.Context(), smooth.Task{
		Sampler: d, Source: r.set, Examples: todo, Config: r.Config, Rule: r.rule, Emit: w.Append, InFlight: d.inFlight,
		Watch: func(p smooth.Progress) {
			last = p
			d.watch(p)
			m.show(p.Draws, p.OfDraws, fmt.Sprintf("%d/%d examples%s", p.Examples, p.OfExamples, d.label()))
		},
	})
	m.done()
	m.total(last.Draws, d.note())
	if r.rule != nil && err == nil {
		fmt.Fprintln(c.ErrOrStderr(), spared(last.Examples, last.Draws-r.N0*int64(last.Examples), r.N))
	}
	if w := d.warning(); w != "" {
		fmt.Fprintln(c.ErrOrStderr(), w)
	}
	if last.Invalid > 0 {
		fmt.Fprintf(c.ErrOrStderr(), "warning: %d of %d draws gave NaN; they count for no class\n", last.Invalid, last.Draws)
	}
	return err
}

// complete tells whether the counts file holds the whole plan. Then no draw is
// left to make, and no engine is needed.
func (r *certification) complete() (bool, error) {
	in, err := counts.Open(r.path("counts.jsonl"))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, counts.ErrNoHeader) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	defer in.Close()
	left := map[int]bool{}
	for _, i := range r.plan {
		left[i] = true
	}
	for rec, err := range in.Records() {
		if err != nil {
			return false, err
		}
		delete(left, rec.Index)
	}
	r.header.Engine = in.Header().Engine
	have := in.Header()
	return len(left) == 0, have.Fits(&r.header)
}

// conclude sorts the counts, answers the question and writes the answers.
func (r *certification) conclude(c *cobra.Command) (metrics.Summary, error) {
	path := r.path("counts.jsonl")
	if err := counts.Sort(path); err != nil {
		return metrics.Summary{}, err
	}
	// The folder may hold more than this command asked for.
	planned := func(i int) bool { _, ok := slices.BinarySearch(r.plan, i); return ok }
	results, sum, _, err := r.answer(c, path, planned)
	if err != nil {
		return sum, err
	}
	if err := writeCertificates(r.path("certificates.jsonl"), results); err != nil {
		return sum, err
	}
	return sum, writeMetrics(r.path("metrics.json"), sum, commandLine(c))
}
