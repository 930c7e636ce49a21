package kernel

// Par runs tasks, possibly at once.
type Par interface {
	// Workers is the number of scratch slots: worker is below it.
	Workers() int
	// Run calls f(task, worker) once for every task in [0, n) and returns when
	// all are done. Two calls that overlap in time have different workers.
	Run(n int, f func(task, worker int))
}

// Serial is the Par that runs every task in order on the caller's goroutine.
type Serial struct{}

// Workers is 1.
func (Serial) Workers() int { return 1 }

// Run calls f for every task in order.
func (Serial) Run(n int, f func(task, worker int)) {
	for i := range n {
		f(i, 0)
	}
}
