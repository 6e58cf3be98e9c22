package memstore

import (
	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/store/internal/model"
)

var _ lastlook.Store = (*Store)(nil)

// Store is an outbox in memory; it implements [lastlook.Store]. It is safe for
// concurrent use, and every method is atomic. Make one with [New].
type Store struct{ *store }

type store = model.Store

// New returns an empty store.
func New() *Store { return &Store{model.New()} }
