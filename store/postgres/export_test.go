package postgres

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"
)

// Rewritten is c with statements, by their names in queries/*.sql, passed through
// rewrite: to plant mistakes.
func Rewritten(c Config, rewrite func(name, text string) string) Config {
	c.rewrite = rewrite
	return c
}

// Statements returns the names of all statements and their texts.
func (e *Enqueuer) Statements() (names []string, text func(name string) string) {
	return slices.Sorted(maps.Keys(e.queries)), func(name string) string { return e.queries[name] }
}

// NewClockBy is [Store.NewClock] on a machine whose own clock shows local.
func (s *Store) NewClockBy(ctx context.Context, local func() time.Time) (*Clock, error) {
	c := &Clock{store: s, log: slog.New(slog.DiscardHandler), local: local}
	return c, c.Compare(ctx)
}

// SetTimeout changes [Config.Timeout] of an open store: opening one with a tiny
// timeout would make the test depend on the machine.
func (s *Store) SetTimeout(d time.Duration) { s.timeout = d }

// CommitUnknown is commitUnknown.
var CommitUnknown = commitUnknown
