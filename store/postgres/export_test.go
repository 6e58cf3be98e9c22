package postgres

import (
	"maps"
	"slices"
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
