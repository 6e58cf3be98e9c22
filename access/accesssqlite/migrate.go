package accesssqlite

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"strconv"
	"strings"

	"github.com/lastlook/lastlook"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migration is one file of migrations/, by the number its name starts with.
type migration struct {
	version int
	name    string
	text    string
}

const (
	schemaTable = "CREATE TABLE IF NOT EXISTS lastlook_access_schema (version INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT"
	schemaThere = "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'lastlook_access_schema')"
	schemaAt    = "SELECT coalesce(max(version), 0) FROM lastlook_access_schema"
	schemaAdd   = "INSERT INTO lastlook_access_schema (version, name) VALUES (?, ?)"
)

// migrate brings the tables up to date, in one transaction.
func (s *Store) migrate(ctx context.Context) error {
	all, err := loadMigrations()
	if err != nil {
		return err
	}
	var missing []migration
	look := func(ctx context.Context, tx *sql.Tx) error {
		missing, err = missingMigrations(ctx, tx, all)
		return err
	}
	// Without the write lock first: a file that is up to date may be read-only.
	if err := s.db.WithReadTx(ctx, look); err != nil || len(missing) == 0 {
		return err
	}
	return s.db.WithTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		// Again, now that nobody else can be at it.
		if err := look(ctx, tx); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, schemaTable); err != nil {
			return err
		}
		for _, m := range missing {
			if _, err := tx.ExecContext(ctx, m.text); err != nil {
				return fmt.Errorf("migration %s: %w", m.name, err)
			}
			if _, err := tx.ExecContext(ctx, schemaAdd, m.version, m.name); err != nil {
				return fmt.Errorf("migration %s: %w", m.name, err)
			}
		}
		return nil
	})
}

// missingMigrations returns those that the file has not seen.
func missingMigrations(ctx context.Context, tx *sql.Tx, all []migration) ([]migration, error) {
	var there bool
	var at int
	if err := tx.QueryRowContext(ctx, schemaThere).Scan(&there); err != nil {
		return nil, err
	}
	if there {
		if err := tx.QueryRowContext(ctx, schemaAt).Scan(&at); err != nil {
			return nil, err
		}
	}
	if at > len(all) {
		return nil, fmt.Errorf("%w: the tables of API keys have version %d, this program knows up to %d: run a newer lastlook, or restore a backup made before the upgrade",
			lastlook.ErrNewerSchema, at, len(all))
	}
	return all[at:], nil
}

// loadMigrations reads the embedded files. Their numbers start at 1 and have no
// gaps.
func loadMigrations() ([]migration, error) {
	files, err := migrationFiles.ReadDir("migrations")
	if err != nil {
		return nil, fmt.Errorf("embedded migrations: %w", err)
	}
	var all []migration
	for i, f := range files {
		number, _, _ := strings.Cut(f.Name(), "_")
		if version, err := strconv.Atoi(number); err != nil || version != i+1 {
			return nil, fmt.Errorf("embedded migrations: %s: want number %d", f.Name(), i+1)
		}
		b, err := migrationFiles.ReadFile("migrations/" + f.Name())
		if err != nil {
			return nil, fmt.Errorf("embedded migrations: %w", err)
		}
		all = append(all, migration{version: i + 1, name: f.Name(), text: string(b)})
	}
	return all, nil
}
