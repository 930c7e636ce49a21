package cluster

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"lorica/counts"
	"lorica/draw"
	"lorica/smooth"
)

// linear is a real classifier: class 1 where the noisy values sum to more than
// half their number.
type linear struct {
	sigma  float64
	batch  int
	before func(ctx context.Context, jobs []draw.Job) error // may be nil
}

func (l *linear) Classes() int { return 3 }
func (l *linear) Batch() int   { return l.batch }

func (l *linear) Sample(ctx context.Context, jobs []draw.Job) ([]draw.Tally, error) {
	if l.before != nil {
		if err := l.before(ctx, jobs); err != nil {
			return nil, err
		}
	}
	out := make([]draw.Tally, len(jobs))
	for j, job := range jobs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		out[j].Counts = make([]int64, 3)
		z := make([]float32, len(job.Image))
		for i := range job.Chunk.Count {
			draw.Noise(z, job.Chunk.Seed, job.Chunk.Phase, job.Chunk.Example, job.Chunk.First+int64(i))
			s := -0.5 * float64(len(z))
			for k, x := range job.Image {
				s += float64(x) + l.sigma*float64(z[k])
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

// ramp is a data set in which image i is a shade of grey.
type ramp struct{ n, pixels int }

func (r ramp) Label(i int) int { return i % 3 }
func (r ramp) Image(i int, dst []float32) ([]float32, error) {
	dst = slices.Grow(dst[:0], r.pixels)[:r.pixels]
	for k := range dst {
		dst[k] = float32(i) / float32(r.n)
	}
	return dst, nil
}

func all(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

var (
	testModel = []byte("a model")
	testSpec  = Spec{Version: "test", Name: "run", Engine: "linear", Sigma: 0.5, Classes: 3, Image: [3]int{1, 2, 3}, Chunk: 50}
	testTask  = smooth.Config{Sigma: 0.5, N0: 20, N: 400, Seed: 3, Chunk: 50}
	quick     = Timing{Lease: 600 * time.Millisecond, Beat: 100 * time.Millisecond, Patience: 20 * time.Second}
)

// buildLinear is the builder of an honest worker.
func buildLinear(before func(context.Context, []draw.Job) error) Builder {
	return func(_ context.Context, spec Spec, model []byte) (draw.Sampler, string, error) {
		if string(model) != string(testModel) {
			return nil, "", fmt.Errorf("got model %q", model)
		}
		return &linear{sigma: spec.Sigma, batch: 32, before: before}, "linear", nil
	}
}

func embed(t testing.TB) *Server {
	t.Helper()
	s, err := Embed("", Access{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func open(t testing.TB, s *Server, spec Spec, timing Timing) *Coordinator {
	t.Helper()
	nc, err := s.Connect("coordinator")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	c, err := Open(context.Background(), nc, spec, testModel, Options{Timing: timing, Memory: true, Log: func(s string) { t.Log("coordinator:", s) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// join starts a worker and returns what ends it and its error.
func join(t testing.TB, s *Server, w Worker) (kill func(), ended <-chan error) {
	t.Helper()
	nc, err := s.Connect(w.Name)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	if w.Version == "" {
		w.Version = "test"
	}
	if w.Log == nil {
		w.Log = func(s string) { t.Log(w.Name+":", s) }
	}
	gone := make(chan struct{})
	go func() {
		done <- w.Run(ctx, nc)
		close(gone)
	}()
	t.Cleanup(func() { cancel(); <-gone; nc.Close() })
	return cancel, done
}

// sample runs the loop on a sampler and returns the records by index.
func sample(t testing.TB, s draw.Sampler, n int, cfg smooth.Config, rule smooth.Rule) ([]counts.Record, error) {
	t.Helper()
	var recs []counts.Record
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	task := smooth.Task{Sampler: s, Source: ramp{n, testSpec.Pixels()}, Examples: all(n), Config: cfg, Rule: rule,
		Emit: func(r counts.Record) error { recs = append(recs, r); return nil }}
	if c, ok := s.(*Coordinator); ok {
		task.InFlight, task.Watch = c.InFlight, c.Watch
	}
	err := smooth.Run(ctx, task)
	slices.SortFunc(recs, func(a, b counts.Record) int { return a.Index - b.Index })
	return recs, err
}

func direct(t testing.TB, n int, rule smooth.Rule) []counts.Record {
	t.Helper()
	recs, err := sample(t, &linear{sigma: 0.5, batch: 32}, n, testTask, rule)
	if err != nil {
		t.Fatal(err)
	}
	return recs
}

// untilSeen is an adaptive rule.
type untilSeen int64

func (n untilSeen) More(r *counts.Record) int64 {
	if r.Count[1] >= int64(n) {
		return 0
	}
	return 37
}

func TestManyWorkersCountWhatOneMachineCounts(t *testing.T) {
	const n = 40
	for name, rule := range map[string]smooth.Rule{"fixed": smooth.Fixed(testTask.N), "adaptive": untilSeen(50)} {
		t.Run(name, func(t *testing.T) {
			want := direct(t, n, rule)
			s := embed(t)
			c := open(t, s, testSpec, quick)
			for i := range 4 {
				join(t, s, Worker{Name: fmt.Sprint("w", i), Build: buildLinear(nil)})
			}
			got, err := sample(t, c, n, testTask, rule)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("%d records, %v", len(got), err)
			}
			st := c.Stats()
			if st.Examples != n || st.DrawsDone != st.OfDraws || st.Draws != st.DrawsDone || st.Open != 0 || !slices.Equal(st.Engines, []string{"linear"}) {
				t.Errorf("%+v", st)
			}
		})
	}
}

// Workers die, are paused beyond their lease and leave, while others join: the
// records stay the same.
func TestFaultsChangeNothing(t *testing.T) {
	const n = 60
	want := direct(t, n, smooth.Fixed(testTask.N))
	s := embed(t)
	c := open(t, s, testSpec, quick)

	var paused atomic.Bool
	join(t, s, Worker{Name: "slow", Build: buildLinear(func(context.Context, []draw.Job) error {
		if paused.CompareAndSwap(false, true) {
			time.Sleep(3 * quick.Lease) // with its leases renewed
		}
		return nil
	})})
	var failures atomic.Int32
	join(t, s, Worker{Name: "flaky", Build: buildLinear(func(context.Context, []draw.Job) error {
		if failures.Add(1)%7 == 0 {
			panic("device lost")
		}
		return nil
	})})
	// This one takes chunks and is cut off before it answers.
	var cut func()
	hold := make(chan struct{})
	cut, _ = join(t, s, Worker{Name: "cut off", Build: buildLinear(func(ctx context.Context, _ []draw.Job) error {
		close(hold)
		<-ctx.Done()
		return ctx.Err()
	})})
	go func() {
		<-hold
		cut()
		join(t, s, Worker{Name: "late", Build: buildLinear(nil)})
	}()
	got, err := sample(t, c, n, testTask, nil)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%d records, %v", len(got), err)
	}
}

func TestPoisonedChunkIsReported(t *testing.T) {
	s := embed(t)
	timing := quick
	timing.Deliveries = 3
	c := open(t, s, testSpec, timing)
	for i := range 3 {
		join(t, s, Worker{Name: fmt.Sprint("w", i), Build: buildLinear(func(_ context.Context, jobs []draw.Job) error {
			for _, j := range jobs {
				if j.Chunk.Example == 7 && j.Chunk.Phase == draw.Estimate && j.Chunk.First == 100 {
					return errors.New("illegal instruction")
				}
			}
			return nil
		})})
	}
	_, err := sample(t, c, 20, testTask, nil)
	if err == nil || !strings.Contains(err.Error(), "example 7, draws 100 to 149: given up after 3 deliveries") || !strings.Contains(err.Error(), "illegal instruction") {
		t.Fatalf("the poisoned chunk gave: %v", err)
	}
}
