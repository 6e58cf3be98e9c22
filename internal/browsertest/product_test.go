package browsertest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/device"
	"github.com/lastlook/lastlook/internal/browsertest"
	"github.com/lastlook/lastlook/internal/browsertest/desktop"
	"github.com/lastlook/lastlook/internal/config"
	"github.com/lastlook/lastlook/internal/server"
)

// shopHost is a host that exists for the browser and, by the door's Via, for the
// server: devices may only watch what is public.
const shopHost = "shop.example"

// clock is the time of the server and of the push service: days pass in a test
// as it likes, and never back.
type clock struct {
	mu     sync.Mutex
	offset time.Duration
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.offset)
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset += d
}

// evening lets the time pass until it is 20:00, so that it is known when the day
// ends; browsers are in UTC.
func (c *clock) evening() {
	now := c.now().UTC()
	at := time.Date(now.Year(), now.Month(), now.Day(), 20, 0, 0, 0, time.UTC)
	if at.Before(now) {
		at = at.AddDate(0, 0, 1)
	}
	c.pass(at.Sub(now))
}

// shop sells things: a path is a thing.
type shop struct {
	clock *clock

	mu     sync.Mutex
	things map[string]thing
}

type thing struct {
	name, price string
	sold        bool
}

func (s *shop) set(path string, th thing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.things[path] = th
}

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	th, ok := s.things[r.URL.Path]
	s.mu.Unlock()
	if !ok {
		http.NotFound(w, r)
		return
	}
	stock := "InStock"
	if th.sold {
		stock = "OutOfStock"
	}
	// From it the source knows how old an answer is.
	w.Header().Set("Date", s.clock.now().UTC().Format(http.TimeFormat))
	w.Header().Set("Content-Type", "text/html")
	_, _ = fmt.Fprintf(w, `<!doctype html><title>%s</title><script type="application/ld+json">{"@type":"Product","name":%q,"offers":`+
		`{"@type":"Offer","price":%q,"priceCurrency":"EUR","availability":"https://schema.org/%s"}}</script>`, th.name, th.name, th.price, stock)
}

// product is a lastlook that serves, with its page open in a browser.
type product struct {
	*server.Server
	t     *testing.T
	rig   *browsertest.Rig
	clock *clock
	shop  *shop
	page  string
	dir   config.Dir
	// stop ends what serves, and waits for it.
	stop func() error
}

// serve serves a lastlook of its own, on a fresh data directory.
func serve(t *testing.T, rig *browsertest.Rig, c *clock) *product {
	t.Helper()
	dir, err := config.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &product{t: t, rig: rig, clock: c, dir: dir, shop: &shop{clock: c, things: map[string]thing{}}}
	rig.Host(shopHost, p.shop)
	log := new(buffer)
	page := make(chan string, 1)
	p.Server, err = server.Open(t.Context(), server.Options{
		Dir: dir, Version: "test", Clock: c.now,
		Logger:  slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		RootCAs: rig.Push.Roots(), Via: rig.Via(shopHost),
		HTTP: server.HTTPOptions{Listen: "127.0.0.1:0", Listening: func(at string) { page <- at }},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- p.Serve(ctx) }()
	p.stop = sync.OnceValue(func() error {
		cancel()
		return <-served
	})
	t.Cleanup(func() {
		err := p.stop()
		if t.Failed() {
			recs, err := p.Outbox().List(context.Background(), lastlook.Query{Full: true})
			t.Logf("the outbox has, %v:", err)
			for i := range recs {
				t.Logf("  %d %s %s: %+v", recs[i].ID, recs[i].State, recs[i].Reason, recs[i].Story)
			}
		}
		if err := errors.Join(err, p.Close()); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("%s was shown: %s\nthe push service was asked: %+v\nand told: %+v\nthe server said:\n%s",
				rig.Kind, rig.Desktop, rig.Push.Requests(), rig.Push.Reports(), log)
		}
	})
	select {
	case p.page = <-page:
	case err := <-served:
		served <- nil
		t.Fatalf("it does not serve: %v", err)
	}
	rig.Allow(t, strings.TrimSuffix(p.page, "/"))
	return p
}

type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// state waits until the page is in a state.
func (p *product) state(want string) {
	p.t.Helper()
	p.rig.WaitFor(p.t, "the page to be "+want, fmt.Sprintf(`return document.body.dataset.state === %q && !!document.querySelector("#device-name")`, want))
}

// allow opens the page, and says yes to push.
func (p *product) allow() {
	p.t.Helper()
	p.rig.Open(p.t, p.page)
	p.rig.WaitFor(p.t, "the page to be new", `return document.body.dataset.state === "new"`)
	p.rig.Click(p.t, `[data-for~="new"] [data-action="allow-push"]`)
	p.state("active")
}

// watch adds a watch by the page's form, and returns its id.
func (p *product) watch(path string, th thing, below string, backInStock bool) (id string) {
	p.t.Helper()
	p.shop.set(path, th)
	p.rig.Eval(p.t, fmt.Sprintf(`document.querySelector("#url").value = %q; document.querySelector("#amount").value = %q;
		document.querySelector("#currency").value = "EUR"; document.querySelector("#back-in-stock").checked = %v`,
		"http://"+shopHost+path, below, backInStock), nil)
	p.rig.Click(p.t, `#add-watch [type="submit"]`)
	p.rig.WaitFor(p.t, "the watch", fmt.Sprintf(`return [...document.querySelectorAll("[data-watch] a")].some((a) => a.textContent === %q)`, th.name))
	p.rig.Eval(p.t, fmt.Sprintf(`return [...document.querySelectorAll("[data-watch]")].find((w) => w.querySelector("a").textContent === %q).dataset.watch`, th.name), &id)
	return id
}

// later has the shop change a thing, and lets time pass until it was seen.
func (p *product) later(by time.Duration, id, path string, th thing) {
	p.t.Helper()
	p.shop.set(path, th)
	p.pass(by)
	since := p.clock.now()
	p.rig.Until(p.t, "a look at "+th.name+" at "+th.price, func() bool {
		e, err := p.FindWatch(p.t.Context(), id)
		return err == nil && e.Last != nil && e.Last.Price.String() == th.price+" EUR" && !e.Last.At.Before(since.Add(-time.Minute))
	})
}

// pass lets time pass, which a server that sleeps by the real clock is told.
func (p *product) pass(by time.Duration) {
	p.clock.pass(by)
	p.Wake()
}

// rows returns what was enqueued for a watch, newest first.
func (p *product) rows(id string) []lastlook.Record {
	p.t.Helper()
	recs, err := p.Outbox().List(p.t.Context(), lastlook.Query{Subject: id, Full: true})
	if err != nil {
		p.t.Fatal(err)
	}
	return recs
}

// settled waits until a watch has n rows of which the newest is in the state.
func (p *product) settled(id string, n int, want lastlook.State) lastlook.Record {
	p.t.Helper()
	var recs []lastlook.Record
	p.rig.Until(p.t, fmt.Sprintf("row %d to be %s", n, want), func() bool {
		recs = p.rows(id)
		return len(recs) == n && recs[0].State == want
	})
	return recs[0]
}

// device returns the only device.
func (p *product) device() device.Device {
	p.t.Helper()
	all, err := p.Devices(p.t.Context())
	if err != nil || len(all) != 1 {
		p.t.Fatalf("there are the devices %v, %v; want one", all, err)
	}
	return all[0]
}

// shown waits for a notification with a title, and a text in its body.
func (p *product) shown(title, body string) desktop.Notification {
	p.t.Helper()
	return p.rig.WaitNotification(p.t, title+": "+body, func(n desktop.Notification) bool {
		return n.Summary == title && strings.Contains(n.Body, body)
	})
}

// never reports an error if something was shown with this in its title or body.
func (p *product) never(text string) {
	p.t.Helper()
	for _, n := range p.rig.Desktop.All() {
		if strings.Contains(n.Summary, text) || strings.Contains(n.Body, text) {
			p.t.Errorf("%q was shown: %q, %q", text, n.Summary, n.Body)
		}
	}
}
