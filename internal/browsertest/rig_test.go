package browsertest_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/lastlook/lastlook/internal/browsertest"
	"github.com/lastlook/lastlook/internal/browsertest/desktop"
	"github.com/lastlook/lastlook/internal/door"
	"github.com/lastlook/lastlook/webpush"
)

func titled(title string) func(desktop.Notification) bool {
	return func(n desktop.Notification) bool { return n.Summary == title }
}

// sender sends through the door, as the product does, to the rig's service.
func sender(t *testing.T, rig *browsertest.Rig, keys *webpush.Keys) *webpush.Client {
	t.Helper()
	client, err := door.New(door.Config{Via: rig.Push.Via(), RootCAs: rig.Push.Roots()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	c, err := webpush.New(webpush.Config{Keys: keys, Subject: "mailto:test@lastlook.example", Doer: client})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// testRig shows that a rig works, with a page and a sender of the test's own: what
// TestBrowsers finds is then the product's.
func testRig(t *testing.T, rig *browsertest.Rig) {
	p := newPage(t)
	rig.Allow(t, p.origin())
	rig.Open(t, p.origin()+"/")
	subscribe := func() webpush.Subscription {
		t.Helper()
		rig.Eval(t, `document.querySelector("#out").textContent = ""`, nil)
		rig.Click(t, "#allow")
		rig.WaitFor(t, "the page's answer", `return document.querySelector("#out").textContent !== ""`)
		var text string
		rig.Eval(t, `return document.querySelector("#out").textContent`, &text)
		return subscriptionOf(t, text)
	}
	sub := subscribe()
	client := sender(t, rig, p.keys)
	send := func(sub webpush.Subscription, text, topic string) error {
		t.Helper()
		_, err := client.Send(t.Context(), sub, webpush.Message{Payload: []byte(text), TTL: time.Hour, Topic: topic})
		return err
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}

	// The page is closed: the worker alone shows it, and is told of the clicks.
	rig.ClosePage(t)
	must(send(sub, "first", ""))
	n := rig.WaitNotification(t, "first", titled("first"))
	must(rig.Desktop.Click(n))
	rig.Until(t, "a click", func() bool { return p.told("clicked first ") })
	rig.WaitPage(t, p.origin()+"/opened")
	must(send(sub, "second", ""))
	n = rig.WaitNotification(t, "second", titled("second"))
	later, err := n.Find("Later")
	must(err)
	must(rig.Desktop.Act(n, later.Key))
	rig.Until(t, "a click on the button", func() bool { return p.told("clicked second later") })

	// Of one topic only the last message is kept.
	rig.Push.Hold()
	for _, text := range []string{"a", "b", "c"} {
		must(send(sub, text, "one"))
	}
	if stored := rig.Push.Stored(); len(stored) != 1 {
		t.Errorf("%d messages are stored, want 1", len(stored))
	}
	rig.Push.Release()
	rig.WaitNotification(t, "c", titled("c"))
	for _, n := range rig.Desktop.All() {
		if n.Summary == "a" || n.Summary == "b" {
			t.Errorf("%q was shown all the same", n.Summary)
		}
	}
	rig.Until(t, "the store to be empty", func() bool { return len(rig.Push.Stored()) == 0 })

	// A subscription that the browser has ended is gone.
	rig.Open(t, p.origin()+"/")
	var ended bool
	rig.Eval(t, `return await (await (await navigator.serviceWorker.ready).pushManager.getSubscription()).unsubscribe()`, &ended)
	if !ended {
		t.Error("not unsubscribed")
	}
	rig.Until(t, "the end of the subscription", func() bool { return len(rig.Push.Live()) == 0 })
	if err := send(sub, "too late", ""); kindOf(err) != webpush.Gone {
		t.Errorf("after its end: %v", err)
	}

	// One that the service has forgotten is gone as well, and can be made anew.
	sub = subscribe()
	rig.Push.Forget()
	if err := send(sub, "forgotten", ""); kindOf(err) != webpush.Gone {
		t.Errorf("forgotten: %v", err)
	}
	if rig.Kind == browsertest.Firefox { // a Chromium is not told
		rig.Until(t, "pushsubscriptionchange", func() bool { return p.told("changed") })
	} else {
		rig.Eval(t, `await (await (await navigator.serviceWorker.ready).pushManager.getSubscription()).unsubscribe()`, nil)
	}
	sub = subscribe()
	must(send(sub, "again", ""))
	rig.WaitNotification(t, "again", titled("again"))

	refuse(t, rig, p, sub)

	// Hosts of the test's exist for the browser, and for who connects in its way.
	rig.Host("shop.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<title>" + r.Host + r.URL.Path + "</title>"))
	}))
	rig.Open(t, "http://shop.example/lamp")
	rig.WaitFor(t, "the shop's page", `return document.title === "shop.example/lamp"`)
	client2, err := door.New(door.Config{Via: rig.Via("shop.example")})
	must(err)
	t.Cleanup(client2.CloseIdleConnections)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://shop.example/lamp", http.NoBody)
	must(err)
	resp, err := client2.Do(r)
	must(err)
	must(resp.Body.Close())
	if resp.StatusCode != http.StatusOK {
		t.Errorf("the shop answered %s", resp.Status)
	}
}

// refuse shows that the service is strict.
func refuse(t *testing.T, rig *browsertest.Rig, p *page, sub webpush.Subscription) {
	other, err := webpush.GenerateKeys()
	if err != nil {
		t.Fatal(err)
	}
	m := webpush.Message{Payload: []byte("x"), TTL: time.Minute}
	if _, err := sender(t, rig, other).Send(t.Context(), sub, m); kindOf(err) != webpush.Misconfigured {
		t.Errorf("another key: %v", err)
	}
	wrong, err := webpush.NewSubscription(sub.Endpoint(), sub.P256dh(), make([]byte, 16))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sender(t, rig, p.keys).Send(t.Context(), wrong, m); err != nil {
		t.Errorf("the service cannot know that the secret is wrong: %v", err)
	}
	if rig.Kind == browsertest.Firefox { // a Chromium says nothing
		rig.Until(t, "the browser to say that it cannot decrypt", func() bool {
			reports := rig.Push.Reports()
			return len(reports) > 0 && reports[len(reports)-1].Code == 101
		})
	}
	rig.Push.Override(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) }))
	if _, err := sender(t, rig, p.keys).Send(t.Context(), sub, m); kindOf(err) != webpush.Retry {
		t.Errorf("overridden: %v", err)
	}
	rig.Push.Override(nil)
}

func kindOf(err error) webpush.Kind {
	if e, ok := errors.AsType[*webpush.Error](err); ok {
		return e.Kind
	}
	return 99 // none
}
