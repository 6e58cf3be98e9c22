// Package memstore keeps the outbox in memory: for tests, and as the oracle
// that [github.com/lastlook/lastlook/store/storetest] compares other stores
// with. It keeps nothing when the process ends.
//
// It is written to be obviously right rather than fast: maps under one mutex,
// every method a single critical section, no index.
package memstore
