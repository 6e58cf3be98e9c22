package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/internal/crash"
	"github.com/lastlook/lastlook/store/sqlite"
	modernc "modernc.org/sqlite"
)

// statementPoints are the failpoints within the store's transactions: triggers
// that call the process's end after a row was written and before the next is.
var statementPoints = map[string]string{
	"sql:key added":          "AFTER INSERT ON lastlook_keys",
	"sql:notification added": "AFTER INSERT ON lastlook_notifications",
	"sql:live added":         "AFTER INSERT ON lastlook_live",
	"sql:mark left":          "AFTER INSERT ON lastlook_marks",
	"sql:claimed":            "AFTER UPDATE ON lastlook_live WHEN NEW.state = 1 AND NEW.token IS NOT NULL",
	"sql:claim recorded":     "AFTER INSERT ON lastlook_claims",
	"sql:mark read":          "AFTER UPDATE ON lastlook_marks",
	"sql:sending":            "AFTER UPDATE ON lastlook_live WHEN NEW.state = 2",
	"sql:maybe told":         "AFTER UPDATE ON lastlook_keys WHEN NEW.maybe IS NOT NULL",
	"sql:retry":              "AFTER UPDATE ON lastlook_live WHEN NEW.state = 3",
	"sql:outcome written":    "AFTER INSERT ON lastlook_outcomes",
	"sql:sent written":       "AFTER INSERT ON lastlook_outcomes WHEN NEW.state = 4",
	"sql:baseline written":   "AFTER UPDATE ON lastlook_keys WHEN NEW.last_state = 4 AND NEW.last_id <> OLD.last_id",
	"sql:mark deleted":       "AFTER DELETE ON lastlook_marks",
	"sql:live deleted":       "AFTER DELETE ON lastlook_live",
	"sql:claim forgotten":    "AFTER DELETE ON lastlook_claims",
}

const (
	triggerName  = "crash_point"
	functionName = "crash_point_passed"
)

// passed is what the function calls; set while a database with a point is open.
var passed atomic.Pointer[func()]

// backend keeps the outbox and the application's rows in one SQLite file.
type backend struct{}

func (backend) Points() []string {
	return slices.Sorted(maps.Keys(statementPoints))
}

func (backend) Open(ctx context.Context, dir string, fail crash.Failpoint, end func()) (_ crash.Database, err error) {
	path := filepath.Join(dir, "crash.db")
	left := new(atomic.Int64)
	left.Store(max(fail.N, 1))
	f := func() {
		if left.Add(-1) == 0 {
			end()
		}
	}
	passed.Store(&f)
	store, err := sqlite.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, store.Close())
		}
	}()
	app, err := sql.Open("sqlite", "file:"+filepath.ToSlash(path)+"?_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=synchronous(FULL)")
	if err != nil {
		return nil, fmt.Errorf("the application's connections: %w", err)
	}
	db := &database{store: store, app: app}
	if err := db.prepare(ctx, fail.Point); err != nil {
		return nil, errors.Join(err, app.Close())
	}
	return db, nil
}

// database is the open file: the store's connections, and the application's.
type database struct {
	store *sqlite.Store
	app   *sql.DB
}

// prepare makes the application's table, and the trigger of a point.
func (db *database) prepare(ctx context.Context, point string) error {
	statements := []string{
		"CREATE TABLE IF NOT EXISTS notes (n INTEGER PRIMARY KEY, results TEXT)",
		"DROP TRIGGER IF EXISTS " + triggerName,
	}
	if on := statementPoints[point]; on != "" {
		statements = append(statements, fmt.Sprintf("CREATE TRIGGER %s %s BEGIN SELECT %s(); END", triggerName, on, functionName))
	}
	for _, s := range statements {
		if _, err := db.app.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

func (db *database) Store() lastlook.Store { return db.store }

func (db *database) Close() error {
	passed.Store(nil)
	return errors.Join(db.app.Close(), db.store.Close())
}

func (db *database) EnqueueTx(ctx context.Context, now time.Time, n int64, items []lastlook.Item, commit bool, pass func(string) error) ([]lastlook.EnqueueResult, error) {
	tx, err := db.app.BeginTx(ctx, nil)
	if err != nil {
		return nil, busy(err)
	}
	defer func() { _ = tx.Rollback() }() // does nothing after a commit
	if err := pass("tx:begun"); err != nil {
		return nil, err
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO notes (n) VALUES (?)", n); err != nil {
		return nil, busy(err)
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
	if _, err := tx.ExecContext(ctx, "UPDATE notes SET results = ? WHERE n = ?", string(text), n); err != nil {
		return nil, busy(err)
	}
	if !commit {
		return res, tx.Rollback()
	}
	if err := tx.Commit(); err != nil {
		return nil, busy(err)
	}
	return res, pass("tx:committed")
}

// busy marks the error of a file that was locked for too long.
func busy(err error) error {
	if e, ok := errors.AsType[*modernc.Error](err); ok && e.Code()&0xff == 5 { // SQLITE_BUSY
		return fmt.Errorf("%w: %w", lastlook.ErrBusy, err)
	}
	return err
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
	rows, err := db.app.QueryContext(ctx, "SELECT n, results FROM notes ORDER BY n")
	if err != nil {
		return nil, fmt.Errorf("read the application's rows: %w", err)
	}
	defer func() { _ = rows.Close() }()
	var out []crash.Note
	for rows.Next() {
		var n crash.Note
		var text string
		if err := rows.Scan(&n.N, &text); err != nil {
			return nil, fmt.Errorf("read the application's rows: %w", err)
		}
		if err := json.Unmarshal([]byte(text), &n.IDs); err != nil {
			return nil, fmt.Errorf("the application's row %d: %w", n.N, err)
		}
		out = append(out, n)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read the application's rows: %w", err)
	}
	return out, nil
}

func (db *database) Check(ctx context.Context) error {
	rows, err := db.app.QueryContext(ctx, "PRAGMA integrity_check")
	if err != nil {
		return fmt.Errorf("integrity check: %w", err)
	}
	defer func() { _ = rows.Close() }()
	var report []string
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return fmt.Errorf("integrity check: %w", err)
		}
		report = append(report, line)
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("integrity check: %w", err)
	}
	if len(report) != 1 || report[0] != "ok" {
		return &crash.DamageError{Report: strings.Join(report, "; ")}
	}
	return nil
}
