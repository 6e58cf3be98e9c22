package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/internal/beside"
)

// Beside runs the statements of lastlook's own packages that keep tables beside
// the outbox.
func (s *Store) Beside(queries beside.Queries) beside.DB { return tables{s, queries} }

type tables struct {
	store   *Store
	queries beside.Queries
}

func (t tables) Write(ctx context.Context, f func(context.Context, beside.Tx) error) error {
	return t.store.WithTx(ctx, func(ctx context.Context, tx *sql.Tx) error { return f(ctx, besideTx{t, tx}) })
}

func (t tables) Read(ctx context.Context, f func(context.Context, beside.Tx) error) error {
	return t.store.WithReadTx(ctx, func(ctx context.Context, tx *sql.Tx) error { return f(ctx, besideTx{t, tx}) })
}

type besideTx struct {
	tables
	tx *sql.Tx
}

func (t besideTx) Query(ctx context.Context, name string, f func(scan func(...any) error) error, args ...any) error {
	rows, err := t.tx.QueryContext(ctx, t.queries.Text(name), args...)
	if err != nil {
		return beside.InStatement(name, err)
	}
	for rows.Next() {
		if err = f(rows.Scan); err != nil {
			break
		}
	}
	return beside.InStatement(name, errors.Join(err, rows.Err(), rows.Close()))
}

func (t besideTx) Exec(ctx context.Context, name string, args ...any) (int64, error) {
	res, err := t.tx.ExecContext(ctx, t.queries.Text(name), args...)
	if err != nil {
		return 0, beside.InStatement(name, err)
	}
	n, err := res.RowsAffected()
	return n, beside.InStatement(name, err)
}

// Lock has nothing to do: the transaction has the file's write lock.
func (t besideTx) Lock(context.Context, string, ...any) error { return nil }

func (t besideTx) KeyRows(ctx context.Context, keys []lastlook.Key) ([]lastlook.KeyRow, error) {
	return t.store.KeyRowsTx(ctx, t.tx, keys)
}

func (t besideTx) Enqueue(ctx context.Context, now time.Time, items ...lastlook.Item) ([]lastlook.EnqueueResult, error) {
	return t.store.EnqueueTx(ctx, t.tx, now, items...)
}
