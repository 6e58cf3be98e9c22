package device

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/webpush"
)

// Defaults and limits.
const (
	// DefaultLimit is how many devices there may be.
	DefaultLimit = 10_000
	// SeenEvery is how often it is written that a device was seen.
	SeenEvery = time.Hour
	// IdleAfter is how long a device that cannot be pushed to is kept after it
	// was last seen.
	IdleAfter = 90 * 24 * time.Hour
)

// Config configures a [Service].
type Config struct {
	Store Store
	// Unmute lifts the mute of a recipient whose push service said that it is
	// gone, and who has come back.
	Unmute func(ctx context.Context, recipient string) error
	// Limit bounds the devices; 0 means [DefaultLimit].
	Limit int
	// Clock is the source of now; nil means [time.Now].
	Clock func() time.Time
}

// Service makes devices and keeps what they say of themselves. It is safe for
// concurrent use.
type Service struct{ cfg Config }

// New returns a service.
func New(cfg Config) (*Service, error) {
	switch {
	case cfg.Store == nil:
		return nil, fmt.Errorf("%w: the service needs a store", ErrInvalid)
	case cfg.Unmute == nil:
		return nil, fmt.Errorf("%w: the service needs a way to lift mutes", ErrInvalid)
	case cfg.Limit < 0:
		return nil, fmt.Errorf("%w: a limit of %d devices: use 0 for the default", ErrInvalid, cfg.Limit)
	}
	if cfg.Limit == 0 {
		cfg.Limit = DefaultLimit
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	return &Service{cfg}, nil
}

func (s *Service) now() time.Time { return lastlook.Micro(s.cfg.Clock()) }

// Create makes a device and its token, which is given to it once and not kept.
func (s *Service) Create(ctx context.Context, name string) (Device, Token, error) {
	if err := CheckName(name); err != nil {
		return Device{}, Token{}, err
	}
	now := s.now()
	d := Device{ID: "d_" + strings.ToLower(rand.Text()[:16]), Name: name, CreatedAt: now, SeenAt: now}
	token := NewToken()
	if err := s.cfg.Store.Add(ctx, d, token.Hash(), s.cfg.Limit); err != nil {
		return Device{}, Token{}, fmt.Errorf("add a device: %w", err)
	}
	return d, token, nil
}

// Authenticate returns the device that a token is of ([ErrUnauthorized] if it
// is of none), and notes now and then that it was seen.
func (s *Service) Authenticate(ctx context.Context, token Token) (Device, error) {
	d, err := s.cfg.Store.ByToken(ctx, token.Hash())
	if err != nil {
		return Device{}, err
	}
	now := s.now()
	if age := now.Sub(d.SeenAt); age >= 0 && age < SeenEvery {
		return d, nil
	}
	return s.cfg.Store.Update(ctx, d.ID, func(d *Device) error {
		d.SeenAt = now
		return nil
	})
}

// Get returns a device.
func (s *Service) Get(ctx context.Context, id string) (Device, error) {
	return s.cfg.Store.Get(ctx, id)
}

// List returns all devices, for operators.
func (s *Service) List(ctx context.Context) ([]Device, error) { return s.cfg.Store.List(ctx) }

// Rename gives a device another name.
func (s *Service) Rename(ctx context.Context, id, name string) (Device, error) {
	if err := CheckName(name); err != nil {
		return Device{}, err
	}
	return s.cfg.Store.Update(ctx, id, func(d *Device) error {
		d.Name = name
		return nil
	})
}

// Remove removes a device. What else is its own, its watches, the caller
// removes first.
func (s *Service) Remove(ctx context.Context, id string) error { return s.cfg.Store.Remove(ctx, id) }

// Subscribe takes a device's subscription, made with the public VAPID key
// given; giving the same one again changes nothing. If the last one was gone,
// that is noted, and the device is told again; but not if the very one that is
// gone is given ([ErrGone]).
func (s *Service) Subscribe(ctx context.Context, id string, sub webpush.Subscription, key string) (Device, error) {
	return s.subscribe(ctx, id, "", sub, key)
}

// Resubscribe is [Service.Subscribe] for a browser's pushsubscriptionchange: it
// replaces the subscription with the endpoint given, and fails with
// [ErrSuperseded] if the device has another one by now, for changes may arrive
// late.
func (s *Service) Resubscribe(ctx context.Context, id, oldEndpoint string, sub webpush.Subscription, key string) (Device, error) {
	return s.subscribe(ctx, id, oldEndpoint, sub, key)
}

func (s *Service) subscribe(ctx context.Context, id, old string, sub webpush.Subscription, key string) (Device, error) {
	if sub.IsZero() || key == "" {
		return Device{}, fmt.Errorf("%w: a subscription comes with the key that it was made with", ErrInvalid)
	}
	now := s.now()
	d, err := s.cfg.Store.Update(ctx, id, func(d *Device) error {
		p := &d.Push
		if at := p.Subscription.Endpoint(); old != "" && at != "" && at != old && at != sub.Endpoint() {
			return ErrSuperseded
		}
		same := p.Subscription.Equal(sub) && p.Key == key
		switch {
		case same && p.GoneAt.IsZero():
			return nil
		case !p.GoneAt.IsZero() && p.Subscription.Endpoint() == sub.Endpoint():
			return ErrGone
		}
		next := Push{Subscription: sub, Key: key, Since: now, BackAt: p.BackAt, LostAt: p.LostAt}
		if !p.GoneAt.IsZero() {
			next.LostAt, next.BackAt = p.GoneAt, now
		}
		d.Push = next
		return nil
	})
	if err != nil {
		return Device{}, err
	}
	// Always, not only if it was noted as gone: between that note and the mute
	// there is a moment.
	if err := s.cfg.Unmute(ctx, Recipient(id)); err != nil {
		return d, fmt.Errorf("device %s is subscribed, but still muted: %w", id, err)
	}
	return d, nil
}

// Unsubscribe forgets a device's subscription: it is pushed to no more.
func (s *Service) Unsubscribe(ctx context.Context, id string) (Device, error) {
	return s.cfg.Store.Update(ctx, id, func(d *Device) error {
		d.Push = Push{}
		return nil
	})
}

// Gone notes that the push service says that a subscription is gone. It fails
// with [ErrSuperseded] if the device has another one by now, which nothing is
// known of: the device must not be muted for the old one's sake.
func (s *Service) Gone(ctx context.Context, id string, sub webpush.Subscription) error {
	now := s.now()
	_, err := s.cfg.Store.Update(ctx, id, func(d *Device) error {
		switch {
		case d.Push.Subscription.IsZero():
		case !d.Push.Subscription.Equal(sub):
			return ErrSuperseded
		case d.Push.GoneAt.IsZero():
			d.Push.GoneAt = now
		}
		return nil
	})
	if errors.Is(err, ErrNotFound) {
		return nil // gone with all that was its own
	}
	return err
}

// Heal lifts the mutes of devices that subscribed lately: one may have been
// muted for its old subscription at the moment at which it gave a new one.
func (s *Service) Heal(ctx context.Context, since time.Time) error {
	changed, err := s.cfg.Store.Changed(ctx, since)
	if err != nil {
		return err
	}
	var errs []error
	for i := range changed {
		if changed[i].Push.Active() {
			errs = append(errs, s.cfg.Unmute(ctx, Recipient(changed[i].ID)))
		}
	}
	return errors.Join(errs...)
}

// Idle returns devices that nobody has used for long and that cannot be pushed
// to.
func (s *Service) Idle(ctx context.Context, limit int) ([]Device, error) {
	return s.cfg.Store.Idle(ctx, s.now().Add(-IdleAfter), limit)
}

// Keys returns the public keys that are still needed.
func (s *Service) Keys(ctx context.Context) ([]string, error) { return s.cfg.Store.Keys(ctx) }
