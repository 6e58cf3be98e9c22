package server

import (
	"sync"
	"time"
)

// proofs remembers at which push services our credentials were taken lately,
// and by the subscriptions of which devices. A service that refuses them for
// one device while it takes them for others says something of that device's
// subscription, which was made with another key, and nothing of our settings.
// Without this, one device with such a subscription would have the lane parked
// that all share who are pushed to through that service.
type proofs struct {
	mu    sync.Mutex
	taken map[proofKey][2]proof // the last two devices, the later first
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
)

func newProofs() *proofs { return &proofs{taken: map[proofKey][2]proof{}} }

// took notes that a service took a message for a device.
func (p *proofs) took(host, key, device string, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := proofKey{host, key}
	two, known := p.taken[k]
	if !known && len(p.taken) >= maxProofs {
		p.tidy(now)
	}
	if two[0].device != device {
		two[1] = two[0]
	}
	two[0] = proof{device, now}
	p.taken[k] = two
}

// others reports whether a service took messages for other devices lately.
func (p *proofs) others(host, key, device string, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, t := range p.taken[proofKey{host, key}] {
		if t.device != "" && t.device != device && now.Sub(t.at) < proofAge {
			return true
		}
	}
	return false
}

// tidy forgets what is old; if all is young, all: then a lane may be parked that
// need not be, for a while.
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
