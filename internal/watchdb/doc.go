// Package watchdb keeps listings, watches, trigger states and observations in a
// database, beside the outbox: all of a [watch.Store] but the statements, which
// watch/watchsqlite and watch/watchpg bring.
//
// Whoever changes a listing, its watches or their states locks the listing first,
// so that detection sees them as they stay. Siblings in a group are read without a
// lock, as they were committed.
package watchdb
