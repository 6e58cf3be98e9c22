package sqlite_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/store/sqlite"
	"github.com/lastlook/lastlook/store/storetest"
	driver "modernc.org/sqlite"
)

func TestConformance(t *testing.T) {
	const checks = "LASTLOOK_RAPID_CHECKS"
	if raceDetector && os.Getenv(checks) == "" {
		// The randomized run is one goroutine; the clauses about concurrency
		// are what the detector is for.
		t.Setenv(checks, "4")
	}
	storetest.Run(t, harness())
}

func harness() storetest.Harness {
	return storetest.Harness{
		Open:   func(tb storetest.TB) lastlook.Store { return openStore(tb, tempFile(tb), nil) },
		Reopen: reopenStore,
		Orphan: orphanMark,
		OpenSQL: func(tb storetest.TB, rewrite func(name, text string) string) lastlook.Store {
			return openStore(tb, tempFile(tb), rewrite)
		},
	}
}

func tempFile(tb storetest.TB) string { return filepath.Join(tb.TempDir(), "lastlook.db") }

func openStore(tb storetest.TB, path string, rewrite func(name, text string) string) *sqlite.Store {
	tb.Helper()
	s, err := sqlite.OpenRewritten(tb.Context(), path, rewrite)
	if err != nil {
		tb.Fatalf("open: %v", err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
	return s
}

// reopenStore abandons a store as the death of its process would: what it has
// not committed is lost, what it has is in the file.
func reopenStore(tb storetest.TB, s lastlook.Store) lastlook.Store {
	tb.Helper()
	old, ok := s.(*sqlite.Store)
	if !ok {
		tb.Fatalf("a store of type %T", s)
	}
	if err := old.Close(); err != nil {
		tb.Fatalf("close: %v", err)
	}
	return openStore(tb, old.Path(), nil)
}

// orphanMark writes the mark itself: no transaction of this store leaves one.
func orphanMark(tb storetest.TB, s lastlook.Store, now time.Time, it lastlook.Item) {
	tb.Helper()
	st, ok := s.(*sqlite.Store)
	if !ok {
		tb.Fatalf("a store of type %T", s)
	}
	prepared, err := lastlook.Prepare(now, []lastlook.Item{it})
	if err != nil {
		tb.Fatalf("orphan: %v", err)
	}
	c, err := driver.NewConnector("file:" + st.Path())
	if err != nil {
		tb.Fatalf("orphan: %v", err)
	}
	db := sql.OpenDB(c)
	defer func() {
		if err := db.Close(); err != nil {
			tb.Errorf("orphan: %v", err)
		}
	}()
	p := prepared[0]
	res, err := db.Exec(`INSERT INTO lastlook_marks (key_id, lane_id, created_at, due, expires_at, episode, trace, detection)
		SELECT k.id, a.id, ?, ?, ?, ?, ?, ? FROM lastlook_keys k, lastlook_lanes a
		WHERE k.topic = ? AND k.subject = ? AND k.recipient = ? AND k.channel = ?
		AND a.topic = k.topic AND a.channel = k.channel AND a.lane = ? AND a.priority = ?`,
		now.UnixMicro(), p.Due.UnixMicro(), p.ExpiresAt.UnixMicro(), p.Episode, p.Trace, string(p.Detection),
		p.Topic, p.Subject, p.Recipient, p.Channel, p.Lane, int(p.Priority))
	if err != nil {
		tb.Fatalf("orphan: %v", err)
	}
	if n, err := res.RowsAffected(); err != nil || n != 1 {
		tb.Fatalf("orphan: %d marks written, %v", n, err)
	}
}
