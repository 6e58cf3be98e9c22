// Package accesspg keeps API keys in a PostgreSQL database, beside the outbox that
// [postgres.Store] keeps there. It implements [access.Store].
//
//	outbox, err := postgres.Open(ctx, dsn, postgres.Config{})
//	keys, err := accesspg.Open(ctx, outbox)
//
// Tokens are kept as their SHA-256. What was enqueued under an idempotency key
// is written in the transaction that enqueues, so that no crash separates them;
// requests under the same one wait for each other.
package accesspg
