//go:build race

package watch_test

import "time"

// The race detector makes the engine's tests several times slower, and finds in
// a part of the like what it would find in all: make corpus runs all.
const (
	scale      = 100
	simulated  = 1 // hours
	seeds      = 1
	everyNth   = 6 // behaviour
	sweepEvery = 5 * time.Minute
)
