package watchpg

import (
	"context"
	"embed"
	"fmt"

	"github.com/lastlook/lastlook/internal/beside"
	"github.com/lastlook/lastlook/internal/watchdb"
	"github.com/lastlook/lastlook/store/postgres"
	"github.com/lastlook/lastlook/watch"
)

//go:embed migrations/*.sql queries/*.sql
var files embed.FS

// History returns the migrations of the tables, for those who show or apply them
// by themselves.
func History() beside.History {
	return beside.History{Files: files, Table: "lastlook_watch_schema", Of: "watches"}
}

// Store keeps watches in the database of a [postgres.Store], which the caller goes
// on to own. It is safe for concurrent use.
type Store struct {
	*store
	db beside.DB
}

type store = watchdb.Store

var _ watch.Store = (*Store)(nil)

// Open makes the tables in the store's schema, or brings them up to date. It
// fails with [lastlook.ErrNewerSchema] if a newer lastlook has been there.
func Open(ctx context.Context, db *postgres.Store) (*Store, error) {
	if err := db.MigrateBeside(ctx, History()); err != nil {
		return nil, fmt.Errorf("watchpg: %w", err)
	}
	return New(db)
}

// New returns a store on tables that are there.
func New(db *postgres.Store) (*Store, error) {
	tables, err := db.Beside(files)
	if err != nil {
		return nil, fmt.Errorf("watchpg: %w", err)
	}
	return on(tables), nil
}

func on(tables beside.DB) *Store { return &Store{watchdb.New(tables), tables} }
