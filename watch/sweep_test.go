package watch_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/watch"
)

// at adds a watch of an address.
func (e *engine) at(address string, every time.Duration, triggers ...watch.Trigger) watch.Entry {
	e.Helper()
	entry, err := e.store.Add(e.Context(), time.Now(), watch.Listing{Source: "page", URL: address, Interval: every}, *watchFor(triggers...))
	if err != nil {
		e.Fatal(err)
	}
	return entry
}

// A host whose every look takes half a minute does not hold up the others, and
// what is left of it does not stand before them in the next sweep.
func TestSlowHostHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, func(w *watch.Config, _ *lastlook.Config) { w.Workers, w.PerHost = 4, 1 })
		slow := func(ctx context.Context) (watch.Observation, error) {
			<-ctx.Done()
			return watch.Observation{}, ctx.Err()
		}
		for n := range 20 {
			address := fmt.Sprintf("https://slow.example/%d", n)
			e.at(address, 15*time.Minute, below(t, "500 EUR"))
			e.source.answer(address, slow)
		}
		var mu sync.Mutex
		quick := map[string]time.Time{}
		for n := range 8 {
			address := fmt.Sprintf("https://shop%d.example/", n)
			e.at(address, 15*time.Minute, below(t, "500 EUR"))
			o := *seen(t, time.Time{}, "600 EUR", watch.InStock)
			e.source.answer(address, func(context.Context) (watch.Observation, error) {
				mu.Lock()
				quick[address] = time.Now()
				mu.Unlock()
				pass(100 * time.Millisecond)
				return o, nil
			})
		}
		began := time.Now()
		res := e.sweep()
		if res.Looked != 8 || res.Failed < 1 || res.Failed > 3 {
			t.Errorf("%+v", res)
		}
		for address, at := range quick {
			if at.Sub(began) > time.Second {
				t.Errorf("%s had to wait %s", address, at.Sub(began))
			}
		}
		if d := time.Since(began); d > 2*time.Minute {
			t.Errorf("the sweep took %s", d)
		}
		if due, err := e.store.Due(t.Context(), time.Now(), time.Now(), 100); err != nil || len(due) != 0 {
			t.Errorf("%d are due before those of other hosts, %v", len(due), err)
		}
	})
}

// A host is asked no more often than the limit says, by sweeps and last looks
// together, and its listings are spread out.
func TestHostsAreAskedPolitely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		polite, err := watch.NewPoliteness(1, 2)
		if err != nil {
			t.Fatal(err)
		}
		e := newEngine(t, func(w *watch.Config, _ *lastlook.Config) { w.Politeness = polite })
		const pages = 30
		for n := range pages {
			e.watch(n, below(t, "500 EUR"))
			e.page(n, "480 EUR", watch.InStock)
		}
		e.at("https://other.example/", 15*time.Minute, below(t, "500 EUR"))
		o := *seen(t, time.Time{}, "600 EUR", watch.InStock)
		e.source.answer("https://other.example/", func(context.Context) (watch.Observation, error) { return o, nil })
		if res := e.sweep(); res.Looked != 3 || res.Postponed != pages-2 {
			t.Errorf("the first sweep: %+v", res)
		}
		looked := func() (n int) {
			for i := range pages {
				n += e.source.looked(url(i))
			}
			return n
		}
		began := time.Now()
		for range 60 {
			pass(time.Second)
			e.sweep()
			if n, most := looked(), 2+int(time.Since(began).Seconds()); n > most {
				t.Fatalf("%d looks in %s", n, time.Since(began))
			}
		}
		if n := looked(); n != pages {
			t.Errorf("%d looks after a minute", n)
		}
		// The dispatcher's looks ask as well.
		before := looked()
		pass(10 * time.Second)
		res := e.tick()
		if n := looked() - before; n > 2+4 || n == 0 {
			t.Errorf("%d last looks at once: %+v", n, res)
		}
	})
}

// failing is a limiter that cannot be asked.
type failing struct{}

func (failing) Admit(context.Context, string, time.Time) (time.Duration, error) {
	return 0, errors.New("no answer")
}

func TestUnknownPolitenessWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, func(w *watch.Config, _ *lastlook.Config) { w.Politeness = failing{} })
		e.watch(0, below(t, "500 EUR"))
		e.page(0, "480 EUR", watch.InStock)
		if res := e.sweep(); res.Looked != 0 || res.Postponed != 1 || e.source.looked(url(0)) != 0 {
			t.Errorf("%+v", res)
		}
	})
	for _, c := range []struct {
		rate  float64
		burst int
	}{{0, 1}, {-1, 1}, {1, 0}} {
		if _, err := watch.NewPoliteness(c.rate, c.burst); !errors.Is(err, watch.ErrInvalid) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// Looked at less and less often while nothing changes, within what is allowed,
// and as often as asked after a change.
func TestPaceFollowsChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, nil)
		w := watchFor(below(t, "500 EUR"))
		w.MaxInterval = time.Hour
		entry := e.watchAs(0, *w) // every 15 minutes
		next := func(p string) time.Duration {
			t.Helper()
			e.page(0, p, watch.InStock)
			if res := e.sweep(); res.Looked != 1 {
				t.Fatalf("%+v", res)
			}
			l := e.entry(entry.Watch.ID).Listing
			d := time.Until(l.NextLook)
			pass(d)
			return d
		}
		for i, c := range []struct {
			price string
			want  string
		}{{"600 EUR", "15m"}, {"600 EUR", "22m30s"}, {"600 EUR", "33m45s"}, {"600 EUR", "50m37.5s"}, {"600 EUR", "1h"}, {"600 EUR", "1h"}, {"590 EUR", "15m"}, {"590 EUR", "22m30s"}} {
			want, err := time.ParseDuration(c.want)
			if got := next(c.price); err != nil || got != want {
				t.Errorf("look %d: the next is after %s, want %s", i, got, want)
			}
		}
		// A second watch that wants it often.
		e.watchAs(0, *watchFor(below(t, "400 EUR")))
		if got := next("590 EUR"); got > 15*time.Minute {
			t.Errorf("the next is after %s", got)
		}
	})
}

// A look in doubt is followed by another one soon.
func TestDoubtIsLookedAtSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, nil)
		entry := e.watch(0, below(t, "500 EUR"))
		e.page(0, "2000 EUR", watch.InStock)
		e.sweep()
		pass(15 * time.Minute)
		e.page(0, "20 EUR", watch.InStock)
		e.sweep()
		l := e.entry(entry.Watch.ID).Listing
		if d := time.Until(l.NextLook); d < time.Minute || d > 90*time.Second || l.Standing.Pending.Doubt != watch.DoubtFall {
			t.Errorf("the next look is after %s: %+v", d, l.Standing)
		}
		e.tick()
		if got := e.told(); len(got) != 0 {
			t.Errorf("told %q", got)
		}
		pass(75 * time.Second)
		e.tick() // the last look is the second reading
		if got := e.told(); len(got) != 1 {
			t.Errorf("told %q: %+v", got, e.rows())
		}
		if l = e.entry(entry.Watch.ID).Listing; l.Standing.Pending.Doubt != "" || l.Standing.Price.String() != "20.00 EUR" {
			t.Errorf("%+v", l.Standing)
		}
	})
}
