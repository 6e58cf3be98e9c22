package crash

import (
	"context"
	"time"

	"github.com/lastlook/lastlook"
)

// Backend brings the database under test.
type Backend interface {
	// Open opens the database in dir. Of its own points, those within one
	// transaction, fail names the one at which to call end; it may be another's.
	Open(ctx context.Context, dir string, fail Failpoint, end func()) (Database, error)
	// Points are the names of its own failpoints.
	Points() []string
}

// Database is an open database: the outbox's store, and an application's own
// table beside it.
type Database interface {
	Store() lastlook.Store
	// EnqueueTx makes one transaction: it writes the application's row n,
	// enqueues items, keeps what that came to in the row, and commits, or rolls
	// back. It calls pass between these steps, and gives up if pass fails.
	EnqueueTx(ctx context.Context, now time.Time, n int64, items []lastlook.Item, commit bool, pass func(point string) error) ([]lastlook.EnqueueResult, error)
	// Notes returns the application's rows.
	Notes(ctx context.Context) ([]Note, error)
	// Check verifies that the database is not damaged.
	Check(ctx context.Context) error
	Close() error
}

// Note is a row of the application's own table.
type Note struct {
	N int64
	// IDs are the notifications that its items made or met.
	IDs []lastlook.ID
}
