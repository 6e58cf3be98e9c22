package watch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/lastlook/lastlook"
)

// SweepResult counts what one sweep did.
type SweepResult struct {
	Looked   int `json:"looked"`
	Failed   int `json:"failed"`
	Enqueued int `json:"enqueued"`
	// Postponed counts the listings of hosts that are not to be asked yet.
	Postponed int `json:"postponed,omitzero"`
}

// Sweep looks at up to limit due listings and records what it saw. It claims
// them, so that others who sweep at the same time look at others. Detection
// is level-triggered: what a sweep misses, the next one finds. Enqueued counts
// the items given to the outbox, duplicates of live rows included.
//
// A host that is asked often enough, or that is slow, holds nobody else up: a
// few looks at most are under way there, and what is to wait is due later
// ([Politeness]).
func (s *Service) Sweep(ctx context.Context, limit int) (SweepResult, error) {
	began := s.cfg.Clock()
	claimed := lastlook.Micro(began.Add(s.cfg.SweepTime + s.cfg.LookTimeout + claimSlack))
	due, err := s.cfg.Store.Due(ctx, began, claimed, limit)
	if err != nil {
		return SweepResult{}, fmt.Errorf("claim due listings: %w", err)
	}
	var (
		mu   sync.Mutex
		res  SweepResult
		errs []error
		wg   sync.WaitGroup
		kept = map[string]bool{} // listings whose claims have ended with a record
	)
	q := newHostQueue(s.cfg, due, began)
	stop := context.AfterFunc(ctx, q.close)
	defer stop()
	for range min(s.cfg.Workers, len(due)) {
		wg.Go(func() {
			for {
				l, ok := q.take(ctx)
				if !ok {
					return
				}
				n, ok, err := s.sweepOne(ctx, l)
				q.done(l)
				mu.Lock()
				res.Enqueued += n
				if ok {
					res.Looked++
				} else {
					res.Failed++
				}
				if err != nil {
					errs = append(errs, err)
				}
				kept[l.ID] = err == nil
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	later := q.postponed(s.cfg.Clock())
	res.Postponed = len(later)
	if len(later) > 0 && ctx.Err() == nil {
		errs = append(errs, s.cfg.Store.Postpone(ctx, later))
	}
	var left []string
	for i := range due {
		if _, postponed := later[due[i].ID]; !kept[due[i].ID] && (!postponed || ctx.Err() != nil) {
			left = append(left, due[i].ID)
		}
	}
	errs = append(errs, s.release(ctx, left, claimed))
	return res, errors.Join(append(errs, ctx.Err())...)
}

// claimSlack is how much longer a claim holds than a sweep can take.
const claimSlack = time.Minute

// release gives back what was claimed and not looked at, also if the sweep was
// stopped: others need not wait for the end of the claim.
func (s *Service) release(ctx context.Context, ids []string, until time.Time) error {
	if len(ids) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseLimit)
	defer cancel()
	return s.cfg.Store.Release(ctx, ids, until)
}

// releaseLimit bounds that.
const releaseLimit = 5 * time.Second

// Check looks at a listing now, due or not, and records what it saw; ok says
// whether it could be read.
func (s *Service) Check(ctx context.Context, l Listing) (ok bool, err error) {
	_, ok, err = s.sweepOne(ctx, l)
	return ok, err
}

// sweepOne looks at a listing; ok says whether it could be read.
func (s *Service) sweepOne(ctx context.Context, l Listing) (enqueued int, ok bool, err error) {
	looking, cancel := context.WithTimeout(ctx, s.cfg.LookTimeout)
	o, lookErr := s.Look(looking, l)
	cancel()
	now := s.cfg.Clock()
	if ctx.Err() != nil {
		return 0, false, ctx.Err() // stopped: the listing stays due
	}
	if lookErr != nil {
		s.log.Info("could not look", "listing", l.ID, "host", hostOf(l.URL), "error", lookErr)
		return 0, false, unlessRemoved(s.cfg.Store.RecordFailure(ctx, now, s.failure(l, lookErr, s.nextAfterFailure(l, lookErr, now), now)))
	}
	detect := s.detect(o, now)
	items := map[string]int{} // by watch: a store may ask twice
	next, pace := s.nextAfter(l, &o, now)
	entries, err := s.cfg.Store.Record(ctx, now, Recording{ListingID: l.ID, Observation: o, NextLook: next, Pace: pace,
		Detect: func(e Entry, keys []lastlook.KeyRow) (Detected, error) {
			d, err := detect(e, keys)
			items[e.Watch.ID] = len(d.Items)
			return d, err
		}})
	if err != nil {
		return 0, true, unlessRemoved(err)
	}
	for _, n := range items {
		enqueued += n
	}
	for i := range entries {
		if e := &entries[i]; e.Err != nil {
			s.log.Error("nothing is detected for a watch", "watch", e.Watch.ID, "listing", l.ID, "error", e.Err)
		}
	}
	return enqueued, true, nil
}

// nextAfter returns when a listing is due after it was read, and how often it is
// looked at from now on: soon if the look is in doubt; else as often as ever
// after a change, and less and less often, within what its watches allow, while
// nothing changes.
func (s *Service) nextAfter(l Listing, o *Observation, now time.Time) (next time.Time, pace time.Duration) {
	weighed := l.Standing.Weigh(o)
	if weighed.Doubt != "" {
		next = now.Add(secondReading + time.Duration(s.cfg.Rand()*float64(secondReading/2)))
		return next, 0
	}
	if l.MaxInterval > l.Interval {
		if l.Standing.differs(&weighed.After) {
			l.Pace = l.Interval
		} else {
			l.Pace = min(max(l.Pace, l.Interval)*3/2, l.MaxInterval)
		}
		pace = l.Pace
	}
	return s.next(l, now), pace
}

// next returns when a listing is due after it was read.
func (s *Service) next(l Listing, now time.Time) time.Time {
	every := l.Interval
	if l.MaxInterval > l.Interval {
		every = min(max(l.Pace, l.Interval), l.MaxInterval)
	}
	return now.Add(every + time.Duration(s.cfg.Jitter*(2*s.cfg.Rand()-1)*float64(every)))
}

// hostQueue hands out a sweep's listings, a few at a time of each host.
type hostQueue struct {
	cfg   Config
	began time.Time

	mu      sync.Mutex
	changed *sync.Cond
	hosts   []*hostWork // in the order in which they were first due
	byName  map[string]*hostWork
	later   map[string]time.Time
	closed  bool
}

// hostWork is what is due at one host.
type hostWork struct {
	name    string
	waiting []Listing
	busy    int
	slow    bool // a look there took long
	started map[string]time.Time
}

func newHostQueue(cfg Config, due []Listing, now time.Time) *hostQueue {
	q := &hostQueue{cfg: cfg, began: now, byName: map[string]*hostWork{}, later: map[string]time.Time{}}
	q.changed = sync.NewCond(&q.mu)
	for _, l := range due {
		name := hostOf(l.URL)
		h := q.byName[name]
		if h == nil {
			h = &hostWork{name: name, started: map[string]time.Time{}}
			q.byName[name], q.hosts = h, append(q.hosts, h)
		}
		h.waiting = append(h.waiting, l)
	}
	return q
}

// take returns a listing that may be looked at now, and waits for one while all
// that are left are of busy hosts.
func (q *hostQueue) take(ctx context.Context) (Listing, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.closed && q.cfg.Clock().Sub(q.began) < q.cfg.SweepTime {
		left := false
		for _, h := range q.hosts {
			if len(h.waiting) == 0 {
				continue
			}
			left = true
			if h.busy < q.cfg.PerHost && q.admit(ctx, h) {
				l := h.waiting[0]
				h.waiting = h.waiting[1:]
				h.busy++
				h.started[l.ID] = q.cfg.Clock()
				return l, true
			}
		}
		if !left {
			break
		}
		if !q.busy() {
			continue // admit has postponed what was left of a host
		}
		q.changed.Wait()
	}
	return Listing{}, false
}

func (q *hostQueue) busy() bool {
	return slices.ContainsFunc(q.hosts, func(h *hostWork) bool { return h.busy > 0 })
}

// admit asks whether a host may be asked now. If not, all that is due there is
// postponed: spread out, so that it does not come back all at once.
func (q *hostQueue) admit(ctx context.Context, h *hostWork) bool {
	if q.cfg.Politeness == nil {
		return true
	}
	now := q.cfg.Clock()
	wait, err := q.cfg.Politeness.Admit(ctx, h.name, now)
	if err == nil && wait <= 0 {
		return true
	}
	if err != nil {
		q.cfg.Logger.Error("cannot ask how often a host may be asked: looking later", "host", h.name, "error", err)
		wait = time.Minute
	}
	for i, l := range h.waiting {
		q.later[l.ID] = now.Add(min(wait*time.Duration(i+1), maxPostponed))
	}
	h.waiting = nil
	return false
}

// maxPostponed bounds how long a listing waits for its host's sake.
const maxPostponed = time.Hour

func (q *hostQueue) done(l Listing) {
	q.mu.Lock()
	defer q.mu.Unlock()
	h := q.byName[hostOf(l.URL)]
	h.busy--
	if q.cfg.Clock().Sub(h.started[l.ID]) > q.cfg.LookTimeout/2 {
		h.slow = true
	}
	delete(h.started, l.ID)
	q.changed.Broadcast()
}

func (q *hostQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.changed.Broadcast()
}

// postponed returns when what was not looked at is due: what is left of a slow
// host later, so that it does not stand before the others' in the next sweep.
func (q *hostQueue) postponed(now time.Time) map[string]time.Time {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := maps.Clone(q.later)
	for _, h := range q.hosts {
		if !h.slow {
			continue
		}
		for _, l := range h.waiting {
			out[l.ID] = now.Add(time.Minute)
		}
	}
	return out
}
