package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lorica/cost"
	"lorica/dataset"
	"lorica/engine"
	"lorica/train"
)

// trainFlags are what train was asked for, beside the configuration.
type trainFlags struct {
	data, split, out     string
	recipe, init, engine string
	sweep                string
	resume               bool
	holdout              int
	saveEvery            time.Duration
	exact                bool
	keep, lookEvery      int
	look, lookDraws      int
	eps                  float64
	sweepN               int64
	sweepExamples        int
}

func newTrain() *cobra.Command {
	var f trainFlags
	shown := train.DefaultConfig(train.MarginCS)
	shown.Precision = "" // the engine's
	c := &cobra.Command{
		Use:   "train --method METHOD --data DATA --cost COST --out RUN",
		Short: "Train a model whose costly mistakes are hard to force",
		Long: `Train a classifier under Gaussian noise with one of the paper's methods:
  ` + strings.Join(train.Methods(), ", ") + `.
Those that end in -cs take the costs into account; margin-cs is the paper's own.

DATA is one of
` + dataset.Specs + `
COST is a .csv or .json matrix or an expression such as 'cat->*'. Methods without
-cs use it for the running estimate alone.

Every hyper-parameter has the paper's default for the method. --recipe small is a
budget of minutes on one GPU; --recipe equation takes margin-cs to the letter.

The run folder gets model.safetensors (for lorica certify), train.jsonl (losses by
part, throughput and a running estimate of Acc and Rob_cs) and checkpoints. A run
that was interrupted or killed goes on where it stopped when the same command is
given again, and ends with the same weights, bit for bit, on the same engine.

--sweep 'lambda2=1,2,3;gamma2=8,16' trains every combination and prints what each
costs in accuracy and brings in robustness.`,
		Example: `  lorica train --method margin-cs --arch resnet20 --recipe small --data cifar10:DIR --cost 'cat->*' --engine xla:cuda --out run
  lorica certify --model run/model.safetensors --data cifar10:DIR --cost 'cat->*' --sigma 0.5 --out certified`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return trainCommand(c, f) },
	}
	fl := c.Flags()
	fl.StringVar(&f.data, "data", "", "`data` set to train on")
	fl.StringVar(&f.split, "split", "", "`part` of the data (default: train, where there is one)")
	fl.StringVar(&f.out, "out", "", "run `folder` to write, or to go on with")
	fl.StringVar(&f.recipe, "recipe", "", "ready-made `changes` of the defaults: "+strings.Join(train.Recipes(), ", "))
	fl.StringVar(&f.init, "init", "", "`model` whose weights to begin with (default: fresh ones)")
	fl.StringVar(&f.engine, "engine", engine.DefaultSpec, "where it runs: cpu, xla:cuda, xla:cpu or xla:/path/to/plugin.so")
	fl.BoolVar(&f.exact, "exact", false, "xla:cuda: use only operations that repeat bit for bit, and keep XLA's choices of them in the run folder")
	fl.BoolVar(&f.resume, "resume", false, "go on with the run in --out; fail where there is none")
	fl.IntVar(&f.holdout, "holdout", 0, "keep every K-th training example back for the running estimate and sweeps (0: use the val or test split)")
	fl.DurationVar(&f.saveEvery, "save-every", time.Minute, "time between checkpoints")
	fl.IntVar(&f.keep, "keep", 2, "checkpoints to keep")
	fl.IntVar(&f.lookEvery, "look-every", 1, "epochs between running estimates (0: none, which saves compiling them)")
	fl.IntVar(&f.look, "look", 200, "examples of the running estimate, and as many sensitive ones at most")
	fl.IntVar(&f.lookDraws, "look-draws", 32, "draws an example in it")
	fl.Float64Var(&f.eps, "eps", 0.5, "radius that the running estimate and sweeps state robustness at")
	fl.StringVar(&f.sweep, "sweep", "", "`grid` of settings to train: 'lambda2=1,2,3;gamma2=8,16'")
	fl.Int64Var(&f.sweepN, "sweep-n", 1000, "draws an example when a sweep certifies")
	fl.IntVar(&f.sweepExamples, "sweep-examples", 200, "examples that a sweep certifies, and as many sensitive ones at most")
	configFlags(fl, &shown)
	return c
}

// trainCommand trains one run, or a grid of them.
func trainCommand(c *cobra.Command, f trainFlags) error {
	if f.data == "" || f.out == "" {
		return usagef("train needs --data and --out (see lorica train --help)")
	}
	config, err := configOf(c.Flags(), f.recipe)
	if err != nil {
		return err
	}
	if f.sweep != "" {
		return sweep(c, f, config)
	}
	return trainOnce(c, c.OutOrStdout(), f, config)
}

// trainOnce trains one configuration and says on w what it came to.
func trainOnce(c *cobra.Command, w io.Writer, f trainFlags, config train.Config) (err error) {
	task, err := prepareTraining(c, f, config)
	if err != nil {
		return err
	}
	if f.exact {
		if err := exactXLA(f.out); err != nil {
			return err
		}
	}
	if task.Engine, err = openEngine(f.engine); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, task.Engine.Close()) }()
	if task.Precision == "" {
		task.Precision = engine.BFloat16
		if task.Engine.Host() {
			task.Precision = engine.Float32
		}
	}
	if err := task.Validate(); err != nil {
		return usageError{err}
	}
	if done, err := finished(w, task); done || err != nil {
		return err
	}
	shown := newTrainMeter(c.ErrOrStderr())
	task.Watch = shown.watch
	task.Warn = func(s string) { fmt.Fprintln(c.ErrOrStderr(), "warning:", s) }
	res, err := train.Run(c.Context(), task)
	shown.done()
	if err != nil {
		return err
	}
	return shown.result(w, res)
}

// prepareTraining opens and checks everything but the engine.
func prepareTraining(c *cobra.Command, f trainFlags, config train.Config) (train.Task, error) {
	task := train.Task{Config: config, Dir: f.out, SaveEvery: f.saveEvery, Keep: f.keep, LookEvery: f.lookEvery}
	if old, err := filepath.Glob(filepath.Join(f.out, "checkpoints", "step-*.safetensors")); err != nil {
		return task, err
	} else if f.resume && len(old) == 0 {
		return task, fmt.Errorf("--resume: there is no checkpoint in %s", filepath.Join(f.out, "checkpoints"))
	} else if len(old) > 0 {
		fmt.Fprintf(c.ErrOrStderr(), "going on with %s\n", old[len(old)-1])
	}
	set, err := openTraining(f)
	if err != nil {
		return task, err
	}
	for _, w := range set.Warnings() {
		fmt.Fprintln(c.ErrOrStderr(), "warning:", w)
	}
	task.Identity = strings.TrimSpace(set.Identity() + " " + set.Split())
	names := set.Classes()
	if config.Cost != "" {
		if task.Costs, err = cost.Parse(config.Cost, len(names), names); err != nil {
			return task, usagef("--cost: %w", err)
		}
		task.Config.Cost = task.Costs.String()
	} else if strings.HasSuffix(config.Method, "-cs") {
		return task, usagef("method %s needs --cost", config.Method)
	}
	kept, held, err := divide(f, set)
	if err != nil {
		return task, err
	}
	if f.holdout > 0 {
		task.Identity += fmt.Sprintf(" without every %d", f.holdout)
	}
	if task.Data, err = train.Load(set, kept); err != nil {
		return task, err
	}
	if f.lookEvery > 0 {
		if task.Held, err = held.pick(f, task.Costs); err != nil {
			return task, err
		}
	}
	if f.init != "" {
		m, err := loadModel(f.init)
		if err != nil {
			return task, err
		}
		if m.Net == nil {
			return task, fmt.Errorf("--init: %s is not a network that can be trained", f.init)
		}
		task.Init = m.Weights
	}
	return task, nil
}

// finished tells whether the run folder holds the model of this very run.
func finished(w io.Writer, task train.Task) (bool, error) {
	file := filepath.Join(task.Dir, "model.safetensors")
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	if err := train.Made(task, file); err != nil {
		return false, err
	}
	_, err := fmt.Fprintf(w, "%s is trained already\n", file)
	return true, err
}

// exactXLA tells XLA to leave out kernels whose sums depend on timing, and to
// make the same choices of kernels when a run is resumed: which are fastest is
// measured, and differs from process to process.
func exactXLA(out string) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	choices, err := filepath.Abs(filepath.Join(out, "xla-choices.txt"))
	if err != nil {
		return err
	}
	flags := os.Getenv("XLA_FLAGS") + " --xla_gpu_exclude_nondeterministic_ops=true"
	if _, err := os.Stat(choices); err == nil {
		flags += " --xla_gpu_load_autotune_results_from=" + choices
	} else {
		flags += " --xla_gpu_dump_autotune_results_to=" + choices
	}
	return os.Setenv("XLA_FLAGS", strings.TrimSpace(flags))
}
