package engine

import (
	"context"
	"fmt"
	"sync"
	"time"

	mlcontext "github.com/gomlx/gomlx/pkg/ml/context"

	"lorica/draw"
	"lorica/model"
)

// Sampler is a classifier compiled on an engine (draw.Sampler). It may be used
// by several goroutines at once.
type Sampler struct {
	engine *Engine
	model  *model.Model
	config SamplerConfig
	ctx    *mlcontext.Context
	lanes  chan *lane // the calls that may use the device at once, with their buffers

	mu       sync.Mutex
	rows     int              // of a full program
	programs map[int]*program // by rows
	compiled time.Duration
}

var _ draw.Sampler = (*Sampler)(nil)

// NewSampler compiles a model on an engine. It fails where the model cannot
// run there; rows that do not fit the device are halved until they do.
func NewSampler(e *Engine, m *model.Model, c SamplerConfig) (*Sampler, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if err := m.Supports(c.dtype()); err != nil {
		return nil, err
	}
	s := &Sampler{engine: e, model: m, config: c, ctx: mlcontext.New(), programs: map[int]*program{}, rows: c.Rows}
	if s.rows == 0 {
		s.rows = chooseRows(e, m, c)
		if e.host && c.Batch > 0 {
			s.rows = c.Batch
		}
	}
	lanes := 2 // one batch is prepared while another runs
	if e.host {
		lanes = 1 // noise and network take turns on all cores
	}
	s.lanes = make(chan *lane, lanes)
	for range lanes {
		s.lanes <- &lane{}
	}
	for {
		_, err := s.program(s.rows)
		if err == nil {
			return s, nil
		}
		if !outOfMemory(err) || !s.shrink(s.rows) {
			return nil, fmt.Errorf("compiling %s for engine %s: %w", m.Path, e.Spec(), err)
		}
	}
}

// Classes is the number of classes that the model tells apart.
func (s *Sampler) Classes() int { return s.model.Labels }

// Batch is the number of draws to hand over at once: whole programs.
func (s *Sampler) Batch() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.engine.host {
		return s.rows
	}
	return s.rows * max(1, (s.config.Batch+s.rows-1)/s.rows)
}

// programRows is the number of rows of a full program.
func (s *Sampler) programRows() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rows
}

// CompileTime is the time spent compiling so far.
func (s *Sampler) CompileTime() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.compiled
}

// Identity names all that the counts of a seed depend on beside the model: the
// engine and its device, the precision and, off the CPU, the program's rows.
func (s *Sampler) Identity() string {
	id := s.engine.Description() + " " + string(s.config.Precision)
	if !s.engine.host {
		id += fmt.Sprintf(" rows %d", s.programRows())
	}
	return id
}

// Close frees the programs; the engine stays open.
func (s *Sampler) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.programs {
		p.close()
	}
	clear(s.programs)
	s.ctx.Finalize()
}

// program returns the compiled program for a number of rows.
func (s *Sampler) program(rows int) (*program, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p, ok := s.programs[rows]; ok {
		return p, nil
	}
	start := time.Now()
	p, err := compile(s.engine, s.model, s.ctx, s.config, rows, slotsOf(rows))
	if err != nil {
		return nil, err
	}
	s.compiled += time.Since(start)
	s.programs[rows] = p
	return p, nil
}

// slotsOf is the number of different jobs that a batch can hold on a device.
func slotsOf(rows int) int { return max(1, rows/64) }

// shrink halves the rows after a program of so many did not fit. It reports
// false when there is nothing left to halve.
func (s *Sampler) shrink(from int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rows < from {
		return true // another call has halved them already
	}
	if s.rows == 1 {
		return false
	}
	s.rows /= 2
	return true
}

// Sample implements draw.Sampler. It fails on a job most of whose draws came
// to NaN: such a model is broken, not uncertain.
func (s *Sampler) Sample(ctx context.Context, jobs []draw.Job) ([]draw.Tally, error) {
	for i, j := range jobs {
		if len(j.Image) != s.model.Image.Size() {
			return nil, fmt.Errorf("job %d has an image of %d values, model %s takes %s", i, len(j.Image), s.model.Path, s.model.Image)
		}
		if j.Chunk.Count < 0 || j.Chunk.First < 0 || j.Chunk.First+int64(j.Chunk.Count) > 1<<32 || j.Chunk.Example < 0 || int64(j.Chunk.Example) >= 1<<32 {
			return nil, fmt.Errorf("job %d asks for draws %d to %d of example %d, beyond the 2^32 that a seed has", i, j.Chunk.First, j.Chunk.First+int64(j.Chunk.Count), j.Chunk.Example)
		}
	}
	for {
		rows := s.programRows()
		tallies, err := s.sample(ctx, jobs, rows)
		if err == nil {
			return tallies, mostlyNaN(jobs, tallies)
		}
		if !outOfMemory(err) || !s.shrink(rows) {
			return nil, err
		}
	}
}

func mostlyNaN(jobs []draw.Job, tallies []draw.Tally) error {
	for i, t := range tallies {
		if 2*t.Invalid > int64(jobs[i].Chunk.Count) {
			return fmt.Errorf("the model gives NaN for %d of %d noisy copies of example %d: it is broken for this input or this precision", t.Invalid, jobs[i].Chunk.Count, jobs[i].Chunk.Example)
		}
	}
	return nil
}

// sample runs the jobs in programs of so many rows, as many at once as there
// are lanes.
func (s *Sampler) sample(ctx context.Context, jobs []draw.Job, rows int) ([]draw.Tally, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	tallies := make([]draw.Tally, len(jobs))
	for i := range tallies {
		tallies[i].Counts = make([]int64, s.Classes())
	}
	var wg sync.WaitGroup
	var mu sync.Mutex // guards tallies
	slots := slotsOf(rows)
	if s.engine.host {
		slots = rows
	}
	for spans := range cut(jobs, rows, slots) {
		var l *lane
		select {
		case <-ctx.Done():
		case l = <-s.lanes:
		}
		if l == nil || ctx.Err() != nil {
			if l != nil {
				s.lanes <- l
			}
			break
		}
		wg.Go(func() {
			defer func() { s.lanes <- l }()
			answers, err := s.classify(l, jobs, spans, rows)
			if err != nil {
				cancel(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			answers(tallies)
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return tallies, nil
}
