package watchsqlite

import "sync/atomic"

// Count counts the statements that the store runs from now on.
func (s *Store) Count() *atomic.Int64 {
	n := new(atomic.Int64)
	s.ran = func(string) { n.Add(1) }
	return n
}

// Statement returns a statement's text.
func (s *Store) Statement(name string) string { return s.queries[name] }
