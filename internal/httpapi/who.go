package httpapi

import (
	"context"

	"github.com/lastlook/lastlook/access"
	"github.com/lastlook/lastlook/device"
)

// Who is a caller, and so whose things it may see and change. The zero value is
// nobody, who has nothing.
type Who struct {
	device   device.Device
	key      access.Key
	operator bool
}

// AsDevice and AsKey return the callers that these are.
func AsDevice(d device.Device) Who { return Who{device: d} }

// AsKey returns the caller that a key is: its owner, or the operator.
func AsKey(k access.Key) Who { return Who{key: k, operator: k.Operator()} }

// Operator reports whether the caller may see and change all.
func (w Who) Operator() bool { return w.operator }

// Device returns the caller's device; its ID is "" if it is none.
func (w Who) Device() device.Device { return w.device }

// Owner returns whose key the caller shows; "" for devices and the operator.
func (w Who) Owner() string {
	if w.operator {
		return ""
	}
	return w.key.Owner
}

// ID names the caller: for limits, and for what is kept of its requests.
func (w Who) ID() string {
	switch {
	case w.device.ID != "":
		return device.Recipient(w.device.ID)
	case w.key.ID != "":
		return "key:" + w.key.ID
	}
	return ""
}

// Recipient returns the recipient that is the caller's own; "" for the operator,
// who has none.
func (w Who) Recipient() string {
	switch {
	case w.device.ID != "":
		return device.Recipient(w.device.ID)
	case w.Owner() != "":
		return access.Recipient(w.Owner())
	}
	return ""
}

// Has reports whether what a recipient is told is the caller's own, or the
// caller is the operator.
func (w Who) Has(recipient string) bool {
	return w.operator || w.Recipient() != "" && w.Recipient() == recipient
}

// By names the caller for a row's story.
func (w Who) By() string {
	switch {
	case w.operator && w.key.Name != "":
		return w.key.Name
	case w.device.ID != "":
		return device.Recipient(w.device.ID)
	}
	return "key " + w.key.ID
}

// whoKey is under which a context holds the caller.
type whoKey struct{}

func whoOf(ctx context.Context) Who {
	w, _ := ctx.Value(whoKey{}).(Who)
	return w
}

func deviceOf(ctx context.Context) device.Device { return whoOf(ctx).device }
