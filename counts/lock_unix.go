//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package counts

import (
	"os"
	"syscall"
)

// lock takes the file for this process. The kernel gives it back when the file
// is closed, also by a kill: a crash leaves no stale lock.
func lock(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}
