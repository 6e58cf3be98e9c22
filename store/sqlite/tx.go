package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/lastlook/lastlook"
)

// Statements of this file. They are not in queries/*.sql, since they run in
// transactions of database/sql, unprepared, and never in batches of rows.
const (
	// takeLock takes the write lock as a transaction's first statement, which
	// waits for it as BEGIN IMMEDIATE does; database/sql begins deferred ones
	// only. It changes nothing.
	takeLock = "UPDATE lastlook_lanes SET priority = priority WHERE id = 0"

	// keyRows reads key rows in the order of columns that [readKey] wants. Its
	// parameter is a JSON array of [topic, subject, recipient, channel], so
	// that any number of keys is one statement.
	keyRows = `SELECT v.key,
    k.id, k.seq, k.told_policy, k.told_start, k.told_by, k.told_at,
    k.last_id, k.last_state, k.last_reason, k.last_at, k.failures,
    k.baseline_at, k.baseline, k.maybe
FROM json_each(?) v
CROSS JOIN lastlook_keys k
    ON k.topic = v.value ->> 0 AND k.subject = v.value ->> 1 AND k.recipient = v.value ->> 2 AND k.channel = v.value ->> 3`
)

// WithTx runs f in one transaction on the store's writing connection, for
// packages that keep tables of their own beside the outbox and enqueue with
// [Enqueuer.EnqueueTx]. Like every writing call of the store it waits for its
// turn, holds the write lock from its start on, and is bounded by
// [WithTimeout]. The transaction commits if f returns nil; otherwise, or if f
// panics, nothing of it stays.
//
// All others who write wait while f runs, so f must be short, must not look at
// the world, and must not call the store's other writing methods, which would
// wait for it until the timeout. It neither commits nor rolls back by itself.
// An error of f comes back as it is, unless it is the database's own.
func (s *Store) WithTx(ctx context.Context, f func(ctx context.Context, tx *sql.Tx) error) error {
	const op = "transaction"
	ctx, cancel := s.limit(ctx)
	defer cancel()
	var own bool // whether f ran: an error may be its own
	err := s.withWriter(ctx, func(w *writer) (bool, error) {
		own = true
		return w.inTx(ctx, f)
	})
	if own && (explained(err) || code(err) == 0 && ctx.Err() == nil) {
		return err
	}
	return s.explain(ctx, op, err)
}

// explained reports whether err has been through [explain] already.
func explained(err error) bool {
	return errors.Is(err, lastlook.ErrBusy) || errors.Is(err, lastlook.ErrFull) || errors.Is(err, lastlook.ErrReadOnly)
}

// inTx is transaction with a transaction of database/sql. usable is false if
// the connection may be left in one.
func (w *writer) inTx(ctx context.Context, f func(context.Context, *sql.Tx) error) (usable bool, err error) {
	// Not under ctx: database/sql would roll back behind f's back, and report
	// a commit that succeeded as failed, if the context ended meanwhile. The
	// statements have ctx, and busy_timeout bounds the commit.
	conn, err := w.sqlConn(ctx)
	if err != nil {
		return true, err
	}
	tx, err := conn.BeginTx(context.WithoutCancel(ctx), nil)
	if err != nil {
		return false, err
	}
	returned := false
	defer func() {
		if !returned { // f panicked: an open transaction keeps the connection from being closed
			_ = tx.Rollback()
		}
	}()
	if _, err = tx.ExecContext(ctx, takeLock); err == nil {
		err = f(ctx, tx)
	}
	returned = true
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return tx.Rollback() == nil, err
	}
	err = tx.Commit()
	return err == nil, err
}

// WithReadTx runs f on one snapshot of the database. It waits for no writer,
// nor they for it; f must not write.
func (s *Store) WithReadTx(ctx context.Context, f func(ctx context.Context, tx *sql.Tx) error) error {
	return s.read(ctx, "read", func(ctx context.Context, q session) error {
		t, ok := q.(txSession)
		if !ok {
			return fmt.Errorf("no transaction of database/sql but a %T", q)
		}
		return f(ctx, t.tx)
	})
}

// KeyRowsTx returns the key rows of the keys, in their order, as the
// transaction sees them; the zero KeyRow for a key that has none. It is one
// statement, whatever their number.
func (s *Store) KeyRowsTx(ctx context.Context, tx *sql.Tx, keys []lastlook.Key) ([]lastlook.KeyRow, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	parts := make([][4]string, len(keys))
	for i, k := range keys {
		parts[i] = [4]string{k.Topic, k.Subject, k.Recipient, k.Channel}
	}
	arg, err := json.Marshal(parts)
	if err != nil {
		return nil, fmt.Errorf("sqlite: key rows: %w", err)
	}
	ctx, cancel := s.limit(ctx)
	defer cancel()
	out := make([]lastlook.KeyRow, len(keys))
	rows, err := tx.QueryContext(ctx, keyRows, string(arg))
	if err != nil {
		return nil, s.explain(ctx, "key rows", err)
	}
	err = readRows(rows, func(r *row) error {
		out[r.int(0)] = readKey(r, 1)
		return nil
	})
	if err != nil {
		return nil, s.explain(ctx, "key rows", err)
	}
	return out, nil
}
