// Package sqlitebench measures the outbox on SQLite: how fast rows go in, how fast
// they are looked at and told, and beside it what the same statements cost without
// an engine, and what the design of the original post does on the same file.
//
// Everything that is compared is measured in one run, in rounds that take turns,
// each on a fresh file; figures are medians.
package sqlitebench
