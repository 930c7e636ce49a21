package engine

import (
	"iter"
	"runtime"
	"sync"

	"github.com/gomlx/gomlx/backends"

	"lorica/draw"
	"lorica/engine/cpu/kernel"
)

// span is a run of consecutive draws of one job inside a batch.
type span struct {
	job   int
	first int64 // index of the first draw
	count int
}

// cut packs the jobs' draws into batches of at most rows draws and slots jobs.
func cut(jobs []draw.Job, rows, slots int) iter.Seq[[]span] {
	return func(yield func([]span) bool) {
		var batch []span
		room := rows
		flush := func() bool {
			ok := len(batch) == 0 || yield(batch)
			batch, room = nil, rows
			return ok
		}
		for i, j := range jobs {
			first, left := j.Chunk.First, j.Chunk.Count
			for left > 0 {
				n := min(left, room)
				batch = append(batch, span{job: i, first: first, count: n})
				first, left, room = first+int64(n), left-n, room-n
				if (room == 0 || len(batch) == slots) && !flush() {
					return
				}
			}
		}
		flush()
	}
}

// lane holds the buffers of one batch on its way.
type lane struct {
	noisy  map[int]noisyBatch // host: by rows
	logits []float32
	images []float32 // device
	slot   []int32
	ids    []uint32
	counts []int32
}

// noisyBatch is an input of a host engine, shared with it where it can be.
type noisyBatch struct {
	buffer backends.Buffer // nil where the engine copies
	data   []float32
}

// classify runs one batch and returns what adds its answers to the tallies.
func (s *Sampler) classify(l *lane, jobs []draw.Job, spans []span, batch int) (func([]draw.Tally), error) {
	if s.engine.host {
		return s.classifyHost(l, jobs, spans, batch)
	}
	return s.classifyDevice(l, jobs, spans, batch)
}

// classifyHost makes the noise with the CPU's own kernels, and takes the arg
// max of the logits here: both are cheap beside the network.
func (s *Sampler) classifyHost(l *lane, jobs []draw.Job, spans []span, batch int) (func([]draw.Tally), error) {
	total := 0
	for _, sp := range spans {
		total += sp.count
	}
	rows := batch // the smallest of batch, batch/2, ... that holds them
	for rows/2 >= max(total, 4) {
		rows /= 2
	}
	p, err := s.program(rows)
	if err != nil {
		return nil, err
	}
	b := s.engine.backend
	if l.noisy == nil {
		l.noisy = map[int]noisyBatch{}
	}
	x, ok := l.noisy[rows]
	if !ok {
		if b.HasSharedBuffers() {
			buf, flat, err := b.NewSharedBuffer(0, p.shapes[0])
			if err != nil {
				return nil, err
			}
			x = noisyBatch{buffer: buf, data: flat.([]float32)}
		} else {
			x = noisyBatch{data: make([]float32, p.shapes[0].Size())}
		}
		l.noisy[rows] = x
	}
	s.fillNoise(x.data, jobs, spans)
	input := x.buffer
	if input == nil {
		if input, err = b.BufferFromFlatData(0, x.data, p.shapes[0]); err != nil {
			return nil, err
		}
		defer b.BufferFinalize(input)
	}
	if n := p.out.Size(); cap(l.logits) < n {
		l.logits = make([]float32, n)
	}
	logits := l.logits[:p.out.Size()]
	if err := p.run(b, []backends.Buffer{input}, logits); err != nil {
		return nil, err
	}
	return func(tallies []draw.Tally) {
		k, row := s.Classes(), 0
		for _, sp := range spans {
			t := &tallies[sp.job]
			for range sp.count {
				if c := argMax(logits[row*k : (row+1)*k]); c < 0 {
					t.Invalid++
				} else {
					t.Counts[c]++
				}
				row++
			}
		}
	}, nil
}

// argMax is the index of the largest value, ties to the lowest, or -1 where
// any is NaN.
func argMax(v []float32) int {
	best := 0
	for i, x := range v {
		if x != x {
			return -1
		}
		if x > v[best] {
			best = i
		}
	}
	return best
}

// fillNoise writes the noisy images of the spans, on all cores. Rows after
// them keep what was there: finite values that nobody reads the answer to.
func (s *Sampler) fillNoise(dst []float32, jobs []draw.Job, spans []span) {
	size := s.model.Image.Size()
	sigma := float32(s.config.Sigma)
	type row struct {
		job   int
		index int64
	}
	var rows []row
	for _, sp := range spans {
		for i := range sp.count {
			rows = append(rows, row{sp.job, sp.first + int64(i)})
		}
	}
	workers := min(runtime.GOMAXPROCS(0), len(rows))
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for r := w * len(rows) / workers; r < (w+1)*len(rows)/workers; r++ {
				j := jobs[rows[r].job]
				kernel.AddNoise(dst[r*size:(r+1)*size], j.Image, sigma,
					j.Chunk.Seed, uint32(j.Chunk.Phase), uint32(j.Chunk.Example), uint32(rows[r].index))
			}
		})
	}
	wg.Wait()
}

// classifyDevice sends images and draw identities and gets counts back.
func (s *Sampler) classifyDevice(l *lane, jobs []draw.Job, spans []span, batch int) (func([]draw.Tally), error) {
	p, err := s.program(batch)
	if err != nil {
		return nil, err
	}
	size, k := s.model.Image.Size(), s.Classes()+1
	if len(l.slot) != p.rows {
		l.images, l.slot = make([]float32, p.slots*size), make([]int32, p.rows)
		l.ids, l.counts = make([]uint32, words*p.rows), make([]int32, p.slots*k)
	}
	row := 0
	for slot, sp := range spans {
		j := jobs[sp.job]
		copy(l.images[slot*size:(slot+1)*size], j.Image)
		key := draw.Key(j.Chunk.Seed)
		for i := range sp.count {
			l.slot[row] = int32(slot)
			id := [words]uint32{wordIndex: uint32(sp.first + int64(i)), wordExample: uint32(j.Chunk.Example),
				wordPhase: uint32(j.Chunk.Phase), wordKey0: key[0], wordKey1: key[1]}
			for w, v := range id {
				l.ids[w*p.rows+row] = v
			}
			row++
		}
	}
	for ; row < p.rows; row++ {
		l.slot[row] = -1
	}
	b := s.engine.backend
	var free []backends.Buffer
	defer func() {
		for _, f := range free {
			b.BufferFinalize(f)
		}
	}()
	for i, flat := range []any{l.images, l.slot, l.ids} {
		buf, err := b.BufferFromFlatData(0, flat, p.shapes[i])
		if err != nil {
			return nil, err
		}
		free = append(free, buf)
	}
	if err := p.run(b, free, l.counts); err != nil {
		return nil, err
	}
	return func(tallies []draw.Tally) {
		for slot, sp := range spans {
			t := &tallies[sp.job]
			for c, n := range l.counts[slot*k : (slot+1)*k] {
				if c == k-1 {
					t.Invalid += int64(n)
				} else {
					t.Counts[c] += int64(n)
				}
			}
		}
	}, nil
}
