// Package sqlite keeps the outbox in a SQLite file: for programs with one
// process, or a few on one machine.
//
//	store, err := sqlite.Open(ctx, "lastlook.db")
//
// The file may be the application's own. Then what it enqueues commits with its
// data ([Store.EnqueueTx], [Store.WithTx]). All tables have the prefix
// lastlook_; the view lastlook_outbox shows them to people as one.
//
// A process that opens the file with another SQLite library (mattn's driver,
// say) can enqueue too ([Migrate], [Enqueuer]), but must not use [Open] on that
// file: two SQLite libraries in one process do not see each other's locks, and
// corrupt the file (https://sqlite.org/howtocorrupt.html, section 2.2.1). Let
// the dispatcher be another process then, or use modernc.org/sqlite for both.
//
// # What it promises
//
// A call is one transaction, or says that it is several. What a call has
// committed survives the death of the process and of the machine: WAL mode with
// synchronous=FULL. The file is switched to WAL mode, and it must not lie on a
// network file system.
//
// SQLite has one writer at a time. Calls that write wait for each other, for
// other processes, and for the application's own transactions; calls that read
// wait for nobody. Every call ends within the time that [WithTimeout] allows,
// and with its context.
//
// # Errors
//
// [lastlook.ErrBusy], [lastlook.ErrFull], [lastlook.ErrReadOnly],
// [lastlook.ErrNotFound], [lastlook.ErrNewerSchema] and [ErrClosed] are
// returned wrapped, with what to do about them. After any error nothing of the
// transaction was written.
//
// # Where things are
//
// Tables are made by migrations/*.sql, every other statement stands in
// queries/*.sql under its name. They work on whole batches at once, so that
// the number of statements does not grow with that of rows. statistics.txt is
// what SQLite's planner is told.
package sqlite
