package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/lastlook/lastlook/internal/beside"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// History returns the migrations of the outbox's tables.
func History() beside.History {
	return beside.History{Files: migrationFiles, Table: "lastlook_schema", Of: "the outbox"}
}

const (
	schemaTable = "CREATE TABLE IF NOT EXISTS %s (version INTEGER PRIMARY KEY, name TEXT NOT NULL)"
	tableThere  = "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?)"
	schemaAt    = "SELECT coalesce(max(version), 0) FROM %s"
	schemaAdd   = "INSERT INTO %s (version, name) VALUES (?, ?)"
)

// execer is a connection or a transaction of database/sql.
type execer interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// Migrate brings lastlook's tables in an application's own database up to date,
// in one transaction: for those who keep the outbox in their own file and open
// it with a driver of their choice (SQLite 3.35 or later). [Open] does it by
// itself. It returns [lastlook.ErrNewerSchema] if a newer lastlook has been
// there.
func Migrate(ctx context.Context, db *sql.DB) error {
	ctx, cancel := context.WithTimeoutCause(ctx, defaultTimeout, errTimeout)
	defer cancel()
	return explain(ctx, "migrate", migrate(ctx, db))
}

func migrate(ctx context.Context, db *sql.DB) (err error) {
	h := History()
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	// Without the write lock first: a database that is up to date may be read-only.
	missing, err := missingMigrations(ctx, conn, h)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		err := inTransaction(ctx, conn, func() error { return applyMigrations(ctx, conn, h) })
		if err != nil {
			return err
		}
	}
	return keepStatistics(ctx, conn)
}

// MigrateBeside brings further tables in the file up to date, in one transaction.
func (s *Store) MigrateBeside(ctx context.Context, h beside.History) error {
	var missing []beside.Migration
	// Without the write lock first: a file that is up to date may be read-only.
	err := s.WithReadTx(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
		missing, err = missingMigrations(ctx, tx, h)
		return err
	})
	if err != nil || len(missing) == 0 {
		return err
	}
	return s.WithTx(ctx, func(ctx context.Context, tx *sql.Tx) error { return applyMigrations(ctx, tx, h) })
}

// Migration is one step of the tables' history.
type Migration struct {
	Version int    `json:"version"`
	Name    string `json:"name"`
	// Applied says that the file has seen it.
	Applied bool `json:"applied"`
}

// Status lists all migrations, and which of them the file at path has seen. It
// changes nothing; a file that is missing has seen none.
func Status(ctx context.Context, path string) ([]Migration, error) {
	return StatusOf(ctx, path, History())
}

// StatusOf is [Status] of the tables with that history.
func StatusOf(ctx context.Context, path string, h beside.History) (out []Migration, err error) {
	all, err := h.Load()
	if err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("sqlite: status of %s: %w", path, err)
	}
	missing := all
	if _, err := os.Stat(abs); !errors.Is(err, fs.ErrNotExist) {
		s := &Store{path: abs, timeout: defaultTimeout, closed: make(chan struct{})}
		ctx, cancel := s.limit(ctx)
		defer cancel()
		if missing, err = s.missing(ctx, h); err != nil {
			return nil, s.explain(ctx, "status of "+path, err)
		}
	}
	for i, m := range all {
		out = append(out, Migration{Version: m.Version, Name: m.Name, Applied: i < len(all)-len(missing)})
	}
	return out, nil
}

// missing returns the migrations that the file has not seen, on a connection
// that cannot write.
func (s *Store) missing(ctx context.Context, h beside.History) (list []beside.Migration, err error) {
	db, err := s.connect(url.Values{"mode": {"ro"}}, "_query_only=1")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	return missingMigrations(ctx, conn, h)
}

// MigrationSQL returns the migrations after the version given (0 for all) as
// plain SQL, for those who change tables with a tool of their own. It is meant to
// run in one transaction, which it leaves to the tool.
func MigrationSQL(after int) (string, error) { return SQLOf(History(), after) }

// SQLOf is [MigrationSQL] of the tables with that history.
func SQLOf(h beside.History, after int) (string, error) {
	list, err := h.After(after)
	if err != nil {
		return "", fmt.Errorf("sqlite: %w", err)
	}
	var b strings.Builder
	if after == 0 {
		fmt.Fprintf(&b, schemaTable+";\n", h.Table)
	}
	for _, m := range list {
		for _, st := range splitStatements(m.Text) {
			b.WriteString(st + ";\n")
		}
		fmt.Fprintf(&b, "INSERT INTO %s (version, name) VALUES (%d, '%s');\n", h.Table, m.Version, strings.ReplaceAll(m.Name, "'", "''"))
	}
	return b.String(), nil
}

// inTransaction runs f between BEGIN IMMEDIATE and COMMIT.
func inTransaction(ctx context.Context, conn *sql.Conn, f func() error) error {
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := f()
	if err == nil {
		_, err = conn.ExecContext(context.WithoutCancel(ctx), "COMMIT")
	}
	if err != nil {
		_, _ = conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
	}
	return err
}

// missingMigrations returns those that the database has not seen.
func missingMigrations(ctx context.Context, db execer, h beside.History) ([]beside.Migration, error) {
	all, err := h.Load()
	if err != nil {
		return nil, err
	}
	var there bool
	var at int
	if err := db.QueryRowContext(ctx, tableThere, h.Table).Scan(&there); err != nil {
		return nil, err
	}
	if there {
		if err := db.QueryRowContext(ctx, fmt.Sprintf(schemaAt, h.Table)).Scan(&at); err != nil {
			return nil, err
		}
	}
	return h.Missing(all, at)
}

func applyMigrations(ctx context.Context, db execer, h beside.History) error {
	// Again, now that nobody else can be at it.
	missing, err := missingMigrations(ctx, db, h)
	if err != nil {
		return err
	}
	if _, err := db.ExecContext(ctx, fmt.Sprintf(schemaTable, h.Table)); err != nil {
		return err
	}
	for _, m := range missing {
		for _, st := range splitStatements(m.Text) {
			if _, err := db.ExecContext(ctx, st); err != nil {
				return fmt.Errorf("migration %s: %w", m.Name, err)
			}
		}
		if _, err := db.ExecContext(ctx, fmt.Sprintf(schemaAdd, h.Table), m.Version, m.Name); err != nil {
			return fmt.Errorf("migration %s: %w", m.Name, err)
		}
	}
	return nil
}

// splitStatements cuts a file after each line that ends in a semicolon.
func splitStatements(text string) []string {
	var out []string
	var b strings.Builder
	for line := range strings.Lines(text) {
		if b.Len() == 0 && (strings.HasPrefix(line, "--") || strings.TrimSpace(line) == "") {
			continue
		}
		b.WriteString(line)
		if strings.HasSuffix(strings.TrimSpace(line), ";") {
			out = append(out, strings.TrimSuffix(strings.TrimSpace(b.String()), ";"))
			b.Reset()
		}
	}
	return out
}
