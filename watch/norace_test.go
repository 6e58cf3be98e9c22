//go:build !race

package watch_test

import "time"

const (
	scale      = 1000
	simulated  = 12 // hours
	seeds      = 2
	everyNth   = 1
	sweepEvery = time.Minute
)
