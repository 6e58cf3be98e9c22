package browsertest_test

import (
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/internal/browsertest"
	"github.com/lastlook/lastlook/internal/browsertest/desktop"
	"github.com/lastlook/lastlook/internal/server"
	"github.com/lastlook/lastlook/webpush"
)

// TestBrowsers is a person with a browser and a lastlook: each scenario has a
// lastlook of its own, and so a page of its own; they share the browser.
func TestBrowsers(t *testing.T) {
	for _, kind := range browsertest.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			rig := browsertest.New(t, kind)
			c := new(clock)
			rig.Start(t)
			if !t.Run("the rig itself", func(t *testing.T) { testRig(t, rig) }) {
				return
			}
			rig.Push.SetClock(c.now)
			for _, scenario := range []struct {
				name string
				run  func(*product)
			}{
				{"told and clicked with the page closed", toldAndClicked},
				{"an action snoozes", snoozed},
				{"only the last after a restart, and what is no longer true", closedMeanwhile},
				{"a wrong key is misconfigured", wrongKey},
				{"unsubscribed, muted, back", unsubscribed},
				{"forgotten by the service", forgotten},
				{"new keys", newKeys},
				{"the server does not answer the worker", noAnswer},
				{"typing while the page is drawn anew", typing},
			} {
				if !t.Run(scenario.name, func(t *testing.T) {
					c.evening()
					scenario.run(serve(t, rig, c))
				}) {
					break // the browser is in no known state
				}
			}
		})
	}
}

const (
	lampURL = "http://" + shopHost + "/lamp"
	hour    = time.Hour
)

func lamp(price string) thing { return thing{name: "Lamp", price: price} }

// Detection, outbox, look, push, desktop, click.
func toldAndClicked(p *product) {
	p.allow()
	p.rig.Click(p.t, `[data-action="test-push"]`)
	p.rig.WaitFor(p.t, "the test's end", `return document.querySelector("#test-state")?.dataset.testState === "sent"`)
	p.rig.WaitNotification(p.t, "the test", func(n desktop.Notification) bool { return strings.Contains(n.Summary, "lastlook reaches") })
	id := p.watch("/lamp", lamp("520.00"), "500", false)
	p.rig.ClosePage(p.t)
	p.later(hour, id, "/lamp", lamp("480.00"))
	n := p.shown("Lamp", "480.00 EUR")
	row := p.settled(id, 1, lastlook.StateSent)
	if !strings.Contains(string(row.Asserted), "480") || row.LookedAt.IsZero() {
		p.t.Errorf("the row asserts %s, looked at %s", row.Asserted, row.LookedAt)
	}
	if err := p.rig.Desktop.Click(n); err != nil {
		p.t.Fatal(err)
	}
	p.rig.WaitPage(p.t, lampURL)
}

func snoozed(p *product) {
	p.allow()
	id := p.watch("/lamp", lamp("520.00"), "500", false)
	p.rig.ClosePage(p.t)
	p.later(hour, id, "/lamp", lamp("481.00"))
	n := p.shown("Lamp", "481.00 EUR")
	p.settled(id, 1, lastlook.StateSent)
	snooze, err := n.Find("Snooze a day")
	if err != nil {
		p.t.Fatal(err)
	}
	if err := p.rig.Desktop.Act(n, snooze.Key); err != nil {
		p.t.Fatal(err)
	}
	p.rig.Until(p.t, "the snooze", func() bool {
		e, err := p.FindWatch(p.t.Context(), id)
		return err == nil && e.Watch.SnoozedUntil.After(p.clock.now().Add(23*hour))
	})
	// The next day, in which it may be told again, begins within the snooze.
	p.later(hour, id, "/lamp", lamp("521.00"))
	p.later(5*hour, id, "/lamp", lamp("471.00"))
	if rows := p.rows(id); len(rows) != 1 {
		p.t.Errorf("%d rows, want the one from before the snooze: %+v", len(rows), rows)
	}
	p.rig.Open(p.t, p.page)
	p.rig.WaitFor(p.t, "the page to show the snooze", `return !!document.querySelector("[data-watch][data-snoozed]")`)
	// It still holds when the snooze is over: now it is told.
	p.rig.Click(p.t, `[data-action="unsnooze"]`)
	p.rig.WaitFor(p.t, "the end of the snooze", `return !document.querySelector("[data-snoozed]")`)
	p.later(hour, id, "/lamp", lamp("461.00"))
	p.shown("Lamp", "461.00 EUR")
	p.never("471.00")
}

func closedMeanwhile(p *product) {
	p.allow()
	id := p.watch("/lamp", lamp("522.00"), "500", true)
	chair := p.watch("/chair", thing{name: "Chair", price: "100.00"}, "90", false)
	p.rig.Stop(p.t)

	// Three alerts about the lamp, of which each replaces the one before: below,
	// below again on the next day, back in stock. One about the chair.
	p.shop.set("/chair", thing{name: "Chair", price: "77.00"})
	p.later(hour, id, "/lamp", lamp("482.00"))
	p.settled(id, 1, lastlook.StateSent)
	p.settled(chair, 1, lastlook.StateSent)
	p.later(hour, id, "/lamp", lamp("522.00"))
	p.later(3*hour, id, "/lamp", lamp("472.00"))
	p.settled(id, 2, lastlook.StateSent)
	p.later(hour, id, "/lamp", thing{name: "Lamp", price: "472.00", sold: true})
	p.later(hour, id, "/lamp", lamp("462.00"))
	p.settled(id, 3, lastlook.StateSent)
	if stored := p.rig.Push.Stored(); len(stored) != 2 {
		p.t.Errorf("%d messages are stored, want one about the lamp and one about the chair: %+v", len(stored), stored)
	}
	// The chair is dear again before the browser is back, and nobody has looked.
	p.shop.set("/chair", thing{name: "Chair", price: "120.00"})
	p.clock.pass(time.Minute)
	if e, err := p.FindWatch(p.t.Context(), chair); err != nil || e.Last.Price.String() != "77.00 EUR" {
		p.t.Errorf("the chair was last seen at %v, %v: the worker has nothing to find out", e.Last, err)
	}

	p.rig.Start(p.t)
	p.shown("Lamp", "462.00 EUR")
	p.shown("No longer: Chair", "120.00 EUR")
	p.never("482.00")
	p.never("472.00")
	p.never("77.00")
}

func wrongKey(p *product) {
	p.allow()
	id := p.watch("/lamp", lamp("523.00"), "500", false)
	live := p.rig.Push.Live()
	sub := live[len(live)-1]
	other, err := webpush.GenerateKeys()
	if err != nil {
		p.t.Fatal(err)
	}
	key, err := base64.RawURLEncoding.DecodeString(other.Public())
	if err != nil {
		p.t.Fatal(err)
	}
	if err := p.rig.Push.Bind(sub.Token, key); err != nil {
		p.t.Fatal(err)
	}
	p.later(hour, id, "/lamp", lamp("483.00"))
	row := p.settled(id, 1, lastlook.StateRetry)
	last := row.Story[len(row.Story)-1]
	if last.Event != lastlook.EventMisconfigured || !strings.Contains(last.Error, "VAPID") || row.Attempt != 0 {
		p.t.Errorf("after attempt %d: %+v; want misconfigured, about VAPID, and no attempt counted", row.Attempt, last)
	}
	if d := p.device(); !d.Push.Active() {
		p.t.Error("our mistake has ended the device's subscription")
	}
	// Once it is mended, what waited is told.
	if err := p.rig.Push.Bind(sub.Token, sub.Key); err != nil {
		p.t.Fatal(err)
	}
	p.pass(2 * hour)
	p.shown("Lamp", "483.00 EUR")
	p.settled(id, 1, lastlook.StateSent)
}

const endSubscription = `return await (await (await navigator.serviceWorker.ready).pushManager.getSubscription()).unsubscribe()`

func unsubscribed(p *product) {
	p.allow()
	id := p.watch("/lamp", lamp("524.00"), "500", false)
	// In the browser's own settings, so that the server is not told.
	before := len(p.rig.Push.Live())
	var ended bool
	p.rig.Eval(p.t, endSubscription, &ended)
	if !ended {
		p.t.Fatal("not unsubscribed")
	}
	p.rig.Until(p.t, "the end of the subscription", func() bool { return len(p.rig.Push.Live()) < before })
	p.rig.ClosePage(p.t)
	p.goneAndBack(id)
}

// goneAndBack goes on with a subscription that has ended unknown to the server.
func (p *product) goneAndBack(id string) {
	p.t.Helper()
	p.later(hour, id, "/lamp", lamp("484.00"))
	row := p.settled(id, 1, lastlook.StateDropped)
	if row.Reason != lastlook.ReasonRecipientGone {
		p.t.Errorf("dropped for %s", row.Reason)
	}
	if d := p.device(); d.Push.Active() || d.Push.GoneAt.IsZero() {
		p.t.Errorf("the device is %+v", d.Push)
	}
	// Muted: nothing is tried any more.
	requests := len(p.rig.Push.Requests())
	p.later(hour, id, "/lamp", lamp("474.00"))
	if rows := p.rows(id); len(rows) != 1 || len(p.rig.Push.Requests()) != requests {
		p.t.Errorf("a muted device has %d rows and was sent %d", len(rows), len(p.rig.Push.Requests())-requests)
	}
	// The next visit mends it, and says so.
	p.rig.Open(p.t, p.page)
	p.state("active")
	p.rig.WaitFor(p.t, "a note", `return document.querySelector("#push-note")?.textContent.length > 0`)
	if d := p.device(); !d.Push.Active() || d.Push.BackAt.IsZero() {
		p.t.Errorf("the device is %+v", d.Push)
	}
	p.later(hour, id, "/lamp", lamp("464.00"))
	n := p.shown("Lamp", "464.00 EUR")
	p.never("484.00")
	p.never("474.00")
	stop, err := n.Find("Stop watching")
	if err != nil {
		p.t.Fatal(err)
	}
	if err := p.rig.Desktop.Act(n, stop.Key); err != nil {
		p.t.Fatal(err)
	}
	p.rig.Until(p.t, "the watch's end", func() bool {
		_, err := p.FindWatch(p.t.Context(), id)
		return errors.Is(err, server.ErrUnknownWatch)
	})
}

func forgotten(p *product) {
	p.allow()
	id := p.watch("/lamp", lamp("525.00"), "500", false)
	p.rig.ClosePage(p.t)
	p.rig.Push.Forget()
	if p.rig.Kind == browsertest.Chromium { // is not told: as if it had unsubscribed
		p.goneAndBack(id)
		return
	}
	// Firefox is told, and its worker subscribes anew, with no page open.
	old := p.device().Push.Subscription
	p.rig.Until(p.t, "a new subscription", func() bool {
		d := p.device()
		return d.Push.Active() && !d.Push.Subscription.Equal(old)
	})
	p.later(hour, id, "/lamp", lamp("485.00"))
	p.shown("Lamp", "485.00 EUR")
	p.settled(id, 1, lastlook.StateSent)
}

// The server changes its keys: the next visit subscribes with them; until then
// the old ones serve.
func newKeys(p *product) {
	p.allow()
	id := p.watch("/lamp", lamp("526.00"), "500", false)
	p.rig.ClosePage(p.t)
	old := p.device().Push
	if _, err := p.dir.RotateVAPID(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
	p.Wake()
	p.rig.Until(p.t, "the new key", func() bool { return p.PushKey() != old.Key })
	p.later(hour, id, "/lamp", lamp("486.00"))
	p.shown("Lamp", "486.00 EUR")
	p.settled(id, 1, lastlook.StateSent)
	p.rig.Open(p.t, p.page)
	p.rig.Until(p.t, "a subscription with the new key", func() bool {
		now := p.device().Push
		return now.Active() && now.Key == p.PushKey() && !now.Subscription.Equal(old.Subscription)
	})
	p.later(hour, id, "/lamp", lamp("526.00"))
	p.later(5*hour, id, "/lamp", lamp("476.00"))
	p.shown("Lamp", "476.00 EUR")
}

// What was pushed is shown if the worker's own last look has no answer.
func noAnswer(p *product) {
	p.allow()
	id := p.watch("/lamp", lamp("527.00"), "500", false)
	p.rig.ClosePage(p.t)
	p.rig.Push.Hold()
	p.later(hour, id, "/lamp", lamp("487.00"))
	p.settled(id, 1, lastlook.StateSent)
	if err := p.stop(); err != nil {
		p.t.Fatal(err)
	}
	p.rig.Push.Release()
	p.shown("Lamp", "487.00 EUR")
}

// The page is drawn anew some time after a test was asked for.
func typing(p *product) {
	p.allow()
	p.rig.Push.Hold()
	defer p.rig.Push.Release()
	p.rig.Click(p.t, `[data-action="test-push"]`)
	p.rig.Eval(p.t, `const url = document.querySelector("#url"); url.focus(); url.value = "https://shop.example/la"; url.setSelectionRange(9, 9);
		document.querySelector("#back-in-stock").checked = true`, nil)
	p.rig.WaitFor(p.t, "the page to be drawn anew", `return !!document.querySelector("#test-state")`)
	var typed []any
	p.rig.Eval(p.t, `const url = document.querySelector("#url");
		return [url.value, document.activeElement === url, url.selectionStart, document.querySelector("#back-in-stock").checked]`, &typed)
	if want := []any{"https://shop.example/la", true, 9.0, true}; !slices.Equal(typed, want) {
		p.t.Errorf("after it, the form has %v; want %v", typed, want)
	}
}
