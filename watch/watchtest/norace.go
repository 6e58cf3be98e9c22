//go:build !race

package watchtest

const manyWatchers = 10_000
