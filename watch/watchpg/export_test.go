package watchpg

import (
	"sync/atomic"

	"github.com/lastlook/lastlook/internal/beside"
	"github.com/lastlook/lastlook/store/postgres"
)

// NewCounting is [New] of a store that counts its statements.
func NewCounting(db *postgres.Store) (*Store, *atomic.Int64, error) {
	tables, err := db.Beside(files)
	if err != nil {
		return nil, nil, err
	}
	n := new(atomic.Int64)
	return on(beside.Observed(tables, func(string) { n.Add(1) })), n, nil
}
