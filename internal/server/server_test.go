package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/internal/config"
	"github.com/lastlook/lastlook/watch"
)

// shop answers with one price after the other; the last one stays. A price of
// "" leaves it out.
type shop struct {
	*httptest.Server
	mu     sync.Mutex
	prices []string
	status atomic.Int64
}

func newShop(t *testing.T, prices ...string) *shop {
	t.Helper()
	s := &shop{prices: prices}
	s.status.Store(http.StatusOK)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		w.Header().Set("Content-Type", "text/html")
		w.Header()["Date"] = nil // some tests have another time than this server
		w.WriteHeader(int(s.status.Load()))
		_, _ = fmt.Fprintf(w, `<title>Lamp</title><script type="application/ld+json">{"@type":"Product","name":"Lamp","offers":{"@type":"Offer",%s"availability":"https://schema.org/InStock"}}</script>`, s.prices[0])
		if len(s.prices) > 1 {
			s.prices = s.prices[1:]
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// onLoopback is where the tests' shops and receivers are.
var onLoopback = []string{"127.0.0.1"}

func eur(amount string) string { return `"price":"` + amount + `","priceCurrency":"EUR",` }

// fixture is a server on a fresh data directory, and what it says.
type fixture struct {
	*Server
	told, log *buffer
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

func open(t *testing.T) fixture {
	t.Helper()
	dir, err := config.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f := fixture{told: new(buffer), log: new(buffer)}
	f.Server, err = Open(t.Context(), Options{Dir: dir, AllowPrivate: onLoopback, Messages: f.told, Logger: slog.New(slog.NewTextHandler(f.log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

func (f fixture) add(t *testing.T, n NewWatch) Added {
	t.Helper()
	n.Recipient, n.Channels = "me", []string{"log"}
	added, err := f.AddWatch(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	return added
}

func TestTheFirstLookIsTold(t *testing.T) {
	f, s := open(t), newShop(t, eur("480.00"))
	added := f.add(t, NewWatch{URL: s.URL, Below: "500 EUR"})
	if len(added.Holding) != 1 || len(added.Warnings) != 0 || added.Entry.Last == nil {
		t.Errorf("added as %+v", added)
	}
	res, err := f.Tick(t.Context())
	if err != nil || res.Sweep.Looked != 0 || res.Dispatch.Sent != 1 {
		t.Errorf("the tick came to %+v, %v: the page must not be asked again so soon", res, err)
	}
	if !strings.Contains(f.told.String(), "480.00 EUR: below your target") {
		t.Errorf("told %q", f.told)
	}
	history, err := f.History(t.Context(), added.Entry.Listing.ID, 10)
	if err != nil || len(history) != 2 {
		t.Errorf("%d observations are kept, %v; want the first look and the last", len(history), err)
	}
}

func TestWarnings(t *testing.T) {
	for name, c := range map[string]struct {
		price string
		n     NewWatch
		want  string
	}{
		"another currency": {eur("480"), NewWatch{Below: "500 USD"}, "in EUR"},
		"no price":         {"", NewWatch{Below: "500 EUR"}, "no certain price"},
		"none needed":      {eur("480"), NewWatch{Below: "500 EUR", BackInStock: true}, ""},
		"price not needed": {"", NewWatch{BackInStock: true}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f, s := open(t), newShop(t, c.price)
			c.n.URL = s.URL
			got := strings.Join(f.add(t, c.n).Warnings, "\n")
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("warned %q, want %q", got, c.want)
			}
		})
	}
}

func TestAPageThatCannotBeReadIsAddedAndTriedAgain(t *testing.T) {
	f, s := open(t), newShop(t, eur("480"))
	s.status.Store(http.StatusServiceUnavailable)
	added := f.add(t, NewWatch{URL: s.URL, Below: "500 EUR"})
	if added.Look == nil || added.Look.Observation != nil || added.Look.Outcome != OutcomeError {
		t.Errorf("the look came to %+v", added.Look)
	}
	s.status.Store(http.StatusOK)
	if res, err := f.Tick(t.Context()); err != nil || res.Sweep.Looked != 1 || res.Dispatch.Sent != 1 {
		t.Errorf("the tick came to %+v, %v", res, err)
	}
}

func TestBadWatches(t *testing.T) {
	f := open(t)
	good := NewWatch{URL: "http://127.0.0.1:1/", Below: "1 EUR", Recipient: "me", Channels: []string{"log"}, NoLook: true}
	for name, change := range map[string]func(*NewWatch){
		"URL": func(n *NewWatch) { n.URL = "ftp://x" }, "interval": func(n *NewWatch) { n.Every = time.Second },
		"target": func(n *NewWatch) { n.Below = "1" }, "trigger": func(n *NewWatch) { n.Below = "" },
		"zone": func(n *NewWatch) { n.Zone = "Mars" }, "channels": func(n *NewWatch) { n.Channels = nil },
	} {
		n := good
		change(&n)
		if _, err := f.AddWatch(t.Context(), n); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	good.Channels = []string{"nix"}
	if _, err := f.AddWatch(t.Context(), good); !errors.Is(err, config.ErrUnknownChannel) {
		t.Errorf("unknown channel: %v", err)
	}
	if all, err := f.Watches(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("added all the same: %v, %v", all, err)
	}
}

func TestFindWatch(t *testing.T) {
	f := open(t)
	var ids []string
	for range 3 {
		ids = append(ids, f.add(t, NewWatch{URL: "http://127.0.0.1:1/", BackInStock: true, NoLook: true}).Entry.Watch.ID)
	}
	for _, id := range ids {
		if e, err := f.FindWatch(t.Context(), id[:len(id)-2]); err != nil || e.Watch.ID != id {
			t.Errorf("%s: found %s, %v", id, e.Watch.ID, err)
		}
	}
	for _, id := range []string{"w_", "nosuch", ""} {
		if _, err := f.FindWatch(t.Context(), id); !errors.Is(err, ErrUnknownWatch) {
			t.Errorf("%q: %v", id, err)
		}
	}
}

// What a crash between a removal and its DropSubject leaves behind is dropped
// by the next pass.
func TestTidyDropsWhatNobodyWaitsFor(t *testing.T) {
	f, s := open(t), newShop(t, eur("480"))
	removed := f.add(t, NewWatch{URL: s.URL + "/1", Below: "500 EUR"}).Entry.Watch.ID
	paused := f.add(t, NewWatch{URL: s.URL + "/2", Below: "500 EUR"}).Entry.Watch.ID
	kept := f.add(t, NewWatch{URL: s.URL + "/3", Below: "500 EUR"}).Entry.Watch.ID
	if err := f.watches.Remove(t.Context(), time.Now(), removed); err != nil {
		t.Fatal(err)
	}
	if _, err := f.setPaused(t.Context(), paused, true); err != nil {
		t.Fatal(err)
	}
	if err := f.tidy(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := map[string]lastlook.Reason{removed: lastlook.ReasonWatchRemoved, paused: lastlook.ReasonListingPaused, kept: ""}
	recs, err := f.Outbox().List(t.Context(), lastlook.Query{})
	if err != nil || len(recs) != 3 {
		t.Fatalf("%d rows, %v", len(recs), err)
	}
	for _, r := range recs {
		if r.Reason != want[r.Key.Subject] {
			t.Errorf("%s: %q, want %q", r.Key.Subject, r.Reason, want[r.Key.Subject])
		}
	}
}

func TestPauseAndRemoveWithhold(t *testing.T) {
	f, s := open(t), newShop(t, eur("480"))
	for path, stop := range map[string]func(context.Context, string) (int, error){
		"/1": func(ctx context.Context, id string) (int, error) { _, n, err := f.PauseWatch(ctx, id); return n, err },
		"/2": f.RemoveWatch,
	} {
		id := f.add(t, NewWatch{URL: s.URL + path, Below: "500 EUR"}).Entry.Watch.ID
		if n, err := stop(t.Context(), id); n != 1 || err != nil {
			t.Errorf("%s: withheld %d, %v", path, n, err)
		}
		if _, err := stop(t.Context(), "w_nosuch"); !errors.Is(err, ErrUnknownWatch) {
			t.Errorf("%s: an unknown one: %v", path, err)
		}
	}
	if using, err := f.Using(t.Context(), "log"); err != nil || len(using) != 1 {
		t.Errorf("using the log: %v, %v", using, err)
	}
	if e, err := f.ResumeWatch(t.Context(), "w_nosuch"); !errors.Is(err, ErrUnknownWatch) {
		t.Errorf("resumed %v, %v", e, err)
	}
}

func TestServeStopsCleanlyAndOnlyOneRuns(t *testing.T) {
	f, s := open(t), newShop(t, eur("480"))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- f.Serve(ctx) }()
	f.add(t, NewWatch{URL: s.URL, Below: "500 EUR", NoLook: true})
	waitFor(t, func() bool { return strings.Contains(f.log.String(), "msg=sent") })

	other, err := Open(t.Context(), f.opt)
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Serve(t.Context()); !errors.Is(err, lastlook.ErrDispatcherRunning) {
		t.Errorf("a second one: %v", err)
	}
	if _, err := other.Tick(t.Context()); !errors.Is(err, lastlook.ErrDispatcherRunning) {
		t.Errorf("a tick beside it: %v", err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("stopped with %v", err)
	}
	if _, err := other.Tick(t.Context()); err != nil {
		t.Errorf("after the stop: %v", err)
	}
	if err := other.Close(); err != nil {
		t.Error(err)
	}
}

func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	for !ok() {
		select {
		case <-ticker.C:
		case <-deadline.C:
			t.Fatal("it never happened")
		}
	}
}

func TestCheckOutcomes(t *testing.T) {
	s := newShop(t, eur("480"))
	for status, want := range map[int]Outcome{200: OutcomeOK, 403: OutcomeBlocked, 404: OutcomeGone, 410: OutcomeGone, 429: OutcomeRateLimited, 500: OutcomeError} {
		s.status.Store(int64(status))
		look, err := Check(t.Context(), Options{AllowPrivate: onLoopback}, s.URL)
		if err != nil || look.Outcome != want || (look.Observation != nil) != (want == OutcomeOK) || (look.Error == "") != (want == OutcomeOK) {
			t.Errorf("%d: %+v, %v; want %s", status, look, err, want)
		}
	}
	if _, err := Check(t.Context(), Options{}, "nonsense"); !errors.Is(err, ErrInvalid) {
		t.Errorf("a URL that is none: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Check(ctx, Options{}, s.URL); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

func TestBadChannelsAreFoundBeforeTheyAreKept(t *testing.T) {
	const hidden = "path-that-is-secret"
	for name, c := range map[string]config.Channel{
		"weak secret": {Name: "a", Kind: config.KindWebhook, URL: "https://a.example/" + hidden, Secret: "whsec_" + hidden},
		"no topic":    {Name: "a", Kind: config.KindNtfy, URL: "https://a.example"},
		"a query":     {Name: "a", Kind: config.KindNtfy, URL: "https://a.example/x?" + hidden},
		"not a URL":   {Name: "a", Kind: config.KindNtfy, URL: "https://a.example/%zz" + hidden},
		"kind":        {Name: "a", Kind: config.KindLog},
	} {
		err := CheckChannel(Options{}, c)
		if !errors.Is(err, config.ErrInvalid) || strings.Contains(err.Error(), hidden) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, url := range []string{"https://a.example/topic", "https://a.example:8443/below/topic/"} {
		if err := CheckChannel(Options{}, config.Channel{Name: "a", Kind: config.KindNtfy, URL: url}); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestOpenRefusesABadChannelsFile(t *testing.T) {
	dir, err := config.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir.ChannelsFile(), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), Options{Dir: dir}); !errors.Is(err, config.ErrInvalid) {
		t.Errorf("got %v", err)
	}
	if _, _, _, err := OpenStores(t.Context(), dir.ChannelsFile()); err == nil {
		t.Error("opened stores in a file")
	}
}

func TestEveryTransitionHasALevelAndWords(t *testing.T) {
	loud := map[lastlook.Event]slog.Level{
		lastlook.EventSending: slog.LevelDebug, lastlook.EventAccepted: slog.LevelInfo, lastlook.EventLookUnknown: slog.LevelWarn,
		lastlook.EventTransient: slog.LevelWarn, lastlook.EventOutcomeUnknown: slog.LevelWarn, lastlook.EventMisconfigured: slog.LevelWarn,
		lastlook.EventNotCalled: slog.LevelDebug, lastlook.EventRecipientGone: slog.LevelWarn, lastlook.EventRejected: slog.LevelError,
		lastlook.EventPostponed: slog.LevelDebug, lastlook.EventSwept: slog.LevelError,
	}
	for _, rule := range lastlook.Rules() {
		for _, reason := range append(rule.Reasons, "") {
			level, text := levelOf(lastlook.Transition{Event: rule.Event, To: rule.To, Reason: reason})
			if want, ok := loud[rule.Event]; ok && len(rule.Reasons) < 2 && (reason != "" || len(rule.Reasons) == 0) && level != want {
				t.Errorf("%s: level %s, want %s", rule.Event, level, want)
			}
			if info, _ := reason.Info(); info.Verdict && text != "rightly withheld" {
				t.Errorf("%s %s: %q", rule.Event, reason, text)
			}
			if text == "" {
				t.Errorf("%s has no words", rule.Event)
			}
		}
	}
	if level, _ := levelOf(lastlook.Transition{Lost: true, To: lastlook.StateSent}); level != slog.LevelWarn {
		t.Errorf("what was overtaken is logged as %s", level)
	}
}

func TestObserverLogsWhatMatters(t *testing.T) {
	var log buffer
	o := observer{slog.New(slog.NewTextHandler(&log, nil))}
	now := time.Now()
	o.Observe(lastlook.Transition{ID: 7, Event: lastlook.EventAccepted, To: lastlook.StateSent, Attempt: 2, Trace: "t",
		LookedAt: now.Add(-time.Second), Called: now.Add(-time.Millisecond), Answered: now})
	o.Observe(lastlook.Transition{ID: 8, Event: lastlook.EventSending, To: lastlook.StateSending})
	o.Observe(lastlook.Transition{ID: 9, Event: lastlook.EventRejected, To: lastlook.StateFailed, Reason: lastlook.ReasonRejected, Err: errors.New("a\nb")})
	got := log.String()
	for _, want := range []string{"msg=sent id=7", "attempt=2", "took=1ms", "look_to_accept=1s", "trace=t", "level=ERROR msg=failed id=9", "reason=rejected", `error="a\nb"`} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %s", want, got)
		}
	}
	if strings.Contains(got, "id=8") {
		t.Errorf("a debug line was logged: %s", got)
	}
}

func TestDescribe(t *testing.T) {
	for _, c := range []struct{ topic, value, want, title string }{
		{"watch", `{"observation":{"at":"2026-12-01T00:00:00Z","price":{"amount":"5","currency":"EUR"},"availability":"limited","title":"Lamp"}}`, "5.00 EUR, in stock, few left", "Lamp"},
		{"watch", `{"observation":{"at":"2026-12-01T00:00:00Z"}}`, "no certain price, stock unknown", ""},
		{"watch", `{"surprise": 1}`, `{"surprise":1}`, ""},
		{"orders", `{"a": 1}`, `{"a":1}`, ""},
		{"orders", `"` + strings.Repeat("ä", 200) + `"`, `"` + strings.Repeat("ä", 99) + "…", ""},
		{"orders", `{`, "(unreadable)", ""},
		{"orders", ``, "", ""},
	} {
		if got := Describe(c.topic, []byte(c.value)); got != c.want {
			t.Errorf("%s %s: got %q, want %q", c.topic, c.value, got, c.want)
		}
		if got := TitleOf(c.topic, []byte(c.value)); got != c.title {
			t.Errorf("%s: title %q", c.value, got)
		}
	}
	for _, a := range []watch.Availability{watch.InStock, watch.Limited, watch.PreOrder, watch.BackOrder, watch.OutOfStock, watch.Discontinued} {
		if got := DescribeAvailability(Observation{Availability: a}); got == "stock unknown" {
			t.Errorf("%s has no words", a)
		}
	}
}
