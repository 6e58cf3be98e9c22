//go:build race

package storetest

// raceFactor divides the number of randomized runs: they use one goroutine, so
// the race detector only makes them slow.
const raceFactor = 5
