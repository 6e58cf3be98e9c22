package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/lastlook/lastlook"
)

var (
	// ErrClosed is returned by every method of a store that has been closed.
	ErrClosed = errors.New("postgres: the store is closed")
	// ErrSchema says that lastlook's tables are not there, or are older than
	// this program: run [Store.Migrate], or apply what [MigrationSQL] returns.
	ErrSchema = errors.New("postgres: the tables are missing or old")
	// ErrCommitUnknown says that the connection was lost while a transaction was
	// being committed: it may have been or not. Calls may be made again: a row
	// that was inserted is met as a duplicate, a change that was made is not
	// made twice.
	ErrCommitUnknown = errors.New("postgres: the outcome of the commit is unknown")
)

// errTimeout is the cause of a context that ended by the store's own limit.
var errTimeout = errors.New("postgres: the time allowed for one call has passed")

// errRaced says that somebody else made a key or a live row, or deleted a key,
// between our look and our write.
var errRaced = errors.New("postgres: another transaction came between")

// stater is an error with an SQLSTATE: that of pgx, and of any other driver that
// shows it so.
type stater interface {
	error
	SQLState() string
}

var _ stater = (*pgconn.PgError)(nil)

// state returns the SQLSTATE of err; "" if it has none.
func state(err error) string {
	if s, ok := errors.AsType[stater](err); ok {
		return s.SQLState()
	}
	return ""
}

// remedy is what an SQLSTATE means to a caller.
type remedy struct {
	kind error
	text string
}

// remedies is by SQLSTATE (PostgreSQL, appendix A).
var remedies = map[string]remedy{
	"40001": {lastlook.ErrBusy, "transactions that met kept this one from being serialized: make it again"},
	"40P01": {lastlook.ErrBusy, "transactions waited for each other: make this one again"},
	"55P03": {lastlook.ErrBusy, "another transaction kept a lock: shorten it, or allow more time (Config.Timeout)"},
	"57014": {lastlook.ErrBusy, "the statement took too long: somebody keeps a lock, or the server is slow: allow more time (Config.Timeout)"},
	"25P03": {lastlook.ErrBusy, "this process was silent within a transaction for too long: it was stopped, or has too little of the machine"},
	"53300": {lastlook.ErrBusy, "the server has no connection left: use fewer (pool_max_conns), or a pooler"},
	"53100": {lastlook.ErrFull, "make room on the server's disk; nothing of this call was written"},
	"25006": {lastlook.ErrReadOnly, "this server is a standby, or the role may only read: connect to the primary (target_session_attrs=read-write)"},
	"42P01": {ErrSchema, "run the migrations on this database, in this schema"},
	"42703": {ErrSchema, "run the migrations on this database, in this schema"},
	"3F000": {ErrSchema, "run the migrations on this database, in this schema"},
	"42501": {nil, "the role lacks a right: grant it SELECT, INSERT, UPDATE and DELETE on lastlook's tables and USAGE on its schema and sequences"},
	"28P01": {nil, "the password is refused"},
	"28000": {nil, "the role is refused"},
	"3D000": {nil, "there is no such database: create it"},
	"26000": {nil, "a prepared statement has vanished: behind a pooler set Config.Pooler"},
	"42P05": {nil, "a prepared statement of somebody else is in the way: behind a pooler set Config.Pooler"},
	"57P01": {nil, "the server ended the connection"},
	"57P02": {nil, "the server crashed, and ended the connection"},
	"57P03": {nil, "the server is starting or stopping: try again"},
}

// explain makes an error of the operation op from err: typed, with the remedy.
// ctx is the context that the work ran under.
func explain(ctx context.Context, op string, err error) error {
	if err == nil {
		return nil
	}
	st := state(err)
	switch {
	case explained(err): // complete already
		return fmt.Errorf("postgres: %s: %w", op, err)
	case errors.Is(context.Cause(ctx), errTimeout) && (st != "" || errors.Is(err, context.DeadlineExceeded)):
		return fmt.Errorf("postgres: %s: %w: %w: somebody keeps a lock, no connection is free, or the server is slow: allow more (Config.Timeout) if that is normal here: %w",
			op, lastlook.ErrBusy, errTimeout, err)
	case ctx.Err() != nil && !errors.Is(err, ctx.Err()): // the server's words for it
		return fmt.Errorf("postgres: %s: %w: %w", op, ctx.Err(), err)
	case errors.Is(err, errRaced):
		return fmt.Errorf("postgres: %s: %w: others enqueue the same keys at the same time: make the transaction again: %w", op, lastlook.ErrBusy, err)
	}
	r, ok := remedies[st]
	switch {
	case !ok:
		return fmt.Errorf("postgres: %s: %w", op, err)
	case r.kind == nil:
		return fmt.Errorf("postgres: %s: %s: %w", op, r.text, err)
	}
	return fmt.Errorf("postgres: %s: %w: %s: %w", op, r.kind, r.text, err)
}

// explained reports whether err says all that a caller needs.
func explained(err error) bool {
	for _, kind := range []error{lastlook.ErrBusy, lastlook.ErrFull, lastlook.ErrReadOnly, lastlook.ErrNewerSchema, ErrSchema, ErrClosed, ErrCommitUnknown} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// transient reports whether the transaction that failed so, before its commit,
// is worth making again at once.
func transient(err error) bool {
	switch st := state(err); {
	case st == "":
		return pgconn.SafeToRetry(err) || lost(err)
	case st == "40001", st == "40P01", st == "57P01", st == "57P02":
		return true
	default:
		return errors.Is(err, errRaced)
	}
}

// raced makes [errRaced] of the violations that say so, of statements that
// write what a statement before has found missing, or there.
func raced(err error) error {
	switch state(err) {
	case "23505", "23502": // unique, not null
		return fmt.Errorf("%w: %w", errRaced, err)
	}
	return err
}
