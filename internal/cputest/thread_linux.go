package cputest

import (
	"syscall"
	"time"
)

// threadTime is what the thread has used of processors so far.
func threadTime() time.Duration {
	const thread = 1 // RUSAGE_THREAD, which package syscall does not name
	var u syscall.Rusage
	if err := syscall.Getrusage(thread, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
