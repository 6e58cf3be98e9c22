package postgres

import (
	"context"
	"embed"
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/internal/beside"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// Migration is one step of the tables' history.
type Migration struct {
	Version int    `json:"version"`
	Name    string `json:"name"`
	// Applied says that the database has seen it.
	Applied bool `json:"applied"`
}

// History returns the migrations of the outbox's tables.
func History() beside.History {
	return beside.History{Files: migrationFiles, Table: "lastlook_schema", Of: "the outbox"}
}

// minServer is the oldest server version that this package supports.
const minServer = 140000

// Migrate brings lastlook's tables up to date, in one transaction, and makes the
// schema if it is missing. It may be called by several processes at once. It
// returns [lastlook.ErrNewerSchema] if a newer lastlook has been there.
func (s *Store) Migrate(ctx context.Context) error { return s.MigrateBeside(ctx, History()) }

func migrate(ctx context.Context, tx pgx.Tx, schema string, h beside.History) error {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte("lastlook migrations " + schema)) // never fails
	if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(sum.Sum64())); err != nil {
		return err
	}
	// Again, now that nobody else can be at it.
	missing, err := missingMigrations(ctx, tx, schema, h)
	if err != nil || len(missing) == 0 {
		return err
	}
	parts := append(prelude(schema, h), script(schema, h, missing)...)
	if there, err := exists(ctx, tx, schema); err != nil {
		return err
	} else if there { // CREATE SCHEMA IF NOT EXISTS wants the right to make one
		parts = parts[1:]
	}
	// The simple protocol takes several statements at once.
	if _, err := tx.Conn().PgConn().Exec(ctx, strings.Join(parts, "\n")).ReadAll(); err != nil {
		return fmt.Errorf("migrations of %s from %d on: %w", h.Of, missing[0].Version, err)
	}
	return nil
}

func exists(ctx context.Context, tx pgx.Tx, schema string) (there bool, err error) {
	err = tx.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1::text)", schema).Scan(&there)
	return there, err
}

// prelude makes what is there before any migration.
func prelude(schema string, h beside.History) []string {
	s := pgx.Identifier{schema}.Sanitize()
	return []string{
		"CREATE SCHEMA IF NOT EXISTS " + s + ";",
		"CREATE TABLE IF NOT EXISTS " + s + "." + h.Table + " (version integer PRIMARY KEY, name text NOT NULL);",
	}
}

// script is what brings the tables to the last of the migrations.
func script(schema string, h beside.History, list []beside.Migration) (out []string) {
	s := pgx.Identifier{schema}.Sanitize()
	for _, m := range list {
		out = append(out, beside.Expand(m.Text, names(schema)),
			fmt.Sprintf("INSERT INTO %s.%s (version, name) VALUES (%d, %s);", s, h.Table, m.Version, literal(m.Name)))
	}
	return out
}

// schemaVersion is the number of the last migration that the database has seen,
// 0 if none.
func schemaVersion(ctx context.Context, tx pgx.Tx, schema, table string) (at int, err error) {
	var there bool
	var encoding string
	var server int
	err = tx.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = $1::text AND c.relname = $2::text), current_setting('server_encoding'), current_setting('server_version_num')::integer`,
		schema, table).Scan(&there, &encoding, &server)
	switch {
	case err != nil:
		return 0, err
	case encoding != "UTF8":
		return 0, fmt.Errorf("%w: the database's encoding is %s: create it with ENCODING 'UTF8'", lastlook.ErrInvalid, encoding)
	case server < minServer:
		return 0, fmt.Errorf("%w: the server's version is %d, the oldest supported is %d", lastlook.ErrInvalid, server/10000, minServer/10000)
	case !there:
		return 0, nil
	}
	err = tx.QueryRow(ctx, "SELECT coalesce(max(version), 0) FROM "+pgx.Identifier{schema, table}.Sanitize()).Scan(&at)
	return at, err
}

// missingMigrations returns those that the database has not seen.
func missingMigrations(ctx context.Context, tx pgx.Tx, schema string, h beside.History) ([]beside.Migration, error) {
	all, err := h.Load()
	if err != nil {
		return nil, err
	}
	at, err := schemaVersion(ctx, tx, schema, h.Table)
	if err != nil {
		return nil, err
	}
	return h.Missing(all, at)
}

func (s *Store) missing(ctx context.Context, h beside.History) (list []beside.Migration, err error) {
	err = s.withTx(ctx, "schema", counting, func(ctx context.Context, tx pgx.Tx) error {
		list, err = missingMigrations(ctx, tx, s.schema, h)
		return err
	})
	return list, err
}

// checkSchema reports, as [ErrSchema], tables that are missing or old.
func (s *Store) checkSchema(ctx context.Context) error { return s.CheckBeside(ctx, History()) }

// Migrations lists all migrations, and which of them the database has seen.
func (s *Store) Migrations(ctx context.Context) ([]Migration, error) {
	return s.MigrationsOf(ctx, History())
}

// Status lists all migrations, and which of them the database at dsn has seen. It
// changes nothing.
func Status(ctx context.Context, dsn string, c Config) ([]Migration, error) {
	list, err := StatusOf(ctx, dsn, c, History())
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// MigrationSQL returns the migrations after the version given (0 for all) as
// plain SQL for a schema ("" for public), for those who change tables with a tool
// of their own. It is meant to run in one transaction, which it leaves to the
// tool.
func MigrationSQL(schema string, after int) (string, error) { return SQLOf(History(), schema, after) }

// SQLOf is [MigrationSQL] of the tables with that history.
func SQLOf(h beside.History, schema string, after int) (string, error) {
	c, err := Config{Schema: schema}.withDefaults()
	if err != nil {
		return "", err
	}
	list, err := h.After(after)
	if err != nil {
		return "", fmt.Errorf("postgres: %w", err)
	}
	parts := script(c.Schema, h, list)
	if after == 0 {
		parts = append(prelude(c.Schema, h), parts...)
	}
	return strings.Join(parts, "\n") + "\n", nil
}
