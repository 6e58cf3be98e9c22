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

	mu    sync.Mutex
	hosts map[string]string // by device
	read  time.Time
}

// lanesAge is how old what it remembers may be: another process may have
// changed the devices. Nothing is lost by an old answer but a lane.
const lanesAge = time.Minute

func newPushLanes(store device.Store) *pushLanes {
	return &pushLanes{store: store, hosts: map[string]string{}}
}

// of returns the lane of a recipient on a channel: "" for the channel's own.
func (l *pushLanes) of(recipient, channel string) string {
	id, ok := device.IDOf(recipient)
	if channel != config.PushChannel || !ok {
		return ""
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	host := l.hosts[id]
	if host == "" {
		return ""
	}
	return config.PushChannel + ":" + host
}

// note takes up what a device has just said.
func (l *pushLanes) note(d device.Device) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hosts[d.ID] = d.Push.Subscription.Host()
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
	hosts := make(map[string]string, len(all))
	for i := range all {
		hosts[all[i].ID] = all[i].Push.Subscription.Host()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hosts, l.read = hosts, now
	return nil
}
