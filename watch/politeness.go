package watch

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Politeness says how often a host may be asked. It is shared by all that look:
// the workers of a sweep, the dispatcher's looks. One that keeps its counts in a
// database can be shared by processes.
type Politeness interface {
	// Admit asks to look at the host now. A wait of 0 admits the look, and
	// counts it; otherwise it is to be asked again after the wait.
	Admit(ctx context.Context, host string, now time.Time) (wait time.Duration, err error)
}

// maxHosts bounds the hosts that a limiter remembers.
const maxHosts = 10_000

// hostLimiter is the Politeness of one process.
type hostLimiter struct {
	perSecond float64
	burst     int

	mu    sync.Mutex
	hosts map[string]*rate.Limiter
}

// NewPoliteness returns a Politeness for one process: so many looks per second
// at each host, and at most burst at once after a quiet time.
func NewPoliteness(perSecond float64, burst int) (Politeness, error) {
	if perSecond <= 0 || burst < 1 {
		return nil, fmt.Errorf("%w: %g looks per second and a burst of %d: both are above zero", ErrInvalid, perSecond, burst)
	}
	return &hostLimiter{perSecond: perSecond, burst: burst, hosts: map[string]*rate.Limiter{}}, nil
}

// Admit implements [Politeness].
func (h *hostLimiter) Admit(_ context.Context, host string, now time.Time) (time.Duration, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.hosts[host]
	if l == nil {
		h.forgetQuiet(now)
		l = rate.NewLimiter(rate.Limit(h.perSecond), h.burst)
		h.hosts[host] = l
	}
	r := l.ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if wait > 0 {
		r.CancelAt(now) // nobody waits: it is asked again
	}
	return wait, nil
}

// forgetQuiet makes room: a host that has been quiet long enough for a whole
// burst is as one that was never asked.
func (h *hostLimiter) forgetQuiet(now time.Time) {
	if len(h.hosts) < maxHosts {
		return
	}
	for name, l := range h.hosts {
		if l.TokensAt(now) >= float64(h.burst) {
			delete(h.hosts, name)
		}
	}
}
