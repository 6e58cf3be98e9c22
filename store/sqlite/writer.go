package sqlite

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/lastlook/lastlook/internal/csqlite"
	codes "modernc.org/sqlite/lib"
)

// writer is what writes, one transaction at a time, behind the store's gate: a
// connection of its own for the outbox's statements, and one of database/sql,
// once it is needed, for [Store.WithTx]. It begins and commits by hand: every
// transaction is BEGIN IMMEDIATE, so that waiting for the lock happens at its
// start and nowhere else.
type writer struct {
	conn    *csqlite.Conn
	queries queries
	stmts   map[statement]*csqlite.Stmt
	timeout time.Duration
	db      *sql.DB
	tx      *sql.Conn
}

type statement struct {
	name string
	size int
}

// openWriter opens the file that a URI names. db is where the connection for
// WithTx comes from.
func openWriter(uri string, timeout time.Duration, db *sql.DB, q queries) (*writer, error) {
	conn, err := csqlite.Open(uri)
	if err != nil {
		return nil, err
	}
	w := &writer{conn: conn, queries: q, stmts: map[statement]*csqlite.Stmt{}, timeout: timeout, db: db}
	w.conn.BusyTimeout(int(timeout.Milliseconds()))
	for _, p := range pragmas {
		if err := conn.Exec(fmt.Sprintf("PRAGMA %s = %s", p[0], p[1])); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	return w, nil
}

// transaction runs f between BEGIN IMMEDIATE and COMMIT. usable is false if the
// connection may be left in a transaction.
func (w *writer) transaction(ctx context.Context, f func(context.Context, *writer) error) (usable bool, err error) {
	if err := w.begin(ctx); err != nil {
		return w.rollback(), err
	}
	err = w.interruptible(ctx, func() error { return f(ctx, w) })
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return w.rollback(), err
	}
	// Not under ctx: a commit that is under way either succeeds or fails, and
	// busy_timeout bounds its waiting.
	if err = w.exec1(ctx, "COMMIT"); err != nil {
		return w.rollback(), err
	}
	return true, nil
}

// begin takes the write lock. It waits itself instead of having SQLite do so,
// since its own waiting would not end with ctx.
func (w *writer) begin(ctx context.Context) error {
	w.conn.BusyTimeout(0)
	defer w.conn.BusyTimeout(int(w.timeout.Milliseconds()))
	wait := time.Millisecond
	var timer *time.Timer
	for {
		err := w.exec1(ctx, "BEGIN IMMEDIATE")
		if c := code(err); c != codes.SQLITE_BUSY {
			return err
		}
		if timer == nil {
			timer = time.NewTimer(wait)
			defer timer.Stop()
		} else {
			timer.Reset(wait)
		}
		select {
		case <-timer.C:
			wait = min(2*wait, 25*time.Millisecond)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// interruptible runs f, whose statement at work ends when ctx does.
func (w *writer) interruptible(ctx context.Context, f func() error) error {
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		w.conn.Interrupt()
	})
	// An interrupt that is on its way must not meet what comes next.
	defer func() {
		if !stop() {
			<-done
		}
	}()
	err := f()
	if code(err) == codes.SQLITE_INTERRUPT && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// rollback reports whether the connection is outside of any transaction: SQLite
// rolls back by itself after some errors.
func (w *writer) rollback() bool {
	if w.conn.InTransaction() {
		// What it says does not matter, whether it is over does.
		_ = w.conn.Exec("ROLLBACK")
	}
	return !w.conn.InTransaction()
}

// largest: preparing the largest statements pays off, since they stay prepared.
func (w *writer) largest() int { return len(sizes) - 1 }

// prepared returns the statement for size rows.
func (w *writer) prepared(name string, size int) (*csqlite.Stmt, error) {
	key := statement{name, size}
	if st := w.stmts[key]; st != nil {
		return st, nil
	}
	text := name // BEGIN, COMMIT
	if q, ok := w.queries[name]; ok {
		text = q.text(size)
	}
	st, err := w.conn.Prepare(text)
	if err != nil {
		return nil, err
	}
	w.stmts[key] = st
	return st, nil
}

// exec1 runs a statement without parameters.
func (w *writer) exec1(ctx context.Context, text string) error {
	_, err := w.exec(context.WithoutCancel(ctx), text, 1, nil)
	return err
}

func (w *writer) query(ctx context.Context, name string, size int, args []any) (results, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	st, err := w.prepared(name, size)
	if err != nil {
		return nil, err
	}
	if err := bind(st, args); err != nil {
		return nil, err
	}
	return &directRows{st: st}, nil
}

func (w *writer) exec(ctx context.Context, name string, size int, args []any) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	st, err := w.prepared(name, size)
	if err != nil {
		return 0, err
	}
	if err := bind(st, args); err != nil {
		return 0, err
	}
	return st.Run()
}

// each runs a statement once for each of n rows, and says how many rows of the
// database each run changed.
func (w *writer) each(ctx context.Context, name string, n int, bind func(st *csqlite.Stmt, i int), changed func(i int, rows int64)) error {
	if n == 0 {
		return nil
	}
	st, err := w.prepared(name, 1)
	if err != nil {
		return inStatement(name, err)
	}
	for i := range n {
		if i%64 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		bind(st, i)
		rows, err := st.Run()
		if err != nil {
			return inStatement(name, err)
		}
		changed(i, rows)
	}
	return nil
}

func bind(st *csqlite.Stmt, args []any) error {
	for i, arg := range args {
		switch v := arg.(type) {
		case nil:
			st.Null(i + 1)
		case int64:
			st.Int(i+1, v)
		case int:
			st.Int(i+1, int64(v))
		case bool:
			st.Int(i+1, bit(v))
		case string:
			st.Text(i+1, v)
		case []byte:
			st.Blob(i+1, v)
		default:
			st.Reset()
			return fmt.Errorf("parameter %d is a %T", i+1, arg)
		}
	}
	return nil
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// directRows are the rows of a statement of the writer's own connection.
type directRows struct{ st *csqlite.Stmt }

func (c *directRows) next(r *row) (bool, error) {
	r.at = c.st
	return c.st.Step()
}

func (c *directRows) close() error {
	c.st.Reset()
	return nil
}

// sqlConn returns the connection of database/sql.
func (w *writer) sqlConn(ctx context.Context) (*sql.Conn, error) {
	if w.tx == nil {
		conn, err := w.db.Conn(ctx)
		if err != nil {
			return nil, err
		}
		w.tx = conn
	}
	return w.tx, nil
}

func (w *writer) close() error {
	clear(w.stmts)
	var err error
	if w.tx != nil {
		err = w.tx.Close()
		w.tx = nil
	}
	return errors.Join(w.conn.Close(), err)
}

// discard closes the connections for good instead of giving one back to the
// pool.
func (w *writer) discard() {
	if w.tx != nil {
		_ = w.tx.Raw(func(any) error { return sqldriver.ErrBadConn })
	}
	_ = w.close()
}
