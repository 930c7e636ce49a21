package main

import (
	"strings"

	"github.com/spf13/pflag"

	"lorica/model"
	"lorica/train"
)

// configFlags registers a configuration's fields. Their defaults depend on the
// method, so the help shows those of margin-cs.
func configFlags(fl *pflag.FlagSet, c *train.Config) {
	fl.StringVar(&c.Method, "method", c.Method, "training `method`: "+strings.Join(train.Methods(), ", "))
	fl.StringVar(&c.Arch, "arch", c.Arch, "`architecture`: "+strings.Join(model.Architectures(), ", "))
	fl.StringVar(&c.Cost, "cost", c.Cost, "cost `matrix`: a .csv or .json file or an expression")
	fl.Float64Var(&c.Sigma, "sigma", c.Sigma, "noise level, in units of pixels in [0,1]")
	fl.Uint64Var(&c.Seed, "seed", c.Seed, "seed of weights, order, augmentation and noise")
	fl.IntVar(&c.Epochs, "epochs", c.Epochs, "passes over the data")
	fl.IntVar(&c.Batch, "batch", c.Batch, "images a step")
	fl.IntVar(&c.Draws, "draws", c.Draws, "noisy copies of an image in a step")
	fl.Float64Var(&c.LR, "lr", c.LR, "learning rate")
	fl.Float64Var(&c.Momentum, "momentum", c.Momentum, "momentum of SGD")
	fl.BoolVar(&c.Nesterov, "nesterov", c.Nesterov, "Nesterov's momentum")
	fl.Float64Var(&c.WeightDecay, "weight-decay", c.WeightDecay, "weight decay")
	fl.Float64Var(&c.Clip, "clip", c.Clip, "largest norm of the gradient (0: any)")
	fl.StringVar(&c.Schedule, "schedule", c.Schedule, "learning rate over time: multistep, cosine or onecycle")
	fl.IntSliceVar(&c.Milestones, "milestones", c.Milestones, "multistep: `epochs` at which the rate falls")
	fl.Float64Var(&c.Decay, "decay", c.Decay, "multistep: factor by which it falls")
	fl.IntVar(&c.Warmup, "warmup", c.Warmup, "steps over which the rate rises")
	fl.StringVar(&c.Augment, "augment", c.Augment, "crop (shift by 4 and mirror), resized (random resized crop), flip or none")
	fl.IntVar(&c.MaxSteps, "max-steps", c.MaxSteps, "end after this many steps (0: all epochs)")
	fl.Float64Var(&c.Lambda, "lambda", c.Lambda, "gaussian-cs, smoothadv-cs, smoothmix-cs: weight of sensitive examples (1.1); macer: of the margins (4)")
	fl.Float64Var(&c.Lambda1, "lambda1", c.Lambda1, "margin-cs: weight of the margin terms")
	fl.Float64Var(&c.Lambda2, "lambda2", c.Lambda2, "margin-cs: weight of the sensitive one within them")
	fl.Float64Var(&c.Gamma, "gamma", c.Gamma, "macer: largest margin that is still widened (8)")
	fl.Float64Var(&c.Gamma1, "gamma1", c.Gamma1, "margin-cs: the same for normal examples")
	fl.Float64Var(&c.Gamma2, "gamma2", c.Gamma2, "margin-cs: the same for sensitive examples")
	fl.Float64Var(&c.Beta, "beta", c.Beta, "macer, margin-cs: sharpness of the softmax that margins are of")
	fl.StringVar(&c.NLL, "nll", c.NLL, "classification loss over the draws: mean-softmax or per-draw")
	fl.StringVar(&c.Pair, "pair", c.Pair, "margin-cs: max (the dearest pair of an example) or sum")
	fl.BoolVar(&c.MaskMisclassified, "mask-misclassified", c.MaskMisclassified, "margin-cs: leave sensitive examples that are wrong out of the margin term")
	fl.IntVar(&c.AttackSteps, "attack-steps", c.AttackSteps, "smoothadv (2), smoothmix (4): steps of the adversary")
	fl.Float64Var(&c.AttackEps, "attack-eps", c.AttackEps, "smoothadv: l2 radius of the adversary (0.25)")
	fl.Float64Var(&c.AttackStep, "attack-step", c.AttackStep, "smoothmix: length of its step (0: twice sigma)")
	fl.IntVar(&c.AttackWarmup, "attack-warmup", c.AttackWarmup, "epochs over which the adversary grows (10)")
	fl.Float64Var(&c.Eta, "eta", c.Eta, "smoothmix: weight of the mixed term (5)")
	fl.Float64Var(&c.Penalty, "penalty", c.Penalty, "smoothmix: pull of the adversary back to the image")
	fl.StringVar((*string)(&c.Precision), "precision", string(c.Precision), "float32 or bfloat16, with float32 weights (default: bfloat16 on XLA devices)")
	fl.StringVar(&c.Layout, "layout", c.Layout, "nhwc or nchw (default: what suits the engine)")
	fl.IntVar(&c.Unroll, "unroll", c.Unroll, "steps in one execution of the device")
}

// configOf is the configuration that the flags ask for: the method's default,
// the recipe, then what was given.
func configOf(fl *pflag.FlagSet, recipe string) (train.Config, error) {
	method, err := fl.GetString("method")
	if err != nil {
		return train.Config{}, err
	}
	c := train.DefaultConfig(method)
	if fl.Changed("arch") {
		c.Arch, _ = fl.GetString("arch") // recipes depend on it
	}
	if c, err = c.Recipe(recipe); err != nil {
		return c, usagef("--recipe: %w", err)
	}
	given := pflag.NewFlagSet("", pflag.ContinueOnError)
	c.Precision = ""
	configFlags(given, &c)
	fl.Visit(func(f *pflag.Flag) {
		if err != nil || given.Lookup(f.Name) == nil {
			return
		}
		if !train.Uses(method, strings.ReplaceAll(f.Name, "-", "_")) {
			err = usagef("method %s has no --%s", method, f.Name)
			return
		}
		value := f.Value.String()
		if s, ok := f.Value.(pflag.SliceValue); ok {
			value = strings.Join(s.GetSlice(), ",")
		}
		err = given.Set(f.Name, value)
	})
	return c, err
}
