package csqlite_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lastlook/lastlook/internal/csqlite"
	_ "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"
)

// open returns a connection to a fresh file in WAL mode with a table t, made by
// the driver, and the driver's own handle.
func open(t *testing.T) (*csqlite.Conn, *sql.DB) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a b.db")
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(WAL)&_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { check(t, db.Close()) })
	_, err = db.ExecContext(t.Context(), "CREATE TABLE t (id INTEGER PRIMARY KEY, a, b)")
	check(t, err)
	c, err := csqlite.Open("file:" + strings.ReplaceAll(path, " ", "%20"))
	check(t, err)
	t.Cleanup(func() { check(t, c.Close()) })
	return c, db
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func prepare(t *testing.T, c *csqlite.Conn, text string) *csqlite.Stmt {
	t.Helper()
	st, err := c.Prepare(text)
	check(t, err)
	return st
}

func TestValues(t *testing.T) {
	c, db := open(t)
	insert := prepare(t, c, "INSERT INTO t VALUES (?, ?, ?)")
	large := strings.Repeat("ä", 3<<20)
	for i, v := range []string{"", "x", "a\x00b", "\xff\xfe", large} {
		insert.Int(1, int64(i))
		insert.Text(2, v)
		insert.Blob(3, []byte(v))
		if n, err := insert.Run(); n != 1 || err != nil {
			t.Fatal(n, err)
		}
	}
	insert.Int(1, -1<<63)
	insert.Null(2)
	insert.TextBytes(3, []byte("text"))
	_, err := insert.Run()
	check(t, err)

	read := prepare(t, c, "SELECT id, a, b, typeof(a), typeof(b) FROM t ORDER BY id")
	want := []struct {
		id   int64
		text string
		null bool
	}{{-1 << 63, "", true}, {0, "", false}, {1, "x", false}, {2, "a\x00b", false}, {3, "\xff\xfe", false}, {4, large, false}}
	for _, w := range want {
		if row, err := read.Step(); !row || err != nil {
			t.Fatal(row, err)
		}
		if read.IntAt(0) != w.id || read.TextAt(1) != w.text || read.IsNull(1) != w.null || (read.BytesAt(1) == nil) != w.null {
			t.Errorf("%d: %.20q, null %t; want %.20q, %t", read.IntAt(0), read.TextAt(1), read.IsNull(1), w.text, w.null)
		}
		if !w.null && (!bytes.Equal(read.BytesAt(2), []byte(w.text)) || read.TextAt(3) != "text" || read.TextAt(4) != "blob") {
			t.Errorf("%d: %.20q, %s, %s", w.id, read.BytesAt(2), read.TextAt(3), read.TextAt(4))
		}
	}
	if row, err := read.Step(); row || err != nil {
		t.Fatal("a row behind the last one", err)
	}
	var n int
	check(t, db.QueryRowContext(t.Context(), "SELECT count(*) FROM t").Scan(&n))
	if n != len(want) {
		t.Errorf("the driver sees %d rows", n)
	}
}

// What is bound is a copy, and what was bound for one run is not there in the
// next.
func TestBindingsAreCopies(t *testing.T) {
	c, _ := open(t)
	insert := prepare(t, c, "INSERT INTO t (a, b) VALUES (?, ?)")
	buffer := []byte("first")
	insert.TextBytes(1, buffer)
	insert.Null(2)
	copy(buffer, "XXXXX")
	_, err := insert.Run()
	check(t, err)
	for i := range 10_000 { // through many turns of the arena
		insert.Text(1, fmt.Sprint("text ", i))
		insert.Blob(2, bytes.Repeat([]byte{byte(i)}, i%300))
		_, err := insert.Run()
		check(t, err)
	}
	read := prepare(t, c, "SELECT id, a, b FROM t ORDER BY id")
	for i := -1; ; i++ {
		row, err := read.Step()
		check(t, err)
		if !row {
			if i != 10_000 {
				t.Fatalf("%d rows", i)
			}
			return
		}
		if i < 0 {
			if read.TextAt(1) != "first" {
				t.Fatalf("%q", read.TextAt(1))
			}
			continue
		}
		if read.TextAt(1) != fmt.Sprint("text ", i) || !bytes.Equal(read.BytesAt(2), bytes.Repeat([]byte{byte(i)}, i%300)) {
			t.Fatalf("row %d: %q, %d bytes", i, read.TextAt(1), len(read.BytesAt(2)))
		}
	}
}

func TestErrors(t *testing.T) {
	c, _ := open(t)
	code := func(err error) int {
		e, ok := errors.AsType[*csqlite.Error](err)
		if !ok {
			t.Fatalf("%v (%T) has no code", err, err)
		}
		return e.Code()
	}
	if _, err := csqlite.Open("file:/nowhere/at/all.db"); code(err)&0xff != codes.SQLITE_CANTOPEN {
		t.Error(err)
	}
	if _, err := c.Prepare("SELECT nonsense"); code(err) != codes.SQLITE_ERROR || !strings.Contains(err.Error(), "nonsense") {
		t.Error(err)
	}
	if _, err := c.Prepare(" "); code(err) != codes.SQLITE_MISUSE {
		t.Error(err)
	}
	check(t, c.Exec("INSERT INTO t (id) VALUES (1)"))
	if err := c.Exec("INSERT INTO t (id) VALUES (1)"); code(err) != codes.SQLITE_CONSTRAINT_PRIMARYKEY {
		t.Error(err)
	}
	// A statement that failed can be used again.
	insert := prepare(t, c, "INSERT INTO t (id) VALUES (?)")
	for _, v := range []struct {
		id int64
		ok bool
	}{{1, false}, {2, true}} {
		insert.Int(1, v.id)
		if _, err := insert.Run(); (err == nil) != v.ok {
			t.Errorf("insert %d: %v", v.id, err)
		}
	}
	insert.Int(9, 1)
	if _, err := insert.Run(); code(err) != codes.SQLITE_RANGE {
		t.Error(err)
	}
	insert.Int(1, 3)
	if _, err := insert.Run(); err != nil {
		t.Error("after a bad binding:", err)
	}
}

func TestLocksAreTheDriversToo(t *testing.T) {
	c, db := open(t)
	tx, err := db.BeginTx(t.Context(), nil)
	check(t, err)
	c.BusyTimeout(0)
	if e, ok := errors.AsType[*csqlite.Error](c.Exec("BEGIN IMMEDIATE")); !ok || e.Code() != codes.SQLITE_BUSY {
		t.Errorf("while the driver writes: %v", e)
	}
	check(t, tx.Rollback())
	check(t, c.Exec("BEGIN IMMEDIATE"))
	if !c.InTransaction() {
		t.Error("no transaction")
	}
	if _, err := db.ExecContext(t.Context(), "PRAGMA busy_timeout = 0"); err != nil {
		t.Fatal(err)
	}
	if _, err := db.BeginTx(t.Context(), nil); err == nil {
		t.Error("the driver could begin while we write")
	}
	check(t, c.Exec("COMMIT"))
	if c.InTransaction() {
		t.Error("a transaction is left")
	}
}

func TestInterrupt(t *testing.T) {
	c, _ := open(t)
	c.Interrupt() // with nothing at work: nothing
	forever := prepare(t, c, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n")
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for ctx.Err() == nil { // it may come before the statement begins
			c.Interrupt()
		}
	}()
	_, err := forever.Step()
	cancel()
	<-stopped
	if e, ok := errors.AsType[*csqlite.Error](err); !ok || e.Code() != codes.SQLITE_INTERRUPT {
		t.Errorf("%v", err)
	}
	check(t, c.Exec("INSERT INTO t (a) VALUES (1)"))
}

func TestClose(t *testing.T) {
	c, db := open(t)
	check(t, c.Exec("BEGIN IMMEDIATE"))
	check(t, c.Exec("INSERT INTO t (a) VALUES (1)"))
	st := prepare(t, c, "SELECT * FROM t")
	if row, err := st.Step(); !row || err != nil { // left in the middle
		t.Fatal(row, err)
	}
	prepare(t, c, "SELECT 1").Close()
	check(t, c.Close())
	check(t, c.Close())
	c.Interrupt()
	var n int
	check(t, db.QueryRowContext(t.Context(), "SELECT count(*) FROM t").Scan(&n))
	if n != 0 {
		t.Error("what was not committed is there")
	}
}
