package smooth

import (
	"context"
	"fmt"

	"lorica/counts"
	"lorica/draw"
)

// Task is one run of the sampling loop.
type Task struct {
	Sampler  draw.Sampler
	Source   Source
	Examples []int // indices in the source
	Config   Config
	Rule     Rule // nil: Fixed(Config.N)

	// Emit takes each finished record, in the order in which they finish.
	Emit func(counts.Record) error
	// Watch, if set, is told of progress after every answer.
	Watch func(Progress)
	// InFlight is the number of the sampler's calls at once, asked anew before
	// each; nil means 2: one runs while the next is prepared. A sampler of many
	// machines wants more of them as machines join.
	InFlight func() int
}

// batches of the sampler's size in one call: enough to hide the call's ends.
const batches = 4

// Run samples the task's examples. It returns at the first error, or with
// ctx's error soon after ctx is done; what was emitted before stands. Emit and
// Watch are called from Run's own goroutine.
func Run(ctx context.Context, t Task) error {
	if err := t.Config.Validate(); err != nil {
		return err
	}
	if t.Rule == nil {
		t.Rule = Fixed(t.Config.N)
	}
	if t.InFlight == nil {
		t.InFlight = func() int { return 2 }
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	r := &run{Task: t, cfg: t.Config, todo: t.Examples, classes: t.Sampler.Classes()}
	r.progress.OfExamples = len(t.Examples)
	r.progress.OfDraws = int64(len(t.Examples)) * (t.Config.N0 + t.Config.N)

	type answer struct {
		work    []piece
		tallies []draw.Tally
		err     error
	}
	answers := make(chan answer)
	calls := 0
	var failed error
	for {
		for failed == nil && calls < max(t.InFlight(), 1) {
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
				tallies, err := t.Sampler.Sample(ctx, jobs)
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
		if failed == nil && t.Watch != nil {
			t.Watch(r.progress)
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
	Task
	cfg      Config
	todo     []int
	active   []*example
	spare    [][]float32 // images of finished examples, for reuse
	classes  int
	progress Progress
}

// take collects the work of one call: first what the open examples still need,
// oldest first, then new examples, so that a batch is full while any work is
// left and memory holds only what is under way.
func (r *run) take() ([]piece, error) {
	var work []piece
	room := max(batches*r.Sampler.Batch(), r.cfg.Chunk) // asked anew: machines join and leave
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
	image, err := r.Source.Image(index, dst)
	if err != nil {
		return nil, err
	}
	return &example{
		rec:   counts.Record{Index: index, Label: r.Source.Label(index), Select: make([]int64, r.classes), Count: make([]int64, r.classes)},
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
	if e.left = min(r.Rule.More(&e.rec), r.cfg.N-e.rec.N); e.left > 0 {
		return false, nil
	}
	r.progress.Examples++
	r.progress.OfDraws -= r.cfg.N - e.rec.N // saved by an adaptive rule
	r.spare = append(r.spare, e.image)
	if f, ok := r.Rule.(Finisher); ok {
		if err := f.Finish(&e.rec); err != nil {
			return false, err
		}
	}
	return true, r.Emit(e.rec)
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
