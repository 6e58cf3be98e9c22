package device

import (
	"context"
	"time"
)

// Store keeps devices. It is safe for concurrent use. What names a device that
// does not exist gets [ErrNotFound].
type Store interface {
	// Add adds a device, which is known by its token's hash from then on, unless
	// there are limit devices already ([ErrFull]).
	Add(ctx context.Context, d Device, h Hash, limit int) error
	// Get returns one device, ByToken the one with a token ([ErrUnauthorized] if
	// there is none), List all, oldest first.
	Get(ctx context.Context, id string) (Device, error)
	ByToken(ctx context.Context, h Hash) (Device, error)
	List(ctx context.Context) ([]Device, error)
	// Update changes a device by a function within one transaction. If it gives
	// it a subscription that another device has, that one loses it; if it gives
	// it the endpoint alone of another's, with other keys, it fails
	// ([ErrTaken]).
	Update(ctx context.Context, id string, change func(*Device) error) (Device, error)
	// Remove removes a device, and its token with it.
	Remove(ctx context.Context, id string) error
	// Keys returns the public keys that subscriptions were made with, those of
	// subscriptions that are gone left out.
	Keys(ctx context.Context) ([]string, error)
	// Changed returns the devices that subscribed at that time or later.
	Changed(ctx context.Context, since time.Time) ([]Device, error)
	// Idle returns the devices last seen before that time that have no
	// subscription which may be sent to.
	Idle(ctx context.Context, before time.Time, limit int) ([]Device, error)
}
