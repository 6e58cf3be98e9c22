package access

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lastlook/lastlook"
)

// Defaults and limits.
const (
	// MaxKeys is how many keys may hold at a time.
	MaxKeys = 1000
	// UsedEvery is how often it is written that a key was used.
	UsedEvery = time.Hour
	// DefaultPerMinute and MaxPerMinute bound what a key enqueues in a minute.
	DefaultPerMinute = 60_000
	MaxPerMinute     = 6_000_000
)

// Config configures a [Service].
type Config struct {
	Store Store
	// Clock is the source of now; nil means [time.Now].
	Clock func() time.Time
}

// Service makes keys and tells whose they are. It is safe for concurrent use.
type Service struct{ cfg Config }

// New returns a service.
func New(cfg Config) (*Service, error) {
	if cfg.Store == nil {
		return nil, fmt.Errorf("%w: the service needs a store", ErrInvalid)
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	return &Service{cfg}, nil
}

func (s *Service) now() time.Time { return lastlook.Micro(s.cfg.Clock()) }

// EnsureOperator makes the operator's token if there never was one.
func (s *Service) EnsureOperator(ctx context.Context) (t Token, made bool, err error) {
	if has, err := s.HasOperator(ctx); err != nil || has {
		return Token{}, false, err
	}
	t = newToken(operatorPrefix)
	made, err = s.cfg.Store.SetOperator(ctx, s.now(), t.Hash(), true)
	if err != nil || !made {
		return Token{}, false, err
	}
	return t, true, nil
}

// RotateOperator makes a new token for the operator; the one before ends.
func (s *Service) RotateOperator(ctx context.Context) (Token, error) {
	t := newToken(operatorPrefix)
	if _, err := s.cfg.Store.SetOperator(ctx, s.now(), t.Hash(), false); err != nil {
		return Token{}, err
	}
	return t, nil
}

// HasOperator reports whether there is an operator's token.
func (s *Service) HasOperator(ctx context.Context) (bool, error) {
	return s.cfg.Store.HasOperator(ctx)
}

// NewKey is a key to be made.
type NewKey struct {
	Name, Owner string
	Scopes      []Scope
	// PerMinute 0 means [DefaultPerMinute].
	PerMinute int
}

func (n *NewKey) validate() error {
	if err := checkName(n.Name); err != nil {
		return err
	}
	if err := CheckOwner(n.Owner); err != nil {
		return err
	}
	if len(n.Scopes) == 0 {
		return fmt.Errorf("%w: a key without scopes allows nothing: give one or more of enqueue, read and operate", ErrInvalid)
	}
	for _, sc := range n.Scopes {
		if !slices.Contains(AllScopes(), sc) {
			return fmt.Errorf("%w: %q is no scope: known are enqueue, read and operate", ErrInvalid, sc)
		}
	}
	if n.PerMinute == 0 {
		n.PerMinute = DefaultPerMinute
	}
	if n.PerMinute < 1 || n.PerMinute > MaxPerMinute {
		return fmt.Errorf("%w: %d notifications a minute: use 1 to %d", ErrInvalid, n.PerMinute, MaxPerMinute)
	}
	return nil
}

// Add makes a key and its token, which is shown once and not kept.
func (s *Service) Add(ctx context.Context, n NewKey) (Key, Token, error) {
	if err := n.validate(); err != nil {
		return Key{}, Token{}, err
	}
	k := Key{ID: "k_" + strings.ToLower(rand.Text()[:16]), Name: n.Name, Owner: n.Owner, Scopes: slices.Clone(n.Scopes), PerMinute: n.PerMinute, CreatedAt: s.now()}
	t := newToken(keyPrefix)
	if err := s.cfg.Store.Add(ctx, k, t.Hash(), MaxKeys); err != nil {
		return Key{}, Token{}, err
	}
	return k, t, nil
}

// Authenticate returns the key that a token is of ([ErrUnauthorized] if it is of
// none that holds), and notes now and then that it was used.
func (s *Service) Authenticate(ctx context.Context, t Token) (Key, error) {
	k, err := s.cfg.Store.ByToken(ctx, t.Hash())
	if err != nil {
		return Key{}, err
	}
	now := s.now()
	if age := now.Sub(k.UsedAt); age >= 0 && age < UsedEvery {
		return k, nil
	}
	k.UsedAt = now
	return k, s.cfg.Store.Used(ctx, k.ID, now)
}

// List returns all keys but the operator's, oldest first, those that have ended
// too.
func (s *Service) List(ctx context.Context) ([]Key, error) { return s.cfg.Store.List(ctx) }

// Revoke ends a key.
func (s *Service) Revoke(ctx context.Context, id string) (Key, error) {
	if id == OperatorID {
		return Key{}, fmt.Errorf("%w: the operator's token is not revoked but rotated", ErrInvalid)
	}
	return s.cfg.Store.Revoke(ctx, id, s.now())
}
