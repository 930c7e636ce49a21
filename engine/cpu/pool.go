package cpu

import (
	"sync"
	"sync/atomic"
)

// pool lends threads to executions. It holds one token a thread: an execution
// holds one for its whole life, and borrows the idle ones for each parallel
// loop. So the threads at work never outnumber the tokens, however many
// executions run at once.
type pool struct {
	threads int
	tokens  chan struct{} // one element for each idle thread
	jobs    chan *job
	done    chan struct{}
	once    sync.Once
	wg      sync.WaitGroup
}

func newPool(threads int) *pool {
	p := &pool{
		threads: threads,
		tokens:  make(chan struct{}, threads),
		jobs:    make(chan *job, 16*threads),
		done:    make(chan struct{}),
	}
	for range threads {
		p.tokens <- struct{}{}
	}
	return p
}

// start brings up the helpers on first use: a backend that only compiles
// needs none. The caller of a loop is itself a worker, hence one less.
func (p *pool) start() {
	p.once.Do(func() {
		for range p.threads - 1 {
			p.wg.Go(func() {
				for {
					select {
					case j := <-p.jobs:
						j.help(p)
					case <-p.done:
						return
					}
				}
			})
		}
	})
}

// close ends the helpers. No execution may be running.
func (p *pool) close() {
	close(p.done)
	p.wg.Wait()
}

// acquire takes a token for an execution and waits until there is one.
func (p *pool) acquire() { <-p.tokens }

// release gives a token back.
func (p *pool) release() { p.tokens <- struct{}{} }

// Workers implements kernel.Par: worker numbers are below it.
func (p *pool) Workers() int { return p.threads }

// Run implements kernel.Par: it calls f for each task below n, on the calling
// thread and on whichever threads are idle, and returns when all are done. The
// caller must hold a token. A panic in a task is raised again in the caller.
func (p *pool) Run(n int, f func(task, worker int)) {
	if n <= 1 || p.threads == 1 {
		for i := range n {
			f(i, 0)
		}
		return
	}
	j := &job{n: int64(n), f: f}
	lent := p.lend(j, min(n, p.threads)-1)
	j.work(0)
	for range lent - j.close() {
		p.release()
	}
	if e := j.panic.Load(); e != nil {
		panic(*e)
	}
}

// lend offers a job to as many helpers as there are idle threads.
func (p *pool) lend(j *job, most int) int {
	for lent := range most {
		select {
		case <-p.tokens:
		default:
			return lent
		}
		p.start()
		select {
		case p.jobs <- j:
		default: // the helpers are behind: their threads are busy elsewhere
			p.release()
			return lent
		}
	}
	return most
}

// job is one parallel loop: tasks are taken from next until there are none.
type job struct {
	n     int64
	f     func(task, worker int)
	next  atomic.Int64
	panic atomic.Pointer[any]

	mu              sync.Mutex
	closed          bool
	started, active int
	idle            chan struct{} // closed by the last helper, if one is awaited
}

// help works on a borrowed thread, unless the job is over: a helper that wakes
// late must not keep the caller waiting, so the caller takes its token back.
func (j *job) help(p *pool) {
	j.mu.Lock()
	if j.closed {
		j.mu.Unlock()
		return
	}
	j.started++
	j.active++
	worker := j.started
	j.mu.Unlock()

	j.work(worker)
	p.release()

	j.mu.Lock()
	defer j.mu.Unlock()
	j.active--
	if j.closed && j.active == 0 {
		close(j.idle)
	}
}

// close bars helpers that have not started, waits for those that have, and
// returns how many those are.
func (j *job) close() int {
	j.mu.Lock()
	j.closed = true
	started, wait := j.started, j.active > 0
	if wait {
		j.idle = make(chan struct{})
	}
	j.mu.Unlock()
	if wait {
		<-j.idle
	}
	return started
}

// work takes tasks until none is left. After a panic the rest is abandoned.
func (j *job) work(worker int) {
	defer func() {
		if e := recover(); e != nil {
			j.panic.CompareAndSwap(nil, &e)
			j.next.Store(j.n)
		}
	}()
	for {
		i := j.next.Add(1) - 1
		if i >= j.n {
			return
		}
		j.f(int(i), worker)
	}
}
