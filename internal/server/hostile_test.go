package server

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lastlook/lastlook/internal/config"
	"github.com/lastlook/lastlook/internal/httpapi"
	"github.com/lastlook/lastlook/webpush"
)

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
