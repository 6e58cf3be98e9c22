package cputest

import (
	"runtime"
	"testing"
	"time"
)

// failures counts what a test would have failed with.
type failures struct {
	testing.TB
	n int
}

func (f *failures) Helper()               {}
func (f *failures) Errorf(string, ...any) { f.n++ }

// Waiting is not working: only what a processor does counts, and what is too slow
// is tried again.
func TestWithinMeasuresWork(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells what one thread used")
	}
	const limit = 10 * time.Millisecond
	waits, works := &failures{TB: t}, &failures{TB: t}
	within(waits, 0, limit, func() { <-time.After(5 * limit) })
	if waits.n > 0 {
		t.Error("waiting was taken for work")
	}
	rounds := 0
	within(works, 0, limit, func() {
		rounds++
		for began := threadTime(); threadTime()-began < 2*limit; {
		}
	})
	if works.n != 1 || rounds != 4 {
		t.Errorf("%d failures after %d rounds of work without an end", works.n, rounds)
	}
}
