package accesssqlite_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/lastlook/lastlook/access/accesssqlite"
	"github.com/lastlook/lastlook/access/accesstest"
	"github.com/lastlook/lastlook/store/sqlite"
)

func TestConformance(t *testing.T) {
	accesstest.Run(t, accesstest.Harness{Open: func(tb testing.TB) *accesstest.Opened {
		path := filepath.Join(tb.TempDir(), "lastlook.db")
		db, err := sqlite.Open(tb.Context(), path)
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() {
			if err := db.Close(); err != nil {
				tb.Error(err)
			}
		})
		s, err := accesssqlite.Open(tb.Context(), db)
		if err != nil {
			tb.Fatal(err)
		}
		if _, err := accesssqlite.Open(tb.Context(), db); err != nil { // again: nothing to do
			tb.Fatal(err)
		}
		return &accesstest.Opened{Store: s, Outbox: db, Rows: func() (out []string) {
			for _, name := range []string{path, path + "-wal"} {
				b, err := os.ReadFile(name)
				if err != nil {
					tb.Fatal(err)
				}
				out = append(out, string(b))
			}
			return out
		}}
	}})
}
