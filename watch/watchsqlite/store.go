package watchsqlite

import (
	"context"
	"embed"
	"fmt"

	"github.com/lastlook/lastlook/internal/beside"
	"github.com/lastlook/lastlook/internal/watchdb"
	"github.com/lastlook/lastlook/store/sqlite"
	"github.com/lastlook/lastlook/watch"
)

//go:embed migrations/*.sql queries/*.sql
var files embed.FS

// History returns the migrations of the tables, for those who show or apply them
// by themselves.
func History() beside.History {
	return beside.History{Files: files, Table: "lastlook_watch_schema", Of: "watches"}
}

// Store keeps watches in the file of a [sqlite.Store], which the caller goes
// on to own. It is safe for concurrent use.
type Store struct{ *store }

type store = watchdb.Store

var _ watch.Store = (*Store)(nil)

// Open makes the tables in the store's file, or brings them up to date. It
// fails with [lastlook.ErrNewerSchema] if a newer lastlook has been there.
func Open(ctx context.Context, db *sqlite.Store) (*Store, error) {
	tables, err := open(ctx, db)
	if err != nil {
		return nil, err
	}
	return &Store{watchdb.New(tables)}, nil
}

func open(ctx context.Context, db *sqlite.Store) (beside.DB, error) {
	if err := db.MigrateBeside(ctx, History()); err != nil {
		return nil, fmt.Errorf("watchsqlite: open %s: %w", db.Path(), err)
	}
	queries, err := beside.LoadQueries(files, nil)
	if err != nil {
		return nil, fmt.Errorf("watchsqlite: %w", err)
	}
	return db.Beside(queries), nil
}
