//go:build !linux

package kernel

import "time"

var start = time.Now()

// threadTime is the clock where a thread's own time is not to be had.
func threadTime() int64 { return int64(time.Since(start)) }
