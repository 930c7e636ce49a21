package smooth

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"lorica/counts"
	"lorica/draw"
)

// linear is a real classifier with a known truth: class 1 where w·x > b. Under
// noise of level sigma its class 1 has probability Phi((w·x - b) / (sigma |w|)).
type linear struct {
	w     []float32
	b     float64
	sigma float64
	batch int
	calls atomic.Int64
	fail  func(call int64) error // may be nil
	nan   func(j draw.Job) bool  // may be nil
}

func (l *linear) Classes() int { return 2 }
func (l *linear) Batch() int   { return l.batch }

func (l *linear) Sample(ctx context.Context, jobs []draw.Job) ([]draw.Tally, error) {
	if call := l.calls.Add(1); l.fail != nil {
		if err := l.fail(call); err != nil {
			return nil, err
		}
	}
	z := make([]float32, len(l.w))
	out := make([]draw.Tally, len(jobs))
	for j, job := range jobs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		out[j].Counts = make([]int64, 2)
		for i := range job.Chunk.Count {
			if l.nan != nil && l.nan(job) {
				out[j].Invalid++
				continue
			}
			draw.Noise(z, job.Chunk.Seed, job.Chunk.Phase, job.Chunk.Example, job.Chunk.First+int64(i))
			s := -l.b
			for k, w := range l.w {
				s += float64(w) * (float64(job.Image[k]) + l.sigma*float64(z[k]))
			}
			if s > 0 {
				out[j].Counts[1]++
			} else {
				out[j].Counts[0]++
			}
		}
	}
	return out, nil
}

// points is a data set of random points.
type points [][]float32

func (p points) Label(i int) int { return i % 2 }
func (p points) Image(i int, dst []float32) ([]float32, error) {
	if i >= len(p) {
		return nil, fmt.Errorf("no image %d", i)
	}
	return append(dst[:0], p[i]...), nil
}

func problem(n, dim int) (*linear, points, []int) {
	rng := rand.New(rand.NewPCG(1, 2))
	l := &linear{w: make([]float32, dim), sigma: 0.5, batch: 64}
	for k := range l.w {
		l.w[k] = float32(rng.NormFloat64())
	}
	data := make(points, n)
	all := make([]int, n)
	for i := range data {
		data[i] = make([]float32, dim)
		for k := range data[i] {
			data[i][k] = rng.Float32()
		}
		all[i] = i
	}
	l.b = 0.25
	return l, data, all
}

// collect runs and returns the records by index.
func collect(t *testing.T, l *linear, data points, plan []int, cfg Config, rule Rule) []counts.Record {
	t.Helper()
	var recs []counts.Record
	err := Run(context.Background(), Task{Sampler: l, Source: data, Examples: plan, Config: cfg, Rule: rule,
		Emit: func(r counts.Record) error { recs = append(recs, r); return nil }})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(recs, func(a, b counts.Record) int { return a.Index - b.Index })
	return recs
}

func drop(counts.Record) error { return nil }

var small = Config{Sigma: 0.5, N0: 20, N: 500, Seed: 9, Chunk: 64}

func TestRecordsDoNotDependOnHowTheyWereMade(t *testing.T) {
	l, data, all := problem(30, 5)
	want := collect(t, l, data, all, small, Fixed(small.N))
	for i, r := range want {
		if r.Index != i || r.Label != i%2 || r.N != 500 || r.Select[0]+r.Select[1] != 20 || r.Count[0]+r.Count[1] != 500 {
			t.Fatalf("record %d is %+v", i, r)
		}
	}
	for _, batch := range []int{1, 7, 1000, 100_000} {
		for _, chunk := range []int{1, 33, 500, 5000} {
			l.batch = batch
			cfg := small
			cfg.Chunk = chunk
			if got := collect(t, l, data, all, cfg, Fixed(cfg.N)); !reflect.DeepEqual(got, want) {
				t.Errorf("batch %d, chunk %d: other records", batch, chunk)
			}
		}
	}
	// A part of the plan gives that part of the records: what a resumed run does.
	if got := collect(t, l, data, all[13:21], small, Fixed(small.N)); !reflect.DeepEqual(got, want[13:21]) {
		t.Error("a part of the plan gave other records")
	}
	other := small
	other.Seed++
	if got := collect(t, l, data, all, other, Fixed(other.N)); reflect.DeepEqual(got, want) {
		t.Error("another seed gave the same records")
	}
}

// The counts are binomial with the probability that the closed form gives.
func TestCountsMatchTheClosedForm(t *testing.T) {
	l, data, all := problem(60, 5)
	cfg := small
	cfg.N = 4000
	norm := 0.0
	for _, w := range l.w {
		norm += float64(w) * float64(w)
	}
	chi2 := 0.0
	for i, r := range collect(t, l, data, all, cfg, Fixed(cfg.N)) {
		s := -l.b
		for k, w := range l.w {
			s += float64(w) * float64(data[i][k])
		}
		p := 0.5 * math.Erfc(-s/(l.sigma*math.Sqrt(norm))/math.Sqrt2)
		d := float64(r.Count[1]) - p*float64(cfg.N)
		chi2 += d * d / (float64(cfg.N) * p * (1 - p))
	}
	// 60 degrees of freedom: mean 60, deviation 11; beyond 110 has probability 1e-4.
	if chi2 > 110 || chi2 < 25 {
		t.Errorf("chi-square is %.1f with 60 degrees of freedom", chi2)
	}
}

// untilSeen adds stages until class 1 was seen a number of times.
type untilSeen int64

func (n untilSeen) More(r *counts.Record) int64 {
	if r.Count[1] >= int64(n) {
		return 0
	}
	return 37
}

func TestRuleStopsExamplesOneByOne(t *testing.T) {
	l, data, all := problem(40, 5)
	want := collect(t, l, data, all, small, untilSeen(50))
	stops := map[int64]bool{}
	for _, r := range want {
		stops[r.N] = true
		if r.N != small.N && (r.Count[1] < 50 || r.N%37 != 0) {
			t.Errorf("example %d stopped at %d with %d", r.Index, r.N, r.Count[1])
		}
	}
	if len(stops) < 3 {
		t.Errorf("the rule stopped everywhere at %v", stops)
	}
	l.batch = 3
	if got := collect(t, l, data, all, small, untilSeen(50)); !reflect.DeepEqual(got, want) {
		t.Error("another batch size gave other records")
	}
}

func TestProgressAddsUp(t *testing.T) {
	l, data, all := problem(10, 5)
	var last Progress
	err := Run(context.Background(), Task{Sampler: l, Source: data, Examples: all, Config: small, Rule: untilSeen(50), Emit: drop, Watch: func(p Progress) {
		if p.Draws < last.Draws || p.Examples < last.Examples || p.Draws > p.OfDraws {
			t.Errorf("%+v after %+v", p, last)
		}
		last = p
	}})
	if err != nil || last.Examples != 10 || last.Draws != last.OfDraws {
		t.Errorf("ended at %+v, %v", last, err)
	}
}

func TestFailuresKeepWhatIsFinished(t *testing.T) {
	broken := errors.New("device lost")
	l, data, all := problem(30, 5)
	l.batch = 16
	want := collect(t, l, data, all, small, Fixed(small.N))

	ctx, cancel := context.WithCancel(context.Background())
	for name, test := range map[string]struct {
		ctx  context.Context
		at60 func() error // what happens in the sampler's sixtieth call
		want error
	}{
		"sampler":      {context.Background(), func() error { return broken }, broken},
		"cancellation": {ctx, func() error { cancel(); return nil }, context.Canceled},
	} {
		l.calls.Store(0)
		l.fail = func(call int64) error {
			if call == 60 {
				return test.at60()
			}
			return nil
		}
		var got []counts.Record
		err := Run(test.ctx, Task{Sampler: l, Source: data, Examples: all, Config: small,
			Emit: func(r counts.Record) error { got = append(got, r); return nil }})
		if !errors.Is(err, test.want) {
			t.Errorf("%s: error %v, want %v", name, err, test.want)
		}
		if len(got) == 0 || len(got) == len(all) {
			t.Errorf("%s: %d of %d records were kept", name, len(got), len(all))
		}
		for _, r := range got {
			if !reflect.DeepEqual(r, want[r.Index]) {
				t.Errorf("%s: record %d differs", name, r.Index)
			}
		}
	}

	l.fail = nil
	full := errors.New("disk full")
	if err := Run(context.Background(), Task{Sampler: l, Source: data, Examples: all, Config: small, Emit: func(counts.Record) error { return full }}); !errors.Is(err, full) {
		t.Errorf("emit's error was lost: %v", err)
	}
	if err := Run(context.Background(), Task{Sampler: l, Source: data, Examples: []int{0, 99}, Config: small, Emit: drop}); err == nil || !strings.Contains(err.Error(), "99") {
		t.Errorf("the image's error was lost: %v", err)
	}
}

func TestInvalidDraws(t *testing.T) {
	l, data, all := problem(3, 5)
	var n atomic.Int64
	l.nan = func(j draw.Job) bool { return n.Add(1)%10 == 0 }
	l.batch = 1
	for _, r := range collect(t, l, data, all, small, Fixed(small.N)) {
		if r.Invalid == 0 || r.Count[0]+r.Count[1]+r.Invalid != small.N || r.Select[0]+r.Select[1]+r.InvalidSelect != small.N0 {
			t.Errorf("%+v", r)
		}
	}
	l.nan = func(j draw.Job) bool { return j.Chunk.Example == 1 }
	err := Run(context.Background(), Task{Sampler: l, Source: data, Examples: all, Config: small, Emit: drop})
	if err == nil || !strings.Contains(err.Error(), "example 1") || !strings.Contains(err.Error(), "NaN") {
		t.Errorf("a model that gives NaN: %v", err)
	}
}

func TestPlan(t *testing.T) {
	label := func(i int) int { return i % 10 }
	for _, test := range []struct {
		sel  Selection
		want []int
		err  string
	}{
		{sel: Selection{Skip: 20}, want: []int{0, 20, 40}},
		{sel: Selection{Skip: 20, Max: 2}, want: []int{0, 20}},
		{sel: Selection{Indices: []int{7, 3, 7}}, want: []int{3, 7}},
		{sel: Selection{Only: func(l int) bool { return l == 3 }, Max: 3}, want: []int{3, 13, 23}},
		{sel: Selection{Indices: []int{50}}, err: "index 50"},
		{sel: Selection{Skip: -1}, err: "skip"},
		{sel: Selection{Only: func(int) bool { return false }}, err: "no example"},
	} {
		got, err := test.sel.Plan(50, label)
		if test.err != "" {
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("%+v: error %v, want %q", test.sel, err, test.err)
			}
		} else if err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%+v: %v, %v, want %v", test.sel, got, err, test.want)
		}
	}
	if got, _ := (Selection{}).Plan(50, label); len(got) != 50 {
		t.Errorf("everything is %d of 50", len(got))
	}
}

func TestConfigIsChecked(t *testing.T) {
	for field, spoil := range map[string]func(*Config){
		"sigma": func(c *Config) { c.Sigma = math.NaN() }, "n0": func(c *Config) { c.N0 = 0 },
		"n is": func(c *Config) { c.N = 1e12 }, "chunk": func(c *Config) { c.Chunk = 0 },
	} {
		c := DefaultConfig()
		spoil(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
	if err := DefaultConfig().Validate(); err != nil {
		t.Error(err)
	}
}
