package httpapi

import (
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// limits keep one client, or one device, from taking what is everybody's.
type limits struct {
	create, wrong   *buckets // by client
	sites, guessers *buckets // the same, by the site that a client is of
	requests, tests *buckets // by device
	adds            *buckets // by caller
	programs        *buckets // by key
	enqueued        *buckets // by key, each of its own rate
}

func newLimits() *limits {
	return &limits{
		create:   newBuckets(rate.Every(time.Minute), 30),
		wrong:    newBuckets(rate.Every(2*time.Second), 20),
		sites:    newBuckets(rate.Every(20*time.Second), 60),
		guessers: newBuckets(rate.Every(time.Second), 100),
		requests: newBuckets(rate.Every(100*time.Millisecond), 100),
		tests:    newBuckets(rate.Every(10*time.Second), 5),
		adds:     newBuckets(rate.Every(6*time.Second), 20),
		programs: newBuckets(2000, 4000),
		enqueued: newBuckets(1, 1),
	}
}

// arrive counts a new device, and says how long its client has to wait: one
// site cannot make as many as there may be in the day after which unused ones go.
func (l *limits) arrive(client string, now time.Time) time.Duration {
	if wait := l.create.take(client, now); wait > 0 {
		return wait
	}
	return l.sites.take(siteOf(client), now)
}

// refused says how long a client that showed many wrong tokens has to wait.
func (l *limits) refused(client string, now time.Time) time.Duration {
	return max(l.wrong.peek(client, now), l.guessers.peek(siteOf(client), now))
}

// refuse counts a wrong token.
func (l *limits) refuse(client string, now time.Time) {
	l.wrong.take(client, now)
	l.guessers.take(siteOf(client), now)
}

// request counts a device's request, and says how long it has to wait.
func (l *limits) request(id string, now time.Time) time.Duration { return l.requests.take(id, now) }

// requestOf counts a caller's request. The operator is not limited.
func (l *limits) requestOf(w Who, now time.Time) time.Duration {
	switch {
	case w.device.ID != "":
		return l.request(w.device.ID, now)
	case w.operator:
		return 0
	}
	return l.programs.take(w.ID(), now)
}

// enqueue counts n notifications of a key's, and says how long it has to wait.
func (l *limits) enqueue(w Who, n int, now time.Time) time.Duration {
	if w.operator {
		return 0
	}
	perMinute := max(w.key.PerMinute, 1)
	return l.enqueued.takeOf(w.ID(), n, rate.Limit(float64(perMinute)/60), max(perMinute, MaxBatch), now)
}

// buckets are token buckets by name. It is safe for concurrent use, and bounded:
// a bucket that is full again is as good as none.
type buckets struct {
	every rate.Limit
	burst int

	mu  sync.Mutex
	all map[string]*rate.Limiter
}

// maxBuckets bounds the buckets of one kind.
const maxBuckets = 10_000

func newBuckets(every rate.Limit, burst int) *buckets {
	return &buckets{every: every, burst: burst, all: map[string]*rate.Limiter{}}
}

// take takes one, and says how long to wait if there is none; then it takes
// none. A name of "" is never limited.
func (b *buckets) take(name string, now time.Time) time.Duration {
	if name == "" {
		return 0
	}
	return b.takeOf(name, 1, b.every, b.burst, now)
}

// takeOf takes n from a bucket of its own rate.
func (b *buckets) takeOf(name string, n int, every rate.Limit, burst int, now time.Time) time.Duration {
	l := b.of(name, every, burst, now)
	r := l.ReserveN(now, n)
	if wait := r.DelayFrom(now); wait > 0 {
		r.CancelAt(now)
		return wait
	}
	return 0
}

// peek says how long to wait until there is one.
func (b *buckets) peek(name string, now time.Time) time.Duration {
	if name == "" {
		return 0
	}
	l := b.of(name, b.every, b.burst, now)
	if missing := 1 - l.TokensAt(now); missing > 0 {
		return time.Duration(missing / float64(b.every) * float64(time.Second))
	}
	return 0
}

func (b *buckets) of(name string, every rate.Limit, burst int, now time.Time) *rate.Limiter {
	b.mu.Lock()
	defer b.mu.Unlock()
	if l := b.all[name]; l != nil {
		return l
	}
	if len(b.all) >= maxBuckets {
		b.tidy(now)
	}
	l := rate.NewLimiter(every, burst)
	b.all[name] = l
	return l
}

// tidy forgets buckets that are full; if there is none, the fullest would go
// anyway, so all do: that forgives, and keeps the memory bounded.
func (b *buckets) tidy(now time.Time) {
	for name, l := range b.all {
		if l.TokensAt(now) >= float64(l.Burst()) {
			delete(b.all, name)
		}
	}
	if len(b.all) >= maxBuckets {
		clear(b.all)
	}
}

// clientKey is under which a request's context holds its client.
type clientKey struct{}

// clientOf names the client of a request for limits: an address, or an IPv6
// network, since one customer has a whole one. "" is this machine.
func clientOf(r *http.Request) string {
	s, _ := r.Context().Value(clientKey{}).(string)
	return s
}

// unreadable is the client of whom a proxy says what cannot be read: all of them
// share one limit, for to be unlimited takes to be this machine.
const unreadable = "forwarded"

// client finds out who calls. Behind a proxy on this machine it is whom the
// proxy names last; of proxies in a row on this machine, the first.
func client(r *http.Request, proxied bool) string {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	addr := at.Addr().Unmap()
	if forwarded := r.Header.Values("X-Forwarded-For"); proxied && addr.IsLoopback() && len(forwarded) > 0 {
		list := strings.Split(strings.Join(forwarded, ","), ",")
		for i := len(list) - 1; i >= 0 && addr.IsLoopback(); i-- {
			a, ok := hop(strings.TrimSpace(list[i]))
			if !ok {
				return unreadable
			}
			addr = a
		}
	}
	switch {
	case addr.IsLoopback():
		return ""
	case addr.Is6():
		p, err := addr.WithZone("").Prefix(64)
		if err == nil {
			return p.String()
		}
	}
	return addr.String()
}

// siteOf names the site that an IPv6 client is of: a site, often a home, has a
// /48, and so 65 536 of the networks that are told apart as clients. For other
// clients it is "".
func siteOf(client string) string {
	p, err := netip.ParsePrefix(client)
	if err != nil {
		return ""
	}
	if p, err = p.Addr().Prefix(48); err != nil {
		return ""
	}
	return p.String()
}

// hop reads an address as proxies write it, some with the port.
func hop(s string) (netip.Addr, bool) {
	a, err := netip.ParseAddr(strings.Trim(s, "[]"))
	if err != nil {
		var at netip.AddrPort
		if at, err = netip.ParseAddrPort(s); err == nil {
			a = at.Addr()
		}
	}
	return a.Unmap(), err == nil
}
