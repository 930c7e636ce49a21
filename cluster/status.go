package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Stats is a snapshot of a run, for people.
type Stats struct {
	Examples   int            `json:"examples"`
	OfExamples int            `json:"of_examples"`
	Draws      int64          `json:"draws"` // by workers of this start
	DrawsDone  int64          `json:"draws_done"`
	OfDraws    int64          `json:"of_draws"`
	Invalid    int64          `json:"invalid"`
	Rate       float64        `json:"rate"`   // draws a second, lately
	Open       int            `json:"open"`   // chunks handed out
	Chunks     int64          `json:"chunks"` // answered
	Rejected   int64          `json:"rejected"`
	Late       int64          `json:"late"` // answers to chunks that had been answered
	Seconds    float64        `json:"seconds"`
	Engines    []string       `json:"engines"` // of every worker so far
	Workers    []WorkerStatus `json:"workers"`
}

// Left is the time that the rest of the run takes at its present rate; false
// while that is unknown.
func (s Stats) Left() (time.Duration, bool) {
	if s.Rate <= 0 || s.OfDraws <= 0 {
		return 0, false
	}
	return time.Duration(float64(s.OfDraws-s.DrawsDone) / s.Rate * float64(time.Second)), true
}

// WorkerStatus describes a worker.
type WorkerStatus struct {
	Name    string  `json:"name"`
	Version string  `json:"version,omitempty"`
	Engine  string  `json:"engine,omitempty"`
	Run     string  `json:"run,omitempty"` // name of the run that it serves
	Draws   int64   `json:"draws"`
	Seconds float64 `json:"seconds"` // since it joined
}

// RunStatus is an open run.
type RunStatus struct {
	Spec  Spec  `json:"spec"`
	Stats Stats `json:"stats"`
}

// Stats returns the run's present state.
func (c *Coordinator) Stats() Stats { return c.desk.stats() }

func (d *desk) stats() Stats {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	s := Stats{
		Examples: d.progress.Examples, OfExamples: d.progress.OfExamples, Draws: d.draws, DrawsDone: d.progress.Draws, OfDraws: d.progress.OfDraws,
		Invalid: d.progress.Invalid, Open: len(d.open), Chunks: d.chunks, Rejected: d.rejected, Late: d.late, Seconds: now.Sub(d.started).Seconds(),
	}
	since := mark{d.started, 0}
	if len(d.history) > 0 {
		since = d.history[0]
	}
	if t := now.Sub(since.at).Seconds(); t > 0 {
		s.Rate = float64(d.draws-since.draws) / t
	}
	for e := range d.engines {
		s.Engines = append(s.Engines, e)
	}
	slices.Sort(s.Engines)
	for _, m := range d.members {
		s.Workers = append(s.Workers, WorkerStatus{Name: m.name, Engine: m.engine, Draws: m.draws, Seconds: now.Sub(m.joined).Seconds()})
	}
	slices.SortFunc(s.Workers, func(a, b WorkerStatus) int { return strings.Compare(a.Name, b.Name) })
	return s
}

// runs lists the open runs of a bucket.
func runs(ctx context.Context, kv jetstream.KeyValue) ([]RunStatus, error) {
	keys, err := kv.Keys(ctx)
	if errors.Is(err, jetstream.ErrNoKeysFound) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	slices.Sort(keys)
	var out []RunStatus
	for _, key := range keys {
		name, ok := strings.CutPrefix(key, specKey(""))
		if !ok {
			continue
		}
		var r RunStatus
		entry, err := kv.Get(ctx, key)
		if err != nil || decode(entry.Value(), maxRequest, &r.Spec) != nil || r.Spec.Validate() != nil {
			continue // it ended just now, or is not ours
		}
		if entry, err := kv.Get(ctx, progressKey(name)); err == nil {
			_ = decode(entry.Value(), maxRequest, &r.Stats) // what cannot be read is shown as nothing
		}
		out = append(out, r)
	}
	return out, nil
}

// Status lists the open runs and all workers, also those that wait for a run.
func Status(ctx context.Context, nc *nats.Conn) ([]RunStatus, []WorkerStatus, error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, nil, err
	}
	var open []RunStatus
	kv, err := js.KeyValue(ctx, bucketRuns)
	if err == nil {
		open, err = runs(ctx, kv)
	} else if errors.Is(err, jetstream.ErrBucketNotFound) {
		err = nil // no run was ever opened here
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading the runs: %w", err)
	}
	inbox := nats.NewInbox()
	sub, err := nc.SubscribeSync(inbox)
	if err != nil {
		return nil, nil, err
	}
	defer sub.Unsubscribe()
	if err := nc.PublishRequest(subjectPing, inbox, nil); err != nil {
		return nil, nil, err
	}
	wait, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	var workers []WorkerStatus
	for len(workers) < maxWorkers {
		m, err := sub.NextMsgWithContext(wait)
		if err != nil {
			break // all that were there have answered, or nobody is
		}
		var w WorkerStatus
		if decode(m.Data, maxRequest, &w) == nil && w.Name != "" {
			w.Name, w.Version, w.Engine, w.Run = clip(w.Name), clip(w.Version), clip(w.Engine), clip(w.Run)
			workers = append(workers, w)
		}
	}
	slices.SortFunc(workers, func(a, b WorkerStatus) int { return strings.Compare(a.Name, b.Name) })
	return open, workers, ctx.Err()
}

// WriteMetrics writes the snapshot in Prometheus' text format.
func (s Stats) WriteMetrics(w io.Writer) error {
	var b strings.Builder
	put := func(kind, name, help string, v float64) {
		fmt.Fprintf(&b, "# HELP lorica_%s %s\n# TYPE lorica_%s %s\nlorica_%s %g\n", name, help, name, kind, name, v)
	}
	put("gauge", "examples", "Examples to be certified.", float64(s.OfExamples))
	put("counter", "examples_done_total", "Examples finished.", float64(s.Examples))
	put("counter", "draws_total", "Noisy draws answered.", float64(s.Draws))
	put("counter", "draws_invalid_total", "Draws whose logits were NaN.", float64(s.Invalid))
	put("gauge", "draws_per_second", "Draws answered a second, lately.", s.Rate)
	put("gauge", "workers", "Workers at work.", float64(len(s.Workers)))
	put("gauge", "chunks_open", "Chunks handed out and not answered.", float64(s.Open))
	put("counter", "chunks_total", "Chunks answered.", float64(s.Chunks))
	put("counter", "rejected_total", "Messages and results that were not taken.", float64(s.Rejected))
	put("counter", "late_total", "Answers to chunks that had been answered.", float64(s.Late))
	fmt.Fprint(&b, "# HELP lorica_worker_draws_total Draws answered by a worker.\n# TYPE lorica_worker_draws_total counter\n")
	for i := 0; i < len(s.Workers); {
		m := s.Workers[i]
		for i++; i < len(s.Workers) && s.Workers[i].Name == m.Name; i++ {
			m.Draws += s.Workers[i].Draws // a name is one series
		}
		fmt.Fprintf(&b, "lorica_worker_draws_total{worker=%q} %d\n", m.Name, m.Draws)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
