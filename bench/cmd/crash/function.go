package main

import (
	"errors"
	"fmt"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// register makes the function that triggers call known to all connections that
// the SQLite library opens later: the driver's, and the store's own writer,
// which is none of the driver's.
func register() error {
	tls := libc.NewTLS()
	defer tls.Close()
	if rc := sqlite3.Xsqlite3_auto_extension(tls, pointerTo(extend)); rc != sqlite3.SQLITE_OK {
		return fmt.Errorf("register %s: %w", functionName, errors.New(libc.GoString(sqlite3.Xsqlite3_errstr(tls, rc))))
	}
	return nil
}

// extend is run on each new connection.
func extend(tls *libc.TLS, db, _, _ uintptr) int32 {
	name, err := libc.CString(functionName)
	if err != nil {
		return sqlite3.SQLITE_NOMEM
	}
	defer libc.Xfree(tls, name)
	return sqlite3.Xsqlite3_create_function(tls, db, name, 0, sqlite3.SQLITE_UTF8, 0, pointerTo(point), 0, 0)
}

// point is the function.
func point(tls *libc.TLS, ctx uintptr, _ int32, _ uintptr) {
	if f := passed.Load(); f != nil {
		(*f)()
	}
	sqlite3.Xsqlite3_result_int(tls, ctx, 0)
}

// pointerTo is a function as the library wants it: the driver's own way
// (https://golang.org/s/go11func).
func pointerTo[T any](f T) uintptr { return *(*uintptr)(unsafe.Pointer(&struct{ f T }{f})) }
