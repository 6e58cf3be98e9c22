package watch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/lastlooktest"
	"github.com/lastlook/lastlook/watch"
)

// simulation is a shop whose prices and stock move also while looks take their
// time, looks that fail, and channels that fail in every way.
type simulation struct {
	*engine
	mu    sync.Mutex
	rng   *rand.Rand
	calm  bool // nothing moves or fails any more
	pages [][]moment
	// confirmed is, by watch, channel and trigger, the last episode whose
	// delivery was confirmed.
	confirmed map[string]int64
	mail      *lastlooktest.Channel
}

// moment is what a page says from then on.
type moment struct {
	at    time.Time
	price int
	avail watch.Availability
}

const (
	simPages    = 3
	simTarget   = 500
	simDuration = simulated * time.Hour
)

func (s *simulation) below(m moment) bool {
	return m.price < simTarget && m.avail == watch.InStock
}

// chance reports true with probability p, unless all is calm.
func (s *simulation) chance(p float64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.calm && s.rng.Float64() < p
}

func (s *simulation) between(a, b time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return a + time.Duration(s.rng.Int64N(int64(b-a)))
}

func (s *simulation) move(page int, m moment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m.at = time.Now()
	s.pages[page] = append(s.pages[page], m)
}

func (s *simulation) current(page int) moment {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pages[page][len(s.pages[page])-1]
}

// look takes its time, and sees what the page says when it answers.
func (s *simulation) look(page int) func(context.Context) (watch.Observation, error) {
	return func(ctx context.Context) (watch.Observation, error) {
		pass(s.between(10*time.Millisecond, 4*time.Second))
		if s.chance(0.1) {
			return watch.Observation{}, errBlocked
		}
		m := s.current(page)
		o := *seen(s, time.Time{}, fmt.Sprintf("%d EUR", m.price), m.avail)
		if s.chance(0.1) {
			o.Availability = watch.Unknown
		}
		return o, ctx.Err()
	}
}

// deliver checks every message, and fails now and then.
func (s *simulation) deliver(_ context.Context, d lastlook.Delivery) (lastlook.Receipt, error) {
	s.check(&d)
	pass(s.between(time.Millisecond, time.Second))
	switch {
	case s.chance(0.1):
		return lastlook.Receipt{}, errors.New("503")
	case s.chance(0.1):
		return lastlook.Receipt{}, lastlook.Unknown(errors.New("timeout"))
	case s.chance(0.08):
		return lastlook.Receipt{}, lastlook.Permanent(errors.New("400"))
	case s.chance(0.02):
		return lastlook.Receipt{}, lastlook.Misconfigured(errors.New("401"))
	}
	s.confirm(&d)
	return lastlook.Receipt{}, nil
}

type message struct {
	Reasons []watch.Kind
	Price   struct{ Amount, Currency string }
}

func (s *simulation) decode(d *lastlook.Delivery) (m message, told map[string]watch.Told) {
	var v watch.Value
	if err := errors.Join(json.Unmarshal(d.Message.Data, &m), json.Unmarshal(d.Value, &v)); err != nil {
		s.Error(err)
	}
	return m, v.Told
}

// check fails the test if a message was not true when it was looked at, or if
// it was confirmed before.
func (s *simulation) check(d *lastlook.Delivery) {
	m, told := s.decode(d)
	var page int
	if _, err := fmt.Sscanf(d.Message.URL, "https://shop.example/%d", &page); err != nil {
		s.Error(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(d.LookedAt) > 10*time.Second {
		s.Errorf("told from a look %s old", time.Since(d.LookedAt))
	}
	wasTrue := false
	for i, was := range s.pages[page] {
		until := time.Now()
		if i+1 < len(s.pages[page]) {
			until = s.pages[page][i+1].at
		}
		holds := was.avail == watch.InStock && (!slices.Contains(m.Reasons, watch.Below) || was.price < simTarget)
		if !until.Before(d.LookedAt) && fmt.Sprint(was.price) == m.Price.Amount && holds {
			wasTrue = true
		}
	}
	if !wasTrue {
		s.Errorf("%s at %s: %s %v was not true since %s: %+v", d.Key, time.Now().Format(time.TimeOnly), m.Price.Amount, m.Reasons, d.LookedAt.Format(time.TimeOnly), s.pages[page])
	}
	for _, kind := range m.Reasons {
		id := string(kind)
		if last := s.confirmed[d.Key.String()+id]; told[id].Episode <= last {
			s.Errorf("%s: %s tells episode %d, confirmed before: %d", d.Key, id, told[id].Episode, last)
		}
	}
}

func (s *simulation) confirm(d *lastlook.Delivery) {
	m, told := s.decode(d)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, kind := range m.Reasons {
		s.confirmed[d.Key.String()+string(kind)] = told[string(kind)].Episode
	}
}

func newSimulation(t *testing.T, seed uint64) *simulation {
	s := &simulation{rng: rand.New(rand.NewPCG(seed, 0)), pages: make([][]moment, simPages), confirmed: map[string]int64{}, mail: lastlooktest.NewChannel()}
	s.engine = newEngine(t, func(_ *watch.Config, c *lastlook.Config) {
		c.Channels["mail"] = s.mail
		c.Poll, c.SweepEvery = 10*time.Minute, sweepEvery
		c.Rand = func() float64 { return float64(s.between(0, time.Second)) / float64(time.Second) }
	})
	s.channel.Respond(s.deliver)
	s.mail.Respond(s.deliver)
	for page := range simPages {
		s.move(page, moment{price: 600, avail: watch.OutOfStock})
		s.source.answer(url(page), s.look(page))
		for i, triggers := range [][]watch.Kind{{watch.Below}, {watch.BackInStock}, {watch.Below, watch.BackInStock}} {
			w := watchFor()
			w.Recipient = fmt.Sprint("r", i)
			w.Channels = []string{"push", "mail"}[:1+i%2]
			for _, kind := range triggers {
				tr := watch.Trigger{ID: string(kind), Kind: kind, PerDay: -1}
				if kind == watch.Below {
					tr.Target = money(t, fmt.Sprintf("%d EUR", simTarget))
				}
				w.Triggers = append(w.Triggers, tr)
			}
			if _, err := s.store.Add(t.Context(), time.Now(), watch.Listing{Source: "page", URL: url(page), Interval: 5 * time.Minute}, *w); err != nil {
				t.Fatal(err)
			}
		}
	}
	return s
}

// sweepAll sweeps whenever something is due, until ctx ends.
func (s *simulation) sweepAll(ctx context.Context) {
	for ctx.Err() == nil {
		res, err := s.svc.Sweep(ctx, 100)
		if err != nil && ctx.Err() == nil {
			s.Error(err)
		}
		if res.Enqueued > 0 {
			s.d.Wake()
		}
		next, err := s.store.NextDue(ctx, time.Now())
		if err != nil {
			return
		}
		select {
		case <-time.After(max(time.Until(next), time.Second)):
		case <-ctx.Done():
		}
	}
}

// drift moves the pages until ctx ends.
func (s *simulation) drift(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-time.After(s.between(time.Second, 3*time.Minute)):
		case <-ctx.Done():
			return
		}
		page := int(s.between(0, simPages))
		m := s.current(page)
		if s.chance(0.5) {
			m.price = 440 + int(s.between(0, 120))
		} else if m.avail == watch.InStock {
			m.avail = watch.OutOfStock
		} else {
			m.avail = watch.InStock
		}
		s.move(page, m)
	}
}

// Hours of a restless shop: nothing false is told, nothing twice, and what
// is true at last is told to everybody.
func TestSimulation(t *testing.T) {
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { simulate(newSimulation(t, seed)) })
		})
	}
}

func simulate(s *simulation) {
	ctx, cancel := context.WithCancel(s.Context())
	defer cancel()
	restless, settle := context.WithTimeout(ctx, simDuration)
	defer settle()
	var wg sync.WaitGroup
	wg.Go(func() { s.sweepAll(ctx) })
	wg.Go(func() {
		if err := s.d.Run(ctx); err != nil {
			s.Error(err)
		}
	})
	s.drift(restless)
	for page := range simPages {
		s.move(page, moment{price: 600, avail: watch.OutOfStock})
	}
	s.mu.Lock()
	s.calm = true
	s.mu.Unlock()
	pass(3 * time.Hour)
	for page := range simPages {
		s.move(page, moment{price: 450, avail: watch.InStock})
	}
	pass(6 * time.Hour)
	cancel()
	wg.Wait()
	s.checkEnd()
}

// checkEnd checks that every trigger that holds has been told in its current
// episode, on every channel, and that no episode was imagined.
func (s *simulation) checkEnd() {
	entries, err := s.store.List(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	counts := map[lastlook.State]int{}
	for _, r := range s.rows() {
		counts[r.State]++
		if r.State.Live() {
			s.Errorf("still live: %+v", r)
		}
	}
	s.Logf("%v, %d calls", counts, len(s.told())+len(s.mail.Deliveries()))
	for _, state := range []lastlook.State{lastlook.StateSent, lastlook.StateDropped} {
		if counts[state] == 0 && simulated > 6 {
			s.Errorf("no row was %s: the simulation is too tame", state)
		}
	}
	for page := range simPages {
		var begun int64
		holds := false
		for _, m := range s.pages[page] {
			if now := s.below(m); now != holds {
				holds = now
				if now {
					begun++
				}
			}
		}
		for _, e := range entries {
			if e.Listing.URL != url(page) {
				continue
			}
			for id, st := range e.States {
				if !st.Holding || id == string(watch.Below) && st.Episode > begun {
					s.Errorf("%s %s: %+v, but it began to hold %d times", e.Watch.ID, id, st, begun)
				}
				for _, channel := range e.Watch.Channels {
					if got := s.confirmed[watch.Key(&e.Watch, channel).String()+id]; got != st.Episode {
						s.Errorf("%s %s on %s: told in episode %d, which is %d now", e.Watch.ID, id, channel, got, st.Episode)
					}
				}
			}
		}
	}
}
