package server

import (
	"context"
	"crypto/rand"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/access"
	"github.com/lastlook/lastlook/internal/httpapi"
	"github.com/lastlook/lastlook/watch"
)

// keptEvents is how many events are kept for readers who come back.
const keptEvents = 16 << 10

// event is something that happened: to a notification, or to a watch.
type event struct {
	recipient, topic string
	notification     httpapi.NotificationEvent
	watch            httpapi.WatchEvent
}

// events are the latest events of this process, in a ring. What other processes
// do on the same data, such as the command line, is not among them.
type events struct {
	epoch string // of this ring: ids of another one are unknown

	mu    sync.Mutex
	ring  []event
	next  uint64 // the number of the next event; the ring has those before it
	more  chan struct{}
	ended bool
}

func newEvents() *events {
	return &events{epoch: strings.ToLower(rand.Text()[:8]), more: make(chan struct{})}
}

// add keeps events, and wakes those who wait.
func (e *events) add(list ...event) {
	if len(list) == 0 {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ended {
		return
	}
	if e.ring == nil {
		e.ring = make([]event, keptEvents)
	}
	for i := range list {
		e.ring[e.next%keptEvents] = list[i]
		e.next++
	}
	close(e.more)
	e.more = make(chan struct{})
}

// end lets all readers go.
func (e *events) end() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.ended {
		e.ended = true
		close(e.more)
	}
}

// begin takes readers again, after an end.
func (e *events) begin() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ended {
		e.ended, e.more = false, make(chan struct{})
	}
}

func (e *events) id(n uint64) string { return e.epoch + "-" + strconv.FormatUint(n, 10) }

// read returns the events after an id that are somebody's.
func (e *events) read(after string, own func(*event) bool) (list []httpapi.Event, next string, wait <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	from := e.next
	if after != "" {
		epoch, number, _ := strings.Cut(after, "-")
		n, err := strconv.ParseUint(number, 10, 64)
		switch {
		case err != nil || epoch != e.epoch || n > e.next || e.next > keptEvents && n < e.next-keptEvents:
			list = append(list, httpapi.Event{ID: e.id(e.next), Kind: "reset", Data: struct{}{}})
		default:
			from = n
		}
	}
	for n := from; n < e.next; n++ {
		ev := &e.ring[n%keptEvents]
		if !own(ev) {
			continue
		}
		out := httpapi.Event{ID: e.id(n + 1), Kind: "notification", Data: ev.notification}
		if ev.watch.Watch != "" {
			out.Kind, out.Data = "watch", ev.watch
		}
		list = append(list, out)
	}
	if !e.ended {
		wait = e.more
	}
	return list, e.id(e.next), wait
}

// Events implements [httpapi.Backend].
func (s *Server) Events(who httpapi.Who, after string) ([]httpapi.Event, string, <-chan struct{}) {
	topics := s.channels.Load().topics
	return s.events.read(after, func(e *event) bool {
		if who.Has(e.recipient) {
			return true
		}
		t, ok := topics.Get(e.topic)
		return ok && who.Owner() != "" && t.Owner == who.Owner()
	})
}

// Observe implements [lastlook.Observer]: it notes what became of a row, and
// passes it on to the log.
func (s *Server) Observe(t lastlook.Transition) {
	observer{s.log}.Observe(t)
	if t.Lost {
		return
	}
	s.parked.note(t)
	s.events.add(event{recipient: t.Key.Recipient, topic: t.Key.Topic, notification: httpapi.NotificationEvent{
		At: t.At, ID: int64(t.ID), Topic: t.Key.Topic, Subject: t.Key.Subject, Recipient: t.Key.Recipient, Channel: t.Key.Channel,
		Event: string(t.Event), State: t.To.String(), Reason: string(t.Reason), Attempt: t.Attempt,
	}})
}

// announcing is a watch store that tells what was seen.
type announcing struct {
	watch.Store
	events *events
}

// Record implements [watch.Store].
func (a announcing) Record(ctx context.Context, now time.Time, r watch.Recording) ([]watch.Entry, error) {
	entries, err := a.Store.Record(ctx, now, r)
	list := make([]event, len(entries))
	for i := range entries {
		o := &r.Observation
		list[i] = event{recipient: entries[i].Watch.Recipient, watch: httpapi.WatchEvent{At: o.At, Watch: entries[i].Watch.ID, Price: moneyView(o.Price), Availability: string(o.Availability)}}
	}
	a.events.add(list...)
	return entries, err
}

// lanesParked are the lanes whose channels refuse our settings.
type lanesParked struct {
	mu  sync.Mutex
	now map[string]parkedLane
}

type parkedLane struct {
	since time.Time
	why   string
}

// note takes up what a transition says of its lane.
func (p *lanesParked) note(t lastlook.Transition) {
	if t.Called.IsZero() {
		return
	}
	name := t.Key.Channel
	if t.Lane.Name != "" && t.Lane.Name != name {
		name += " " + t.Lane.Name
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case t.Event != lastlook.EventMisconfigured:
		delete(p.now, name)
	case p.now == nil:
		p.now = map[string]parkedLane{}
		fallthrough
	default:
		l := parkedLane{since: t.At}
		if old, ok := p.now[name]; ok {
			l.since = old.since
		}
		if t.Err != nil {
			l.why = t.Err.Error()
		}
		p.now[name] = l
	}
}

// newGrouper makes what enqueues for the API.
func (s *Server) newGrouper(kept access.Store) *grouper {
	return &grouper{write: func(ctx context.Context, requests []access.Request) ([]access.Reply, error) {
		return kept.Enqueue(ctx, s.opt.Clock(), requests)
	}}
}
