package watchsqlite_test

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/store/sqlite"
	"github.com/lastlook/lastlook/watch/watchsqlite"
	"github.com/lastlook/lastlook/watch/watchtest"
	driver "modernc.org/sqlite"
)

func TestConformance(t *testing.T) {
	watchtest.Run(t, watchtest.Harness{Open: func(tb testing.TB) *watchtest.Opened {
		return openFile(tb, filepath.Join(tb.TempDir(), "lastlook.db"))
	}})
}

// file is a database as another program would use it.
type file struct {
	testing.TB
	path string
}

func openFile(tb testing.TB, path string) *watchtest.Opened {
	tb.Helper()
	db, err := sqlite.Open(tb.Context(), path)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Error(err)
		}
	})
	s, n, err := watchsqlite.OpenCounting(tb.Context(), db)
	if err != nil {
		tb.Fatal(err)
	}
	f := file{tb, path}
	return &watchtest.Opened{Store: s, Outbox: db, Statements: n, Close: db.Close, Exec: f.exec, Dump: f.dump, Break: f.fail,
		Column: func(query string) []string { return f.column(f.raw(), query) },
		Again:  func(tb testing.TB) *watchtest.Opened { return openFile(tb, path) },
	}
}

func (f file) raw() *sql.DB {
	f.Helper()
	c, err := driver.NewConnector("file:" + f.path)
	if err != nil {
		f.Fatal(err)
	}
	db := sql.OpenDB(c)
	f.Cleanup(func() {
		if err := db.Close(); err != nil {
			f.Error(err)
		}
	})
	return db
}

func (f file) exec(query string) {
	f.Helper()
	if _, err := f.raw().Exec(query); err != nil {
		f.Fatalf("%s: %v", query, err)
	}
}

func (f file) fail(table, kind string) (mend func()) {
	f.Helper()
	f.exec("CREATE TRIGGER boom BEFORE " + kind + " ON " + table + " BEGIN SELECT RAISE(ABORT, 'boom'); END")
	return func() { f.exec("DROP TRIGGER boom") }
}

func (f file) dump() map[string][]string {
	f.Helper()
	db := f.raw()
	out := map[string][]string{}
	for _, table := range f.column(db, "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'lastlook_%'") {
		columns := f.column(db, "SELECT name FROM pragma_table_info('"+table+"')")
		out[table] = f.column(db, "SELECT concat_ws('|', "+strings.Join(columns, ", ")+") FROM "+table)
	}
	return out
}

func (f file) column(db *sql.DB, query string) (out []string) {
	f.Helper()
	rows, err := db.Query(query)
	if err != nil {
		f.Fatalf("%s: %v", query, err)
	}
	for rows.Next() {
		var v sql.NullString
		if err := rows.Scan(&v); err != nil {
			f.Fatal(err)
		}
		out = append(out, v.String)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		f.Fatal(err)
	}
	return out
}

// Several processes start at once on a file that has no tables yet.
func TestOpenAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lastlook.db")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			db, err := sqlite.Open(t.Context(), path)
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := watchsqlite.Open(t.Context(), db); err != nil {
				t.Error(err)
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	all, err := watchsqlite.History().Load()
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, m := range all {
		want = append(want, fmt.Sprint(m.Version))
	}
	f := file{t, path}
	if got := f.column(f.raw(), "SELECT version FROM lastlook_watch_schema"); !reflect.DeepEqual(got, want) {
		t.Errorf("versions %v, want %v", got, want)
	}
}

func TestNewerSchemaIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lastlook.db")
	o := openFile(t, path)
	o.Exec("INSERT INTO lastlook_watch_schema (version, name) VALUES (999, 'later')")
	db, ok := o.Outbox.(*sqlite.Store)
	if !ok {
		t.Fatalf("a store of type %T", o.Outbox)
	}
	if _, err := watchsqlite.Open(t.Context(), db); !errors.Is(err, lastlook.ErrNewerSchema) {
		t.Errorf("got %v, want ErrNewerSchema", err)
	}
}
