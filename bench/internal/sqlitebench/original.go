package sqlitebench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"time"
)

// originalSchema is the original post's queue: one table, one row per telling,
// unique by watch, channel and day; and the watches with their baseline.
const originalSchema = `
CREATE TABLE watches (id INTEGER PRIMARY KEY, last_notified TEXT);
CREATE TABLE notifications (
    id INTEGER PRIMARY KEY,
    watch_id INTEGER NOT NULL,
    channel TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'pending',
    payload TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    day TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    next_try INTEGER,
    sent_at INTEGER,
    UNIQUE (watch_id, channel, day)
);
CREATE INDEX notifications_status ON notifications (status, id);`

// originalLimit is how many rows one of its ticks takes.
const originalLimit = 50

// original is that queue in a file, with its statements prepared.
type original struct {
	db              *sql.DB
	queue, baseline *sql.Stmt
	tell            [3]*sql.Stmt
}

func openOriginal(ctx context.Context, dir string) (_ *original, err error) {
	o := &original{}
	if o.db, err = openSQL("sqlite", filepath.Join(dir, "original.db")); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("the original's tables: %w", err), o.db.Close())
		}
	}()
	if _, err := o.db.ExecContext(ctx, originalSchema); err != nil {
		return nil, err
	}
	for _, s := range []struct {
		to   **sql.Stmt
		text string
	}{
		{&o.queue, "SELECT id, watch_id, payload, next_try FROM notifications WHERE status IN ('pending', 'retry') ORDER BY id LIMIT ?"},
		{&o.baseline, "SELECT last_notified FROM watches WHERE id = ?"},
		{&o.tell[0], "UPDATE notifications SET status = 'sending', attempts = attempts + 1 WHERE id = ?"},
		{&o.tell[1], "UPDATE notifications SET status = 'sent', sent_at = ? WHERE id = ?"},
		{&o.tell[2], "UPDATE watches SET last_notified = ? WHERE id = ?"},
	} {
		if *s.to, err = o.db.PrepareContext(ctx, s.text); err != nil {
			return nil, err
		}
	}
	return o, nil
}

func (o *original) close() error { return o.db.Close() }

// fill adds n rows in a state, in one transaction.
func (o *original) fill(ctx context.Context, from, n int, status string, nextTry any) error {
	tx, err := o.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // does nothing after a commit
	now := time.Now()
	for i := from; i < from+n; i++ {
		if _, err := tx.ExecContext(ctx, "INSERT INTO watches (id) VALUES (?)", i+1); err != nil {
			return fmt.Errorf("fill: %w", err)
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO notifications (watch_id, channel, status, payload, created_at, day, next_try) VALUES (?, ?, ?, ?, ?, ?, ?)",
			i+1, channelName, status, asserted, now.UnixMilli(), now.UTC().Format(time.DateOnly), nextTry); err != nil {
			return fmt.Errorf("fill: %w", err)
		}
	}
	return tx.Commit()
}

// tick is one of its ticks: it takes the first rows of the queue and tells those
// that are due, one at a time: sending, the baseline that a look is held against,
// sent, the new baseline; three commits each. It returns how many it told.
func (o *original) tick(ctx context.Context) (told int, err error) {
	type queued struct {
		id, watch int64
		payload   string
		nextTry   sql.NullInt64
	}
	var queue []queued
	rows, err := o.queue.QueryContext(ctx, originalLimit)
	if err != nil {
		return 0, fmt.Errorf("queue: %w", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var r queued
		if err := rows.Scan(&r.id, &r.watch, &r.payload, &r.nextTry); err != nil {
			return 0, fmt.Errorf("queue: %w", err)
		}
		queue = append(queue, r)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return 0, fmt.Errorf("queue: %w", err)
	}
	now := time.Now().UnixMilli()
	for _, r := range queue {
		if r.nextTry.Valid && r.nextTry.Int64 > now {
			continue
		}
		for i, args := range [][]any{{r.id}, {now, r.id}, {asserted, r.watch}} {
			if _, err := o.tell[i].ExecContext(ctx, args...); err != nil {
				return told, fmt.Errorf("tell: %w", err)
			}
			if i > 0 {
				continue
			}
			var last sql.NullString
			if err := o.baseline.QueryRowContext(ctx, r.watch).Scan(&last); err != nil {
				return told, fmt.Errorf("baseline: %w", err)
			}
		}
		told++
	}
	return told, nil
}

// drainOriginal drains n rows of a backlog, without a pause between ticks.
func drainOriginal(ctx context.Context, dir string, backlog, n int) (took time.Duration, err error) {
	o, err := openOriginal(ctx, dir)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, o.close()) }()
	if err := o.fill(ctx, 0, backlog, "pending", nil); err != nil {
		return 0, err
	}
	start := time.Now()
	for left := n; left > 0; {
		told, err := o.tick(ctx)
		if err != nil || told == 0 {
			return 0, errors.Join(err, fmt.Errorf("a tick told %d, %d are left", told, left))
		}
		left -= told
	}
	return time.Since(start), nil
}
