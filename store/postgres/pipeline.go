package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// step is one statement of a transaction.
type step struct {
	name string
	args []any
	// each is given each row that comes back; nil if none is wanted.
	each func(rows scanner) error
	// count, if not nil, is set to the number of rows changed.
	count *int64
	// adjust, if not nil, says what an error of this step means.
	adjust func(error) error
}

// scanner is a row of pgx or of database/sql.
type scanner interface {
	Scan(dest ...any) error
}

// session runs statements in one transaction, in turn, and as few at a time as
// it must: the steps of one call travel together. It stops at the first error.
type session interface {
	run(ctx context.Context, steps ...step) error
}

// sender is what pgx.Tx and a connection of the pool have in common.
type sender interface {
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// pgxSession runs statements through pgx, in one round trip per call.
type pgxSession struct {
	to      sender
	queries queries
}

func (s pgxSession) run(ctx context.Context, steps ...step) error {
	_, err := s.runCounted(ctx, steps)
	return err
}

// runCounted also says how many steps the server has answered.
func (s pgxSession) runCounted(ctx context.Context, steps []step) (done int, err error) {
	if len(steps) == 0 {
		return 0, nil
	}
	var b pgx.Batch
	for i := range steps {
		b.Queue(s.queries[steps[i].name], steps[i].args...)
	}
	res := s.to.SendBatch(ctx, &b)
	for i := range steps {
		if err = readStep(res, &steps[i]); err != nil {
			break
		}
		done++
	}
	if e := res.Close(); err == nil && e != nil {
		err = e
	}
	return done, err
}

func readStep(res pgx.BatchResults, st *step) error {
	rows, err := res.Query()
	if err == nil {
		for rows.Next() {
			if st.each == nil {
				continue
			}
			if err = st.each(rows); err != nil {
				break
			}
		}
		rows.Close()
		if err == nil {
			err = rows.Err()
		}
		if st.count != nil {
			*st.count = rows.CommandTag().RowsAffected()
		}
	}
	return inStatement(st, err)
}

// inStatement says which statement failed, for whoever reads the error with
// queries/*.sql at hand.
func inStatement(st *step, err error) error {
	if err == nil {
		return nil
	}
	if st.adjust != nil {
		err = st.adjust(err)
	}
	return fmt.Errorf("%s: %w", st.name, err)
}

// sqlSession runs statements in a transaction of database/sql, of whatever
// driver that writes parameters as $1: arrays go as text, which the statements
// cast.
type sqlSession struct {
	tx      *sql.Tx
	queries queries
}

func (s sqlSession) run(ctx context.Context, steps ...step) error {
	for i := range steps {
		if err := inStatement(&steps[i], s.one(ctx, &steps[i])); err != nil {
			return err
		}
	}
	return nil
}

func (s sqlSession) one(ctx context.Context, st *step) (err error) {
	args := make([]any, len(st.args))
	for i, a := range st.args {
		args[i] = arrayText(a)
	}
	if st.each == nil {
		res, err := s.tx.ExecContext(ctx, s.queries[st.name], args...)
		if err == nil && st.count != nil {
			*st.count, err = res.RowsAffected()
		}
		return err
	}
	rows, err := s.tx.QueryContext(ctx, s.queries[st.name], args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := st.each(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// arrayText writes an array as PostgreSQL reads it; other values stay.
func arrayText(v any) any {
	var b strings.Builder
	switch list := v.(type) {
	case []int64:
		for _, n := range list {
			b.WriteByte(',')
			b.WriteString(strconv.FormatInt(n, 10))
		}
	case []string:
		quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
		for _, s := range list {
			b.WriteString(`,"`)
			b.WriteString(quote.Replace(s))
			b.WriteByte('"')
		}
	default:
		return v
	}
	return "{" + strings.TrimPrefix(b.String(), ",") + "}"
}
