package pgtest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Raw is a schema as another program would use it. It is dropped when the test
// ends.
type Raw struct {
	testing.TB
	Schema string
	pool   *pgxpool.Pool
}

// NewRaw names a schema, which whoever uses it makes.
func (c *Cluster) NewRaw(tb testing.TB) Raw {
	tb.Helper()
	r := Raw{TB: tb, Schema: SchemaName()}
	config, err := pgxpool.ParseConfig(c.DSN(tb))
	check(tb, err)
	config.ConnConfig.RuntimeParams["search_path"] = pgx.Identifier{r.Schema}.Sanitize()
	r.pool, err = pgxpool.NewWithConfig(context.WithoutCancel(tb.Context()), config)
	check(tb, err)
	tb.Cleanup(r.pool.Close)
	tb.Cleanup(func() { r.Exec("DROP SCHEMA IF EXISTS " + pgx.Identifier{r.Schema}.Sanitize() + " CASCADE") })
	return r
}

// Exec runs a statement.
func (r Raw) Exec(query string) {
	r.Helper()
	if _, err := r.pool.Exec(context.WithoutCancel(r.Context()), query); err != nil {
		r.Fatalf("%s: %v", query, err)
	}
}

// Column returns what the first column of a query has, as text.
func (r Raw) Column(query string) []string {
	r.Helper()
	rows, err := r.pool.Query(context.WithoutCancel(r.Context()), query)
	if err != nil {
		r.Fatalf("%s: %v", query, err)
	}
	out, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (string, error) {
		v, err := row.Values()
		if err != nil {
			return "", err
		}
		return fmt.Sprint(v[0]), nil
	})
	if err != nil {
		r.Fatalf("%s: %v", query, err)
	}
	return out
}

// Dump returns all rows of all tables.
func (r Raw) Dump() map[string][]string {
	r.Helper()
	out := map[string][]string{}
	for _, table := range r.Column("SELECT relname::text FROM pg_class WHERE relkind = 'r' AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())") {
		out[table] = r.Column("SELECT t::text FROM " + table + " t ORDER BY 1")
	}
	return out
}

// Break makes writes of a kind to a table fail with the text "boom".
func (r Raw) Break(table, kind string) (mend func()) {
	r.Helper()
	r.Exec("CREATE OR REPLACE FUNCTION boom() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'boom'; END $$")
	r.Exec("CREATE TRIGGER boom BEFORE " + kind + " ON " + table + " FOR EACH ROW EXECUTE FUNCTION boom()")
	return func() { r.Exec("DROP TRIGGER boom ON " + table) }
}

// Exec runs several statements at once on the server at dsn.
func Exec(dsn, text string) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	_, err = conn.PgConn().Exec(ctx, text).ReadAll()
	return err
}
