package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/lastlook/lastlook"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// Migration is one step of the tables' history.
type Migration struct {
	Version int    `json:"version"`
	Name    string `json:"name"`
	// Applied says that the database has seen it.
	Applied bool `json:"applied"`

	text string
}

// minServer is the oldest server version that this package supports.
const minServer = 140000

// Migrate brings lastlook's tables up to date, in one transaction, and makes the
// schema if it is missing. It may be called by several processes at once. It
// returns [lastlook.ErrNewerSchema] if a newer lastlook has been there.
func (s *Store) Migrate(ctx context.Context) error {
	all, err := loadMigrations(s.schema)
	if err != nil {
		return fmt.Errorf("postgres: migrate: %w", err)
	}
	// Without locks first: a role that may not change tables can open a database
	// that is up to date.
	if at, err := s.version(ctx); err != nil || at == len(all) {
		return err
	}
	return s.withTx(ctx, "migrate", writing, func(ctx context.Context, tx pgx.Tx) error {
		return migrate(ctx, tx, s.schema, all)
	})
}

func migrate(ctx context.Context, tx pgx.Tx, schema string, all []Migration) error {
	h := fnv.New64a()
	_, _ = h.Write([]byte("lastlook migrations " + schema)) // never fails
	if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(h.Sum64())); err != nil {
		return err
	}
	// Again, now that nobody else can be at it.
	at, err := schemaVersion(ctx, tx, schema)
	if err != nil {
		return err
	}
	if err := knownVersion(at, len(all)); err != nil || at == len(all) {
		return err
	}
	parts := append(prelude(schema), script(schema, all[at:])...)
	if there, err := exists(ctx, tx, schema); err != nil {
		return err
	} else if there { // CREATE SCHEMA IF NOT EXISTS wants the right to make one
		parts = parts[1:]
	}
	// The simple protocol takes several statements at once.
	if _, err := tx.Conn().PgConn().Exec(ctx, strings.Join(parts, "\n")).ReadAll(); err != nil {
		return fmt.Errorf("migrations from %d on: %w", at+1, err)
	}
	return nil
}

func exists(ctx context.Context, tx pgx.Tx, schema string) (there bool, err error) {
	err = tx.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1::text)", schema).Scan(&there)
	return there, err
}

// prelude makes what is there before any migration.
func prelude(schema string) []string {
	s := pgx.Identifier{schema}.Sanitize()
	return []string{
		"CREATE SCHEMA IF NOT EXISTS " + s + ";",
		"CREATE TABLE IF NOT EXISTS " + s + ".lastlook_schema (version integer PRIMARY KEY, name text NOT NULL);",
	}
}

// script is what brings the tables to the last of the migrations.
func script(schema string, list []Migration) (out []string) {
	s := pgx.Identifier{schema}.Sanitize()
	for _, m := range list {
		out = append(out, m.text,
			fmt.Sprintf("INSERT INTO %s.lastlook_schema (version, name) VALUES (%d, %s);", s, m.Version, literal(m.Name)))
	}
	return out
}

// schemaVersion is the number of the last migration that the database has seen,
// 0 if none.
func schemaVersion(ctx context.Context, tx pgx.Tx, schema string) (at int, err error) {
	var there bool
	var encoding string
	var server int
	err = tx.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = $1::text AND c.relname = 'lastlook_schema'), current_setting('server_encoding'), current_setting('server_version_num')::integer`,
		schema).Scan(&there, &encoding, &server)
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
	err = tx.QueryRow(ctx, "SELECT coalesce(max(version), 0) FROM "+pgx.Identifier{schema}.Sanitize()+".lastlook_schema").Scan(&at)
	return at, err
}

func knownVersion(at, latest int) error {
	if at > latest {
		return fmt.Errorf("%w: its schema has version %d, this program knows up to %d: run a newer lastlook, or restore a backup made before the upgrade",
			lastlook.ErrNewerSchema, at, latest)
	}
	return nil
}

// version is the database's version, if this program knows it.
func (s *Store) version(ctx context.Context) (at int, err error) {
	all, err := loadMigrations(s.schema)
	if err != nil {
		return 0, fmt.Errorf("postgres: %w", err)
	}
	err = s.withTx(ctx, "schema", counting, func(ctx context.Context, tx pgx.Tx) error {
		at, err = schemaVersion(ctx, tx, s.schema)
		return err
	})
	if err != nil {
		return 0, err
	}
	if err := knownVersion(at, len(all)); err != nil {
		return 0, s.explain(ctx, "schema", err)
	}
	return at, nil
}

// checkSchema reports, as [ErrSchema], tables that are missing or old.
func (s *Store) checkSchema(ctx context.Context) error {
	all, err := loadMigrations(s.schema)
	if err != nil {
		return fmt.Errorf("postgres: %w", err)
	}
	at, err := s.version(ctx)
	if err == nil && at < len(all) {
		err = fmt.Errorf("postgres: %w: schema %s has version %d, this program needs %d: run the migrations", ErrSchema, s.schema, at, len(all))
	}
	return err
}

// Migrations lists all migrations, and which of them the database has seen.
func (s *Store) Migrations(ctx context.Context) ([]Migration, error) {
	all, err := loadMigrations(s.schema)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	at, err := s.version(ctx)
	if err != nil {
		return nil, err
	}
	for i := range all {
		all[i].Applied = all[i].Version <= at
	}
	return all, nil
}

// Status lists all migrations, and which of them the database at dsn has seen. It
// changes nothing.
func Status(ctx context.Context, dsn string, c Config) ([]Migration, error) {
	s, err := connect(ctx, dsn, c)
	if err != nil {
		return nil, err
	}
	list, err := s.Migrations(ctx)
	return list, errors.Join(err, s.Close())
}

// MigrationSQL returns the migrations after the version given (0 for all) as
// plain SQL for a schema ("" for public), for those who change tables with a tool
// of their own. It is meant to run in one transaction, which it leaves to the
// tool.
func MigrationSQL(schema string, after int) (string, error) {
	c, err := Config{Schema: schema}.withDefaults()
	if err != nil {
		return "", err
	}
	all, err := loadMigrations(c.Schema)
	if err != nil {
		return "", fmt.Errorf("postgres: %w", err)
	}
	if after < 0 || after > len(all) {
		return "", fmt.Errorf("postgres: %w: there is no migration after %d: they are numbered 1 to %d", lastlook.ErrInvalid, after, len(all))
	}
	parts := script(c.Schema, all[after:])
	if after == 0 {
		parts = append(prelude(c.Schema), parts...)
	}
	return strings.Join(parts, "\n") + "\n", nil
}

// loadMigrations reads the embedded files. Their numbers start at 1 and have no
// gaps.
func loadMigrations(schema string) ([]Migration, error) {
	files, err := fs.ReadDir(migrationFiles, "migrations")
	if err != nil {
		return nil, fmt.Errorf("embedded migrations: %w", err)
	}
	var all []Migration
	for i, f := range files {
		number, _, _ := strings.Cut(f.Name(), "_")
		version, err := strconv.Atoi(number)
		if err != nil || version != i+1 {
			return nil, fmt.Errorf("embedded migrations: %s: want number %d", f.Name(), i+1)
		}
		b, err := fs.ReadFile(migrationFiles, "migrations/"+f.Name())
		if err != nil {
			return nil, fmt.Errorf("embedded migrations: %w", err)
		}
		all = append(all, Migration{Version: version, Name: f.Name(), text: expand(string(b), names(schema))})
	}
	return all, nil
}
