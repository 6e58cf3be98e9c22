package watchsqlite

import (
	"context"
	"sync/atomic"

	"github.com/lastlook/lastlook/internal/beside"
	"github.com/lastlook/lastlook/internal/watchdb"
	"github.com/lastlook/lastlook/store/sqlite"
)

// OpenCounting is [Open] of a store that counts its statements.
func OpenCounting(ctx context.Context, db *sqlite.Store) (*Store, *atomic.Int64, error) {
	tables, err := open(ctx, db)
	if err != nil {
		return nil, nil, err
	}
	n := new(atomic.Int64)
	return &Store{watchdb.New(beside.Observed(tables, func(string) { n.Add(1) }))}, n, nil
}

// Statements returns all statements.
func Statements() (beside.Queries, error) { return beside.LoadQueries(files, nil) }
