package train

import (
	"math"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/core/tensors"

	"lorica/cost"
	"lorica/engine"
	"lorica/model"
)

// Held is what the running estimate is made on.
type Held struct {
	*Data
	// Spread is the number of examples, from the first, that stand for all
	// classes: accuracy is theirs. Robustness is that of all sensitive ones.
	Spread int
	Eps    float64 // the radius that robustness is stated at
	Draws  int     // noisy copies an example
}

// Estimate is a cheap look at the smoothed classifier. It proves nothing: the
// probabilities are shares of a few draws, not bounds.
type Estimate struct {
	Acc     float64 `json:"acc"`
	RobCS   float64 `json:"rob_cs"`
	RobCost float64 `json:"rob_cost"`
}

// monitor counts the answers of the classifier as it is deployed (running
// statistics) on held examples.
type monitor struct {
	held   Held
	costs  *cost.Matrix
	sigma  float64
	k      int
	rows   int // examples an execution
	p      *program
	pixels *tensors.Tensor
}

// newMonitor compiles it. The noise is the same at every look, so that two
// looks differ by the weights alone.
func newMonitor(e *engine.Engine, s *stepper, held Held) (m *monitor, err error) {
	size, k := s.net.Image().Size(), s.net.Classes()
	m = &monitor{held: held, costs: s.costs, sigma: s.Sigma, k: k}
	budget := 8192
	if e.Host() {
		budget = 128
	}
	m.rows = min(held.Len(), max(1, budget/held.Draws))
	inputs := []input{
		{"theta", shapes.Make(dtypes.Float32, s.learned.size), false},
		{"stats", shapes.Make(dtypes.Float32, max(s.fixed.size, 1)), false},
		{"place", shapes.Make(dtypes.Uint32, 3), false}, // first example, key
		{"pixels", shapes.Make(dtypes.Uint8, held.Len(), size), false},
	}
	m.p, err = compile(e.Backend(), "monitor", inputs, func(in map[string]*Node) []*Node {
		g := in["place"].Graph()
		n, d := m.rows, held.Draws
		first := Min(word(in["place"], 0), Const(g, uint32(held.Len()-1)))
		examples := Min(Add(Iota(g, shapes.Make(dtypes.Uint32, n), 0), first), Const(g, uint32(held.Len()-1)))
		images := toUnit(Gather(in["pixels"], Reshape(ConvertDType(examples, dtypes.Int32), n, 1)))
		row := func(v *Node) *Node { return Reshape(BroadcastToDims(Reshape(v, n, 1), n, d), n*d) }
		same := func(v *Node) *Node { return BroadcastToDims(v, n*d) }
		index := Reshape(Iota(g, shapes.Make(dtypes.Uint32, n, d), 1), n*d)
		ids := engine.DrawIDs(index, row(examples), same(Const(g, uint32(phaseMonitor))), same(word(in["place"], 1)), same(word(in["place"], 2)))
		x := Reshape(BroadcastToDims(Reshape(images, n, 1, size), n, d, size), n*d, size)
		x = Add(x, MulScalar(engine.Noise(ids, size), s.Sigma))
		values := s.learned.split(in["theta"])
		for name, v := range s.fixed.split(in["stats"]) {
			values[name] = v
		}
		shape := s.net.Image()
		z := s.net.ForwardWith(model.Params{Value: func(name string) *Node { return values[name] }},
			Reshape(x, n*d, shape.C, shape.H, shape.W), false, s.how)
		top := BroadcastToDims(ReduceAndKeep(z, ReduceMax, 1), n*d, k)
		hits := ConvertDType(GreaterOrEqual(z, top), dtypes.Float32)
		return []*Node{ReduceSum(Reshape(hits, n, d, k), 1)}
	})
	if err != nil {
		return nil, err
	}
	m.pixels, err = upload(e.Backend(), held.Pixels, held.Len(), size)
	return m, err
}

// look estimates the classifier with the given weights.
func (m *monitor) look(theta, stats *tensors.Tensor, key [2]uint32) (Estimate, error) {
	counts := make([]float32, 0, m.held.Len()*m.k)
	part := make([]float32, m.rows*m.k)
	for first := 0; first < m.held.Len(); first += m.rows {
		place, err := upload(m.p.backend, []uint32{uint32(first), key[0], key[1]}, 3)
		if err != nil {
			return Estimate{}, err
		}
		out, err := m.p.run(map[string]*tensors.Tensor{"theta": theta, "stats": stats, "place": place, "pixels": m.pixels})
		if err != nil {
			return Estimate{}, err
		}
		if err := download(m.p.backend, out[0], part); err != nil {
			return Estimate{}, err
		}
		for _, t := range []*tensors.Tensor{place, out[0]} {
			if err := t.FinalizeAll(); err != nil {
				return Estimate{}, err
			}
		}
		counts = append(counts, part[:min(m.rows, m.held.Len()-first)*m.k]...)
	}
	return m.estimate(counts), nil
}

// estimate reads class counts, one row an example.
func (m *monitor) estimate(counts []float32) Estimate {
	var e Estimate
	sensitive := 0
	for i, label := range m.held.Labels {
		y, row := int(label), counts[i*m.k:(i+1)*m.k]
		top := 0
		for k, c := range row {
			if c > row[top] {
				top = k
			}
		}
		if i < m.held.Spread && top == y {
			e.Acc++
		}
		if m.costs == nil || !m.costs.Sensitive(y) {
			continue
		}
		sensitive++
		z := func(k int) float64 {
			return math.Sqrt2 * math.Erfinv(2*(float64(row[k])+0.5)/(float64(m.held.Draws)+1)-1)
		}
		least := math.Inf(1)
		for _, j := range m.costs.Omega(y) {
			r := m.sigma / 2 * (z(y) - z(j))
			least = min(least, r)
			if top != y || r <= m.held.Eps {
				e.RobCost += m.costs.At(y, j)
			}
		}
		if top == y && least > m.held.Eps {
			e.RobCS++
		}
	}
	e.Acc /= float64(max(m.held.Spread, 1))
	e.RobCS /= float64(max(sensitive, 1))
	e.RobCost /= float64(max(sensitive, 1))
	return e
}

func (m *monitor) close() {
	if m != nil {
		m.p.close()
	}
}
