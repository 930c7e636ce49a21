package train

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/core/tensors"

	"lorica/cost"
	"lorica/engine"
	"lorica/model"
)

func openCPU(t *testing.T) *engine.Engine {
	t.Helper()
	e, err := engine.Open("cpu", engine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// tinyNet is slowNet's architecture as lorica builds it, with its normalisation
// left out.
func tinyNet(t *testing.T, n slowNet) *model.Net {
	t.Helper()
	net := model.NewNet(model.Shape{C: 1, H: 1, W: n.d})
	for i, l := range []model.Layer{
		{Op: model.Flatten}, {Op: model.Dense, Name: "a", Channels: n.h, Bias: true},
		{Op: model.Relu}, {Op: model.Dense, Name: "b", Channels: n.k, Bias: true},
	} {
		l.In = []int{i}
		if _, err := net.Append(l); err != nil {
			t.Fatal(err)
		}
	}
	return net
}

// problem is a batch on both sides, with its parameters.
type problem struct {
	slow  *slowBatch
	theta []float64
	fast  *stepper
}

func newProblem(t *testing.T, c Config, seed uint64, costs *cost.Matrix, scale float64) *problem {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	n := slowNet{d: 5, h: 6, k: 4}
	b := &slowBatch{Config: c, net: n, ramp: 0.75}
	for range c.Batch {
		x := make([]float64, n.d)
		for j := range x {
			x[j] = r.Float64()
		}
		var noise [][]float64
		for range c.Draws {
			d := make([]float64, n.d)
			for j := range d {
				d[j] = c.Sigma * r.NormFloat64()
			}
			noise = append(noise, d)
		}
		b.x, b.noise = append(b.x, x), append(b.noise, noise)
		b.y = append(b.y, r.IntN(n.k))
		b.t = append(b.t, r.Float64()/2)
		b.push = append(b.push, make([]float64, n.d))
	}
	b.costs = make([][]float64, n.k)
	for y := range b.costs {
		b.costs[y] = make([]float64, n.k)
		for k := range b.costs[y] {
			if costs != nil {
				b.costs[y][k] = costs.At(y, k)
			}
		}
	}
	theta := make([]float64, n.size())
	for i := range theta {
		theta[i] = float64(float32(scale * r.NormFloat64()))
	}
	net := tinyNet(t, n)
	s := &stepper{Config: c, net: net, costs: costs}
	s.learned, s.fixed = layouts(net)
	if got := strings.Join(s.learned.names, " "); got != "a.bias a.weight b.bias b.weight" {
		t.Fatalf("parameters in the order %s", got)
	}
	return &problem{b, theta, s}
}

func single(v []float64) []float32 {
	s := make([]float32, len(v))
	for i := range v {
		s[i] = float32(v[i])
	}
	return s
}

func rows(v [][]float64) (flat []float32) {
	for _, row := range v {
		flat = append(flat, single(row)...)
	}
	return flat
}

// build runs a graph over the problem's batch.
func (p *problem) build(t *testing.T, backend backends.Backend, out func(theta map[string]*Node, b *batch) []*Node) [][]float32 {
	t.Helper()
	n, m, d := p.slow.Batch, p.slow.Draws, p.slow.net.d
	labels := make([]int32, n)
	for i, y := range p.slow.y {
		labels[i] = int32(y)
	}
	var noise []float32
	for _, of := range p.slow.noise {
		noise = append(noise, rows(of)...)
	}
	in := []struct {
		name   string
		values any
		dims   []int
	}{
		{"theta", single(p.theta), []int{len(p.theta)}}, {"images", rows(p.slow.x), []int{n, d}}, {"noise", noise, []int{n * m, d}},
		{"labels", labels, []int{n}}, {"push", rows(p.slow.push), []int{n, d}}, {"mix", single(p.slow.t), []int{n}},
	}
	var inputs []input
	values := map[string]*tensors.Tensor{}
	for _, i := range in {
		inputs = append(inputs, input{name: i.name, shape: shapes.Make(dtypeOf(i.values), i.dims...)})
		v, err := upload(backend, i.values, i.dims...)
		if err != nil {
			t.Fatal(err)
		}
		values[i.name] = v
	}
	prog, err := compile(backend, "objective", inputs, func(in map[string]*Node) []*Node {
		theta := p.fast.learned.split(in["theta"])
		b := &batch{Config: p.fast.Config, images: in["images"], noise: in["noise"], push: in["push"], mix: in["mix"],
			ramp: Scalar(in["mix"].Graph(), dtypes.Float32, p.slow.ramp)}
		p.fast.describe(b, in["labels"])
		b.net = func(x *Node, training bool) *Node {
			return p.fast.net.ForwardWith(model.Params{Value: func(name string) *Node { return theta[name] }},
				Reshape(x, x.Shape().Dim(0), 1, 1, d), training, model.Lowering{})
		}
		return out(theta, b)
	})
	if err != nil {
		t.Fatal(err)
	}
	defer prog.close()
	results, err := prog.run(values)
	if err != nil {
		t.Fatal(err)
	}
	var all [][]float32
	for _, r := range results {
		v := make([]float32, r.Shape().Size())
		if err := download(backend, r, v); err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	return all
}

// evaluate gives the objective and its gradient.
func (p *problem) evaluate(t *testing.T, backend backends.Backend) (float64, []float32) {
	t.Helper()
	out := p.build(t, backend, func(theta map[string]*Node, b *batch) []*Node {
		l := b.objective()
		var of []*Node
		for _, name := range p.fast.learned.names {
			of = append(of, theta[name])
		}
		grads := map[string]*Node{}
		for i, g := range Gradient(l.total, of...) {
			grads[p.fast.learned.names[i]] = g
		}
		return []*Node{l.total, p.fast.learned.join(grads)}
	})
	return float64(out[0][0]), out[1]
}

func mustCost(t *testing.T, expr string) *cost.Matrix {
	t.Helper()
	m, err := cost.ParseExpr(expr, 4, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// variants are the methods with every option that changes a formula.
func variants() map[string]Config {
	all := map[string]Config{}
	for _, method := range Methods() {
		c := DefaultConfig(method)
		c.Sigma, c.Draws, c.Batch, c.Lambda = 0.4, 3, 12, 1.7
		c.AttackEps, c.Penalty, c.Eta = 0.5, 0.3, 2
		if c.Beta > 0 {
			c.Beta, c.Gamma, c.Gamma1, c.Gamma2, c.Lambda2 = 2, 3, 2, 3, 0.6
		}
		for _, nll := range []string{"per-draw", "mean-softmax"} {
			c.NLL = nll
			all[method+" "+nll] = c
		}
		if method == MarginCS {
			c.MaskMisclassified = true
			all["margin-cs masked"] = c
			c.Pair = "sum"
			all["margin-cs masked sum"] = c
			c.MaskMisclassified = false
			all["margin-cs sum"] = c
		}
	}
	return all
}

// Every objective has the value of the slow one, written from the formulas in
// float64, and the gradient of its finite differences.
func TestObjectives(t *testing.T) {
	backend := openCPU(t).Backend()
	costs := mustCost(t, "1->0:1,2:2.5;3->*")
	for name, c := range variants() {
		for seed := range uint64(2) {
			t.Run(fmt.Sprint(name, seed), func(t *testing.T) {
				p := newProblem(t, c, 10+seed, costs, 0.8)
				if c.attacks() {
					p.slow.attack(p.theta)
				}
				p.slow.freeze(p.theta)
				value, grad := p.evaluate(t, backend)
				want := p.slow.value(p.theta)
				if math.Abs(value-want) > 1e-5*(1+math.Abs(want)) {
					t.Errorf("value %.7f, the formulas give %.7f", value, want)
				}
				for i, g := range differences(p.slow.value, p.theta) {
					if math.Abs(float64(grad[i])-g) > 3e-5*(1+math.Abs(g)) {
						t.Errorf("gradient %d is %.6f, finite differences give %.6f", i, grad[i], g)
					}
				}
			})
		}
	}
}

// The adversary's steps are those of the formulas, each from where the last
// one led.
func TestAttack(t *testing.T) {
	backend := openCPU(t).Backend()
	for name, c := range variants() {
		if !c.attacks() {
			continue
		}
		p := newProblem(t, c, 3, mustCost(t, "3->*"), 0.8)
		for step := range 3 {
			out := p.build(t, backend, func(_ map[string]*Node, b *batch) []*Node { return []*Node{b.attack()} })
			p.slow.attack(p.theta)
			for i, want := range rows(p.slow.push) {
				if d := math.Abs(float64(out[0][i] - want)); d > 1e-4 {
					t.Fatalf("%s, step %d: move %d is %g, the formulas give %g", name, step, i, out[0][i], want)
				}
			}
		}
	}
}

// With lambda 1 the -cs methods are their parents; with no costs Margin-CS is
// MACER with lambda1 and gamma1, as its equation says.
func TestReductions(t *testing.T) {
	backend := openCPU(t).Backend()
	costs := mustCost(t, "1->0:1,2:2.5;3->*")
	same := func(name string, a, b *problem) {
		t.Helper()
		va, ga := a.evaluate(t, backend)
		vb, gb := b.evaluate(t, backend)
		if va != vb {
			t.Errorf("%s: %g and %g", name, va, vb)
		}
		for i := range ga {
			if math.Abs(float64(ga[i]-gb[i])) > 1e-6 {
				t.Errorf("%s: gradients %g and %g", name, ga[i], gb[i])
			}
		}
	}
	for child, parent := range map[string]string{GaussianCS: Gaussian, SmoothAdvCS: SmoothAdv, SmoothMixCS: SmoothMix} {
		c := variants()[child+" per-draw"]
		c.Lambda = 1
		a := newProblem(t, c, 5, costs, 0.8)
		c.Method = parent
		b := newProblem(t, c, 5, nil, 0.8)
		same(child, a, b)
	}
	c := variants()["margin-cs mean-softmax"]
	m := c
	m.Method, m.Lambda, m.Gamma = MACER, c.Lambda1, c.Gamma1
	same("margin-cs without costs", newProblem(t, c, 5, nil, 0.8), newProblem(t, m, 5, costs, 0.8))
}

// Where the sharpened softmax is 0 or 1 to the last bit, values and gradients
// stay finite: what cannot be known adds nothing.
func TestSaturatedProbabilities(t *testing.T) {
	backend := openCPU(t).Backend()
	for _, method := range []string{MACER, MarginCS} {
		c := variants()[method+" per-draw"]
		c.Beta = 5000
		p := newProblem(t, c, 8, mustCost(t, "0->*;1->*"), 2)
		value, grad := p.evaluate(t, backend)
		want := p.slow.value(p.theta)
		if math.Abs(value-want) > 1e-4*(1+want) {
			t.Errorf("%s: value %g, want %g", method, value, want)
		}
		for i, g := range grad {
			if math.IsNaN(float64(g)) || math.IsInf(float64(g), 0) {
				t.Fatalf("%s: gradient %d is %g", method, i, g)
			}
		}
	}
}

// The quantile is the normal one to a few units of float32 over its domain,
// and so is its slope.
func TestQuantile(t *testing.T) {
	backend := openCPU(t).Backend()
	var ps []float32
	for x := -13.8; x <= 0; x += 0.01 {
		q := math.Exp(x) / 2
		if q >= tiny {
			ps = append(ps, float32(q), float32(1-q))
		}
	}
	prog, err := compile(backend, "quantile", []input{{name: "p", shape: shapes.Make(dtypes.Float32, len(ps))}}, func(in map[string]*Node) []*Node {
		z := quantile(in["p"])
		return []*Node{z, Gradient(ReduceAllSum(z), in["p"])[0]}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer prog.close()
	v, err := upload(backend, ps, len(ps))
	if err != nil {
		t.Fatal(err)
	}
	out, err := prog.run(map[string]*tensors.Tensor{"p": v})
	if err != nil {
		t.Fatal(err)
	}
	z, slope := make([]float32, len(ps)), make([]float32, len(ps))
	if err := download(backend, out[0], z); err != nil {
		t.Fatal(err)
	}
	if err := download(backend, out[1], slope); err != nil {
		t.Fatal(err)
	}
	for i, p := range ps {
		want := slowQuantile(float64(p))
		density := math.Exp(-want*want/2) / math.Sqrt(2*math.Pi)
		if math.Abs(float64(z[i])-want) > 2e-6*(1+math.Abs(want)) {
			t.Errorf("quantile(%g) = %g, want %g", p, z[i], want)
		}
		if math.Abs(float64(slope[i])*density-1) > 2e-5 {
			t.Errorf("slope at %g is %g, want %g", p, slope[i], 1/density)
		}
	}
}
