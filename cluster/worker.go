package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"lorica/draw"
)

// Builder makes the sampler of a run from its model's bytes, which were
// verified, and names the engine that it runs on as counts headers do. A
// sampler that is also an io.Closer is closed when it is not needed any more.
type Builder func(ctx context.Context, spec Spec, model []byte) (s draw.Sampler, engine string, err error)

// Worker samples for whatever run wants it.
type Worker struct {
	Name    string // for people; several may share one
	Version string // of lorica
	Build   Builder
	Strict  bool         // end with an error when a run refuses it; else wait for another run
	Log     func(string) // told of events worth a line; may be nil
}

// lanes of a worker: one call of its engine computes while the other fetches,
// as in the sampling loop of a single machine.
const lanes = 2

// batches of the engine's size in one call, likewise.
const batches = 4

// Run serves runs until ctx is done or the worker itself is broken: its model
// cannot be built or its engine fails again and again. Runs that refuse it are
// left alone.
func (w Worker) Run(ctx context.Context, nc *nats.Conn) error {
	if w.Log == nil {
		w.Log = func(string) {}
	}
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	s := &serving{Worker: w, nc: nc, js: js, specs: map[string]Spec{}, refused: map[string]bool{}, changed: make(chan struct{}, 1)}
	defer s.discard()
	ping, err := nc.Subscribe(subjectPing, func(m *nats.Msg) { _ = m.Respond(encode(s.status())) })
	if err != nil {
		return err
	}
	defer ping.Unsubscribe()

	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { s.watch(ctx) })
	defer watching.Wait()
	defer cancel()
	for {
		spec, err := s.next(ctx)
		if err != nil {
			return err
		}
		var no refusal
		switch err := s.serve(ctx, spec); {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &no) && w.Strict:
			return fmt.Errorf("run %s refuses this worker: %w", spec.Name, no)
		case errors.As(err, &no):
			s.Log(fmt.Sprintf("run %s refuses this worker: %s", spec.Name, no))
			s.refuse(spec.Run)
		case errors.Is(err, errLeft):
			s.Log(fmt.Sprintf("run %s: %v", spec.Name, err))
			if !wait(ctx, 200*time.Millisecond) {
				return ctx.Err()
			}
		case err != nil:
			return fmt.Errorf("run %s: %w", spec.Name, err)
		}
	}
}

// refusal is a coordinator's reason for not admitting a worker.
type refusal string

func (r refusal) Error() string { return string(r) }

// errLeft says that a run is over for this worker, through no fault of its own.
var errLeft = errors.New("left")

func left(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errLeft, fmt.Sprintf(format, args...))
}

// serving is the state of a running worker.
type serving struct {
	Worker
	nc      *nats.Conn
	js      jetstream.JetStream
	changed chan struct{} // told when specs changed

	mu      sync.Mutex
	specs   map[string]Spec // open runs by name
	refused map[string]bool // by run
	current Spec
	since   time.Time
	engine  string

	draws   atomic.Int64
	sampler draw.Sampler // of the model and settings in built
	built   string
}

func (s *serving) status() WorkerStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := WorkerStatus{Name: s.Name, Version: s.Version, Engine: s.engine, Run: s.current.Name, Draws: s.draws.Load()}
	if st.Run != "" {
		st.Seconds = time.Since(s.since).Seconds()
	}
	return st
}

// build makes the run's sampler, or finds it made: a coordinator that was
// started again does not cost a compilation.
func (s *serving) build(ctx context.Context, spec Spec) error {
	want := string(encode(struct {
		Model   string
		Sigma   float64
		Image   [3]int
		Classes int
		Options map[string]string
	}{spec.Model, spec.Sigma, spec.Image, spec.Classes, spec.Options}))
	if s.sampler != nil && s.built == want {
		return nil
	}
	s.discard()
	models, err := s.js.ObjectStore(ctx, bucketModels)
	if err != nil {
		return left("the models' store: %v", err)
	}
	model, err := getModel(ctx, models, spec)
	if err != nil {
		return left("fetching the model: %v", err)
	}
	sampler, engine, err := s.Build(ctx, spec, model)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sampler, s.built, s.engine = sampler, want, engine
	return nil
}

// identity is the engine's name as it is now. Samplers that can change theirs
// (a device that runs out of memory takes programs of fewer rows) have the method.
func (s *serving) identity() string {
	if id, ok := s.sampler.(interface{ Identity() string }); ok {
		return id.Identity()
	}
	return s.engine
}

func (s *serving) discard() {
	if c, ok := s.sampler.(io.Closer); ok {
		if err := c.Close(); err != nil {
			s.Log("closing the engine: " + err.Error())
		}
	}
	s.sampler, s.built = nil, ""
}

// serve works for one run until it is over.
func (s *serving) serve(ctx context.Context, spec Spec) error {
	if err := s.build(ctx, spec); err != nil {
		return err
	}
	s.mu.Lock()
	s.engine = s.identity()
	s.mu.Unlock()
	chunks := max(1, (batches*s.sampler.Batch()+spec.Chunk-1)/spec.Chunk)
	v := &visit{serving: s, spec: spec, fill: min(chunks, maxResults/2), full: batches * s.sampler.Batch(), images: newImages(spec.Pixels())}
	if err := v.join(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	s.current, s.since = spec, time.Now()
	s.mu.Unlock()
	s.Log(fmt.Sprintf("sampling for run %s %s", spec.Name, spec.Title))
	defer func() {
		s.mu.Lock()
		s.current = Spec{}
		s.mu.Unlock()
	}()

	ctx, cancel := context.WithCancelCause(ctx)
	var all sync.WaitGroup
	all.Go(func() { cancel(v.live(ctx)) })
	for range lanes {
		all.Go(func() { cancel(v.lane(ctx)) })
	}
	all.Wait()
	return context.Cause(ctx)
}

// wait pauses; false means that ctx is done.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
