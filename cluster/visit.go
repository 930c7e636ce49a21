package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"lorica/draw"
)

// visit is a worker's membership in one run.
type visit struct {
	*serving
	spec     Spec
	member   string
	admitted string // the engine that it was admitted with
	beat     time.Duration
	lease    time.Duration
	consumer jetstream.Consumer
	fill     int // chunks that fill a call
	full     int // draws that do
	images   *images
	broken   atomic.Int32 // calls of the engine that failed in a row
}

// hopeless is the number of failed calls in a row after which a worker blames
// itself and not the chunks.
const hopeless = 4

// ask sends a request to the coordinator. It tries again for as long as the
// run may still be alive: a server that is killed takes a moment to replace.
func (v *visit) ask(ctx context.Context, verb string, request any) ([]byte, error) {
	data := encode(request)
	give := time.Now().Add(v.silence())
	for {
		try, cancel := context.WithTimeout(ctx, 5*time.Second)
		m, err := v.nc.RequestWithContext(try, deskSubject(v.spec.Run, verb), data)
		cancel()
		if err == nil {
			return m.Data, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if time.Now().After(give) || errors.Is(err, nats.ErrConnectionClosed) || !v.open(v.spec) {
			return nil, left("the coordinator does not answer: %v", err)
		}
		if !wait(ctx, 100*time.Millisecond) {
			return nil, ctx.Err()
		}
	}
}

func (v *visit) silence() time.Duration { return max(5*v.beat, 5*time.Second) }

// join asks to be admitted and finds the queue.
func (v *visit) join(ctx context.Context) error {
	v.admitted = v.identity()
	data, err := v.ask(ctx, "join", hello{
		Worker: v.Name, Protocol: Protocol, Version: v.Version, Engine: v.admitted, Model: v.spec.Model,
		Classes: v.sampler.Classes(), Capacity: min(lanes*v.fill, maxInFlight),
	})
	if err != nil {
		v.forgetRun(v.spec)
		return err
	}
	var w welcome
	if err := json.Unmarshal(data, &w); err != nil || w.Reason == "" && (w.Member == "" || w.Beat <= 0) {
		return left("the coordinator's answer cannot be read: %v", err)
	}
	if w.Reason != "" {
		return refusal(clip(w.Reason))
	}
	v.member, v.beat = w.Member, time.Duration(w.Beat)
	if v.consumer, err = v.js.Consumer(ctx, streamChunks, v.spec.Run); err != nil {
		return left("finding the queue: %v", err)
	}
	v.lease = max(v.consumer.CachedInfo().Config.AckWait, 30*time.Millisecond)
	return nil
}

// live gives signs of life until the run is over.
func (v *visit) live(ctx context.Context) error {
	defer func() {
		if ctx.Err() != nil { // leaving by itself: the others need not wait for the silence
			_ = v.nc.Publish(deskSubject(v.spec.Run, "life"), encode(beat{Member: v.member, Leaving: true}))
			_ = v.nc.FlushTimeout(time.Second)
		}
	}()
	for wait(ctx, v.beat) {
		if !v.open(v.spec) {
			return left("the run was closed")
		}
		data, err := v.ask(ctx, "life", beat{Member: v.member})
		if err != nil {
			if errors.Is(err, errLeft) {
				v.forgetRun(v.spec)
			}
			return err
		}
		var ok verdict
		if err := json.Unmarshal(data, &ok); err != nil || ok.Reason != "" {
			return left("%s", clip(ok.Reason))
		}
	}
	return ctx.Err()
}

// lane fetches chunks and samples them, call after call.
func (v *visit) lane(ctx context.Context) error {
	for ctx.Err() == nil {
		msgs := v.fetch(ctx)
		if len(msgs) == 0 {
			continue
		}
		renewed, done := context.WithCancel(ctx)
		go v.renew(renewed, msgs)
		err := v.work(ctx, msgs)
		done()
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// fetch takes what is in the queue, up to a full call, and waits only for the
// first chunk of an empty queue: a slow trickle is sampled as it comes.
func (v *visit) fetch(ctx context.Context) []jetstream.Msg {
	var msgs []jetstream.Msg
	draws := 0
	get := func(batch jetstream.MessageBatch, err error) (n int) {
		if err != nil {
			wait(ctx, 100*time.Millisecond) // the server is being replaced, or the run is over
			return 0
		}
		for m := range batch.Messages() {
			msgs, n = append(msgs, m), n+1
			var c struct{ Count int }
			if json.Unmarshal(m.Data(), &c) == nil && c.Count > 0 && c.Count <= v.spec.Chunk {
				draws += c.Count
			}
		}
		return n
	}
	for draws < v.full && len(msgs) < v.fill*8 && len(msgs) < maxResults {
		need := max(1, min((v.full-draws+v.spec.Chunk-1)/v.spec.Chunk, v.fill))
		if get(v.consumer.FetchNoWait(need)) < need {
			break
		}
	}
	if len(msgs) == 0 && ctx.Err() == nil {
		first, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		get(v.consumer.Fetch(1, jetstream.FetchContext(first)))
	}
	return msgs
}

// renew keeps the leases of chunks that are being worked on. It gives up after
// an hour: an engine that hangs must not hold them forever.
func (v *visit) renew(ctx context.Context, msgs []jetstream.Msg) {
	for end := time.Now().Add(time.Hour); time.Now().Before(end) && wait(ctx, v.lease/3); {
		for _, m := range msgs {
			_ = m.InProgress() // a lease that is lost costs a second delivery, no more
		}
	}
}

// held is a chunk in a worker's hands.
type held struct {
	msg jetstream.Msg
	id  uint64
	job draw.Job
}

// work samples chunks and hands in their tallies. Chunks that were delivered
// before are sampled alone, so that one that kills its worker takes no others
// with it and is known by its count of deliveries.
func (v *visit) work(ctx context.Context, msgs []jetstream.Msg) error {
	var fresh []held
	var alone [][]held
	for _, m := range msgs {
		o, err := decodeOrder(m.Data(), &v.spec)
		if err != nil {
			v.Log("a chunk cannot be read: " + err.Error())
			_ = m.Term()
			continue
		}
		image, err := v.image(ctx, o)
		switch {
		case err != nil:
			_ = m.Nak() // nobody to ask: let others have it
			continue
		case image == nil:
			_ = m.Ack() // answered meanwhile
			continue
		}
		h := held{m, o.ID, draw.Job{Image: image, Chunk: o.Chunk}}
		if meta, err := m.Metadata(); err == nil && meta.NumDelivered > 1 {
			alone = append(alone, []held{h})
		} else {
			fresh = append(fresh, h)
		}
	}
	if len(fresh) > 0 {
		alone = append(alone, fresh)
	}
	for i, group := range alone {
		if err := v.call(ctx, group); err != nil {
			for _, rest := range alone[i+1:] {
				for _, h := range rest {
					_ = h.msg.Nak()
				}
			}
			return err
		}
	}
	return nil
}

// call runs the engine once.
func (v *visit) call(ctx context.Context, group []held) error {
	jobs := make([]draw.Job, len(group))
	for i, h := range group {
		jobs[i] = h.job
	}
	tallies, err := v.sample(ctx, jobs)
	if ctx.Err() != nil {
		for _, h := range group {
			_ = h.msg.Nak()
		}
		return ctx.Err()
	}
	if now := v.identity(); now != v.admitted {
		for _, h := range group {
			_ = h.msg.Nak()
		}
		return left("the engine was %q when it was admitted and is %q now", v.admitted, now)
	}
	results := make([]result, len(group))
	for i, h := range group {
		if err != nil {
			results[i] = result{ID: h.id, Error: clip(err.Error())}
		} else {
			results[i] = packTally(h.id, tallies[i])
			v.draws.Add(int64(h.job.Chunk.Count))
		}
	}
	if handErr := v.hand(ctx, group, results); handErr != nil {
		return handErr
	}
	if err == nil {
		v.broken.Store(0)
		return nil
	}
	v.Log("sampling failed: " + clip(err.Error()))
	if v.broken.Add(1) >= hopeless {
		return fmt.Errorf("sampling failed %d times in a row: %w", hopeless, err)
	}
	return nil
}

// sample calls the engine; a panic of it is an error like any other, so that
// the chunk is reported and the worker lives.
func (v *visit) sample(ctx context.Context, jobs []draw.Job) (tallies []draw.Tally, err error) {
	defer func() {
		if p := recover(); p != nil {
			v.Log(string(debug.Stack()))
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	tallies, err = v.sampler.Sample(ctx, jobs)
	if err == nil && len(tallies) != len(jobs) {
		err = fmt.Errorf("the engine answered %d of %d jobs", len(tallies), len(jobs))
	}
	return tallies, err
}

// hand gives results to the coordinator and then, as it says, acknowledges the
// chunks or puts them back.
func (v *visit) hand(ctx context.Context, group []held, results []result) error {
	for len(group) > 0 {
		n := min(len(group), maxResults, max(1, maxRequest/2/(24*v.spec.Classes+200+2*maxText)))
		data, err := v.ask(ctx, "take", delivery{Member: v.member, Results: results[:n]})
		var r receipt
		if err == nil {
			if json.Unmarshal(data, &r) != nil || r.Reason == "" && len(r.Verdicts) != n {
				err = left("the coordinator's receipt cannot be read")
			} else if r.Reason != "" {
				err = left("%s", clip(r.Reason))
			}
		}
		if err != nil {
			for _, h := range group {
				_ = h.msg.Nak()
			}
			return err
		}
		for i, h := range group[:n] {
			if r.Verdicts[i] == "" {
				_ = h.msg.Ack()
			} else {
				_ = h.msg.NakWithDelay(min(time.Second, v.lease))
			}
		}
		group, results = group[n:], results[n:]
	}
	return nil
}
