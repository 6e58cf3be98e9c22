package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// mode is what kind of transaction the store makes.
type mode struct {
	// begin is the statement that begins it.
	begin string
	// behind: its commit need not be on disk when it is answered.
	behind bool
	// scans: it may walk through tables.
	scans bool
	// patience is how long a lock is waited for; 0 means as long as a statement
	// may take.
	patience time.Duration
}

var (
	writing  = mode{begin: "begin"}
	claiming = mode{begin: "begin", behind: true}
	reading  = mode{begin: "begin_read"}
	counting = mode{begin: "begin_read", scans: true}
)

const (
	// maxTries bounds how often a transaction is made that could not be
	// serialized, was raced, or lost its connection.
	maxTries = 8
	// rollbackTimeout bounds the end of a transaction that failed.
	rollbackTimeout = 5 * time.Second
)

// transaction is one of the store's own, under way. Its begin and its commit
// travel with the statements.
type transaction struct {
	pgxSession
	conn    *pgxpool.Conn
	mode    mode
	timeout time.Duration
	begun   bool
	// ended: it was committed.
	ended bool
	// sent: the commit was sent, and its answer is missing.
	sent bool
}

// run implements session.
func (t *transaction) run(ctx context.Context, steps ...step) error {
	_, err := t.runCounted(ctx, t.withBegin(steps))
	return err
}

// commit runs steps and commits, all in one round trip.
func (t *transaction) commit(ctx context.Context, steps ...step) error {
	if !t.begun && len(steps) == 0 {
		t.ended = true
		return nil
	}
	steps = append(t.withBegin(steps), step{name: "commit"})
	done, err := t.runCounted(ctx, steps)
	if err == nil {
		t.ended = true
		return nil
	}
	t.sent = commitUnknown(err, done == len(steps)-1)
	return err
}

// commitUnknown reports whether a transaction may have been committed whose
// statements and commit were sent together and failed with err; last says that
// it was the commit's own answer which failed.
func commitUnknown(err error, last bool) bool {
	if pe, ok := errors.AsType[*pgconn.PgError](err); ok {
		// The server's own words: an error rolls back. But a backend that is
		// ended while it waits for a standby has committed already.
		return last && (pe.Severity == "FATAL" || pe.Severity == "PANIC")
	}
	return !pgconn.SafeToRetry(err)
}

func (t *transaction) withBegin(steps []step) []step {
	if t.begun {
		return steps
	}
	t.begun = true
	return append([]step{{name: t.mode.begin}, t.settings()}, steps...)
}

// settings are made at the start of a transaction, for it alone.
func (t *transaction) settings() step {
	onOff := map[bool]string{true: "on", false: "off"}
	millis := func(d time.Duration) string { return strconv.FormatInt(max(d.Milliseconds(), 1), 10) }
	limit, patience := millis(t.timeout), millis(cmp.Or(t.mode.patience, t.timeout))
	return step{name: "settings", args: []any{limit, limit, onOff[t.mode.behind], onOff[t.mode.scans], patience}, each: discard}
}

// transact runs f in a transaction, and commits it if f has not. f may run
// several times; nothing of a run that failed stays.
func (s *Store) transact(ctx context.Context, op string, m mode, f func(context.Context, *transaction) error) error {
	ctx, cancel := s.limit(ctx)
	defer cancel()
	if s.isClosed() {
		return fmt.Errorf("postgres: %s: %w", op, ErrClosed)
	}
	for try := 1; ; try++ {
		unknown, err := s.try(ctx, m, f)
		switch {
		case err == nil:
			return nil
		case unknown && m.begin == writing.begin:
			err = fmt.Errorf("%w: %w", ErrCommitUnknown, err)
		case try < maxTries && transient(err) && pause(ctx, try):
			continue
		}
		return s.explain(ctx, op, err)
	}
}

// pause waits a little, longer each time, so that those who met do not meet
// again. It reports whether there is time left.
func pause(ctx context.Context, try int) bool {
	t := time.NewTimer(time.Duration(rand.Int64N(int64(time.Millisecond) << min(try, 8))))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// try makes one transaction. unknown says that nobody knows whether it was
// committed.
func (s *Store) try(ctx context.Context, m mode, f func(context.Context, *transaction) error) (unknown bool, err error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return false, err
	}
	t := &transaction{pgxSession: pgxSession{to: conn, queries: s.queries}, conn: conn, mode: m, timeout: s.timeout}
	defer t.release(ctx) // if f panics, too
	if err = f(ctx, t); err == nil && !t.ended {
		err = t.commit(ctx)
	}
	return t.sent, err
}

// release gives the connection back; rolled back, if it is still in a
// transaction.
func (t *transaction) release(ctx context.Context) {
	defer t.conn.Release()
	c := t.conn.Conn()
	if t.ended || c.IsClosed() || c.PgConn().TxStatus() == 'I' {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
	defer cancel()
	// If this fails, the pool closes the connection, which does the same.
	_ = c.PgConn().Exec(ctx, "ROLLBACK").Close()
}

// lost reports whether err is that of a connection which has broken.
func lost(err error) bool {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) {
		return true
	}
	var op *net.OpError
	return errors.As(err, &op) && !op.Timeout()
}
