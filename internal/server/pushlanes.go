package server

import (
	"context"
	"sync"
	"time"

	"github.com/lastlook/lastlook/device"
	"github.com/lastlook/lastlook/internal/config"
)

// pushLanes knows the push service of each device, which is what can be slow or
// broken on its own. Detection asks it under the store's lock, so it answers
// from memory.
type pushLanes struct {
	store device.Store

	mu   sync.Mutex
	by   map[string]pushedAt // device
	read time.Time
}

// pushedAt is where a device is pushed to; the zero value is nowhere.
type pushedAt struct {
	host, key string
	active    bool
}

func pushedTo(p device.Push) pushedAt {
	return pushedAt{host: p.Subscription.Host(), key: p.Key, active: p.Active()}
}

// lanesAge is how old what it remembers may be: another process may have
// changed the devices. Nothing is lost by an old answer but a lane.
const lanesAge = time.Minute

func newPushLanes(store device.Store) *pushLanes {
	return &pushLanes{store: store, by: map[string]pushedAt{}}
}

// of returns the lane of a recipient on a channel: "" for the channel's own.
func (l *pushLanes) of(recipient, channel string) string {
	id, ok := device.IDOf(recipient)
	if channel != config.PushChannel || !ok {
		return ""
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	host := l.by[id].host
	if host == "" {
		return ""
	}
	return config.PushChannel + ":" + host
}

// note takes up what a device has just said.
func (l *pushLanes) note(d device.Device) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.by[d.ID] = pushedTo(d.Push)
}

// another reports whether some device that is pushed to through a service, with
// a key, is none of those given.
func (l *pushLanes) another(host, key string, than func(device string) bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, p := range l.by {
		if p.active && p.host == host && p.key == key && !than(id) {
			return true
		}
	}
	return false
}

// refresh reads the devices anew, if that was long ago.
func (l *pushLanes) refresh(ctx context.Context, now time.Time) error {
	l.mu.Lock()
	fresh := !l.read.IsZero() && now.Sub(l.read) < lanesAge && !now.Before(l.read)
	l.mu.Unlock()
	if fresh {
		return nil
	}
	all, err := l.store.List(ctx)
	if err != nil {
		return err
	}
	by := make(map[string]pushedAt, len(all))
	for i := range all {
		by[all[i].ID] = pushedTo(all[i].Push)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.by, l.read = by, now
	return nil
}
