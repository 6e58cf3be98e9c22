package server

import (
	"context"
	"errors"

	"github.com/lastlook/lastlook/access"
)

// What the command line needs of package access.
type (
	// Key is an API key, without its token.
	Key = access.Key
	// NewKey is a key to be made.
	NewKey = access.NewKey
)

// ParseScopes reads what a key is to allow.
func ParseScopes(text string) ([]access.Scope, error) { return access.ParseScopes(text) }

// AddKey makes an API key. The token is given this once.
func (s *Server) AddKey(ctx context.Context, n NewKey) (k Key, token string, err error) {
	k, t, err := s.keys.Add(ctx, n)
	return k, t.Reveal(), err
}

// Keys returns all API keys, oldest first, those that were revoked too.
func (s *Server) Keys(ctx context.Context) ([]Key, error) { return s.keys.List(ctx) }

// RevokeKey ends an API key.
func (s *Server) RevokeKey(ctx context.Context, id string) (Key, error) {
	return s.keys.Revoke(ctx, id)
}

// RotateOperator makes a new token for the operator, which is given this once;
// the one before ends.
func (s *Server) RotateOperator(ctx context.Context) (token string, err error) {
	t, err := s.keys.RotateOperator(ctx)
	return t.Reveal(), err
}

// IsUnknownKey reports whether an error says that there is no such key.
func IsUnknownKey(err error) bool { return errors.Is(err, access.ErrNotFound) }

// ErrInvalidKey says that a key cannot be as it was asked for.
var ErrInvalidKey = access.ErrInvalid
