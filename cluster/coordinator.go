package cluster

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"lorica/draw"
	"lorica/smooth"
)

// Coordinator hands the chunks of one run to workers and collects their
// tallies. It is a draw.Sampler; an example's image must be the same in every
// job of the run. Close it.
type Coordinator struct {
	desk     *desk
	nc       *nats.Conn
	js       jetstream.JetStream
	store    *store
	model    []byte
	timing   Timing
	consumer jetstream.Consumer
	log      func(string)
	subs     []*nats.Subscription
	stop     context.CancelFunc
	ended    sync.WaitGroup
}

// Options of a coordinator besides its run.
type Options struct {
	Timing   Timing
	Replicas int          // of streams and buckets that have to be made; 0: 3 where the servers can, else 1
	Memory   bool         // keep them in memory, not in files
	Log      func(string) // told of events worth a line; may be nil
}

// Open starts a run: it puts the model into the object store and the run's
// description where workers look for it. Protocol, Run, Model and ModelBytes
// of the spec are set here. A run of the same name that an earlier coordinator
// left behind is taken over: its chunks are purged and its workers come here.
func Open(ctx context.Context, nc *nats.Conn, spec Spec, model []byte, opt Options) (*Coordinator, error) {
	hash := sha256.Sum256(model)
	spec.Protocol, spec.Run = Protocol, rand.Text()
	spec.Model, spec.ModelBytes = hex.EncodeToString(hash[:]), int64(len(model))
	if err := spec.Validate(); err != nil {
		return nil, fmt.Errorf("run: %w", err)
	}
	if opt.Log == nil {
		opt.Log = func(string) {}
	}
	timing := opt.Timing.orDefault()
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	st, err := openStore(ctx, js, opt, timing)
	if err != nil {
		return nil, err
	}
	c := &Coordinator{nc: nc, js: js, store: st, model: model, timing: timing, log: opt.Log, desk: newDesk(spec, timing.Beat, time.Now)}
	if err := c.open(ctx); err != nil {
		c.release()
		return nil, fmt.Errorf("opening the run: %w", err)
	}
	beating, stop := context.WithCancel(context.Background())
	c.stop = stop
	c.ended.Add(1)
	go func() {
		defer c.ended.Done()
		c.keep(beating)
	}()
	return c, nil
}

func (c *Coordinator) open(ctx context.Context) error {
	spec := &c.desk.spec
	var old Spec
	err := insist(ctx, c.timing.Patience, answerTime, func(ctx context.Context) (err error) {
		old, err = c.store.spec(ctx, spec.Name)
		return err
	})
	if err != nil {
		return err
	}
	if old.Run != "" {
		c.log("taking over run " + spec.Name + " from a coordinator that did not close it")
		c.store.drop(ctx, old.Run)
	}
	for verb, answer := range map[string]func([]byte) []byte{
		"join":   func(b []byte) []byte { return encode(c.desk.join(b)) },
		"life":   func(b []byte) []byte { return encode(c.desk.life(b)) },
		"take":   func(b []byte) []byte { return encode(c.desk.take(b)) },
		"image":  c.desk.image,
		"status": func([]byte) []byte { return encode(c.Stats()) },
	} {
		sub, err := c.nc.Subscribe(deskSubject(spec.Run, verb), func(m *nats.Msg) {
			// An answer that does not arrive is asked for again.
			_ = m.Respond(answer(m.Data))
		})
		if err != nil {
			return err
		}
		c.subs = append(c.subs, sub)
	}
	given, err := c.nc.Subscribe("$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES."+streamChunks+"."+spec.Run, func(m *nats.Msg) {
		var advisory struct {
			Sequence   uint64 `json:"stream_seq"`
			Deliveries int    `json:"deliveries"`
		}
		if decode(m.Data, maxRequest, &advisory) == nil {
			c.desk.givenUp(advisory.Sequence, advisory.Deliveries)
		}
	})
	if err != nil {
		return err
	}
	c.subs = append(c.subs, given)
	insisting := func(each time.Duration, request func(context.Context) error) {
		if err == nil {
			err = insist(ctx, c.timing.Patience, each, request)
		}
	}
	insisting(answerTime, func(ctx context.Context) (err error) {
		c.consumer, err = c.store.chunks.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
			Durable: spec.Run, FilterSubject: chunkSubject(spec.Run), AckPolicy: jetstream.AckExplicitPolicy,
			AckWait: c.timing.Lease, MaxDeliver: c.timing.Deliveries, MaxAckPending: -1, InactiveThreshold: 24 * time.Hour,
		})
		return err
	})
	insisting(modelTime, func(ctx context.Context) error { return c.store.putModel(ctx, spec.Model, c.model) })
	insisting(answerTime, func(ctx context.Context) error { return c.store.putSpec(ctx, *spec) })
	return err
}

// Sample implements draw.Sampler: the chunks go out, their tallies come back.
func (c *Coordinator) Sample(ctx context.Context, jobs []draw.Job) ([]draw.Tally, error) {
	call, orders, err := c.desk.issue(jobs)
	if err != nil {
		return nil, err
	}
	defer c.desk.forget(orders)
	subject := chunkSubject(c.desk.spec.Run)
	for _, o := range orders {
		sequence, err := c.publish(ctx, subject, encode(o), strconv.FormatUint(o.ID, 10)+"."+c.desk.spec.Run)
		if err != nil {
			return nil, fmt.Errorf("example %d: handing out a chunk: %w", o.Example, err)
		}
		c.desk.published(o.ID, sequence)
	}
	return c.desk.wait(ctx, call)
}

// publish puts a message into the stream once, however often it has to be
// tried: the server knows it by its id.
func (c *Coordinator) publish(ctx context.Context, subject string, data []byte, id string) (sequence uint64, err error) {
	err = insist(ctx, c.timing.Patience, answerTime, func(ctx context.Context) error {
		select {
		case <-c.desk.failed:
			return nats.ErrConnectionClosed // not worth another try; wait will say why
		default:
		}
		ack, err := c.js.Publish(ctx, subject, data, jetstream.WithMsgID(id))
		if err == nil {
			sequence = ack.Sequence
		}
		return err
	})
	return sequence, err
}

// Classes implements draw.Sampler.
func (c *Coordinator) Classes() int { return c.desk.spec.Classes }

// Batch implements draw.Sampler. Calls are of one chunk, and InFlight says how
// many: so no worker waits for the slowest of a large call.
func (c *Coordinator) Batch() int { return 1 }

// InFlight is the number of calls that keeps the present workers busy: what
// they hold, and as much again in the queue.
func (c *Coordinator) InFlight() int { return min(max(2*c.desk.capacity(), 8), maxInFlight) }

// Watch takes the progress of the sampling loop, for status and metrics.
func (c *Coordinator) Watch(p smooth.Progress) {
	c.desk.mu.Lock()
	defer c.desk.mu.Unlock()
	c.desk.progress = p
}

// Engine waits until the run's engine is known: the spec's, or else that of
// the first worker to join.
func (c *Coordinator) Engine(ctx context.Context) (string, error) {
	select {
	case <-c.desk.chosen:
		return c.desk.engine, nil
	case <-c.desk.failed:
		return "", c.desk.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// Fail ends the run with an error: what Sample waits for will not come.
func (c *Coordinator) Fail(err error) { c.desk.fail(err) }

// Spec describes the run as workers see it.
func (c *Coordinator) Spec() Spec { return c.desk.spec }

// Close ends the run: workers look for another, and nothing of it stays on the
// server.
func (c *Coordinator) Close() error {
	if c.stop == nil {
		return nil
	}
	c.stop()
	c.ended.Wait()
	c.stop = nil
	c.release()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return c.store.close(ctx, c.desk.spec)
}

func (c *Coordinator) release() {
	for _, s := range c.subs {
		_ = s.Unsubscribe()
	}
	c.subs = nil
}

// Title makes a run's title from its parts, leaving out the empty ones.
func Title(parts ...string) string {
	var used []string
	for _, p := range parts {
		if p != "" {
			used = append(used, p)
		}
	}
	return clip(strings.Join(used, ", "))
}

// Name is a run's stable name: the same for the same identity, so that a
// coordinator that is started again takes its run over.
func Name(identity ...string) string {
	data, _ := json.Marshal(identity) // strings always encode
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}
