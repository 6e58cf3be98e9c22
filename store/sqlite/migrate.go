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
	"strconv"
	"strings"

	"github.com/lastlook/lastlook"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migration is one file of migrations/, by the number its name starts with.
type migration struct {
	version    int
	name       string
	statements []string
}

const (
	schemaTable = "CREATE TABLE IF NOT EXISTS lastlook_schema (version INTEGER PRIMARY KEY, name TEXT NOT NULL)"
	tableThere  = "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?)"
	schemaAt    = "SELECT coalesce(max(version), 0) FROM lastlook_schema"
	schemaAdd   = "INSERT INTO lastlook_schema (version, name) VALUES (?, ?)"
)

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
	all, err := loadMigrations()
	if err != nil {
		return err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	// Without the write lock first: a database that is up to date may be read-only.
	missing, err := missingMigrations(ctx, conn, all)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		err := inTransaction(ctx, conn, func() error { return applyMigrations(ctx, conn, all) })
		if err != nil {
			return err
		}
	}
	return keepStatistics(ctx, conn)
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
func Status(ctx context.Context, path string) (out []Migration, err error) {
	all, err := loadMigrations()
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
		if missing, err = s.missing(ctx, all); err != nil {
			return nil, s.explain(ctx, "status of "+path, err)
		}
	}
	for i, m := range all {
		out = append(out, Migration{Version: m.version, Name: m.name, Applied: i < len(all)-len(missing)})
	}
	return out, nil
}

// missing returns the migrations that the file has not seen, on a connection
// that cannot write.
func (s *Store) missing(ctx context.Context, all []migration) (list []migration, err error) {
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
	return missingMigrations(ctx, conn, all)
}

// MigrationSQL returns the migrations after the version given (0 for all) as
// plain SQL, for those who change tables with a tool of their own. It is meant to
// run in one transaction, which it leaves to the tool.
func MigrationSQL(after int) (string, error) {
	all, err := loadMigrations()
	if err != nil {
		return "", fmt.Errorf("sqlite: %w", err)
	}
	if after < 0 || after > len(all) {
		return "", fmt.Errorf("sqlite: %w: there is no migration after %d: they are numbered 1 to %d", lastlook.ErrInvalid, after, len(all))
	}
	var b strings.Builder
	if after == 0 {
		b.WriteString(schemaTable + ";\n")
	}
	for _, m := range all[after:] {
		for _, st := range m.statements {
			b.WriteString(st + ";\n")
		}
		fmt.Fprintf(&b, "INSERT INTO lastlook_schema (version, name) VALUES (%d, '%s');\n", m.version, strings.ReplaceAll(m.name, "'", "''"))
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
func missingMigrations(ctx context.Context, conn *sql.Conn, all []migration) ([]migration, error) {
	var there bool
	var at int
	if err := conn.QueryRowContext(ctx, tableThere, "lastlook_schema").Scan(&there); err != nil {
		return nil, err
	}
	if there {
		if err := conn.QueryRowContext(ctx, schemaAt).Scan(&at); err != nil {
			return nil, err
		}
	}
	latest := all[len(all)-1].version
	if at > latest {
		return nil, fmt.Errorf("%w: its schema has version %d, this program knows up to %d: run a newer lastlook, or restore a backup made before the upgrade",
			lastlook.ErrNewerSchema, at, latest)
	}
	return all[at:], nil
}

func applyMigrations(ctx context.Context, conn *sql.Conn, all []migration) error {
	// Again, now that nobody else can be at it.
	missing, err := missingMigrations(ctx, conn, all)
	if err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, schemaTable); err != nil {
		return err
	}
	for _, m := range missing {
		for _, st := range m.statements {
			if _, err := conn.ExecContext(ctx, st); err != nil {
				return fmt.Errorf("migration %s: %w", m.name, err)
			}
		}
		if _, err := conn.ExecContext(ctx, schemaAdd, m.version, m.name); err != nil {
			return fmt.Errorf("migration %s: %w", m.name, err)
		}
	}
	return nil
}

// loadMigrations reads the embedded files. Their numbers start at 1 and have no
// gaps.
func loadMigrations() ([]migration, error) {
	files, err := fs.ReadDir(migrationFiles, "migrations")
	if err != nil {
		return nil, fmt.Errorf("embedded migrations: %w", err)
	}
	var all []migration
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
		all = append(all, migration{version: version, name: f.Name(), statements: splitStatements(string(b))})
	}
	return all, nil
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
