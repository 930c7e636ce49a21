//go:build unix

package cluster

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"lorica/counts"
	"lorica/draw"
	"lorica/smooth"
)

// pretend is a device that takes its time and computes nothing: what is left
// of a run is the cost of handing out work.
type pretend struct {
	rate  float64 // draws a second; 0 takes no time
	batch int
	mu    sync.Mutex
	free  time.Time // when the device has done what it was given
}

func (p *pretend) Classes() int { return 3 }
func (p *pretend) Batch() int   { return p.batch }

func (p *pretend) Sample(_ context.Context, jobs []draw.Job) ([]draw.Tally, error) {
	out := make([]draw.Tally, len(jobs))
	draws := 0
	for i, j := range jobs {
		out[i].Counts = []int64{int64(j.Chunk.Count), 0, 0}
		draws += j.Chunk.Count
	}
	if p.rate > 0 {
		p.mu.Lock()
		if now := time.Now(); p.free.Before(now) {
			p.free = now
		}
		p.free = p.free.Add(time.Duration(float64(draws) / p.rate * float64(time.Second)))
		until := p.free
		p.mu.Unlock()
		time.Sleep(time.Until(until))
	}
	return out, nil
}

func run(b *testing.B, s draw.Sampler, n int, cfg smooth.Config, inFlight func() int) {
	b.Helper()
	err := smooth.Run(context.Background(), smooth.Task{Sampler: s, Source: ramp{n, testSpec.Pixels()}, Examples: all(n), Config: cfg,
		Emit: func(counts.Record) error { return nil }, InFlight: inFlight})
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkOverhead runs the same draws on one pretended device directly and
// through JetStream, in turns, and reports the share of the throughput that is
// left. The rates are those of a ResNet-20 on an H200 and of slower things.
func BenchmarkOverhead(b *testing.B) {
	for _, load := range []struct {
		rate float64
		n    int64
	}{{3e3, 1000}, {300e3, 1000}, {300e3, 100_000}} {
		rate, n := load.rate, load.n
		b.Run(fmt.Sprintf("rate=%g/n=%d", rate, n), func(b *testing.B) {
			cfg := smooth.Config{Sigma: 0.5, N0: 100, N: n, Seed: 1, Chunk: 1000}
			examples := max(1, int(2*rate/float64(n+100)))
			device := &pretend{rate: rate, batch: max(64, int(rate/100))}
			s := embed(b)
			spec := testSpec
			spec.Chunk = cfg.Chunk
			c := open(b, s, spec, Timing{})
			join(b, s, Worker{Name: "w", Build: func(context.Context, Spec, []byte) (draw.Sampler, string, error) { return device, "linear", nil }})
			if _, err := c.Engine(context.Background()); err != nil {
				b.Fatal(err)
			}
			var direct, through time.Duration
			for b.Loop() {
				start := time.Now()
				run(b, device, examples, cfg, nil)
				direct += time.Since(start)
				start = time.Now()
				run(b, c, examples, cfg, c.InFlight)
				through += time.Since(start)
			}
			b.ReportMetric(float64(direct)/float64(through), "share")
			b.ReportMetric(float64(b.N*examples)*float64(n+100)/through.Seconds(), "samples/s")
		})
	}
}

// BenchmarkExamples is what an example costs the coordinator, the server and
// four workers that take no time, all in this process, as the number of
// examples grows. Constant figures mean constant cost and memory.
func BenchmarkExamples(b *testing.B) {
	for _, n := range []int{1e3, 1e4, 1e5, 1e6} {
		b.Run(fmt.Sprintf("examples=%d", n), func(b *testing.B) {
			cfg := smooth.Config{Sigma: 0.5, N0: 100, N: 1000, Seed: 1, Chunk: 1000}
			s := embed(b)
			spec := testSpec
			spec.Chunk = cfg.Chunk
			c := open(b, s, spec, Timing{})
			for i := range 4 {
				join(b, s, Worker{Name: fmt.Sprint("w", i), Build: func(context.Context, Spec, []byte) (draw.Sampler, string, error) {
					return &pretend{batch: 4000}, "linear", nil
				}})
			}
			for len(c.Stats().Workers) < 4 {
				time.Sleep(time.Millisecond)
			}
			top := watchHeap(b)
			cpu := cpuTime()
			for b.Loop() {
				run(b, c, n, cfg, c.InFlight)
			}
			b.ReportMetric(float64(cpuTime()-cpu)/1e3/float64(b.N*n), "cpu-us/example")
			b.ReportMetric(float64(top())/(1<<20), "heap-MiB")
		})
	}
}

// answering is a coordinator without a network: every chunk is handed out and
// its result taken as the messages that would travel.
type answering struct {
	*desk
	member string
}

func (a answering) Classes() int { return 3 }
func (a answering) Batch() int   { return 1 }

func (a answering) Sample(ctx context.Context, jobs []draw.Job) ([]draw.Tally, error) {
	c, orders, err := a.issue(jobs)
	if err != nil {
		return nil, err
	}
	defer a.forget(orders)
	for _, o := range orders {
		var at order
		if err := decode(encode(o), maxChunkMsg, &at); err != nil {
			return nil, err
		}
		a.published(o.ID, o.ID)
		a.image(encode(wanted{ID: o.ID}))
		a.take(encode(delivery{Member: a.member, Results: []result{{ID: o.ID, Counts: [][2]int64{{0, int64(o.Count)}}}}}))
	}
	return a.wait(ctx, c)
}

// BenchmarkDesk is the coordinator's own part of an example's cost.
func BenchmarkDesk(b *testing.B) {
	for _, n := range []int{1e3, 1e4, 1e5, 1e6} {
		b.Run(fmt.Sprintf("examples=%d", n), func(b *testing.B) {
			d, member, _, orders := testDesk(b)
			d.forget(orders)
			d.spec.Chunk = 1000
			top := watchHeap(b)
			cpu := cpuTime()
			for b.Loop() {
				run(b, answering{d, member}, n, smooth.Config{Sigma: 0.5, N0: 100, N: 1000, Seed: 1, Chunk: 1000}, func() int { return 200 })
			}
			b.ReportMetric(float64(cpuTime()-cpu)/1e3/float64(b.N*n), "cpu-us/example")
			b.ReportMetric(float64(top())/(1<<20), "heap-MiB")
		})
	}
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// watchHeap returns what stops watching and gives the largest heap seen.
func watchHeap(b *testing.B) func() uint64 {
	b.Helper()
	runtime.GC()
	stop, done := make(chan struct{}), make(chan uint64)
	go func() {
		var m runtime.MemStats
		most := uint64(0)
		for {
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapAlloc)
			select {
			case <-stop:
				done <- most
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	return func() uint64 { close(stop); return <-done }
}
