//go:build !race

package watchsqlite_test

const manyWatchers = 10_000
