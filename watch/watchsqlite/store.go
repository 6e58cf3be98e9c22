package watchsqlite

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/lastlook/lastlook/store/sqlite"
	"github.com/lastlook/lastlook/watch"
)

// Store keeps watches in the file of a [sqlite.Store], which the caller goes
// on to own. It is safe for concurrent use.
type Store struct {
	db      *sqlite.Store
	queries queries
	ran     func(name string) // for tests: called for every statement
}

var _ watch.Store = (*Store)(nil)

// Open makes the tables in the store's file, or brings them up to date. It
// fails with [lastlook.ErrNewerSchema] if a newer lastlook has been there.
func Open(ctx context.Context, db *sqlite.Store) (*Store, error) {
	q, err := loadQueries()
	if err != nil {
		return nil, fmt.Errorf("watchsqlite: %w", err)
	}
	s := &Store{db: db, queries: q}
	if err := s.migrate(ctx); err != nil {
		return nil, fmt.Errorf("watchsqlite: open %s: %w", db.Path(), err)
	}
	return s, nil
}

// write runs f in one writing transaction.
func (s *Store) write(ctx context.Context, op string, f func(context.Context, *session) error) error {
	return s.in(ctx, op, s.db.WithTx, f)
}

// read runs f on one snapshot.
func (s *Store) read(ctx context.Context, op string, f func(context.Context, *session) error) error {
	return s.in(ctx, op, s.db.WithReadTx, f)
}

func (s *Store) in(ctx context.Context, op string, transact func(context.Context, func(context.Context, *sql.Tx) error) error, f func(context.Context, *session) error) error {
	err := transact(ctx, func(ctx context.Context, tx *sql.Tx) error {
		return f(ctx, &session{tx: tx, queries: s.queries, ran: s.ran})
	})
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	return nil
}

// newID returns a random id: nobody can guess one, and none comes back.
func newID(prefix string, length int) string {
	return prefix + strings.ToLower(rand.Text()[:length])
}

func newListingID() string { return newID("l_", 16) }
func newWatchID() string   { return newID("w_", 16) }

// micros returns a time as it is stored, nil for none.
func micros(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

// instant reads a time that may be missing.
type instant struct{ time.Time }

// Scan implements [sql.Scanner].
func (t *instant) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		t.Time = time.Time{}
	case int64:
		t.Time = time.UnixMicro(v).UTC()
	default:
		return fmt.Errorf("a time is stored as %T, not as microseconds", v)
	}
	return nil
}

// span reads a duration.
type span struct{ time.Duration }

// Scan implements [sql.Scanner].
func (d *span) Scan(v any) error {
	n, ok := v.(int64)
	if !ok {
		return fmt.Errorf("a duration is stored as %T, not as microseconds", v)
	}
	d.Duration = time.Duration(n) * time.Microsecond
	return nil
}

// fromJSON reads a column of JSON into what it points to. What this version
// cannot read, such as a price in a currency that it does not know any more, is
// as if it had never been seen: a listing must not become unreadable by it.
type fromJSON[T any] struct{ into *T }

// Scan implements [sql.Scanner].
func (j fromJSON[T]) Scan(v any) error {
	text, ok := v.(string)
	if !ok {
		return fmt.Errorf("JSON is stored as %T, not as text", v)
	}
	var read T
	if text != "{}" && json.Unmarshal([]byte(text), &read) != nil {
		var none T
		read = none
	}
	*j.into = read
	return nil
}
