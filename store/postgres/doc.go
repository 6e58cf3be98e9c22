// Package postgres keeps the outbox in PostgreSQL, for any number of processes
// that enqueue and dispatch.
//
//	store, err := postgres.Open(ctx, "postgres://app@db/shop")
//
// The database may be the application's own. Then what it enqueues commits with
// its data: [Store.EnqueueTx] in a transaction of pgx, [Store.EnqueueSQLTx] in one
// of database/sql. All tables have the prefix lastlook_ and stand in one schema
// ([Config.Schema]); the view lastlook_outbox shows them to people as one.
// PostgreSQL 14 or later; the database's encoding must be UTF8.
//
// # What it promises
//
// A call is one transaction, or says that it is several. What a call has
// committed survives the death of the process and of the server; with a
// synchronous standby, of the machine. One commit is written behind: a claim's. If
// the server dies before it is on disk, the claim never was: the rows are pending
// without it, and its holder's next write, which compares the token, finds
// nothing. The move to sending, right before a channel is called, is durable, and
// with it the claim before it, since the log is written in order.
//
// Dispatchers share the work without a leader: claims pass over rows that others
// are just claiming. They may come and go. Their clocks may be wrong if they use
// the database's ([Store.NewClock]).
//
// Enqueuers of the same key wait for each other: of two transactions that both
// find no live row, the second to write waits until the first has ended. It then
// finds the first one's row, or none if that was rolled back. So keep transactions
// that enqueue short, and make those calls late in them; keys are sorted within a
// call, but not between two calls of one transaction.
//
// Small calls of [Store.Enqueue] that come while others are being committed share
// a transaction, and a sync of the disk. Whether a call shares makes no other
// difference: a group that meets somebody's lock is taken apart again.
//
// # Poolers
//
// Nothing here needs a session: settings end with their transaction. Behind
// PgBouncer in transaction mode, or any pooler that mixes the statements of
// clients, set [Config.Pooler], which leaves out named prepared statements.
//
// # Errors
//
// [lastlook.ErrBusy], [lastlook.ErrFull], [lastlook.ErrReadOnly],
// [lastlook.ErrNotFound], [lastlook.ErrNewerSchema], [ErrSchema], [ErrClosed] and
// [ErrCommitUnknown] are returned wrapped, with what to do about them. After any
// error but [ErrCommitUnknown], nothing of the transaction was written.
// Serialization failures and deadlocks (40001, 40P01), and connections lost before
// the commit, are tried again, a few times.
//
// # Where things are
//
// Tables are made by migrations/*.sql, every other statement stands in
// queries/*.sql under its name, and fragments.sql says how they are kept to one
// plan. They work on whole batches, in arrays; what belongs together travels
// together, so that a call waits for the network once to three times.
package postgres
