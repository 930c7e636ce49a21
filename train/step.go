package train

import (
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"

	"lorica/cost"
	"lorica/engine"
	"lorica/model"
)

// The clock of a run, a vector of words on the device.
const (
	clockStep  = iota // the step to make
	clockBase         // the step that the window of orders and rates begins at
	clockTotal        // the number of steps of the run
	clockBad          // the first step whose loss was not finite, or never
	clockKey0         // the seed
	clockKey1
	clockWords
)

const never = 1<<32 - 1

// The tally of the steps since it was last read: sums over steps.
const (
	tallySteps = iota
	tallyLoss
	tallyClassification
	tallySensitive
	tallyNormal
	tallyRight // share of right answers to noisy images
	tallyNorm  // of the gradient, before clipping
	tallyWords
)

// stepper builds the graphs of a run.
type stepper struct {
	Config
	net            *model.Net
	costs          *cost.Matrix // nil: nothing costs
	learned, fixed *flat
	how            model.Lowering
	examples       int  // images on the device
	window         int  // steps a window
	hostNoise      bool // noise is made on the host, which does it faster than graphs there
}

// inputs are the parameters of the step's program, in order.
func (s *stepper) inputs() []input {
	size := s.net.Image().Size()
	in := []input{
		{"theta", shapes.Make(dtypes.Float32, s.learned.size), true},
		{"velocity", shapes.Make(dtypes.Float32, s.learned.size), true},
		{"stats", shapes.Make(dtypes.Float32, max(s.fixed.size, 1)), true},
		{"clock", shapes.Make(dtypes.Uint32, clockWords), true},
		{"tally", shapes.Make(dtypes.Float32, tallyWords), true},
		{"order", shapes.Make(dtypes.Int32, s.window*s.Batch), false},
		{"rates", shapes.Make(dtypes.Float32, s.window, 2), false},
		{"pixels", shapes.Make(dtypes.Uint8, s.examples, size), false},
		{"labels", shapes.Make(dtypes.Int32, s.examples), false},
	}
	if s.hostNoise {
		in = append(in, input{"noise", shapes.Make(dtypes.Float32, s.Batch*s.Draws, size), true})
	}
	if s.attacks() {
		in = append(in, input{"push", shapes.Make(dtypes.Float32, s.Batch, size), true})
	}
	return in
}

// attackInputs are those of the attack's program: it keeps all but the push.
func (s *stepper) attackInputs() []input {
	var in []input
	for _, i := range s.inputs() {
		if i.name == "velocity" || i.name == "tally" {
			continue
		}
		i.spent = false
		in = append(in, i)
	}
	return in
}

// attackGraph is one step of the adversary.
func (s *stepper) attackGraph(in map[string]*Node) []*Node {
	values := s.learned.split(in["theta"])
	for name, v := range s.fixed.split(in["stats"]) {
		values[name] = v
	}
	b, _ := s.batch(in, values, nil)
	b.push = in["push"]
	return []*Node{b.attack()}
}

// graph makes Unroll steps: theta, velocity, stats, clock and tally after them.
func (s *stepper) graph(in map[string]*Node) []*Node {
	state := map[string]*Node{}
	for k, v := range in {
		state[k] = v
	}
	for range s.Unroll {
		s.step(state)
	}
	return []*Node{state["theta"], state["velocity"], state["stats"], state["clock"], state["tally"]}
}

// step moves the state by one step. A step past the end, after a bad one or
// with a loss that is not finite leaves theta, velocity and stats as they were.
func (s *stepper) step(state map[string]*Node) {
	theta, velocity, stats := state["theta"], state["velocity"], state["stats"]
	g := theta.Graph()
	weights, fixed := s.learned.split(theta), s.fixed.split(stats)
	values := map[string]*Node{}
	for name, v := range weights {
		values[name] = v
	}
	for name, v := range fixed {
		values[name] = v
	}
	b, lr := s.batch(state, values, func(name string, next *Node) { values[name], fixed[name] = next, next })
	b.push = state["push"]
	l := b.objective()

	of := make([]*Node, len(s.learned.names))
	for i, name := range s.learned.names {
		of[i] = weights[name]
	}
	grads := map[string]*Node{}
	for i, d := range Gradient(l.total, of...) {
		grads[s.learned.names[i]] = d
	}
	grad := s.learned.join(grads)
	norm := Sqrt(ReduceAllSum(Square(grad)))
	if s.Clip > 0 {
		grad = Mul(grad, Min(Scalar(g, dtypes.Float32, 1), Div(Scalar(g, dtypes.Float32, s.Clip), AddScalar(norm, 1e-6))))
	}
	newTheta, newVelocity := s.sgd(theta, velocity, grad, lr)

	clock := state["clock"]
	step, bad := word(clock, clockStep), word(clock, clockBad)
	running := LogicalAnd(LessThan(step, word(clock, clockTotal)), Equal(bad, Const(g, uint32(never))))
	finite := LogicalAnd(IsFinite(l.total), IsFinite(norm))
	keep := LogicalAnd(running, finite)
	choose := func(next, old *Node) *Node {
		return Where(BroadcastToDims(keep, old.Shape().Dimensions...), next, old)
	}
	state["theta"], state["velocity"] = choose(newTheta, theta), choose(newVelocity, velocity)
	if s.fixed.size > 0 {
		state["stats"] = choose(s.fixed.join(fixed), stats)
	}
	bad = Where(LogicalAnd(running, LogicalNot(finite)), step, bad)
	next := Where(running, Add(step, Const(g, uint32(1))), step)
	state["clock"] = Stack([]*Node{next, word(clock, clockBase), word(clock, clockTotal), bad, word(clock, clockKey0), word(clock, clockKey1)}, 0)

	right := ReduceAllMean(answersByDraw(StopGradient(l.clean), b.onehot))
	one := Scalar(g, dtypes.Float32, 1)
	sums := Stack([]*Node{one, l.total, l.classification, l.sensitive, l.normal, right, norm}, 0)
	state["tally"] = Where(BroadcastToDims(running, tallyWords), Add(state["tally"], sums), state["tally"])
}

// answersByDraw is 1 where a noisy image got its label, [B, m].
func answersByDraw(z, onehot *Node) *Node {
	own := labelled(z, onehot)
	return ConvertDType(GreaterOrEqual(own, ReduceMax(z, 2)), dtypes.Float32)
}

// sgd is PyTorch's SGD: decay is added to the clipped gradient g,
// v' = mu v + g, theta' = theta - lr v' (nesterov: lr (g + mu v')).
func (s *stepper) sgd(theta, velocity, grad, lr *Node) (*Node, *Node) {
	grad = Add(grad, MulScalar(theta, s.WeightDecay))
	velocity = Add(MulScalar(velocity, s.Momentum), grad)
	move := velocity
	if s.Nesterov {
		move = Add(grad, MulScalar(velocity, s.Momentum))
	}
	return Sub(theta, Mul(move, lr)), velocity
}

// word is one number out of a vector.
func word(v *Node, i int) *Node { return Reshape(Slice(v, AxisElem(i))) }

// batch gathers, moves and perturbs the step's examples, and gives its rate.
func (s *stepper) batch(in, values map[string]*Node, move func(string, *Node)) (*batch, *Node) {
	g, clock := in["clock"].Graph(), in["clock"]
	n, m := s.Batch, s.Draws
	step := word(clock, clockStep)
	// The clock may have run past the window where steps are unrolled.
	last := Const(g, uint32(s.window-1))
	row := ConvertDType(Min(Sub(step, word(clock, clockBase)), last), dtypes.Int32)

	places := Add(Iota(g, shapes.Make(dtypes.Int32, n), 0), Mul(row, Const(g, int32(n))))
	examples := Gather(in["order"], Reshape(places, n, 1))
	rates := Reshape(Gather(in["rates"], Reshape(row, 1, 1)), 2)
	labels := Gather(in["labels"], Reshape(examples, n, 1))

	ids := func(phase uint32, examples *Node, index *Node) *Node {
		rows := examples.Shape().Dim(0)
		spread := func(v *Node) *Node { return BroadcastToDims(v, rows) }
		return engine.DrawIDs(index, ConvertDType(examples, dtypes.Uint32), spread(Const(g, phase)),
			spread(word(clock, clockKey0)), spread(word(clock, clockKey1)))
	}
	perImage := BroadcastToDims(step, n)
	words := engine.Words(ids(uint32(phaseAugment), examples, perImage))
	images := augmented(s.Augment, in["pixels"], examples, words, s.net.Image())

	noise := in["noise"]
	if noise == nil {
		rowExample, rowIndex := examples, perImage
		if m > 1 {
			rowExample = Reshape(BroadcastToDims(Reshape(examples, n, 1), n, m), n*m)
			first := Mul(step, Const(g, uint32(m)))
			draw := Iota(g, shapes.Make(dtypes.Uint32, n, m), 1)
			rowIndex = Reshape(Add(draw, first), n*m)
		}
		noise = MulScalar(engine.Noise(ids(uint32(phaseNoise), rowExample, rowIndex), s.net.Image().Size()), s.Sigma)
	}

	b := &batch{Config: s.Config, images: images, noise: noise, ramp: word(rates, 1)}
	s.describe(b, labels)
	if s.Method == SmoothMix || s.Method == SmoothMixCS {
		b.mix = MulScalar(fraction(engine.Words(ids(uint32(phaseMix), examples, perImage))[0]), 0.5)
	}
	shape := s.net.Image()
	b.net = func(x *Node, training bool) *Node {
		p := model.Params{Value: func(name string) *Node { return values[name] }}
		if training {
			p.Move = move
		}
		return s.net.ForwardWith(p, Reshape(x, x.Shape().Dim(0), shape.C, shape.H, shape.W), training, s.how)
	}
	return b, word(rates, 0)
}

// describe gives the batch its labels and what mistakes on them cost.
func (s *stepper) describe(b *batch, labels *Node) {
	g, n, k := labels.Graph(), labels.Shape().Dim(0), s.net.Classes()
	dims := []int{n, k}
	same := Equal(BroadcastToDims(Reshape(labels, n, 1), dims...), Iota(g, shapes.Make(dtypes.Int32, dims...), 1))
	b.onehot = ConvertDType(same, dtypes.Float32)
	costs, sensitive := make([][]float32, k), make([]float32, k)
	for y := range k {
		costs[y] = make([]float32, k)
		for j := range k {
			if s.costs != nil {
				costs[y][j] = float32(s.costs.At(y, j))
			}
			if costs[y][j] > 0 {
				sensitive[y] = 1
			}
		}
	}
	at := Reshape(labels, n, 1)
	b.costs = Gather(Const(g, costs), at)
	b.sensitive = Gather(Const(g, sensitive), at)
}
