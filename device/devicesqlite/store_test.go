package devicesqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/device/devicesqlite"
	"github.com/lastlook/lastlook/device/devicetest"
	"github.com/lastlook/lastlook/store/sqlite"
)

func open(tb testing.TB) (*sqlite.Store, *devicesqlite.Store) {
	tb.Helper()
	db, err := sqlite.Open(tb.Context(), filepath.Join(tb.TempDir(), "lastlook.db"))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Error(err)
		}
	})
	s, err := devicesqlite.Open(tb.Context(), db)
	if err != nil {
		tb.Fatal(err)
	}
	return db, s
}

func TestConformance(t *testing.T) {
	devicetest.Run(t, devicetest.Harness{Open: func(tb testing.TB) *devicetest.Opened {
		db, s := open(tb)
		return &devicetest.Opened{Store: s, Hex: func(c string) string { return "hex(" + c + ")" },
			Exec:   func(query string) { exec(tb, db, query) },
			Column: func(query string) []string { return column(tb, db, query) },
		}
	}})
}

func exec(tb testing.TB, db *sqlite.Store, query string) {
	tb.Helper()
	err := db.WithTx(tb.Context(), func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, query)
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
}

func column(tb testing.TB, db *sqlite.Store, query string) (out []string) {
	tb.Helper()
	err := db.WithReadTx(tb.Context(), func(ctx context.Context, tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, query)
		if err != nil {
			return err
		}
		for rows.Next() {
			var s string
			if err = rows.Scan(&s); err != nil {
				break
			}
			out = append(out, s)
		}
		return errors.Join(err, rows.Err(), rows.Close())
	})
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

func TestNewerSchema(t *testing.T) {
	db, _ := open(t)
	exec(t, db, "INSERT INTO lastlook_device_schema (version, name) VALUES (99, 'later')")
	if _, err := devicesqlite.Open(t.Context(), db); !errors.Is(err, lastlook.ErrNewerSchema) {
		t.Errorf("error %v", err)
	}
}
