package server

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/internal/config"
	"github.com/lastlook/lastlook/internal/httpapi"
	"github.com/lastlook/lastlook/webpush"
)

// foreignKey is a public key that is none of this server's.
const foreignKey = "BNcRdreALRFXTkOOUHK1EtK2wtaz5Ry4YfYCA_0QTpQtUbVlUls0VJXg7A8u-Ts1XbjhazAkj7I99e8QcYP7DkM"

// A device gives a subscription that was made with another key, so that the push
// service refuses ours. The lane of that service is everybody's: it must not be
// parked for one device's sake.
func TestOneDeviceDoesNotParkAPushService(t *testing.T) {
	w := newWeb(t)
	good, bad := w.visitor(), w.visitor()
	good.arrive("good")
	sub := good.subscribe()
	bad.arrive("bad")
	other, err := w.service.Subscribe(w.origin, foreignKey)
	if err != nil {
		t.Fatal(err)
	}
	bad.must(http.StatusOK, http.MethodPut, "/api/v1/devices/self/subscription", map[string]any{"subscription": other, "application_server_key": w.PushKey()}, nil)
	set, err := readChannels(w.opt.Dir)
	if err != nil {
		t.Fatal(err)
	}
	d, err := w.newDispatcher(set) // one for all, as in a server that runs
	if err != nil {
		t.Fatal(err)
	}
	tick := func() {
		t.Helper()
		if _, err := d.Tick(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	good.test()
	tick()
	if got := len(w.pushed(sub)); got != 1 {
		t.Fatalf("%d pushes before anything is wrong", got)
	}
	bad.test()
	tick()
	if got := bad.self(); got.Test.State != "retry" || !got.Push.GoneAt.IsZero() || !strings.Contains(got.Test.Error, "subscribe anew") {
		t.Errorf("the bad one is shown %+v, %+v", got.Push, got.Test)
	}
	good.test()
	tick()
	if got := len(w.pushed(sub)); got != 2 {
		t.Errorf("%d pushes reached the good device: it waits for a stranger", got)
	}
	rows, err := w.Outbox().List(t.Context(), lastlook.Query{Subject: bad.self().ID, Limit: 1, Full: true})
	if err != nil || len(rows) != 1 || rows[0].Attempt != 1 {
		t.Errorf("the bad row is %+v, %v: it must end some time", rows, err)
	}
}

// What proves that our credentials are taken is another device's message,
// lately, with the same key.
func TestProofs(t *testing.T) {
	p, now := newProofs(), time.Now()
	p.took("h", "k", "a", now)
	for _, c := range []struct {
		host, key, device string
		at                time.Time
		want              bool
	}{
		{"h", "k", "b", now, true},
		{"h", "k", "a", now, false},
		{"h", "other", "b", now, false},
		{"other", "k", "b", now, false},
		{"h", "k", "b", now.Add(proofAge), false},
	} {
		if got := p.others(c.host, c.key, c.device, c.at); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	p.took("h", "k", "b", now)
	p.took("h", "k", "b", now)
	if !p.others("h", "k", "b", now) || !p.others("h", "k", "a", now) {
		t.Error("two devices do not prove each other")
	}
	for i := range 3 * maxProofs {
		p.took(fmt.Sprint(i), "k", "a", now)
	}
	if len(p.taken) > maxProofs {
		t.Errorf("%d services are remembered", len(p.taken))
	}
}

// A device knows another's endpoint, which is less than the subscription: it does
// not take it away, and the browser that gives it is told to subscribe anew.
func TestAnEndpointAloneTakesNothing(t *testing.T) {
	w := newWeb(t)
	owner, thief := w.visitor(), w.visitor()
	owner.arrive("owner")
	sub := owner.subscribe()
	thief.arrive("thief")
	own, err := w.service.Subscribe(w.origin, w.PushKey())
	if err != nil {
		t.Fatal(err)
	}
	forged, err := webpush.NewSubscription(sub.Endpoint(), own.P256dh(), own.Auth())
	if err != nil {
		t.Fatal(err)
	}
	body := map[string]any{"subscription": forged, "application_server_key": w.PushKey()}
	thief.must(http.StatusConflict, http.MethodPut, "/api/v1/devices/self/subscription", body, nil)
	thief.must(http.StatusConflict, http.MethodPost, "/api/v1/devices/self/subscription/change", body, nil)
	if got := owner.self(); got.Push.State != "active" {
		t.Errorf("the owner is shown %+v", got.Push)
	}
	owner.test()
	w.dispatch()
	if got := len(w.pushed(sub)); got != 1 {
		t.Errorf("%d pushes reached the owner", got)
	}
}

// A page is a request like any other: it costs more than most.
func TestPagesAreLimited(t *testing.T) {
	w := newWeb(t)
	v := w.visitor()
	v.arrive("phone")
	for range 1000 {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+"/", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := v.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Fatal(err)
		}
		switch resp.StatusCode {
		case http.StatusOK:
			continue
		case http.StatusTooManyRequests:
			if resp.Header.Get("Retry-After") == "" {
				t.Error("it is not said when to try again")
			}
			return
		}
		t.Fatalf("HTTP %d", resp.StatusCode)
	}
	t.Error("1000 pages in a row")
}

// A mute of an old subscription that landed after the new one was given, and
// after which the process ended, is lifted however much later it starts again.
func TestMutesAreHealedAfterARestart(t *testing.T) {
	clock := newTestClock()
	w := newWeb(t, func(o *Options) { o.Clock = clock.now })
	v := w.visitor()
	d := v.arrive("phone")
	v.subscribe()
	if err := w.Outbox().Mute(t.Context(), DeviceRecipient(d.ID), config.PushChannel); err != nil {
		t.Fatal(err)
	}
	clock.add(24 * time.Hour)
	next, err := Open(t.Context(), w.opt)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := next.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := next.tidy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if st, err := next.Outbox().Stats(t.Context(), clock.now()); err != nil || st.Muted != 0 {
		t.Errorf("%d are muted, %v", st.Muted, err)
	}
}

// A device adds many watches at the same moment: together they stay within its
// quota.
func TestQuotaOfWatchesAtOnce(t *testing.T) {
	s := newShop(t, eur("598.00"))
	w := newWeb(t, at(s))
	r := DeviceRecipient("d_x")
	for range maxDeviceWatches - 1 {
		if _, err := w.AddWatch(t.Context(), NewWatch{URL: "http://" + shopHost + "/", Below: "1 EUR", Recipient: r, Channels: []string{config.PushChannel}, Foreign: true, NoLook: true}); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			if _, err := w.WatchFor(t.Context(), asRecipient(r), httpapi.NewWatch{URL: "http://" + shopHost + "/lamp", Below: "1 EUR"}); err != nil && !errors.Is(err, httpapi.ErrTooMany) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	own, err := w.ownWatches(t.Context(), r)
	if err != nil || len(own) != maxDeviceWatches {
		t.Errorf("%d watches, %v", len(own), err)
	}
	if len(w.adding.adding) != 0 {
		t.Errorf("still adding: %v", w.adding.adding)
	}
}

// Devices ask and ask what is true now, and add pages of one site: the site is
// not flooded, and what may be looked at for others is not used up.
func TestDevicesDoNotFloodASite(t *testing.T) {
	s := newShop(t, eur("598.00"))
	begin := time.Now()
	var passed atomic.Int64 // it stands still but for this
	w := newWeb(t, at(s), func(o *Options) { o.Clock = func() time.Time { return begin.Add(time.Duration(passed.Load())) } })
	r := DeviceRecipient("d_x")
	add := func(i int) httpapi.Added {
		t.Helper()
		added, err := w.WatchFor(t.Context(), asRecipient(r), httpapi.NewWatch{URL: fmt.Sprintf("http://%s/%d", shopHost, i), Below: "1 EUR"})
		if err != nil {
			t.Fatal(err)
		}
		return added
	}
	looked, first := 0, ""
	for i := range looksAtOnce + 20 {
		added := add(i)
		if added.Price != nil {
			looked++
		} else if first == "" {
			first = added.ID
			if len(added.Warnings) != 1 {
				t.Errorf("added without a look: %+v", added)
			}
		}
	}
	if looked != looksAtOnce {
		t.Errorf("%d looks at once", looked)
	}
	if n, err := w.Now(t.Context(), asRecipient(r), first); err != nil || n.Known {
		t.Errorf("one more look: %+v, %v", n, err)
	}
	passed.Add(int64(time.Minute))
	if n, err := w.Now(t.Context(), asRecipient(r), first); err != nil || !n.Known {
		t.Errorf("a minute later: %+v, %v", n, err)
	}
}
