package sqlitebench

import (
	"context"
	"database/sql"
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/store/sqlite"
)

// drivers are the database/sql drivers with which EnqueueTx is tried.
var drivers = []string{"sqlite", "sqlite3"}

// forEachDriver runs f with a store and, on the same file, an application's
// connection by another driver each time.
func forEachDriver(t *testing.T, f func(t *testing.T, s *sqlite.Store, app *sql.DB)) {
	for _, driver := range drivers {
		t.Run(driver, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "app.db")
			s, err := sqlite.Open(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
			app, err := openSQL(driver, path)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := app.Close(); err != nil {
					t.Error(err)
				}
			})
			if _, err := app.ExecContext(t.Context(), "CREATE TABLE orders (id INTEGER PRIMARY KEY, what TEXT)"); err != nil {
				t.Fatal(err)
			}
			f(t, s, app)
		})
	}
}

// inOrder enqueues items in a transaction that also writes an order.
func inOrder(t *testing.T, s *sqlite.Store, app *sql.DB, commit bool, list ...lastlook.Item) []lastlook.EnqueueResult {
	t.Helper()
	tx, err := app.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }() // does nothing after a commit
	if _, err := tx.ExecContext(t.Context(), "INSERT INTO orders (what) VALUES ('it')"); err != nil {
		t.Fatal(err)
	}
	res, err := s.EnqueueTx(t.Context(), tx, time.Now(), list...)
	if err != nil {
		t.Fatal(err)
	}
	if commit {
		err = tx.Commit()
	} else {
		err = tx.Rollback()
	}
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// count returns how many orders and how many notifications there are, the latter
// as another connection sees it.
func count(t *testing.T, s *sqlite.Store, app *sql.DB) (orders, notifications int) {
	t.Helper()
	if err := app.QueryRowContext(t.Context(), "SELECT count(*) FROM orders").Scan(&orders); err != nil {
		t.Fatal(err)
	}
	list, err := s.List(t.Context(), lastlook.Query{})
	if err != nil {
		t.Fatal(err)
	}
	return orders, len(list)
}

func TestEnqueueTxRollbackLeavesNothing(t *testing.T) {
	forEachDriver(t, func(t *testing.T, s *sqlite.Store, app *sql.DB) {
		inOrder(t, s, app, false, items(0, 700)...)
		if orders, rows := count(t, s, app); orders+rows != 0 {
			t.Errorf("%d orders, %d rows after a rollback", orders, rows)
		}
		res := inOrder(t, s, app, true, items(0, 1)...)
		if got := res[0].Status; got != lastlook.Inserted {
			t.Errorf("after the rollback the same item is %s", got)
		}
	})
}

func TestEnqueueTxCommitKeepsAll(t *testing.T) {
	forEachDriver(t, func(t *testing.T, s *sqlite.Store, app *sql.DB) {
		const n = 70 // over several batch sizes
		for i, r := range inOrder(t, s, app, true, items(0, n)...) {
			if r.Status != lastlook.Inserted || r.ID == 0 || r.State != lastlook.StatePending {
				t.Fatalf("item %d: %+v", i, r)
			}
		}
		orders, rows := count(t, s, app)
		if orders != 1 || rows != n {
			t.Errorf("%d orders, %d rows; want 1 and %d", orders, rows, n)
		}
		edge := items(1, 1)[0]
		edge.Edge = true
		again := inOrder(t, s, app, true, items(0, 1)[0], edge)
		if again[0].Status != lastlook.Duplicate || again[1].Status != lastlook.Marked {
			t.Errorf("a level and an edge met live rows: %+v", again)
		}
		if err := drainAll(t.Context(), s, n+1); err != nil { // the edge's mark tells once more, or is dropped
			t.Fatal(err)
		}
		told := inOrder(t, s, app, true, items(0, 1)...)
		if told[0].Status != lastlook.AlreadyTold {
			t.Errorf("after its telling an item is %+v", told[0])
		}
		var detection string
		if err := app.QueryRowContext(t.Context(), "SELECT detection FROM lastlook_notifications WHERE id = ?", int64(told[0].ID)).Scan(&detection); err != nil {
			t.Fatal(err)
		}
		if !json.Valid([]byte(detection)) {
			t.Errorf("the detection is stored as %q", detection)
		}
	})
}

// drainAll ticks until nothing is due, n rows at most.
func drainAll(ctx context.Context, s *sqlite.Store, n int) error {
	d, err := dispatcher(s, nil)
	if err != nil {
		return err
	}
	for ended := 0; ended < n; {
		res, err := d.Tick(ctx)
		if err != nil {
			return err
		}
		if res.Claimed == 0 {
			break
		}
		ended += res.Sent + res.Dropped
	}
	return nil
}
