// Package csqlite calls the C interface of the SQLite library that
// modernc.org/sqlite carries, without database/sql in between: for the outbox's
// writer, which runs a handful of statements tens of thousands of times a
// second. There, boxing each value, allocating memory for each bound text and
// watching a context for each statement cost more than SQLite's own work; as
// docs/decisions/005-sqlite-writer.md has it measured.
//
//	c, err := csqlite.Open("file:/path?mode=rw")
//	st, err := c.Prepare("UPDATE t SET a = ? WHERE id = ?")
//	st.Text(1, "x")
//	st.Int(2, 7)
//	_, err = st.Step() // or st.Run(), if no rows are wanted
//
// The library, and so its locks within the process, is the driver's own: the
// two may have one file open at the same time.
//
// A Conn and its statements are for one goroutine at a time, but for
// [Conn.Interrupt]. What is bound is copied; what is read is copied out.
package csqlite

import (
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"modernc.org/libc"
	"modernc.org/libc/sys/types"
	sqlite3 "modernc.org/sqlite/lib"
)

// Error is what SQLite says went wrong.
type Error struct {
	code int
	text string
}

// Error implements error, in the form of the driver's own.
func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.text, e.code) }

// Code returns the extended result code (https://sqlite.org/rescode.html).
func (e *Error) Code() int { return e.code }

// Conn is a connection. Close it when it is not needed any more.
type Conn struct {
	tls   *libc.TLS
	db    uintptr
	out   uintptr // where the library leaves a pointer
	stmts map[*Stmt]bool
	arena arena

	// interrupting keeps Close and Interrupt apart, and is held with a
	// thread state of its own: the library's is used by the statement at work.
	interrupting sync.Mutex
	open         bool
	other        *libc.TLS
}

// Open opens the database file that a URI names (https://sqlite.org/uri.html).
// It creates none.
func Open(uri string) (*Conn, error) {
	c := &Conn{tls: libc.NewTLS(), other: libc.NewTLS(), stmts: map[*Stmt]bool{}}
	var err error
	if c.out, err = c.malloc(int(unsafe.Sizeof(uintptr(0)))); err != nil {
		c.free()
		return nil, err
	}
	name, err := libc.CString(uri)
	if err != nil {
		c.free()
		return nil, err
	}
	defer libc.Xfree(c.tls, name)
	*(*uintptr)(pointer(c.out)) = 0
	rc := sqlite3.Xsqlite3_open_v2(c.tls, name, c.out, sqlite3.SQLITE_OPEN_READWRITE|sqlite3.SQLITE_OPEN_URI|sqlite3.SQLITE_OPEN_NOMUTEX, 0)
	c.db = *(*uintptr)(pointer(c.out))
	if rc == sqlite3.SQLITE_OK {
		rc = sqlite3.Xsqlite3_extended_result_codes(c.tls, c.db, 1)
	}
	if rc != sqlite3.SQLITE_OK {
		err := c.fail(rc)
		_ = c.close()
		return nil, err
	}
	c.open = true
	runtime.KeepAlive(c)
	return c, nil
}

// Close closes the connection and its statements; an open transaction is rolled
// back. Further Closes do nothing.
func (c *Conn) Close() error {
	c.interrupting.Lock()
	defer c.interrupting.Unlock()
	if !c.open {
		return nil
	}
	c.open = false
	for st := range c.stmts {
		sqlite3.Xsqlite3_finalize(c.tls, st.p)
	}
	clear(c.stmts)
	return c.close()
}

func (c *Conn) close() error {
	var err error
	if c.db != 0 {
		if rc := sqlite3.Xsqlite3_close_v2(c.tls, c.db); rc != sqlite3.SQLITE_OK {
			err = c.fail(rc)
		}
		c.db = 0
	}
	c.free()
	return err
}

func (c *Conn) free() {
	if c.out != 0 {
		libc.Xfree(c.tls, c.out)
	}
	c.arena.free(c)
	c.tls.Close()
	c.other.Close()
}

// Interrupt makes the statement at work fail with SQLITE_INTERRUPT, and does
// nothing if there is none. It may be called from any goroutine, at any time.
func (c *Conn) Interrupt() {
	c.interrupting.Lock()
	defer c.interrupting.Unlock()
	if c.open {
		sqlite3.Xsqlite3_interrupt(c.other, c.db)
	}
}

// BusyTimeout sets how long statements wait for another connection's lock.
func (c *Conn) BusyTimeout(milliseconds int) {
	sqlite3.Xsqlite3_busy_timeout(c.tls, c.db, int32(min(max(milliseconds, 0), 1<<30)))
}

// InTransaction reports whether a transaction is open.
func (c *Conn) InTransaction() bool { return sqlite3.Xsqlite3_get_autocommit(c.tls, c.db) == 0 }

// Exec runs one statement, without parameters, and drops its rows.
func (c *Conn) Exec(query string) error {
	st, err := c.Prepare(query)
	if err != nil {
		return err
	}
	_, err = st.Run()
	st.Close()
	return err
}

// Prepare compiles a statement, which stays until it, or the connection, is
// closed.
func (c *Conn) Prepare(query string) (*Stmt, error) {
	text, err := libc.CString(query)
	if err != nil {
		return nil, err
	}
	defer libc.Xfree(c.tls, text)
	*(*uintptr)(pointer(c.out)) = 0
	rc := sqlite3.Xsqlite3_prepare_v3(c.tls, c.db, text, int32(len(query)+1), sqlite3.SQLITE_PREPARE_PERSISTENT, c.out, 0)
	if rc != sqlite3.SQLITE_OK {
		return nil, c.fail(rc)
	}
	st := &Stmt{c: c, p: *(*uintptr)(pointer(c.out))}
	if st.p == 0 {
		return nil, &Error{sqlite3.SQLITE_MISUSE, "an empty statement"}
	}
	st.columns = int(sqlite3.Xsqlite3_column_count(c.tls, st.p))
	c.stmts[st] = true
	return st, nil
}

// fail makes an error of a result code.
func (c *Conn) fail(rc int32) error {
	e := &Error{code: int(rc), text: libc.GoString(sqlite3.Xsqlite3_errstr(c.tls, rc))}
	if c.db == 0 {
		return e
	}
	if text := libc.GoString(sqlite3.Xsqlite3_errmsg(c.tls, c.db)); text != e.text && sqlite3.Xsqlite3_extended_errcode(c.tls, c.db) == rc {
		e.text += ": " + text
	}
	return e
}

func (c *Conn) malloc(n int) (uintptr, error) {
	p := libc.Xmalloc(c.tls, types.Size_t(n))
	if p == 0 {
		return 0, &Error{sqlite3.SQLITE_NOMEM, "out of memory"}
	}
	return p, nil
}

// pointer is an address of the library's memory, which Go's collector neither
// knows nor moves, as a pointer.
func pointer(p uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&p)) }

// arena is where bound values stand until their statement has run. Its chunks
// never move, since the library keeps their addresses.
type arena struct {
	chunks []chunk
	used   int // of the last chunk
}

type chunk struct {
	p    uintptr
	size int
}

const firstChunk = 64 << 10

// put copies b and returns the copy's address.
func (a *arena) put(c *Conn, b []byte) (uintptr, error) {
	n := len(a.chunks)
	if n == 0 || a.used+len(b) > a.chunks[n-1].size {
		size := firstChunk
		if n > 0 {
			size = 2 * a.chunks[n-1].size
		}
		size = max(size, len(b))
		p, err := c.malloc(size)
		if err != nil {
			return 0, err
		}
		a.chunks, a.used = append(a.chunks, chunk{p, size}), 0
	}
	p := a.chunks[len(a.chunks)-1].p + uintptr(a.used)
	copy(unsafe.Slice((*byte)(pointer(p)), len(b)), b)
	a.used += len(b)
	return p, nil
}

// reset forgets what was put. One chunk stays, a large one goes.
func (a *arena) reset(c *Conn) {
	a.used = 0
	if len(a.chunks) > 1 || len(a.chunks) == 1 && a.chunks[0].size > 16*firstChunk {
		a.free(c)
	}
}

func (a *arena) free(c *Conn) {
	for _, k := range a.chunks {
		libc.Xfree(c.tls, k.p)
	}
	a.chunks, a.used = nil, 0
}
