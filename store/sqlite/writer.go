package sqlite

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"

	codes "modernc.org/sqlite/lib"
)

// writer is the one connection that writes, with its prepared statements. It
// begins and commits by hand: every transaction is BEGIN IMMEDIATE, so that
// waiting for the lock happens at its start and nowhere else.
type writer struct {
	conn    *sql.Conn
	queries queries
	stmts   map[statement]*sql.Stmt
}

type statement struct {
	name string
	size int
}

func openWriter(ctx context.Context, db *sql.DB, q queries) (*writer, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return &writer{conn: conn, queries: q, stmts: map[statement]*sql.Stmt{}}, nil
}

// transaction runs f between BEGIN IMMEDIATE and COMMIT. usable is false if the
// connection may be left in a transaction.
func (w *writer) transaction(ctx context.Context, f func(context.Context, session) error) (usable bool, err error) {
	if _, err := w.conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		// The BEGIN may have taken effect at the moment the context ended.
		return w.rollback(ctx), err
	}
	if err = f(ctx, w); err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return w.rollback(ctx), err
	}
	// Not under ctx: the driver would report a commit that succeeded as failed
	// if the context ended meanwhile. Waiting is bounded by busy_timeout.
	if _, err = w.conn.ExecContext(context.WithoutCancel(ctx), "COMMIT"); err != nil {
		return w.rollback(ctx), err
	}
	return true, nil
}

// rollback reports whether the connection is outside of any transaction.
func (w *writer) rollback(ctx context.Context) bool {
	_, err := w.conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
	// SQLite rolls back by itself after some errors; then a ROLLBACK fails
	// with the general code, since there is nothing to roll back.
	return err == nil || code(err) == codes.SQLITE_ERROR
}

// largest: preparing the largest statements pays off, since they stay prepared.
func (w *writer) largest() int { return len(sizes) - 1 }

// prepared returns the statement for size rows.
func (w *writer) prepared(ctx context.Context, name string, size int) (*sql.Stmt, error) {
	key := statement{name, size}
	if st := w.stmts[key]; st != nil {
		return st, nil
	}
	st, err := w.conn.PrepareContext(ctx, w.queries[name].text(size))
	if err != nil {
		return nil, err
	}
	w.stmts[key] = st
	return st, nil
}

func (w *writer) query(ctx context.Context, name string, size int, args []any) (*sql.Rows, error) {
	st, err := w.prepared(ctx, name, size)
	if err != nil {
		return nil, err
	}
	return st.QueryContext(ctx, args...)
}

func (w *writer) exec(ctx context.Context, name string, size int, args []any) (int64, error) {
	st, err := w.prepared(ctx, name, size)
	if err != nil {
		return 0, err
	}
	res, err := st.ExecContext(ctx, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

func (w *writer) closeStatements() error {
	var errs []error
	for _, st := range w.stmts {
		errs = append(errs, st.Close())
	}
	clear(w.stmts)
	return errors.Join(errs...)
}

func (w *writer) close() error {
	return errors.Join(w.closeStatements(), w.conn.Close())
}

// discard closes the connection for good instead of giving it back to the pool.
func (w *writer) discard() {
	_ = w.closeStatements()
	_ = w.conn.Raw(func(any) error { return sqldriver.ErrBadConn })
	_ = w.conn.Close()
}
