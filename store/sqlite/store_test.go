package sqlite_test

import (
	"context"
	"errors"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/store/sqlite"
)

// wantErr checks an error's kind and that its text says what to do.
func wantErr(t *testing.T, err, kind error, words ...string) {
	t.Helper()
	if kind != nil && !errors.Is(err, kind) {
		t.Fatalf("error %v, want %v", err, kind)
	}
	if err == nil {
		t.Fatal("no error")
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q does not say %q", err, w)
		}
	}
}

func TestOpenRefusesBadArguments(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.db")
	for name, open := range map[string]func() (*sqlite.Store, error){
		"empty path":   func() (*sqlite.Store, error) { return sqlite.Open(t.Context(), "") },
		"in memory":    func() (*sqlite.Store, error) { return sqlite.Open(t.Context(), ":memory:") },
		"uri":          func() (*sqlite.Store, error) { return sqlite.Open(t.Context(), "file:x.db?mode=ro") },
		"no time":      func() (*sqlite.Store, error) { return sqlite.Open(t.Context(), file, sqlite.WithTimeout(0)) },
		"no readers":   func() (*sqlite.Store, error) { return sqlite.Open(t.Context(), file, sqlite.WithReaders(0)) },
		"no time, enq": func() (*sqlite.Store, error) { _, err := sqlite.NewEnqueuer(sqlite.WithTimeout(-1)); return nil, err },
	} {
		_, err := open()
		if !errors.Is(err, lastlook.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOpenMissingDirectory(t *testing.T) {
	_, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "none", "x.db"))
	wantErr(t, err, nil, "directory")
}

func TestOpenNoDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	if err := os.WriteFile(path, []byte(strings.Repeat("this is no database\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := sqlite.Open(t.Context(), path)
	wantErr(t, err, nil, "no SQLite database", "check the path")
}

// A damaged page is reported as such, with what to do about it.
func TestDamagedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	s, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Enqueue(t.Context(), start, items(200)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		t.Fatal(err)
	}
	// The first page holds the schema; it stays.
	const pages = 8 * 4096
	if _, err := f.WriteAt([]byte(strings.Repeat("x", int(size)-pages)), pages); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = sqlite.Open(t.Context(), path); err == nil {
		_, err = s.List(t.Context(), lastlook.Query{})
		if e := s.Close(); e != nil {
			t.Error(e)
		}
	}
	wantErr(t, err, nil, "damaged", "restore")
}

func TestOpenOddPath(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a dir? with#odd %41 näme")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "x&y=z.db")
	s, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
	if s.Path() != path {
		t.Errorf("path %q, want %q", s.Path(), path)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// Several processes open a new file at the same time: each gets it, and it is
// set up once.
func TestOpenTogether(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			s, err := sqlite.Open(t.Context(), path)
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := s.Enqueue(t.Context(), start, items(3)); err != nil {
				t.Error(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	db := otherHandle(t, path, "")
	if n := column(t, db, "SELECT count(*) FROM lastlook_schema"); n[0] != "1" {
		t.Errorf("%s migrations recorded", n[0])
	}
	if n := column(t, db, "SELECT count(*) FROM lastlook_live"); n[0] != "3" {
		t.Errorf("%s live rows, want 3", n[0])
	}
	if mode := column(t, db, "PRAGMA journal_mode"); mode[0] != "wal" {
		t.Errorf("journal mode %s", mode[0])
	}
}

func TestNewerSchema(t *testing.T) {
	k := newKit(t)
	db := otherHandle(t, k.path, "")
	if _, err := db.Exec("INSERT INTO lastlook_schema (version, name) VALUES (99, 'future')"); err != nil {
		t.Fatal(err)
	}
	_, err := sqlite.Open(t.Context(), k.path)
	wantErr(t, err, lastlook.ErrNewerSchema, "99", "up to 1", "newer lastlook")
	wantErr(t, sqlite.Migrate(t.Context(), db), lastlook.ErrNewerSchema)
}

// A failed migration leaves nothing behind.
func TestMigrateIsOneTransaction(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	db := otherHandle(t, path, "")
	if _, err := db.Exec("CREATE TABLE lastlook_muted (somebody TEXT)"); err != nil {
		t.Fatal(err)
	}
	wantErr(t, sqlite.Migrate(t.Context(), db), nil, "0001_init.sql", "lastlook_muted")
	if tables := column(t, db, "SELECT name FROM sqlite_master WHERE type = 'table'"); len(tables) != 1 {
		t.Errorf("tables left: %v", tables)
	}
	if _, err := db.Exec("DROP TABLE lastlook_muted"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := sqlite.Migrate(t.Context(), db); err != nil {
			t.Fatal(err)
		}
	}
}

// calls are all methods that touch the database: those that write always, and
// those that only read.
func calls(k *kit) (writing, reading map[string]func(context.Context) error) {
	s, row := k.s, k.claim(1)[0]
	drop := k.must(row.Withdraw(k.now, lastlook.ReasonCancelled, "test"))
	lanes := []lastlook.LaneClaim{{Lane: row.Lane, N: 1, MaxAttempts: 3, Lease: lease}}
	writing = map[string]func(context.Context) error{
		"enqueue": func(ctx context.Context) error { _, err := s.Enqueue(ctx, k.now, items(5)); return err },
		"claim": func(ctx context.Context) error {
			_, err := s.Claim(ctx, lastlook.ClaimRequest{Now: k.now, Token: lastlook.NewToken(), Lanes: lanes})
			return err
		},
		"apply": func(ctx context.Context) error { _, err := s.Apply(ctx, k.now, []lastlook.Change{drop}); return err },
		"mute": func(ctx context.Context) error {
			return s.Mute(ctx, k.now, []lastlook.MuteChange{{Recipient: "bob", Channel: "push"}})
		},
	}
	reading = map[string]func(context.Context) error{
		"lanes": func(ctx context.Context) error { _, err := s.Lanes(ctx, lastlook.LaneQuery{Now: k.now}); return err },
		"get":   func(ctx context.Context) error { _, err := s.Get(ctx, row.ID); return err },
		"list":  func(ctx context.Context) error { _, err := s.List(ctx, lastlook.Query{}); return err },
		"stats": func(ctx context.Context) error { _, err := s.Stats(ctx, k.now, k.now); return err },
		"sweep": func(ctx context.Context) error { _, err := s.Sweep(ctx, lastlook.SweepRequest{Now: k.now}); return err },
		"prune": func(ctx context.Context) error {
			_, err := s.Prune(ctx, lastlook.PruneRequest{EndedBefore: k.now})
			return err
		},
	}
	return writing, reading
}

func TestClosed(t *testing.T) {
	k := newKit(t)
	k.enqueue(items(3)...)
	writing, reading := calls(k)
	for range 2 {
		if err := k.s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, set := range []map[string]func(context.Context) error{writing, reading} {
		for name, call := range set {
			if err := call(t.Context()); !errors.Is(err, sqlite.ErrClosed) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if _, err := k.s.LockDispatch(t.Context()); !errors.Is(err, sqlite.ErrClosed) {
		t.Errorf("lock: %v", err)
	}
}

// Another program holds the write lock: writers fail as busy after the time
// allowed, or with their caller's context, and readers do not notice.
func TestBusy(t *testing.T) {
	k := newKit(t)
	k.enqueue(items(3)...)
	writing, reading := calls(k)
	other, err := otherHandle(t, k.path, "_txlock=immediate").Begin()
	if err != nil {
		t.Fatal(err)
	}
	for name, call := range writing {
		k.s.SetTimeout(50 * time.Millisecond)
		err := call(t.Context())
		k.s.SetTimeout(time.Minute)
		wantErr(t, err, lastlook.ErrBusy, name, "WithTimeout")
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		if err := call(ctx); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, lastlook.ErrBusy) {
			t.Errorf("%s with a short context: %v", name, err)
		}
		cancel()
	}
	for name, call := range reading {
		if err := call(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := other.Rollback(); err != nil {
		t.Fatal(err)
	}
	for name, call := range writing {
		if err := call(t.Context()); err != nil {
			t.Errorf("%s after the lock was given back: %v", name, err)
		}
	}
}

// The same, with the lock held by a call of this process.
func TestBusyWithin(t *testing.T) {
	k := newKit(t)
	k.enqueue(items(3)...)
	writing, reading := calls(k)
	release := k.s.HoldGate()
	for name, call := range writing {
		k.s.SetTimeout(20 * time.Millisecond)
		wantErr(t, call(t.Context()), lastlook.ErrBusy, name)
		k.s.SetTimeout(time.Minute)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		wantErr(t, call(ctx), context.Canceled, name)
	}
	for name, call := range reading {
		if err := call(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	release()
	for name, call := range writing {
		if err := call(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A disk without room: the call fails as a whole, and works once there is room.
func TestFull(t *testing.T) {
	k := newKit(t)
	k.enqueue(items(10)...)
	k.s.ExecWriter(t, "PRAGMA max_page_count = 1") // the least it accepts is what there is
	many := make([]lastlook.Item, 500)
	for i := range many {
		many[i] = item(key(1000 + i))
		many[i].Detection = []byte(`"` + strings.Repeat("x", 2000) + `"`)
	}
	_, err := k.s.Enqueue(t.Context(), k.now, many)
	wantErr(t, err, lastlook.ErrFull, "enqueue", "room")
	if live := list(k, lastlook.Query{Limit: 1000}); len(live) != 10 {
		t.Fatalf("%d rows after the failed call, want 10", len(live))
	}
	k.s.ExecWriter(t, "PRAGMA max_page_count = 100000")
	if _, err := k.s.Enqueue(t.Context(), k.now, many); err != nil {
		t.Fatal(err)
	}
	if live := list(k, lastlook.Query{Limit: 1000}); len(live) != 510 {
		t.Fatalf("%d rows, want 510", len(live))
	}
}

// A file that SQLite may only read: reading works, writing says what is wrong.
// What a process without the rights meets is in TestReadOnlyFile.
func TestReadOnly(t *testing.T) {
	k := newKit(t)
	k.enqueue(items(3)...)
	ro, err := sqlite.Open(t.Context(), k.path, sqlite.WithParams(url.Values{"mode": {"ro"}}))
	if err != nil {
		t.Fatal(err)
	}
	_, err = ro.Enqueue(t.Context(), k.now, items(5))
	wantErr(t, err, lastlook.ErrReadOnly, "let this process write")
	wantErr(t, ro.Mute(t.Context(), k.now, []lastlook.MuteChange{{Recipient: "a", Channel: "b"}}), lastlook.ErrReadOnly)
	if recs, err := ro.List(t.Context(), lastlook.Query{}); err != nil || len(recs) != 3 {
		t.Errorf("%d records, %v", len(recs), err)
	}
	if err := ro.Close(); err != nil {
		t.Error(err)
	}
}

func list(k *kit, q lastlook.Query) []lastlook.Record {
	k.Helper()
	recs, err := k.s.List(k.Context(), q)
	if err != nil {
		k.Fatal(err)
	}
	return recs
}

// Days pass in a moment: nothing here waits for a clock of its own.
func TestFakeTime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	synctest.Test(t, func(t *testing.T) {
		s, err := sqlite.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		for range 48 {
			if _, err := s.Enqueue(t.Context(), time.Now(), items(2)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour) // of the bubble's time
		}
		swept, err := s.Sweep(t.Context(), lastlook.SweepRequest{Now: time.Now()})
		if err != nil || len(swept.Expired) != 2 {
			t.Errorf("%d expired, %v", len(swept.Expired), err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// What a call has committed must survive the machine: every commit is synced.
func TestCommitsAreSynced(t *testing.T) {
	if mode := newKit(t).s.PragmaOfWriter(t, "synchronous"); mode != 2 {
		t.Errorf("synchronous is %d, want 2 (FULL)", mode)
	}
}
