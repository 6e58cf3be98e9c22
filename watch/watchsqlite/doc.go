// Package watchsqlite keeps listings, watches, trigger states and observations
// in a SQLite file, beside the outbox that [sqlite.Store] keeps there. It
// implements [watch.Store].
//
//	outbox, err := sqlite.Open(ctx, path)
//	watches, err := watchsqlite.Open(ctx, outbox)
//
// [Store.Record] writes an observation, the states to which it moves the
// triggers and the outbox rows of what is news in one transaction: all of it is
// there, or nothing. However many watch a listing, that is a fixed number of
// statements.
//
// Every transaction that writes holds the file's write lock from its start, so
// that several processes may use one file at once: a watch that a command line
// adds, changes or removes while a server sweeps and dispatches is seen by the
// next look. Readers wait for nobody.
package watchsqlite
