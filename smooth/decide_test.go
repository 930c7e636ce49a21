package smooth

import (
	"context"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"lorica/bound"
	"lorica/certify"
	"lorica/cost"
	"lorica/counts"
	"lorica/draw"
)

func decideRule(t testing.TB, alpha float64, n int64, eps []float64, tolerance float64) *Decide {
	t.Helper()
	c, err := cost.ParseExpr("0->1;1->0", 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	looks := DefaultSchedule(n)
	d, err := NewDecide(certify.Params{Sigma: 0.5, Alpha: alpha, Cost: c, Schedule: &looks}, "strict", eps, tolerance)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// trueRadius is the distance to the plane: the closed form.
func (l *linear) trueRadius(x []float32) float64 {
	s, norm := -l.b, 0.0
	for k, w := range l.w {
		s += float64(w) * float64(x[k])
		norm += float64(w) * float64(w)
	}
	return math.Abs(s) / math.Sqrt(norm)
}

// A linear classifier's radii are known: certificates of an adaptive run must
// not claim more, but for a share alpha, and must answer as all draws would.
func TestDecideAgainstTheClosedForm(t *testing.T) {
	l, data, all := problem(400, 5)
	l.batch = 500
	cfg := Config{Sigma: 0.5, N0: 30, N: 20_000, Seed: 3, Chunk: 500}
	const alpha, eps = 0.1, 0.25
	rule := decideRule(t, alpha, cfg.N, []float64{eps}, 0)
	var draws, falseProofs, wrong, proved int64
	for _, r := range collect(t, l, data, all, cfg, rule) {
		draws += r.N
		res, err := certify.FromCounts(r, rule.params)
		if err != nil {
			t.Fatal(err)
		}
		truth := l.trueRadius(data[r.Index])
		if res.RStd > truth || res.RGroup > truth {
			falseProofs++
		}
		if res.Correct() && res.RStd > eps {
			proved++
		}
		// Far from eps the answer must be the true one.
		if res.Correct() && math.Abs(truth-eps) > 0.03 && (res.RStd > eps) != (truth > eps) {
			wrong++
		}
	}
	if bound.Lower(falseProofs, 400, 1e-6) > alpha {
		t.Errorf("%d of 400 certificates claim too much at alpha %v", falseProofs, alpha)
	}
	if wrong > 8 || proved < 40 {
		t.Errorf("%d answers are wrong, %d are proofs", wrong, proved)
	}
	if draws > 400*cfg.N/10 {
		t.Errorf("%d draws an example of %d", draws/400, cfg.N)
	}
}

func TestDecideDoesNotDependOnHowRecordsAreMade(t *testing.T) {
	l, data, all := problem(60, 5)
	cfg := Config{Sigma: 0.5, N0: 20, N: 3000, Seed: 4, Chunk: 64}
	rule := decideRule(t, 0.001, cfg.N, []float64{0.25, 0.5}, 0)
	want := collect(t, l, data, all, cfg, rule)
	stages := map[string]bool{}
	for _, r := range want {
		stages[string(r.Extra["stage"])] = true
	}
	if len(stages) < 4 {
		t.Errorf("all examples stopped at the stages %v", stages)
	}
	for _, batch := range []int{1, 50, 10_000} {
		l.batch = batch
		if got := collect(t, l, data, all, cfg, rule); !reflect.DeepEqual(got, want) {
			t.Errorf("batch %d: other records", batch)
		}
	}
	// A resumed run makes the rest.
	if got := collect(t, l, data, all[17:], cfg, rule); !reflect.DeepEqual(got, want[17:]) {
		t.Error("a part of the plan gave other records")
	}
}

// With a tolerance the radius is close to what all draws prove, at the same
// levels; without luck it may miss by a little more.
func TestTolerance(t *testing.T) {
	l, data, all := problem(60, 5)
	l.batch = 500
	cfg := Config{Sigma: 0.5, N0: 30, N: 8000, Seed: 5, Chunk: 500}
	const tolerance = 0.05
	rule := decideRule(t, 0.001, cfg.N, nil, tolerance)
	var draws int64
	radii := make([]float64, len(all))
	for _, r := range collect(t, l, data, all, cfg, rule) {
		draws += r.N
		res, err := certify.FromCounts(r, rule.params)
		if err != nil {
			t.Fatal(err)
		}
		radii[r.Index] = res.RStd
	}
	if draws > 60*cfg.N/3 {
		t.Errorf("%d draws an example of %d", draws/60, cfg.N)
	}
	missed, compared := 0, 0
	p := rule.params
	p.Alpha, p.Schedule = p.Schedule.Level(cfg.N, p.Alpha), nil // all draws, at the last look's level
	for _, r := range collect(t, l, data, all, cfg, nil) {
		res, err := certify.FromCounts(r, p)
		if err != nil {
			t.Fatal(err)
		}
		if res.Correct() {
			compared++
			if res.RStd-radii[r.Index] > tolerance {
				missed++
			}
		}
	}
	if compared < 20 || missed > compared/10 {
		t.Errorf("%d of %d radii are further than %v from what all draws prove", missed, compared, tolerance)
	}
}

// Under strict counting a wrong prediction has nothing to prove, under harmless
// counting its claims about classes that it did not predict have.
func TestDecideKnowsWhatCounts(t *testing.T) {
	c, err := cost.ParseExpr("0->2", 3, nil)
	if err != nil {
		t.Fatal(err)
	}
	looks := DefaultSchedule(10_000)
	p := certify.Params{Sigma: 0.5, Alpha: 0.001, Cost: c, Schedule: &looks}
	n := looks.Looks[0]
	open := counts.Record{Label: 0, N: n, Select: []int64{0, 20, 0}, Count: []int64{n / 10, n - n/10 - 1, 1}}
	for count, want := range map[string]bool{"strict": false, "harmless": true} {
		d, err := NewDecide(p, count, []float64{0.5}, 0)
		if err != nil {
			t.Fatal(err)
		}
		if more := d.More(&open) > 0; more != want {
			t.Errorf("%s: a wrong prediction gets more draws: %v", count, more)
		}
		hit := open
		hit.Select = []int64{0, 0, 20} // predicts the costly class
		if d.More(&hit) > 0 {
			t.Errorf("%s: a costly prediction gets more draws", count)
		}
		fresh := counts.Record{Label: 0, Select: open.Select, Count: make([]int64, 3)}
		if d.More(&fresh) != n {
			t.Errorf("%s: the first look is at %d", count, d.More(&fresh))
		}
	}
	for want, f := range map[string]func() error{
		"schedule":  func() error { q := p; q.Schedule = nil; _, err := NewDecide(q, "strict", []float64{1}, 0); return err },
		"counting":  func() error { _, err := NewDecide(p, "kind", []float64{1}, 0); return err },
		"nothing":   func() error { _, err := NewDecide(p, "strict", nil, 0); return err },
		"eps":       func() error { _, err := NewDecide(p, "strict", []float64{math.NaN()}, 0); return err },
		"tolerance": func() error { _, err := NewDecide(p, "strict", nil, -1); return err },
		"alpha":     func() error { q := p; q.Alpha = 2; _, err := NewDecide(q, "strict", []float64{1}, 0); return err },
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", want, err)
		}
	}
}

// filling counts how full the sampler's batches are.
type filling struct {
	*linear
	draws, room int64
}

func (f *filling) Sample(ctx context.Context, jobs []draw.Job) ([]draw.Tally, error) {
	n := int64(0)
	for _, j := range jobs {
		n += int64(j.Chunk.Count)
	}
	b := int64(f.batch)
	f.draws += n
	f.room += (n + b - 1) / b * b
	return f.linear.Sample(ctx, jobs)
}

// As examples finish others take their places: a device that computes whole
// batches wastes less than a fifth of them.
func TestBatchesStayFull(t *testing.T) {
	l, data, all := problem(400, 5)
	l.batch = 256
	cfg := Config{Sigma: 0.5, N0: 30, N: 20_000, Seed: 3, Chunk: 500}
	f := &filling{linear: l}
	err := Run(context.Background(), Task{Sampler: f, Source: data, Examples: all, Config: cfg, Emit: drop,
		Rule: decideRule(t, 0.001, cfg.N, []float64{0.25}, 0), InFlight: func() int { return 1 }})
	if err != nil {
		t.Fatal(err)
	}
	if share := float64(f.draws) / float64(f.room); share < 0.8 {
		t.Errorf("batches are %.0f%% full", 100*share)
	} else {
		t.Logf("batches are %.0f%% full over %d draws", 100*share, f.draws)
	}
}

func TestForecast(t *testing.T) {
	c, err := cost.ParseExpr("0->1", 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	looks := DefaultSchedule(100_000)
	n := looks.Looks[14]
	rec := counts.Record{N: n, Select: []int64{9, 1}, Count: []int64{n - n/10 - 10, n / 10}, Invalid: 10}
	o := outlook{rec: &rec, params: certify.Params{Sigma: 0.5, Alpha: 0.001, Cost: c, Schedule: &looks}, prediction: true, pairs: true}
	now, even, lucky := o.radii(o.project(0.05, false, false)), o.best(0.5), o.best(0.05)
	for i := range now {
		// With an even chance the last look does about as well as the
		// frequencies say, with a chance of 5% better.
		if math.Abs(even[i]-now[i]) > 0.01 || lucky[i] < now[i]+0.01 || lucky[i] > now[i]+0.15 {
			t.Errorf("claim %d: %v now, %v even, %v with luck", i, now[i], even[i], lucky[i])
		}
	}
	// Simulate the rest: the radius at the last look exceeds the forecast about
	// as often as it says.
	rng := rand.New(rand.NewPCG(3, 4))
	above := 0
	const runs = 400
	p := float64(rec.Count[0]) / float64(n)
	for range runs {
		truth := p + rng.NormFloat64()*math.Sqrt(p*(1-p)/float64(n))
		k := truth*1e5 + rng.NormFloat64()*math.Sqrt(truth*(1-truth)*(1e5-float64(n)))
		if 0.5*bound.QuantileDown(bound.Lower(int64(k), 100_000, looks.Level(100_000, 0.001))) > lucky[0] {
			above++
		}
	}
	if above < 5 || above > 40 {
		t.Errorf("%d of %d last looks are above the forecast for 5%%", above, runs)
	}
}
