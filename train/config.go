package train

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"lorica/engine"
)

// The methods.
const (
	Gaussian    = "gaussian"
	SmoothAdv   = "smoothadv"
	SmoothMix   = "smoothmix"
	MACER       = "macer"
	GaussianCS  = "gaussian-cs"
	SmoothAdvCS = "smoothadv-cs"
	SmoothMixCS = "smoothmix-cs"
	MarginCS    = "margin-cs"
)

// Methods names them in the paper's order.
func Methods() []string {
	return []string{Gaussian, SmoothMix, SmoothAdv, MACER, GaussianCS, SmoothMixCS, SmoothAdvCS, MarginCS}
}

// Config is all that decides the weights of a run, with the data and the
// engine. It is written into every checkpoint.
type Config struct {
	Method string  `json:"method"`
	Arch   string  `json:"arch"`
	Sigma  float64 `json:"sigma"`
	Cost   string  `json:"cost"` // by class number (cost.Matrix.String)
	Seed   uint64  `json:"seed"`

	// The loop.
	Epochs      int     `json:"epochs"`
	Batch       int     `json:"batch"` // images a step
	Draws       int     `json:"draws"` // noisy copies of each image
	LR          float64 `json:"lr"`
	Momentum    float64 `json:"momentum"`
	Nesterov    bool    `json:"nesterov"`
	WeightDecay float64 `json:"weight_decay"`
	Clip        float64 `json:"clip"`     // largest norm of the gradient; 0: any
	Schedule    string  `json:"schedule"` // multistep, cosine, onecycle
	Milestones  []int   `json:"milestones,omitempty"`
	Decay       float64 `json:"decay"`  // factor at each milestone
	Warmup      int     `json:"warmup"` // steps of linear rise
	Augment     string  `json:"augment"`
	MaxSteps    int     `json:"max_steps,omitempty"` // stop the schedule's clock here; 0: all epochs

	// The objectives (see the methods' files for the symbols).
	Lambda            float64 `json:"lambda"`             // -cs: weight of sensitive examples; macer: weight of the margins
	Lambda1           float64 `json:"lambda1"`            // margin-cs: weight of both margin terms
	Lambda2           float64 `json:"lambda2"`            // margin-cs: weight of the sensitive one within
	Gamma             float64 `json:"gamma"`              // macer
	Gamma1            float64 `json:"gamma1"`             // margin-cs: normal examples
	Gamma2            float64 `json:"gamma2"`             // margin-cs: sensitive examples
	Beta              float64 `json:"beta"`               // macer, margin-cs: sharpness of the softmax
	NLL               string  `json:"nll"`                // mean-softmax, per-draw
	Pair              string  `json:"pair"`               // margin-cs: max, sum
	MaskMisclassified bool    `json:"mask_misclassified"` // margin-cs: leave wrong sensitive examples out, as the equation does
	AttackSteps       int     `json:"attack_steps"`       // smoothadv, smoothmix: T
	AttackEps         float64 `json:"attack_eps"`         // smoothadv: radius of the ball
	AttackStep        float64 `json:"attack_step"`        // smoothmix: alpha; 0: 2 sigma
	AttackWarmup      int     `json:"attack_warmup"`      // epochs over which the attack grows
	Eta               float64 `json:"eta"`                // smoothmix: weight of the mixed term
	Penalty           float64 `json:"penalty"`            // smoothmix: beta, the pull back to x

	// How it is computed.
	Precision engine.Precision `json:"precision"`
	Layout    string           `json:"layout,omitempty"` // nhwc, nchw, or what suits the engine
	Unroll    int              `json:"unroll"`           // steps in one execution
}

// DefaultConfig is the paper's configuration of a method on CIFAR-10 (its
// repository's or its parents' where it says nothing), except for the options
// of margin-cs, whose defaults are the better trade-off (docs/train.md).
func DefaultConfig(method string) Config {
	c := Config{
		Method: method, Arch: "resnet56", Sigma: 0.5, Seed: 1,
		Epochs: 90, Batch: 256, Draws: 1, LR: 0.1, Momentum: 0.9, WeightDecay: 1e-4,
		Schedule: "multistep", Milestones: []int{30, 60}, Decay: 0.1, Augment: "crop",
		Lambda: 1.1, NLL: "per-draw",
		Precision: engine.Float32, Unroll: 1,
	}
	switch method {
	case SmoothAdv, SmoothAdvCS:
		c.Draws, c.AttackSteps, c.AttackEps, c.AttackWarmup = 2, 2, 64./256, 10
	case SmoothMix, SmoothMixCS:
		c.Draws, c.AttackSteps, c.AttackWarmup, c.Eta = 2, 4, 10, 5
	case MACER, MarginCS:
		c.Epochs, c.Batch, c.Draws, c.LR, c.WeightDecay = 440, 64, 16, 0.01, 5e-4
		c.Milestones = []int{200, 400}
		c.Beta, c.NLL = 16, "mean-softmax"
		c.Lambda, c.Gamma = 4, 8
		if method == MarginCS {
			c.Lambda1, c.Lambda2, c.Gamma1, c.Gamma2, c.Pair = 3, 1, 4, 16, "max"
			c.Lambda, c.Gamma = 0, 0
		}
	}
	if method == Gaussian || method == SmoothAdv || method == SmoothMix {
		c.Lambda = 1
	}
	return c
}

// Recipes names the ready-made changes of a configuration.
func Recipes() []string { return []string{"paper", "equation", "small"} }

// Recipe changes a configuration into a named one: "paper" is the default,
// "equation" takes margin-cs to the letter of the paper's objective, "small"
// is a budget of minutes on one GPU that still separates the methods.
func (c Config) Recipe(name string) (Config, error) {
	switch name {
	case "", "paper":
	case "equation":
		if c.Method != MarginCS {
			return c, fmt.Errorf("recipe equation is for %s: the other methods have no other reading", MarginCS)
		}
		c.Lambda2, c.Pair, c.NLL, c.MaskMisclassified = 3, "sum", "per-draw", true
	case "small":
		c.Schedule, c.Milestones, c.Nesterov, c.Clip, c.WeightDecay, c.Warmup = "cosine", nil, true, 5, 5e-4, 500
		switch c.Method {
		case MACER, MarginCS:
			c.Epochs, c.Draws = 30, 4
		case Gaussian, GaussianCS:
			c.Epochs, c.Draws = 30, 1
		default:
			c.Epochs, c.Draws, c.AttackWarmup = 30, 2, 4
		}
		c.Batch, c.LR = 512, 0.1
		if c.Arch == "resnet56" {
			c.Batch, c.LR = 256, 0.05
			if c.Method == Gaussian || c.Method == GaussianCS {
				c.Epochs = 40
			}
		}
	default:
		return c, fmt.Errorf("no recipe %q (there are: %s)", name, strings.Join(Recipes(), ", "))
	}
	return c, nil
}

// Uses tells whether a method's objective has a hyper-parameter, by its JSON
// name. Those of the loop belong to all.
func Uses(method, field string) bool {
	cs := strings.HasSuffix(method, "-cs")
	adv := strings.HasPrefix(method, SmoothAdv)
	mix := strings.HasPrefix(method, SmoothMix)
	switch field {
	case "lambda":
		return cs && method != MarginCS || method == MACER
	case "lambda1", "lambda2", "gamma1", "gamma2", "pair", "mask_misclassified":
		return method == MarginCS
	case "gamma":
		return method == MACER
	case "beta":
		return method == MACER || method == MarginCS
	case "attack_steps", "attack_warmup":
		return adv || mix
	case "attack_eps":
		return adv
	case "attack_step", "eta", "penalty":
		return mix
	}
	return true
}

// Validate names the first field that makes no sense.
func (c Config) Validate() error {
	type check struct {
		name string
		v    float64
		ok   bool
		want string
	}
	positive := func(name string, v float64) check { return check{name, v, v > 0, "above 0"} }
	notNegative := func(name string, v float64) check { return check{name, v, v >= 0, "0 or above"} }
	whole := func(name string, v, least, most int) check {
		return check{name, float64(v), v >= least && v <= most, fmt.Sprintf("between %d and %d", least, most)}
	}
	checks := []check{
		notNegative("sigma", c.Sigma), positive("lr", c.LR), notNegative("weight decay", c.WeightDecay), notNegative("clip", c.Clip),
		{"momentum", c.Momentum, c.Momentum >= 0 && c.Momentum < 1, "from 0 to below 1"},
		whole("epochs", c.Epochs, 1, 1<<20), whole("batch", c.Batch, 1, 1<<20), whole("draws", c.Draws, 1, 1<<12),
		whole("warmup", c.Warmup, 0, 1<<30), whole("unroll", c.Unroll, 1, 64), whole("max steps", c.MaxSteps, 0, 1<<30),
		notNegative("lambda", c.Lambda), notNegative("lambda1", c.Lambda1), notNegative("lambda2", c.Lambda2), notNegative("eta", c.Eta),
		notNegative("attack step", c.AttackStep), notNegative("penalty", c.Penalty), whole("attack warmup", c.AttackWarmup, 0, 1<<20),
	}
	for _, field := range []struct {
		name string
		v    float64
	}{{"gamma", c.Gamma}, {"gamma1", c.Gamma1}, {"gamma2", c.Gamma2}, {"beta", c.Beta}, {"attack_eps", c.AttackEps}} {
		if Uses(c.Method, field.name) {
			checks = append(checks, positive(field.name, field.v))
		}
	}
	if Uses(c.Method, "attack_steps") {
		checks = append(checks, whole("attack steps", c.AttackSteps, 1, 1000))
	}
	for _, k := range checks {
		if !k.ok || math.IsInf(k.v, 0) {
			return fmt.Errorf("%s is %g: it must be %s", k.name, k.v, k.want)
		}
	}
	oneOf := func(name, v string, of ...string) error {
		if !slices.Contains(of, v) {
			return fmt.Errorf("%s %q is not one of %s", name, v, strings.Join(of, ", "))
		}
		return nil
	}
	err := errors.Join(
		oneOf("method", c.Method, Methods()...),
		oneOf("schedule", c.Schedule, "multistep", "cosine", "onecycle"),
		oneOf("augment", c.Augment, "crop", "resized", "flip", "none"),
		oneOf("nll", c.NLL, "mean-softmax", "per-draw"),
		oneOf("layout", c.Layout, "", "nhwc", "nchw"),
		oneOf("precision", string(c.Precision), string(engine.Float32), string(engine.BFloat16)),
	)
	if c.Method == MarginCS {
		err = errors.Join(err, oneOf("pair", c.Pair, "max", "sum"))
	}
	if !slices.IsSorted(c.Milestones) {
		err = errors.Join(err, fmt.Errorf("milestones %v do not ascend", c.Milestones))
	}
	if c.Unroll > 1 && c.attacks() {
		err = errors.Join(err, errors.New("unroll is for methods without an attack"))
	}
	return err
}

// attacks tells whether the method moves its images first.
func (c Config) attacks() bool { return Uses(c.Method, "attack_steps") }

// attackStep is SmoothMix's alpha: 0.5, 1 and 2 for sigma 0.25, 0.5 and 1.
func (c Config) attackStep() float64 {
	if c.AttackStep > 0 {
		return c.AttackStep
	}
	return 2 * c.Sigma
}
