package smooth

import (
	"context"
	"fmt"

	"lorica/counts"
	"lorica/draw"
)

// inFlight calls of the sampler at once: one runs while the next is prepared.
const inFlight = 2

// batches of the sampler's size in one call: enough to hide the call's ends.
const batches = 4

// Run samples the examples and hands each finished record to emit, in the
// order in which they finish. It returns at the first error, or with ctx's
// error soon after ctx is done; what was emitted before stands. watch, which
// may be nil, is told of progress. Both functions are called from one
// goroutine at a time.
func Run(ctx context.Context, s draw.Sampler, src Source, examples []int, cfg Config, rule Rule,
	emit func(counts.Record) error, watch func(Progress)) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	r := &run{cfg: cfg, rule: rule, src: src, todo: examples, classes: s.Classes(),
		call: max(batches*s.Batch(), cfg.Chunk), emit: emit}
	r.progress.OfExamples = len(examples)
	r.progress.OfDraws = int64(len(examples)) * (cfg.N0 + cfg.N)

	type answer struct {
		work    []piece
		tallies []draw.Tally
		err     error
	}
	answers := make(chan answer)
	calls := 0
	var failed error
	for {
		for failed == nil && calls < inFlight {
			work, err := r.take()
			if err != nil {
				failed = err
				break
			}
			if len(work) == 0 {
				break
			}
			calls++
			go func() {
				jobs := make([]draw.Job, len(work))
				for i, w := range work {
					jobs[i] = draw.Job{Image: w.of.image, Chunk: w.chunk}
				}
				tallies, err := s.Sample(ctx, jobs)
				answers <- answer{work, tallies, err}
			}()
		}
		if calls == 0 {
			return failed
		}
		a := <-answers
		calls--
		if a.err == nil {
			a.err = r.settle(a.work, a.tallies)
		}
		if a.err != nil && failed == nil {
			failed = a.err
			cancel()
		}
		if failed == nil && watch != nil {
			watch(r.progress)
		}
	}
}

// example is one example on its way: a record under construction.
type example struct {
	rec     counts.Record
	image   []float32
	phase   draw.Phase
	left    int64 // draws of this stage not handed out yet
	next    int64 // index of the next draw of this phase
	pending int64 // draws handed out and not answered yet
}

// piece is a chunk of an example's work.
type piece struct {
	of    *example
	chunk draw.Chunk
}

// run is the state of the loop; only the loop's goroutine touches it.
type run struct {
	cfg      Config
	rule     Rule
	src      Source
	todo     []int
	active   []*example
	spare    [][]float32 // images of finished examples, for reuse
	classes  int
	call     int // draws in one call
	emit     func(counts.Record) error
	progress Progress
}

// take collects the work of one call: first what the open examples still need,
// oldest first, then new examples, so that a batch is full while any work is
// left and memory holds only what is under way.
func (r *run) take() ([]piece, error) {
	var work []piece
	room := r.call
	for _, e := range r.active {
		work, room = r.cut(work, room, e)
	}
	for room > 0 && len(r.todo) > 0 {
		e, err := r.begin(r.todo[0])
		if err != nil {
			return nil, err
		}
		r.todo = r.todo[1:]
		r.active = append(r.active, e)
		work, room = r.cut(work, room, e)
	}
	return work, nil
}

// begin opens an example at its selection phase.
func (r *run) begin(index int) (*example, error) {
	var dst []float32
	if n := len(r.spare); n > 0 {
		dst, r.spare = r.spare[n-1], r.spare[:n-1]
	}
	image, err := r.src.Image(index, dst)
	if err != nil {
		return nil, err
	}
	return &example{
		rec:   counts.Record{Index: index, Label: r.src.Label(index), Select: make([]int64, r.classes), Count: make([]int64, r.classes)},
		image: image, phase: draw.Select, left: r.cfg.N0,
	}, nil
}

// cut hands out chunks of e while there is room in the call.
func (r *run) cut(work []piece, room int, e *example) ([]piece, int) {
	for room > 0 && e.left > 0 {
		n := int(min(int64(room), int64(r.cfg.Chunk), e.left))
		work = append(work, piece{e, draw.Chunk{Seed: r.cfg.Seed, Phase: e.phase, Example: e.rec.Index, First: e.next, Count: n}})
		e.left, e.next, e.pending, room = e.left-int64(n), e.next+int64(n), e.pending+int64(n), room-n
	}
	return work, room
}

// settle adds a call's tallies to their examples and moves on those that wait
// for nothing more.
func (r *run) settle(work []piece, tallies []draw.Tally) error {
	if len(tallies) != len(work) {
		return fmt.Errorf("the sampler answered %d of %d jobs", len(tallies), len(work))
	}
	for i, w := range work {
		if err := w.of.add(w.chunk, tallies[i]); err != nil {
			return err
		}
		r.progress.Draws += int64(w.chunk.Count)
		r.progress.Invalid += tallies[i].Invalid
	}
	open := r.active[:0]
	for _, e := range r.active {
		if e.left == 0 && e.pending == 0 {
			if done, err := r.advance(e); err != nil {
				return err
			} else if done {
				continue
			}
		}
		open = append(open, e)
	}
	clear(r.active[len(open):])
	r.active = open
	return nil
}

// advance opens the next stage of an example whose stage is complete, or emits
// its record.
func (r *run) advance(e *example) (done bool, err error) {
	if e.phase == draw.Select {
		if e.rec.InvalidSelect > r.cfg.N0/2 {
			return false, fmt.Errorf("example %d: %d of %d draws gave NaN: the model does not work at this noise level or precision",
				e.rec.Index, e.rec.InvalidSelect, r.cfg.N0)
		}
		e.phase, e.next = draw.Estimate, 0
	}
	if e.left = min(r.rule.More(&e.rec), r.cfg.N-e.rec.N); e.left > 0 {
		return false, nil
	}
	r.progress.Examples++
	r.progress.OfDraws -= r.cfg.N - e.rec.N // saved by an adaptive rule
	r.spare = append(r.spare, e.image)
	return true, r.emit(e.rec)
}

// add puts a chunk's tally into the record.
func (e *example) add(c draw.Chunk, t draw.Tally) error {
	into, invalid := e.rec.Count, &e.rec.Invalid
	if c.Phase == draw.Select {
		into, invalid = e.rec.Select, &e.rec.InvalidSelect
	} else {
		e.rec.N += int64(c.Count)
	}
	sum := t.Invalid
	for k, n := range t.Counts {
		if n < 0 || k >= len(into) {
			return fmt.Errorf("example %d: the sampler counted %d for class %d of %d", c.Example, n, k, len(into))
		}
		into[k] += n
		sum += n
	}
	if sum != int64(c.Count) || t.Invalid < 0 {
		return fmt.Errorf("example %d: the sampler counted %d of %d draws", c.Example, sum, c.Count)
	}
	*invalid += t.Invalid
	e.pending -= int64(c.Count)
	return nil
}
