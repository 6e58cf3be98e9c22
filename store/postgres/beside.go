package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/internal/beside"
)

// Beside runs the statements of lastlook's own packages that keep tables beside
// the outbox, in its schema. In the statements of files {s} stands for that.
func (s *Store) Beside(files fs.FS) (beside.DB, error) {
	queries, err := beside.LoadQueries(files, names(s.schema))
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	return tables{s, queries}, nil
}

// BesideText is [Store.Beside] of statements that are made as the program runs.
func (s *Store) BesideText(statements beside.Queries) beside.DB {
	queries := beside.Queries{}
	for name, text := range statements {
		queries[name] = beside.Expand(text, names(s.schema))
	}
	return tables{s, queries}
}

type tables struct {
	store   *Store
	queries beside.Queries
}

func (t tables) Write(ctx context.Context, f func(context.Context, beside.Tx) error) error {
	return t.store.WithTx(ctx, func(ctx context.Context, tx pgx.Tx) error { return f(ctx, besideTx{t, tx}) })
}

func (t tables) Read(ctx context.Context, f func(context.Context, beside.Tx) error) error {
	return t.store.WithReadTx(ctx, func(ctx context.Context, tx pgx.Tx) error { return f(ctx, besideTx{t, tx}) })
}

type besideTx struct {
	tables
	tx pgx.Tx
}

func (t besideTx) Query(ctx context.Context, name string, f func(scan func(...any) error) error, args ...any) error {
	rows, err := t.tx.Query(ctx, t.queries.Text(name), clean(args)...)
	if err != nil {
		return beside.InStatement(name, err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows.Scan); err != nil {
			return beside.InStatement(name, err)
		}
	}
	return beside.InStatement(name, rows.Err())
}

func (t besideTx) Exec(ctx context.Context, name string, args ...any) (int64, error) {
	tag, err := t.tx.Exec(ctx, t.queries.Text(name), clean(args)...)
	return tag.RowsAffected(), beside.InStatement(name, err)
}

func (t besideTx) Lock(ctx context.Context, name string, args ...any) error {
	_, err := t.Exec(ctx, name, args...)
	return err
}

func (t besideTx) KeyRows(ctx context.Context, keys []lastlook.Key) ([]lastlook.KeyRow, error) {
	return t.store.KeyRowsTx(ctx, t.tx, keys)
}

func (t besideTx) Enqueue(ctx context.Context, now time.Time, items ...lastlook.Item) ([]lastlook.EnqueueResult, error) {
	return t.store.EnqueueTx(ctx, t.tx, now, items...)
}

// clean takes out of texts what the server does not take: pages have it now and
// then.
func clean(args []any) []any {
	out := make([]any, len(args))
	for i, arg := range args {
		if text, ok := arg.(string); ok {
			arg = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "")
		}
		out[i] = arg
	}
	return out
}

// MigrateBeside brings further tables up to date, in one transaction, once the
// outbox's are there.
func (s *Store) MigrateBeside(ctx context.Context, h beside.History) error {
	// Without locks first: a role that may not change tables can open a database
	// that is up to date.
	if missing, err := s.missing(ctx, h); err != nil || len(missing) == 0 {
		return err
	}
	return s.withTx(ctx, "migrate", writing, func(ctx context.Context, tx pgx.Tx) error {
		return migrate(ctx, tx, s.schema, h)
	})
}

// CheckBeside reports, as [ErrSchema], tables with that history that are missing or
// old.
func (s *Store) CheckBeside(ctx context.Context, h beside.History) error {
	missing, err := s.missing(ctx, h)
	if err == nil && len(missing) > 0 {
		err = fmt.Errorf("postgres: %w: the tables of %s in schema %s lack %d migrations: run them (lastlook migrate up)", ErrSchema, h.Of, s.schema, len(missing))
	}
	return err
}

// MigrationsOf is [Store.Migrations] of the tables with that history.
func (s *Store) MigrationsOf(ctx context.Context, h beside.History) ([]Migration, error) {
	all, err := h.Load()
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	missing, err := s.missing(ctx, h)
	if err != nil {
		return nil, err
	}
	out := make([]Migration, len(all))
	for i, m := range all {
		out[i] = Migration{Version: m.Version, Name: m.Name, Applied: i < len(all)-len(missing)}
	}
	return out, nil
}

// StatusOf is [Status] of several histories.
func StatusOf(ctx context.Context, dsn string, c Config, histories ...beside.History) (out [][]Migration, err error) {
	s, err := connect(ctx, dsn, c)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for _, h := range histories {
		list, err := s.MigrationsOf(ctx, h)
		if err != nil {
			return nil, err
		}
		out = append(out, list)
	}
	return out, nil
}
