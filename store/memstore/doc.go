// Package memstore keeps the outbox in memory, for tests: it keeps nothing when
// the process ends. It needs nothing but the standard library, and time is
// whatever its caller says, so a test runs days in milliseconds.
//
// It is the very model that other stores are compared with, see
// [github.com/lastlook/lastlook/store/storetest].
package memstore
