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

// job is one parallel loop: tasks are taken from next until there are none.
type job struct {
	n     int64
	f     func(task, worker int)
	next  atomic.Int64
	ids   atomic.Int64 // the last worker number given out; 0 is the caller's
	wg    sync.WaitGroup
	panic atomic.Pointer[any]
}

func newPool(threads int) *pool {
	p := &pool{
		threads: threads,
		tokens:  make(chan struct{}, threads),
		jobs:    make(chan *job, threads),
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
			p.wg.Add(1)
			go func() {
				defer p.wg.Done()
				for {
					select {
					case j := <-p.jobs:
						j.help()
						p.tokens <- struct{}{}
						j.wg.Done()
					case <-p.done:
						return
					}
				}
			}()
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

// release gives the token of an execution back.
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
	helpers := min(n, p.threads) - 1
	for range helpers {
		select {
		case <-p.tokens:
			p.start()
			j.wg.Add(1)
			p.jobs <- j
			continue
		default:
		}
		break
	}
	j.work(0)
	j.wg.Wait()
	if e := j.panic.Load(); e != nil {
		panic(*e)
	}
}

// help runs tasks on a borrowed thread.
func (j *job) help() { j.work(int(j.ids.Add(1))) }

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
