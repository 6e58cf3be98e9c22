package accesspg

import (
	"context"
	"embed"
	"fmt"

	"github.com/lastlook/lastlook/access"
	"github.com/lastlook/lastlook/internal/accessdb"
	"github.com/lastlook/lastlook/internal/beside"
	"github.com/lastlook/lastlook/store/postgres"
)

//go:embed migrations/*.sql queries/*.sql
var files embed.FS

// History returns the migrations of the tables, for those who show or apply them
// by themselves.
func History() beside.History {
	return beside.History{Files: files, Table: "lastlook_access_schema", Of: "API keys"}
}

// Store keeps keys in the database of a [postgres.Store], which the caller goes
// on to own. It is safe for concurrent use.
type Store struct{ *store }

type store = accessdb.Store

var _ access.Store = (*Store)(nil)

// Open makes the tables in the store's schema, or brings them up to date. It
// fails with [lastlook.ErrNewerSchema] if a newer lastlook has been there.
func Open(ctx context.Context, db *postgres.Store) (*Store, error) {
	if err := db.MigrateBeside(ctx, History()); err != nil {
		return nil, fmt.Errorf("accesspg: %w", err)
	}
	return New(db)
}

// New returns a store on tables that are there.
func New(db *postgres.Store) (*Store, error) {
	tables, err := db.Beside(files)
	if err != nil {
		return nil, fmt.Errorf("accesspg: %w", err)
	}
	return &Store{accessdb.New(tables)}, nil
}
