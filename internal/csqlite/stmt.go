package csqlite

import (
	"unsafe"

	sqlite3 "modernc.org/sqlite/lib"
)

// Stmt is a prepared statement. Parameters count from 1, columns from 0. What
// is bound counts for one run: it is gone once the statement has been reset.
//
// One statement of a connection is at work at a time.
type Stmt struct {
	c       *Conn
	p       uintptr
	columns int
	err     error // what binding came to
}

// Columns returns the number of result columns.
func (s *Stmt) Columns() int { return s.columns }

// Int binds an integer.
func (s *Stmt) Int(i int, v int64) {
	s.bound(sqlite3.Xsqlite3_bind_int64(s.c.tls, s.p, int32(i), v))
}

// Null binds NULL.
func (s *Stmt) Null(i int) { s.bound(sqlite3.Xsqlite3_bind_null(s.c.tls, s.p, int32(i))) }

// Text binds a text.
func (s *Stmt) Text(i int, v string) { s.TextBytes(i, unsafe.Slice(unsafe.StringData(v), len(v))) }

// TextBytes binds a text that is given as bytes.
func (s *Stmt) TextBytes(i int, v []byte) {
	p, err := s.c.arena.put(s.c, v)
	if err != nil {
		s.err = err
		return
	}
	s.bound(sqlite3.Xsqlite3_bind_text(s.c.tls, s.p, int32(i), p, int32(len(v)), sqlite3.SQLITE_STATIC))
}

// Blob binds a blob.
func (s *Stmt) Blob(i int, v []byte) {
	p, err := s.c.arena.put(s.c, v)
	if err != nil {
		s.err = err
		return
	}
	s.bound(sqlite3.Xsqlite3_bind_blob(s.c.tls, s.p, int32(i), p, int32(len(v)), sqlite3.SQLITE_STATIC))
}

func (s *Stmt) bound(rc int32) {
	if rc != sqlite3.SQLITE_OK && s.err == nil {
		s.err = s.c.fail(rc)
	}
}

// Step runs the statement up to its next row; row is false behind the last one.
// Then, and after an error, it is reset.
func (s *Stmt) Step() (row bool, err error) {
	if err := s.err; err != nil {
		s.Reset()
		return false, err
	}
	rc := sqlite3.Xsqlite3_step(s.c.tls, s.p)
	if rc == sqlite3.SQLITE_ROW {
		return true, nil
	}
	if rc != sqlite3.SQLITE_DONE {
		err = s.c.fail(rc)
	}
	s.Reset()
	return false, err
}

// Run runs the statement to its end, drops its rows, and returns the number of
// rows that it inserted, changed or deleted. It says so of no other statement.
func (s *Stmt) Run() (changed int64, err error) {
	for {
		switch row, err := s.Step(); {
		case err != nil:
			return 0, err
		case !row:
			return sqlite3.Xsqlite3_changes64(s.c.tls, s.c.db), nil
		}
	}
}

// Reset ends a run early.
func (s *Stmt) Reset() {
	sqlite3.Xsqlite3_reset(s.c.tls, s.p) // repeats the error that Step gave
	s.err = nil
	s.c.arena.reset(s.c)
}

// Close frees the statement.
func (s *Stmt) Close() {
	if s.c.stmts[s] {
		sqlite3.Xsqlite3_finalize(s.c.tls, s.p)
		s.c.arena.reset(s.c)
		delete(s.c.stmts, s)
	}
}

// IsNull reports whether a column of the row is NULL.
func (s *Stmt) IsNull(i int) bool {
	return sqlite3.Xsqlite3_column_type(s.c.tls, s.p, int32(i)) == sqlite3.SQLITE_NULL
}

// IntAt returns a column of the row as an integer, 0 for NULL.
func (s *Stmt) IntAt(i int) int64 { return sqlite3.Xsqlite3_column_int64(s.c.tls, s.p, int32(i)) }

// TextAt returns a column of the row as text, "" for NULL.
func (s *Stmt) TextAt(i int) string { return string(s.at(i)) }

// BytesAt returns a column of the row as bytes, nil for NULL.
func (s *Stmt) BytesAt(i int) []byte {
	b := s.at(i)
	if b == nil {
		return nil
	}
	return append(make([]byte, 0, len(b)), b...)
}

// at is a column in the library's memory, where it stays until the next step.
func (s *Stmt) at(i int) []byte {
	p := sqlite3.Xsqlite3_column_blob(s.c.tls, s.p, int32(i))
	n := int(sqlite3.Xsqlite3_column_bytes(s.c.tls, s.p, int32(i)))
	switch {
	case p != 0:
		return unsafe.Slice((*byte)(pointer(p)), n)
	case s.IsNull(i):
		return nil
	}
	return []byte{}
}
