// Package cputest holds what reads hostile input to the processor time that its
// length explains: no hang over 100 ms for 100 kB. It is for tests only.
package cputest

import (
	"runtime"
	"testing"
	"time"
)

// What reading may take of a processor: for each 100 kB begun.
const (
	perBlock = 100 * time.Millisecond
	block    = 100_000
)

// Within fails the test if f, which reads n bytes, takes more than 100 ms for each
// 100 kB begun; ten times that under the race detector.
//
// What is measured is not the time that passes, which a busy machine stretches at
// will, but what the thread got of a processor: that differs by what shares its
// caches, not by who else waits. What is too slow once is measured again, and the
// fastest of a few counts, since a garbage collection that others caused can fall
// into any. Where the system does not tell threads apart, f is just run.
func Within(t testing.TB, n int, f func()) {
	t.Helper()
	within(t, n, time.Duration(1+n/block)*perBlock*slower, f)
}

func within(t testing.TB, n int, limit time.Duration, f func()) {
	t.Helper()
	const tries = 4
	fastest := time.Duration(0)
	for try := range tries {
		took := onThread(f)
		if took <= limit {
			return
		}
		if try == 0 || took < fastest {
			fastest = took
		}
	}
	t.Errorf("%d bytes took %s of a processor, more than %s", n, fastest, limit)
}

// onThread runs f and returns what its thread used of a processor.
func onThread(f func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := threadTime()
	f()
	return threadTime() - before
}
