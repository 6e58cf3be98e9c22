// Package accesssqlite keeps API keys in a SQLite file, beside the outbox that
// [sqlite.Store] keeps there. It implements [access.Store].
//
//	outbox, err := sqlite.Open(ctx, path)
//	keys, err := accesssqlite.Open(ctx, outbox)
//
// Tokens are kept as their SHA-256. What was enqueued under an idempotency key
// is written in the transaction that enqueues, so that no crash separates them.
package accesssqlite
