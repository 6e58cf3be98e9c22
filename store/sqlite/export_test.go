package sqlite

import (
	"context"
	"maps"
	"net/url"
	"slices"
	"testing"
	"time"
)

// OpenRewritten opens a store whose statements, by their names in queries/*.sql,
// have been passed through rewrite: to plant mistakes.
func OpenRewritten(ctx context.Context, path string, rewrite func(name, text string) string, opts ...Option) (*Store, error) {
	return Open(ctx, path, append(opts, func(c *config) { c.rewrite = rewrite })...)
}

// WithParams adds parameters to the data source name.
func WithParams(v url.Values) Option { return func(c *config) { c.params = v } }

// ExecWriter runs SQL on the writer's own connection, outside of a transaction.
func (s *Store) ExecWriter(t testing.TB, query string) {
	t.Helper()
	// Any call opens the connection.
	if err := s.write(t.Context(), "test", func(context.Context, *writer) error { return nil }); err != nil {
		t.Fatal(err)
	}
	s.gate <- struct{}{}
	defer func() { <-s.gate }()
	if err := s.writer.conn.Exec(query); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// SetTimeout changes [WithTimeout] of an open store: opening one with a tiny
// timeout would make the test depend on the machine.
func (s *Store) SetTimeout(d time.Duration) { s.timeout = d }

// HoldGate keeps all other writers of the store out until release is called.
func (s *Store) HoldGate() (release func()) {
	s.gate <- struct{}{}
	return func() { <-s.gate }
}

// Statements returns the names of all statements and their texts for n rows.
func (s *Store) Statements(n int) (names []string, text func(name string) string) {
	return slices.Sorted(maps.Keys(s.queries)), func(name string) string { return s.queries[name].text(n) }
}

// ChunkSizes returns the sizes of the statements that n rows are cut into.
func ChunkSizes(n int) (out []int) {
	for n > 0 {
		size := chunkSize(n, sizes[:])
		out = append(out, size)
		n -= size
	}
	return out
}

// PackRoundTrip packs and unpacks ids.
var (
	PackIDs   = packIDs
	UnpackIDs = unpackIDs
)

// PanicInRow writes, then panics while it reads the rows of a statement.
func (s *Store) PanicInRow(ctx context.Context) {
	_ = s.write(ctx, "panic", func(ctx context.Context, q *writer) error {
		if _, err := run(ctx, q, "claim_record", 1, make([]byte, 16), []byte{}); err != nil {
			return err
		}
		return selectRows(ctx, q, "marks_any", nil, func(*row) error { panic("planted") })
	})
}

// PragmaOfWriter returns a pragma's number on the writer's own connection.
func (s *Store) PragmaOfWriter(t testing.TB, name string) int64 {
	t.Helper()
	if err := s.write(t.Context(), "test", func(context.Context, *writer) error { return nil }); err != nil {
		t.Fatal(err)
	}
	s.gate <- struct{}{}
	defer func() { <-s.gate }()
	st, err := s.writer.conn.Prepare("PRAGMA " + name)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if row, err := st.Step(); !row || err != nil {
		t.Fatal(row, err)
	}
	return st.IntAt(0)
}
