package kernel

import (
	"runtime"
	"testing"
)

// rate runs f until b is satisfied and reports flop*runs per second of
// processor time, in units of 1e9.
func rate(b *testing.B, work float64, name string, f func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	f()
	b.ResetTimer()
	t := threadTime()
	n := 0
	for b.Loop() {
		f()
		n++
	}
	b.ReportMetric(work*float64(n)/float64(threadTime()-t), name)
}
