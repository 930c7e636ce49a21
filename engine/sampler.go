package engine

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	mlcontext "github.com/gomlx/gomlx/pkg/ml/context"

	"lorica/draw"
	"lorica/model"
)

// Precision is the type that convolutions compute in.
type Precision string

// The precisions. In bfloat16 the weights and activations are stored so; the
// noise, the normalisation and the logits stay float32. What is sampled is
// what is certified: a model certified in bfloat16 must be deployed in it.
const (
	Float32  Precision = "float32"
	BFloat16 Precision = "bfloat16"
)

// SamplerConfig says how draws are made and classified.
type SamplerConfig struct {
	Sigma     float64   `json:"sigma"`
	Precision Precision `json:"precision"`
	Batch     int       `json:"batch,omitempty"` // rows; 0 means what fits and fills the device

	// Layout of the activations: "nhwc" (also the empty string) or "nchw".
	Layout string `json:"layout,omitempty"`
}

// DefaultSamplerConfig is float32 with a batch chosen for the engine.
func DefaultSamplerConfig() SamplerConfig { return SamplerConfig{Sigma: 0.5, Precision: Float32} }

// maxBatch keeps counts exact in float32 on a device.
const maxBatch = 1 << 20

// Validate names the first field that makes no sense.
func (c SamplerConfig) Validate() error {
	switch {
	case !(c.Sigma >= 0) || math.IsInf(c.Sigma, 0):
		return fmt.Errorf("sigma is %g: the noise level must be a number, zero or more", c.Sigma)
	case c.Precision != Float32 && c.Precision != BFloat16:
		return fmt.Errorf("precision %q is not float32 or bfloat16", c.Precision)
	case c.Batch < 0 || c.Batch > maxBatch:
		return fmt.Errorf("batch is %d: it must lie between 1 and %d (or be 0, for the engine's choice)", c.Batch, maxBatch)
	case c.Layout != "" && c.Layout != "nhwc" && c.Layout != "nchw":
		return fmt.Errorf("layout %q is not nhwc or nchw", c.Layout)
	}
	return nil
}

func (c SamplerConfig) dtype() dtypes.DType {
	if c.Precision == BFloat16 {
		return dtypes.BFloat16
	}
	return dtypes.Float32
}

// channelsLast is what GPUs want in bfloat16, and no worse elsewhere.
func (c SamplerConfig) channelsLast() bool { return c.Layout != "nchw" }

// Sampler is a classifier compiled on an engine (draw.Sampler). It may be used
// by several goroutines at once.
type Sampler struct {
	engine *Engine
	model  *model.Model
	config SamplerConfig
	ctx    *mlcontext.Context
	lanes  chan *lane // the calls that may use the device at once, with their buffers

	mu       sync.Mutex
	batch    int              // rows of a full batch
	programs map[int]*program // by rows
	compiled time.Duration
}

var _ draw.Sampler = (*Sampler)(nil)

// NewSampler compiles a model on an engine. It fails where the model cannot
// run there; a batch that does not fit the device is halved until it does.
func NewSampler(e *Engine, m *model.Model, c SamplerConfig) (*Sampler, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if err := m.Supports(c.dtype()); err != nil {
		return nil, err
	}
	s := &Sampler{engine: e, model: m, config: c, ctx: mlcontext.New(), programs: map[int]*program{}, batch: c.Batch}
	if s.batch == 0 {
		s.batch = chooseBatch(e, m, c)
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
		_, err := s.program(s.batch)
		if err == nil {
			return s, nil
		}
		if !outOfMemory(err) || !s.shrink(s.batch) {
			return nil, fmt.Errorf("compiling %s for engine %s: %w", m.Path, e.Spec(), err)
		}
	}
}

// chooseBatch picks a power of two of rows whose largest layer fills, but does
// not overfill, the caches that matter.
func chooseBatch(e *Engine, m *model.Model, c SamplerConfig) int {
	largest := 16 * m.Image.Size() // a guess for a graph that is not a net
	if m.Net != nil {
		largest = 0
		for _, l := range m.Net.Layers {
			largest = max(largest, l.Out.Size())
		}
	}
	bytes := 4 * largest
	if c.Precision == BFloat16 {
		bytes /= 2
	}
	budget, least, most := 128<<20, 64, 8192
	if e.host {
		budget, least, most = 2<<20, 8, 64 // a layer in the second-level caches
	}
	rows := least
	for rows*2 <= most && rows*2*bytes <= budget {
		rows *= 2
	}
	return rows
}

// Classes is the number of classes that the model tells apart.
func (s *Sampler) Classes() int { return s.model.Labels }

// Batch is the number of draws that fills the device once.
func (s *Sampler) Batch() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.batch
}

// CompileTime is the time spent compiling so far.
func (s *Sampler) CompileTime() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.compiled
}

// Identity names all that the counts of a seed depend on beside the model: the
// engine and its device, the precision and, off the CPU, the batch size.
func (s *Sampler) Identity() string {
	id := s.engine.Description() + " " + string(s.config.Precision)
	if !s.engine.host {
		id += fmt.Sprintf(" batch %d", s.Batch())
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

// shrink halves the batch after a batch of the given size did not fit. It
// reports false when there is nothing left to halve.
func (s *Sampler) shrink(from int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.batch < from {
		return true // another call has halved it already
	}
	if s.batch == 1 {
		return false
	}
	s.batch /= 2
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
		batch := s.Batch()
		tallies, err := s.sample(ctx, jobs, batch)
		if err == nil {
			return tallies, mostlyNaN(jobs, tallies)
		}
		if !outOfMemory(err) || !s.shrink(batch) {
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

// sample runs the jobs in batches of the given size, as many at once as there
// are lanes.
func (s *Sampler) sample(ctx context.Context, jobs []draw.Job, batch int) ([]draw.Tally, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	tallies := make([]draw.Tally, len(jobs))
	for i := range tallies {
		tallies[i].Counts = make([]int64, s.Classes())
	}
	var wg sync.WaitGroup
	var mu sync.Mutex // guards tallies
	slots := slotsOf(batch)
	if s.engine.host {
		slots = batch
	}
	for rows := range cut(jobs, batch, slots) {
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
			answers, err := s.classify(l, jobs, rows, batch)
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
