package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"lorica/draw"
	"lorica/smooth"
)

// desk is the coordinator's memory: the chunks that are out, the workers that
// were admitted, and what came of both. It knows nothing of the network, so
// that every message can be tried on it; every method may be called at once
// with any bytes at all.
type desk struct {
	spec Spec
	beat time.Duration
	now  func() time.Time

	mu       sync.Mutex
	last     uint64 // id of the newest chunk
	open     map[uint64]*ticket
	members  map[string]*member
	engine   string          // that every worker must have; "" until the first joins
	chosen   chan struct{}   // closed when engine is set
	engines  map[string]bool // of all that were ever admitted
	draws    int64
	chunks   int64
	rejected int64 // messages and results that were not taken
	late     int64 // results of chunks that had been answered
	progress smooth.Progress
	started  time.Time
	history  []mark
	failed   chan struct{} // closed when the run cannot go on
	err      error
}

// ticket is an open chunk.
type ticket struct {
	job      draw.Job
	call     *call
	index    int    // in the call
	sequence uint64 // in the stream; 0 until it is published
	trouble  string // what the last worker that failed on it said
}

// call is one call of Sample.
type call struct {
	tallies []draw.Tally
	left    int
	done    chan struct{}
}

// member is an admitted worker.
type member struct {
	name, engine string
	capacity     int
	draws        int64
	joined, seen time.Time
}

// mark is a point of the run's history, for its speed.
type mark struct {
	at    time.Time
	draws int64
}

func newDesk(spec Spec, beat time.Duration, now func() time.Time) *desk {
	d := &desk{spec: spec, beat: beat, now: now, started: now(),
		open: map[uint64]*ticket{}, members: map[string]*member{}, engines: map[string]bool{},
		chosen: make(chan struct{}), failed: make(chan struct{})}
	d.choose(spec.Engine)
	return d
}

// choose sets the engine of the run, once.
func (d *desk) choose(engine string) {
	if d.engine == "" && engine != "" {
		d.engine = engine
		close(d.chosen)
	}
}

// fail ends the run; the first reason stands.
func (d *desk) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err == nil {
		d.err = err
		close(d.failed)
	}
}

// issue opens tickets for the jobs of one call.
func (d *desk) issue(jobs []draw.Job) (*call, []order, error) {
	for _, j := range jobs {
		c := j.Chunk
		if len(j.Image) != d.spec.Pixels() || c.Count < 1 || c.Count > d.spec.Chunk {
			return nil, nil, fmt.Errorf("example %d: %d values and %d draws, where the run was opened for %d and at most %d",
				c.Example, len(j.Image), c.Count, d.spec.Pixels(), d.spec.Chunk)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	c := &call{tallies: make([]draw.Tally, len(jobs)), left: len(jobs), done: make(chan struct{})}
	orders := make([]order, len(jobs))
	for i, j := range jobs {
		d.last++
		d.open[d.last] = &ticket{job: j, call: c, index: i}
		orders[i] = order{ID: d.last, Chunk: j.Chunk}
	}
	return c, orders, nil
}

// published notes where in the stream a chunk is.
func (d *desk) published(id, sequence uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if t := d.open[id]; t != nil {
		t.sequence = sequence
	}
}

// forget closes the tickets of a call that has ended.
func (d *desk) forget(orders []order) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, o := range orders {
		delete(d.open, o.ID)
	}
}

// givenUp fails the run because the server will not deliver a chunk again.
func (d *desk) givenUp(sequence uint64, deliveries int) {
	d.mu.Lock()
	var t *ticket
	for _, o := range d.open {
		if o.sequence == sequence {
			t = o
		}
	}
	d.mu.Unlock()
	if t != nil {
		d.fail(t.poisoned(deliveries))
	}
}

func (t *ticket) poisoned(deliveries int) error {
	why := "none of its workers lived to say why"
	if t.trouble != "" {
		why = "the last error was: " + t.trouble
	}
	c := t.job.Chunk
	return fmt.Errorf("example %d, draws %d to %d: given up after %d deliveries; %s", c.Example, c.First, c.First+int64(c.Count)-1, deliveries, why)
}

// join admits a worker, or says why not.
func (d *desk) join(data []byte) welcome {
	var h hello
	if err := decode(data, maxRequest, &h); err != nil {
		return welcome{Reason: d.reject("the request to join cannot be read: %v", err)}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	s := &d.spec
	refuse := func(format string, args ...any) welcome {
		d.rejected++
		return welcome{Reason: clip(fmt.Sprintf(format, args...))}
	}
	switch {
	case h.Protocol != s.Protocol:
		return refuse("the worker speaks protocol %d, the run %d: install the same lorica on both", h.Protocol, s.Protocol)
	case h.Version != s.Version:
		return refuse("the worker is lorica %q, the run is made by %q: another version may draw otherwise", clip(h.Version), s.Version)
	case h.Model != s.Model:
		return refuse("the worker has model %.12q, the run samples %.12q", clip(h.Model), s.Model)
	case h.Classes != s.Classes:
		return refuse("the worker's model has %d classes, the run %d", h.Classes, s.Classes)
	case h.Engine == "" || h.Engine != d.engine && d.engine != "" && !s.Mixed:
		return refuse("the worker's engine is %q, the run's %q: counts of another engine are not the same (--mixed-engines allows it)", clip(h.Engine), d.engine)
	case h.Capacity < 1 || h.Capacity > maxInFlight || len(h.Worker) > maxText || len(h.Engine) > maxText:
		return refuse("the worker's name, engine or capacity of %d is out of bounds", h.Capacity)
	case len(d.members) >= maxWorkers:
		return refuse("%d workers are at work already", maxWorkers)
	}
	id := rand.Text()
	d.members[id] = &member{name: clip(h.Worker), engine: clip(h.Engine), capacity: h.Capacity, joined: d.now(), seen: d.now()}
	d.engines[clip(h.Engine)] = true
	d.choose(h.Engine)
	return welcome{Member: id, Beat: int64(d.beat)}
}

// reject counts a message that was not taken.
func (d *desk) reject(format string, args ...any) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rejected++
	return clip(fmt.Sprintf(format, args...))
}

const notMember = "not a member of this run: join it again"

// life takes a worker's sign of life.
func (d *desk) life(data []byte) verdict {
	var b beat
	if err := decode(data, maxRequest, &b); err != nil {
		return verdict{d.reject("the life sign cannot be read: %v", err)}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	m := d.members[b.Member]
	if m == nil {
		return verdict{notMember}
	}
	m.seen = d.now()
	if b.Leaving {
		delete(d.members, b.Member)
	}
	return verdict{}
}

// image answers a request for an image: notOpen where the chunk is done with,
// nothing where the request makes no sense. Anybody who knows the run may ask:
// a worker that was silent for too long must not take a chunk for done.
func (d *desk) image(data []byte) []byte {
	var w wanted
	if err := decode(data, maxRequest, &w); err != nil {
		d.reject("")
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.open[w.ID]
	if t == nil {
		return notOpen
	}
	// Under the lock: once the ticket is closed, the memory is another image's.
	return putImage(t.job.Image, w.Offset)
}

// take enters the results of a worker's call.
func (d *desk) take(data []byte) receipt {
	var v delivery
	if err := decode(data, maxRequest, &v); err != nil {
		return receipt{Reason: d.reject("the results cannot be read: %v", err)}
	}
	if len(v.Results) > maxResults {
		return receipt{Reason: d.reject("%d results in one message, at most %d are allowed", len(v.Results), maxResults)}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	m := d.members[v.Member]
	if m == nil {
		d.rejected++
		return receipt{Reason: notMember}
	}
	m.seen = d.now()
	out := receipt{Verdicts: make([]string, len(v.Results))}
	for i, r := range v.Results {
		if err := d.enter(m, r); err != nil {
			d.rejected++
			out.Verdicts[i] = clip(err.Error())
		}
	}
	return out
}

var errNoted = errors.New("noted: the chunk will be tried again")

// enter takes one result. Ids are never reused, so a result that comes again
// finds its ticket closed.
func (d *desk) enter(m *member, r result) error {
	if r.ID == 0 || r.ID > d.last {
		return fmt.Errorf("chunk %d was never handed out", r.ID)
	}
	t := d.open[r.ID]
	if t == nil {
		d.late++
		return nil
	}
	if r.Error != "" {
		t.trouble = m.name + ": " + clip(r.Error)
		return errNoted
	}
	tally, err := r.unpack(d.spec.Classes, t.job.Chunk.Count)
	if err != nil {
		t.trouble = m.name + ": " + err.Error()
		return fmt.Errorf("chunk %d: %w", r.ID, err)
	}
	delete(d.open, r.ID)
	n := int64(t.job.Chunk.Count)
	m.draws, d.draws, d.chunks = m.draws+n, d.draws+n, d.chunks+1
	t.call.tallies[t.index] = tally
	if t.call.left--; t.call.left == 0 {
		close(t.call.done)
	}
	return nil
}

// wait returns the call's tallies when all are there.
func (d *desk) wait(ctx context.Context, c *call) ([]draw.Tally, error) {
	select {
	case <-c.done:
		return c.tallies, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-d.failed:
		return nil, d.err
	}
}

// capacity is the number of chunks that the workers hold at once.
func (d *desk) capacity() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	sum := 0
	for _, m := range d.members {
		sum += m.capacity
	}
	return sum
}

// tick drops the workers that are silent and marks the history.
func (d *desk) tick() {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	for id, m := range d.members {
		if now.Sub(m.seen) > 5*d.beat {
			delete(d.members, id)
		}
	}
	if d.history = append(d.history, mark{now, d.draws}); len(d.history) > 10 {
		d.history = slices.Delete(d.history, 0, 1)
	}
}
