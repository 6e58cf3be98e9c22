// Package beside is what stores share that keep tables of their own beside the
// outbox: statements by name ([Queries]), transactions that run them ([DB],
// [Tx]), and the history of tables ([History]). What is written on it runs on
// every database that has the statements; store/sqlite and store/postgres
// implement it.
package beside

import (
	"context"
	"time"

	"github.com/lastlook/lastlook"
)

// DB is a database with the outbox and further tables in it. It is safe for
// concurrent use.
type DB interface {
	// Write runs f in one transaction, which commits if f returns nil. f may run
	// several times, and must start afresh each time.
	Write(ctx context.Context, f func(context.Context, Tx) error) error
	// Read runs f on one snapshot; f cannot write.
	Read(ctx context.Context, f func(context.Context, Tx) error) error
}

// Tx is a transaction under way. Statements are known by their names, and take
// nil, bool, int, int64, string and []byte; lists travel as JSON.
type Tx interface {
	// Query runs a statement and calls f for each row that comes back. f must not
	// use the transaction: a statement within an open cursor would wait for ever.
	Query(ctx context.Context, name string, f func(scan func(...any) error) error, args ...any) error
	// Exec runs a statement and returns the number of rows changed.
	Exec(ctx context.Context, name string, args ...any) (int64, error)
	// Lock runs a statement that locks the rows it finds until the end of the
	// transaction: statements after it see what others have made of them. Where
	// one writer is let in at a time, there is nothing to do.
	Lock(ctx context.Context, name string, args ...any) error
	// KeyRows returns the outbox's key rows, in the order of keys.
	KeyRows(ctx context.Context, keys []lastlook.Key) ([]lastlook.KeyRow, error)
	// Enqueue enqueues in this transaction.
	Enqueue(ctx context.Context, now time.Time, items ...lastlook.Item) ([]lastlook.EnqueueResult, error)
}

// Number runs a statement that gives one integer, or none: 0.
func Number(ctx context.Context, tx Tx, name string, args ...any) (n int64, err error) {
	err = tx.Query(ctx, name, func(scan func(...any) error) error { return scan(&n) }, args...)
	return n, err
}
