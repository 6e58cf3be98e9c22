package watch_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/lastlooktest"
	"github.com/lastlook/lastlook/store/sqlite"
	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/watchsqlite"
)

// scripted is a source that sees what it is told to see.
type scripted struct {
	mu    sync.Mutex
	see   map[string]func(context.Context) (watch.Observation, error) // by URL
	looks map[string]int
	busy  int
	most  int // looks at once
}

func newScripted() *scripted {
	return &scripted{see: map[string]func(context.Context) (watch.Observation, error){}, looks: map[string]int{}}
}

// Look implements [watch.Source].
func (s *scripted) Look(ctx context.Context, l watch.Listing) (watch.Observation, error) {
	s.mu.Lock()
	f := s.see[l.URL]
	s.looks[l.URL]++
	s.busy++
	s.most = max(s.most, s.busy)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.busy--
	}()
	if f == nil {
		return watch.Observation{}, errors.New("the script has no such page")
	}
	return f(ctx)
}

// answer makes looks at the URL do as f does from now on.
func (s *scripted) answer(url string, f func(context.Context) (watch.Observation, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.see[url] = f
}

func (s *scripted) fail(url string, err error) {
	s.answer(url, func(context.Context) (watch.Observation, error) { return watch.Observation{}, err })
}

func (s *scripted) looked(url string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.looks[url]
}

// engine is the whole of it: a real file, the service, a dispatcher, and a
// world that can be scripted. It lives in a bubble of fake time.
type engine struct {
	*testing.T
	path    string
	db      *sqlite.Store
	store   *watchsqlite.Store
	source  *scripted
	channel *lastlooktest.Channel
	outbox  *lastlook.Outbox
	svc     *watch.Service
	d       *lastlook.Dispatcher
	log     *syncBuffer
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// newEngine makes an engine; mod, if not nil, changes what it is made of.
func newEngine(t *testing.T, mod func(*watch.Config, *lastlook.Config)) *engine {
	t.Helper()
	e := &engine{T: t, path: filepath.Join(t.TempDir(), "lastlook.db"), source: newScripted(), channel: lastlooktest.NewChannel(), log: &syncBuffer{}}
	var err error
	if e.db, err = sqlite.Open(t.Context(), e.path); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.db.Close(); err != nil {
			t.Error(err)
		}
	})
	if e.store, err = watchsqlite.Open(t.Context(), e.db); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(e.log, nil))
	half := func() float64 { return 0.5 } // no jitter of intervals
	wc := watch.Config{Store: e.store, Sources: map[string]watch.Source{"page": e.source}, Logger: log, Rand: half}
	dc := lastlook.Config{Channels: map[string]lastlook.Channel{"push": e.channel}, Logger: log, Rand: func() float64 { return 0 }}
	if mod != nil {
		mod(&wc, &dc)
	}
	if e.svc, err = watch.New(wc); err != nil {
		t.Fatal(err)
	}
	e.outbox = lastlook.NewOutbox(e.db)
	dc.Topics = []lastlook.Registration{e.svc.Topic()}
	if e.d, err = lastlook.NewDispatcher(e.outbox, dc); err != nil {
		t.Fatal(err)
	}
	return e
}

// pass lets time pass. Every engine lives in a bubble.
func pass(d time.Duration) {
	time.Sleep(d) //lint:ignore nosleep called in synctest bubbles only
}

func url(n int) string { return fmt.Sprintf("https://shop.example/%d", n) }

// watch adds a watch of a page.
func (e *engine) watch(n int, triggers ...watch.Trigger) watch.Entry {
	e.Helper()
	w := watchFor(triggers...)
	return e.watchAs(n, *w)
}

func (e *engine) watchAs(n int, w watch.Watch) watch.Entry {
	e.Helper()
	entry, err := e.store.Add(e.Context(), time.Now(), watch.Listing{Source: "page", URL: url(n), Interval: 15 * time.Minute}, w)
	if err != nil {
		e.Fatal(err)
	}
	return entry
}

// page sets what a page says from now on.
func (e *engine) page(n int, price string, a watch.Availability) {
	e.Helper()
	o := *seen(e, time.Time{}, price, a)
	o.Title = "Kettle"
	e.source.answer(url(n), func(context.Context) (watch.Observation, error) { return o, nil })
}

// sweep looks at what is due.
func (e *engine) sweep() watch.SweepResult {
	e.Helper()
	res, err := e.svc.Sweep(e.Context(), 10_000)
	if err != nil {
		e.Fatal(err)
	}
	return res
}

// tick dispatches what is due.
func (e *engine) tick() lastlook.TickResult {
	e.Helper()
	res, err := e.d.Tick(e.Context())
	if err != nil {
		e.Fatal(err)
	}
	return res
}

// rows returns the outbox's rows, oldest first.
func (e *engine) rows() []lastlook.Record {
	e.Helper()
	recs, err := e.outbox.List(e.Context(), lastlook.Query{Limit: 1 << 20, Full: true})
	if err != nil {
		e.Fatal(err)
	}
	for i, j := 0, len(recs)-1; i < j; i, j = i+1, j-1 {
		recs[i], recs[j] = recs[j], recs[i]
	}
	return recs
}

// want fails the test unless the newest row stands so.
func (e *engine) want(state lastlook.State, reason lastlook.Reason) lastlook.Record {
	e.Helper()
	rows := e.rows()
	if len(rows) == 0 {
		e.Fatalf("no row, want %s %s", state, reason)
	}
	r := rows[len(rows)-1]
	if r.State != state || r.Reason != reason {
		e.Fatalf("row %d is %s %s, want %s %s: %+v", r.ID, r.State, r.Reason, state, reason, r.Story)
	}
	return r
}

// entry reads a watch.
func (e *engine) entry(id string) watch.Entry {
	e.Helper()
	entry, err := e.store.Get(e.Context(), id)
	if err != nil {
		e.Fatal(err)
	}
	return entry
}

func (e *engine) update(id string, change func(*watch.Watch)) {
	e.Helper()
	_, err := e.store.Update(e.Context(), time.Now(), id, func(w *watch.Watch) error {
		change(w)
		return nil
	})
	if err != nil {
		e.Fatal(err)
	}
}

// told returns the bodies of all messages so far.
func (e *engine) told() []string {
	var out []string
	for _, d := range e.channel.Deliveries() {
		out = append(out, d.Message.Body)
	}
	return out
}
