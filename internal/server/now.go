package server

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/lastlook/lastlook/internal/httpapi"
	"github.com/lastlook/lastlook/watch"
)

const (
	// nowEvery is how often a listing is looked at for those who ask what is
	// true now: who asks more often gets what was last seen.
	nowEvery = 10 * time.Second
	// nowPatience is how long they wait for such a look: a service worker must
	// show something soon.
	nowPatience = 2500 * time.Millisecond
)

// nowLooks lets those who ask about one listing at the same time share one look.
type nowLooks struct {
	mu      sync.Mutex
	running map[string]*nowLook // by listing
	begun   map[string]time.Time
}

// nowLook is a look under way; err is set when done is closed.
type nowLook struct {
	done chan struct{}
	err  error
}

func newNowLooks() *nowLooks {
	return &nowLooks{running: map[string]*nowLook{}, begun: map[string]time.Time{}}
}

// join returns the look at a listing that is under way, or says that the caller
// is to begin one and to end it; neither if it is too soon for another.
func (l *nowLooks) join(listing string, now time.Time) (look *nowLook, begin bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if look = l.running[listing]; look != nil {
		return look, false
	}
	for id, at := range l.begun { // what is old enough says nothing any more
		if now.Sub(at) >= nowEvery || now.Before(at) {
			delete(l.begun, id)
		}
	}
	if _, soon := l.begun[listing]; soon {
		return nil, false
	}
	look = &nowLook{done: make(chan struct{})}
	l.running[listing], l.begun[listing] = look, now
	return look, true
}

func (l *nowLooks) end(listing string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	look := l.running[listing]
	delete(l.running, listing)
	look.err = err
	close(look.done)
}

// Now implements [httpapi.Backend].
func (s *Server) Now(ctx context.Context, who httpapi.Who, id string) (httpapi.Now, error) {
	e, err := s.ownWatch(ctx, who, id)
	if err != nil {
		return httpapi.Now{}, err
	}
	now := s.opt.Clock()
	if e.Last == nil || now.Sub(e.Last.At) >= nowEvery || now.Before(e.Last.At) {
		s.lookNow(ctx, e.Listing)
		if e, err = s.ownWatch(ctx, who, id); err != nil {
			return httpapi.Now{}, err
		}
	}
	return nowOf(&e, s.opt.Clock()), nil
}

// lookNow looks at a listing, for at most [nowPatience]. What it sees counts like
// any other look; what it cannot see is left to the sweep.
func (s *Server) lookNow(ctx context.Context, l watch.Listing) {
	look, begin := s.looks.join(l.ID, s.opt.Clock())
	if look == nil {
		return
	}
	if begin {
		// It is everybody's who waits for it: whoever began it may leave.
		looking, cancel := context.WithTimeout(context.WithoutCancel(ctx), nowPatience)
		defer cancel()
		err := s.recordNow(looking, l)
		s.looks.end(l.ID, err)
		if err != nil && !errors.Is(err, watch.ErrNotFound) && !errors.Is(err, errAskedMuch) {
			s.log.Info("could not look for a device that asks what is true now", "listing", l.ID, "error", err)
		}
		return
	}
	timer := time.NewTimer(nowPatience)
	defer timer.Stop()
	select {
	case <-look.done:
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (s *Server) recordNow(ctx context.Context, l watch.Listing) error {
	if !s.mayLook(ctx, l.URL) {
		return errAskedMuch
	}
	o, err := s.service.Look(ctx, l)
	if err != nil {
		return err
	}
	now := s.opt.Clock()
	_, err = s.watches.Record(context.WithoutCancel(ctx), now, watch.Recording{ListingID: l.ID, Observation: o, Detect: s.service.Detector(o, now)})
	return err
}

// nowOf says what the newest observation means for a watch: whether what it
// waits for holds, whatever was told.
func nowOf(e *Entry, now time.Time) httpapi.Now {
	n := httpapi.Now{Title: titleOf(e), URL: e.Listing.URL}
	if e.Watch.SnoozedUntil.After(now) {
		n.SnoozedUntil = e.Watch.SnoozedUntil
	}
	if e.Last == nil || e.Err != nil {
		return n
	}
	o := e.Last
	n.At, n.Price, n.Availability = o.At, moneyView(o.Price), string(o.Availability)
	var holding []string
	ev := e.Evaluate(o, watch.Telling{}, now)
	for i := range ev.Findings {
		f := &ev.Findings[i]
		switch f.Answer {
		case watch.Holds:
			n.Known, n.Holds = true, true
			holding = append(holding, f.Trigger.String())
		case watch.DoesNotHold:
			n.Known = true
		case watch.CannotTell:
		}
	}
	n.Body = DescribeObservation(*o)
	if len(holding) > 0 {
		n.Body += ": " + strings.Join(holding, "; ")
	}
	return n
}

// titleOf is what a watch is called.
func titleOf(e *Entry) string {
	switch {
	case e.Watch.Name != "":
		return e.Watch.Name
	case e.Last != nil && e.Last.Title != "":
		return e.Last.Title
	}
	return e.Listing.URL
}
