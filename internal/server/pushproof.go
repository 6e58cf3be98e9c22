package server

import (
	"context"
	"sync"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/device"
	"github.com/lastlook/lastlook/internal/config"
)

// proofs tells whose trouble it is when a push service refuses our credentials:
// ours, or that of one device, whose subscription was made with another key. All
// who are pushed to through a service share its lane, which our own trouble
// parks; a stranger's must not.
//
// It is the device's if the service took messages for others lately. Else it is
// ours if it took one for this very subscription once, for the key of a
// subscription never changes. Where neither is known, at a start, it counts as
// the device's until no other device is left that might prove the contrary: so
// it takes them all, and not one that came to do harm, or twenty.
type proofs struct {
	mu    sync.Mutex
	taken map[proofKey][2]proof // the last two devices, the later first
	// told are the devices that a message was taken for, by when they had
	// subscribed; refused those that our credentials were refused for since.
	told    map[string]time.Time
	refused map[string]bool
}

type proofKey struct{ host, key string }

type proof struct {
	device string
	at     time.Time
}

const (
	// proofAge is how long it counts: if our settings break, rows spend attempts
	// for that long, of which they have enough.
	proofAge = time.Hour
	// maxProofs bounds the services remembered: devices name them.
	maxProofs = 1000
	// maxToldDevices bounds the devices remembered. There are no more, unless
	// some were removed.
	maxToldDevices = device.DefaultLimit
)

func newProofs() *proofs {
	return &proofs{taken: map[proofKey][2]proof{}, told: map[string]time.Time{}, refused: map[string]bool{}}
}

// took notes that a service took a message for a device.
func (p *proofs) took(d device.Device, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tell(d)
	delete(p.refused, d.ID)
	k := proofKey{d.Push.Subscription.Host(), d.Push.Key}
	two, known := p.taken[k]
	if !known && len(p.taken) >= maxProofs {
		p.tidy(now)
	}
	if two[0].device != d.ID {
		two[1] = two[0]
	}
	two[0] = proof{d.ID, now}
	p.taken[k] = two
}

func (p *proofs) tell(d device.Device) {
	if len(p.told) >= maxToldDevices {
		clear(p.told)
	}
	p.told[d.ID] = d.Push.Since
}

// blame says why it is a device's trouble, and not ours, that our credentials
// were refused for it; "" if it is ours. The lanes know of all devices.
func (p *proofs) blame(d device.Device, all *pushLanes, now time.Time) string {
	host, key := d.Push.Subscription.Host(), d.Push.Key
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.refused) >= maxToldDevices {
		clear(p.refused)
	}
	p.refused[d.ID] = true
	since, told := p.told[d.ID]
	switch {
	case p.others(host, key, d.ID, now):
		return "but it takes messages for other devices: the trouble is this one's subscription, and it must subscribe anew"
	case told && since.Equal(d.Push.Since):
		return ""
	case p.elsewhere(key, d.ID, now):
		return "but other services take messages with the same key: the trouble is this subscription's, or its service's"
	case all.another(host, key, func(id string) bool { return p.refused[id] }):
		return "perhaps for this device alone, whose subscription may be of another key: then it must subscribe anew; what other devices are sent there will show it"
	}
	return ""
}

// others reports whether a service took messages for other devices lately. The
// lock is held.
func (p *proofs) others(host, key, device string, now time.Time) bool {
	for _, t := range p.taken[proofKey{host, key}] {
		if t.device != "" && t.device != device && now.Sub(t.at) < proofAge {
			return true
		}
	}
	return false
}

// elsewhere reports whether any service took messages with a key for other
// devices lately. The lock is held.
func (p *proofs) elsewhere(key, device string, now time.Time) bool {
	for k := range p.taken {
		if k.key == key && p.others(k.host, key, device, now) {
			return true
		}
	}
	return false
}

// tidy forgets what is old; if all is young, all: then less is known, for a
// while.
func (p *proofs) tidy(now time.Time) {
	for k, two := range p.taken {
		if now.Sub(two[0].at) >= proofAge {
			delete(p.taken, k)
		}
	}
	if len(p.taken) >= maxProofs {
		clear(p.taken)
	}
}

// remember reads from the outbox for which devices messages were taken before
// this process began.
func (s *Server) remember(ctx context.Context) error {
	all, err := s.devices.List(ctx)
	if err != nil {
		return err
	}
	by := make(map[string]device.Device, len(all))
	for i := range all {
		by[device.Recipient(all[i].ID)] = all[i]
	}
	recs, err := s.outbox.List(ctx, lastlook.Query{Channel: config.PushChannel, States: []lastlook.State{lastlook.StateSent}, Limit: 500})
	if err != nil {
		return err
	}
	s.proofs.mu.Lock()
	defer s.proofs.mu.Unlock()
	for i := range recs {
		if d, ok := by[recs[i].Key.Recipient]; ok && d.Push.Active() && d.Push.Since.Before(recs[i].EndedAt) {
			s.proofs.tell(d)
		}
	}
	return nil
}
