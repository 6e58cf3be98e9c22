//go:build race

package watchtest

// manyWatchers is less under the race detector, which makes the driver some
// twenty times slower.
const manyWatchers = 1_000
