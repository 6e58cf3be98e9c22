//go:build !race

package watch_test

const (
	scale     = 1000
	simulated = 12 // hours
)
