//go:build race

package watchsqlite_test

// manyWatchers is less under the race detector, which makes the driver some
// twenty times slower.
const manyWatchers = 1_000
