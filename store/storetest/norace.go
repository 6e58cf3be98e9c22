//go:build !race

package storetest

// raceFactor divides the number of randomized runs under the race detector.
const raceFactor = 1
