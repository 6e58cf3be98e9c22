package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/lastlook/lastlook"
)

// WithTx runs f in one transaction on a connection of the store's pool, for
// packages that keep tables of their own beside the outbox and enqueue with
// [Enqueuer.EnqueueTx]. It is durable, and bounded by [Config.Timeout]. The
// transaction commits if f returns nil; otherwise, or if f panics, nothing of it
// stays. Serialization failures and deadlocks are tried again: f may run several
// times, and must start afresh each time.
//
// Others who enqueue the same keys wait while f runs, so f must be short and must
// not look at the world. It neither commits nor rolls back by itself. An error of
// f comes back as it is, unless it is the database's own.
func (s *Store) WithTx(ctx context.Context, f func(ctx context.Context, tx pgx.Tx) error) error {
	return s.withTx(ctx, "transaction", writing, f)
}

// WithReadTx runs f on one snapshot of the database. It waits for no writer, nor
// they for it; f cannot write.
func (s *Store) WithReadTx(ctx context.Context, f func(ctx context.Context, tx pgx.Tx) error) error {
	return s.withTx(ctx, "read", counting, f)
}

func (s *Store) withTx(ctx context.Context, op string, m mode, f func(ctx context.Context, tx pgx.Tx) error) error {
	var own error // f's, as it was
	err := s.transact(ctx, op, m, func(ctx context.Context, t *transaction) (err error) {
		own = nil
		tx, err := t.handOut(ctx)
		if err != nil {
			return err
		}
		if own = f(ctx, tx); own != nil {
			return own
		}
		if err = tx.Commit(ctx); err == nil {
			t.ended = true
			return nil
		}
		t.sent = !errors.Is(err, pgx.ErrTxClosed) && commitUnknown(err, true)
		return err
	})
	if err != nil && own != nil && state(own) == "" && ctx.Err() == nil && !lost(own) {
		return own
	}
	return err
}

// handOut begins the transaction as one of pgx, for others to use.
func (t *transaction) handOut(ctx context.Context) (pgx.Tx, error) {
	tx, err := t.conn.BeginTx(ctx, pgx.TxOptions{BeginQuery: t.queries[t.mode.begin]})
	if err != nil {
		return nil, err
	}
	t.begun = true
	return tx, t.run(ctx, t.settings())
}

// KeyRowsTx returns the key rows of the keys, in their order, as the transaction
// sees them; the zero KeyRow for a key that has none. It is one statement,
// whatever their number.
func (e *Enqueuer) KeyRowsTx(ctx context.Context, tx pgx.Tx, keys []lastlook.Key) ([]lastlook.KeyRow, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	ctx, cancel := e.limit(ctx)
	defer cancel()
	out := make([]lastlook.KeyRow, len(keys))
	var n int64
	var key keyScan
	to := append([]any{&n}, key.all()...)
	err := pgxSession{to: tx, queries: e.queries}.run(ctx, step{name: "key_rows", args: keyArgs(len(keys), func(i int) lastlook.Key { return keys[i] }),
		each: func(r scanner) error {
			if err := r.Scan(to...); err != nil {
				return err
			}
			out[n-1] = key.row()
			return nil
		}})
	if err != nil {
		return nil, explain(ctx, "key rows", err)
	}
	return out, nil
}
