package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/internal/crash"
	"github.com/lastlook/lastlook/store/postgres"
)

// dsnEnv tells children where the database is.
const dsnEnv = "LASTLOOK_CRASH_DSN"

const (
	// callTimeout is the store's: locks of a process that is stopped in a
	// transaction are freed by then.
	callTimeout = 3 * time.Second
	// openFor is how long opening is tried, since the server may be away.
	openFor = 20 * time.Second
)

// backend keeps the outbox and the application's rows in one database.
type backend struct{ dsn string }

// Points implements [crash.Backend]: a server's statements have none.
func (backend) Points() []string { return nil }

func (b backend) Open(ctx context.Context, _ string, _ crash.Failpoint, _ func()) (crash.Database, error) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for until := time.Now().Add(openFor); ; {
		db, err := b.open(ctx)
		if err == nil || time.Now().After(until) {
			return db, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, err
		}
	}
}

func (b backend) open(ctx context.Context) (_ crash.Database, err error) {
	store, err := postgres.Open(ctx, b.dsn, postgres.Config{Timeout: callTimeout})
	if err != nil {
		return nil, err
	}
	if _, err = store.Pool().Exec(ctx, "CREATE TABLE IF NOT EXISTS notes (n bigint PRIMARY KEY, results text)"); err != nil && !exists(ctx, store) {
		return nil, errors.Join(fmt.Errorf("the application's table: %w", err), store.Close())
	}
	return &database{store: store}, nil
}

// exists reports whether the table is there: two who make it at once meet.
func exists(ctx context.Context, store *postgres.Store) bool {
	_, err := store.Pool().Exec(ctx, "SELECT 1 FROM notes LIMIT 0")
	return err == nil
}

type database struct{ store *postgres.Store }

func (db *database) Store() lastlook.Store { return db.store }
func (db *database) Close() error          { return db.store.Close() }

func (db *database) EnqueueTx(ctx context.Context, now time.Time, n int64, items []lastlook.Item, commit bool, pass func(string) error) ([]lastlook.EnqueueResult, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	tx, err := db.store.Pool().Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // does nothing after a commit
	if err := pass("tx:begun"); err != nil {
		return nil, err
	}
	// The application's own statements are bounded as the store's are.
	if _, err := tx.Exec(ctx, "SELECT set_config('idle_in_transaction_session_timeout', $1, true)", strconv.FormatInt(callTimeout.Milliseconds(), 10)); err != nil {
		return nil, err
	}
	if _, err := tx.Exec(ctx, "INSERT INTO notes (n) VALUES ($1)", n); err != nil {
		return nil, err
	}
	if err := pass("tx:written"); err != nil {
		return nil, err
	}
	res, err := db.store.EnqueueTx(ctx, tx, now, items...)
	if err != nil {
		return nil, err
	}
	if err := pass("tx:enqueued"); err != nil {
		return nil, err
	}
	text, err := json.Marshal(idsOf(res))
	if err != nil {
		return nil, err
	}
	if _, err := tx.Exec(ctx, "UPDATE notes SET results = $2 WHERE n = $1", n, string(text)); err != nil {
		return nil, err
	}
	if !commit {
		return res, tx.Rollback(ctx)
	}
	if err := tx.Commit(ctx); err != nil {
		return nil, err
	}
	return res, pass("tx:committed")
}

// idsOf are the rows that a call's results name.
func idsOf(res []lastlook.EnqueueResult) []lastlook.ID {
	out := []lastlook.ID{}
	for _, r := range res {
		if r.ID != 0 {
			out = append(out, r.ID)
		}
	}
	return out
}

func (db *database) Notes(ctx context.Context) ([]crash.Note, error) {
	rows, err := db.store.Pool().Query(ctx, "SELECT n, results FROM notes ORDER BY n")
	if err != nil {
		return nil, fmt.Errorf("read the application's rows: %w", err)
	}
	notes, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (n crash.Note, err error) {
		var text string
		if err := r.Scan(&n.N, &text); err != nil {
			return n, err
		}
		return n, json.Unmarshal([]byte(text), &n.IDs)
	})
	if err != nil {
		return nil, fmt.Errorf("read the application's rows: %w", err)
	}
	return notes, nil
}

// broken finds what must never be in the tables, by the name of the mistake.
var broken = map[string]string{
	"a notification that is neither live nor ended, or both": `SELECT count(*) FROM lastlook_notifications n
		WHERE (SELECT count(*) FROM lastlook_live l WHERE l.id = n.id) + (SELECT count(*) FROM lastlook_outcomes o WHERE o.id = n.id) <> 1`,
	"a live row without its notification":    `SELECT count(*) FROM lastlook_live WHERE id NOT IN (SELECT id FROM lastlook_notifications)`,
	"an outcome without its notification":    `SELECT count(*) FROM lastlook_outcomes WHERE id NOT IN (SELECT id FROM lastlook_notifications)`,
	"a notification without its key":         `SELECT count(*) FROM lastlook_notifications WHERE key_id NOT IN (SELECT id FROM lastlook_keys)`,
	"a key that is there twice, by no index": `SELECT count(*) FROM (SELECT 1 FROM lastlook_keys GROUP BY topic || '', subject, recipient, channel HAVING count(*) > 1) x`,
}

// Check implements [crash.Database]: it looks for torn rows, and for indexes that
// do not fit their tables if the server has amcheck.
func (db *database) Check(ctx context.Context) error {
	if _, err := db.store.Pool().Exec(ctx, "ANALYZE"); err != nil {
		return fmt.Errorf("check: %w", err)
	}
	for name, query := range broken {
		var n int
		if err := db.store.Pool().QueryRow(ctx, query).Scan(&n); err != nil {
			return fmt.Errorf("check: %w", err)
		}
		if n > 0 {
			return &crash.DamageError{Report: fmt.Sprintf("%d times %s", n, name)}
		}
	}
	return db.amcheck(ctx)
}

func (db *database) amcheck(ctx context.Context) error {
	var there bool
	pool := db.store.Pool()
	if err := pool.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM pg_available_extensions WHERE name = 'amcheck')").Scan(&there); err != nil || !there {
		return err
	}
	if _, err := pool.Exec(ctx, "CREATE EXTENSION IF NOT EXISTS amcheck"); err != nil {
		return fmt.Errorf("check: %w", err)
	}
	_, err := pool.Exec(ctx, `SELECT bt_index_check(i.indexrelid, true) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
		JOIN pg_am a ON a.oid = c.relam WHERE a.amname = 'btree' AND c.relname LIKE 'lastlook%'`)
	if err != nil {
		return &crash.DamageError{Report: err.Error()}
	}
	return nil
}
