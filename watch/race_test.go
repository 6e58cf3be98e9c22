//go:build race

package watch_test

// The race detector makes the SQLite driver some twenty times slower.
const (
	scale     = 200
	simulated = 3 // hours
)
