package accesssqlite

import (
	"context"
	"embed"
	"fmt"

	"github.com/lastlook/lastlook/access"
	"github.com/lastlook/lastlook/internal/accessdb"
	"github.com/lastlook/lastlook/internal/beside"
	"github.com/lastlook/lastlook/store/sqlite"
)

//go:embed migrations/*.sql queries/*.sql
var files embed.FS

// History returns the migrations of the tables, for those who show or apply them
// by themselves.
func History() beside.History {
	return beside.History{Files: files, Table: "lastlook_access_schema", Of: "API keys"}
}

// Store keeps keys in the file of a [sqlite.Store], which the caller goes on
// to own. It is safe for concurrent use.
type Store struct{ *store }

type store = accessdb.Store

var _ access.Store = (*Store)(nil)

// Open makes the tables in the store's file, or brings them up to date. It
// fails with [lastlook.ErrNewerSchema] if a newer lastlook has been there.
func Open(ctx context.Context, db *sqlite.Store) (*Store, error) {
	if err := db.MigrateBeside(ctx, History()); err != nil {
		return nil, fmt.Errorf("accesssqlite: open %s: %w", db.Path(), err)
	}
	queries, err := beside.LoadQueries(files, nil)
	if err != nil {
		return nil, fmt.Errorf("accesssqlite: %w", err)
	}
	return &Store{accessdb.New(db.Beside(queries))}, nil
}
