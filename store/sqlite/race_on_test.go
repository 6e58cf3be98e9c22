//go:build race

package sqlite_test

// raceDetector is set if the tests run under it: SQLite in Go is some fifteen
// times slower then.
const raceDetector = true
