package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/lastlook/lastlook"
	driver "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"
)

// ErrClosed is returned by every method of a store that has been closed.
var ErrClosed = errors.New("sqlite: the store is closed")

// errTimeout is the cause of a context that ended by the store's own limit.
var errTimeout = errors.New("sqlite: the time allowed for one call has passed")

// coder is an error with a SQLite result code: that of this package's driver,
// and of any other driver that shows its code so.
type coder interface {
	error
	Code() int
}

var _ coder = (*driver.Error)(nil)

// code returns the primary result code of err; 0 if it has none.
func code(err error) int {
	if c, ok := errors.AsType[coder](err); ok {
		return c.Code() & 0xff
	}
	return 0
}

// remedy is what a result code means to a caller.
type remedy struct {
	kind error
	text string
}

// remedies is by primary result code.
var remedies = map[int]remedy{
	codes.SQLITE_BUSY:     {lastlook.ErrBusy, "another connection kept the write lock: shorten its transactions, or allow more time (WithTimeout)"},
	codes.SQLITE_LOCKED:   {lastlook.ErrBusy, "another connection kept a table locked: shorten its transactions, and do not share the cache"},
	codes.SQLITE_FULL:     {lastlook.ErrFull, "make room on the disk, or raise the quota; nothing of this call was written"},
	codes.SQLITE_READONLY: {lastlook.ErrReadOnly, "let this process write the file and its directory (SQLite keeps -wal and -shm files beside it)"},
	codes.SQLITE_PERM:     {lastlook.ErrReadOnly, "let this process write the file and its directory"},
	codes.SQLITE_NOTADB:   {nil, "the file is no SQLite database, or is encrypted: check the path"},
	codes.SQLITE_CORRUPT:  {nil, "the database file is damaged: stop, copy it away, and restore a backup or use sqlite3's .recover"},
	codes.SQLITE_IOERR:    {nil, "the operating system could not read or write the file: check the disk and its free space, and that the file is on no network share"},
	codes.SQLITE_CANTOPEN: {nil, "the file cannot be opened: check that its directory exists and that this process may use it"},
	codes.SQLITE_SCHEMA:   {nil, "the schema changed during the call: make it again"},
}

// explain makes an error of the operation op from err: typed, with the remedy.
// ctx is the context that the work ran under. Errors of drivers that do not show
// SQLite's result code come back wrapped as they are.
func explain(ctx context.Context, op string, err error) error {
	if err == nil {
		return nil
	}
	c, coded := errors.AsType[coder](err)
	switch {
	case errors.Is(err, lastlook.ErrReadOnly) || errors.Is(err, lastlook.ErrNewerSchema): // complete already
		return fmt.Errorf("sqlite: %s: %w", op, err)
	case errors.Is(context.Cause(ctx), errTimeout) && (coded || errors.Is(err, context.DeadlineExceeded)):
		return fmt.Errorf("sqlite: %s: %w: %w: somebody else keeps the lock, or the disk is slow: allow more (WithTimeout) if that is normal here: %w",
			op, lastlook.ErrBusy, errTimeout, err)
	case coded && c.Code() == codes.SQLITE_BUSY_SNAPSHOT:
		// Waiting is no help.
		return fmt.Errorf("sqlite: %s: %w: the transaction had read before somebody else wrote: begin it with BEGIN IMMEDIATE (_txlock=immediate): %w",
			op, lastlook.ErrBusy, err)
	}
	r, ok := remedies[code(err)]
	switch {
	case !ok:
		return fmt.Errorf("sqlite: %s: %w", op, err)
	case r.kind == nil:
		return fmt.Errorf("sqlite: %s: %s: %w", op, r.text, err)
	}
	return fmt.Errorf("sqlite: %s: %w: %s: %w", op, r.kind, r.text, err)
}
