package main

import (
	"syscall"
	"time"
)

// processTime is the processor time that this process has used.
func processTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // only a bad address can fail
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
