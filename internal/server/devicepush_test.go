package server

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/device"
	"github.com/lastlook/lastlook/internal/config"
	"github.com/lastlook/lastlook/internal/httpapi"
)

// dispatch ticks once, with the keys as they stand now.
func (w *web) dispatch() {
	w.t.Helper()
	set, err := readChannels(w.opt.Dir)
	if err != nil {
		w.t.Fatal(err)
	}
	w.channels.Store(set)
	if _, err := w.Tick(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

func (v *visitor) self() httpapi.Device {
	v.w.t.Helper()
	var d httpapi.Device
	v.must(http.StatusOK, http.MethodGet, "/api/v1/devices/self", nil, &d)
	return d
}

func (v *visitor) test() httpapi.Test {
	v.w.t.Helper()
	var got httpapi.Test
	v.must(http.StatusAccepted, http.MethodPost, "/api/v1/devices/self/test", nil, &got)
	return got
}

// A test goes the way of all notifications, and the device can see what became
// of it.
func TestTestPush(t *testing.T) {
	w := newWeb(t)
	v := w.visitor()
	d := v.arrive("phone")
	sub := v.subscribe()
	if before := v.self(); before.Test != nil {
		t.Errorf("there was a test before: %+v", before.Test)
	}
	first := v.test()
	if second := v.test(); first.State != "pending" || second.ID != first.ID {
		t.Errorf("two tests at once: %+v, %+v", first, second)
	}
	w.dispatch()
	got := w.pushed(sub)
	if len(got) != 1 || got[0]["title"] != "lastlook reaches phone" || got[0]["subject"] != d.ID || got[0]["tag"] == "" {
		t.Fatalf("pushed %v; refused %v", got, w.service.Refused())
	}
	if after := v.self(); after.Test == nil || after.Test.State != "sent" || after.Test.ID != first.ID {
		t.Errorf("shown as %+v", after.Test)
	}
	v.test()
	v.must(http.StatusOK, http.MethodDelete, "/api/v1/devices/self/subscription", nil, nil)
	w.dispatch()
	if got, test := w.pushed(sub), v.self().Test; len(got) != 1 || test.State != "dropped" || test.Reason != "gone" {
		t.Errorf("after it unsubscribed: %d pushes, %+v", len(got), test)
	}
}

// The push service ends a subscription: the device is muted, sees why, and is
// told again as soon as it has a new one.
func TestGoneAndBack(t *testing.T) {
	for _, status := range []int{http.StatusGone, http.StatusNotFound} {
		w := newWeb(t)
		v := w.visitor()
		d := v.arrive("phone")
		old := v.subscribe()
		w.service.End(old, status)
		v.test()
		w.dispatch()
		got := v.self()
		if got.Push.State != "gone" || got.Push.GoneAt.IsZero() || !strings.Contains(got.Push.Note, "allow push again") || got.Test.Reason != "recipient_gone" {
			t.Errorf("HTTP %d: shown as %+v, %+v", status, got.Push, got.Test)
		}
		item, err := w.testTopic().Item(lastlook.Target{Subject: d.ID, Recipient: DeviceRecipient(d.ID), Channel: config.PushChannel}, testValue{})
		if err != nil {
			t.Fatal(err)
		}
		if res, err := w.Outbox().Enqueue(t.Context(), item); err != nil || res[0].Status != lastlook.Muted {
			t.Errorf("HTTP %d: it is not muted: %v, %v", status, res, err)
		}
		// The dead one is refused, so that the browser drops it.
		v.must(http.StatusConflict, http.MethodPut, "/api/v1/devices/self/subscription", map[string]any{"subscription": old, "application_server_key": w.PushKey()}, nil)
		v.must(http.StatusUnprocessableEntity, http.MethodPost, "/api/v1/devices/self/test", nil, nil)
		fresh := v.subscribe()
		if got = v.self(); got.Push.BackAt.IsZero() || got.Push.LostAt.IsZero() || !strings.Contains(got.Push.Note, "came back") {
			t.Errorf("HTTP %d: back as %+v", status, got.Push)
		}
		v.test()
		w.dispatch() // at once: that the old one was gone holds back nothing
		if n := len(w.pushed(fresh)); n != 1 {
			t.Errorf("HTTP %d: %d pushes to the new one; refused %v", status, n, w.service.Refused())
		}
		// With the device its mutes go.
		w.service.End(fresh, status)
		v.test()
		w.dispatch()
		v.must(http.StatusNoContent, http.MethodDelete, "/api/v1/devices/self", nil, nil)
		if st, err := w.Outbox().Stats(t.Context(), time.Now()); err != nil || st.Muted != 0 {
			t.Errorf("HTTP %d: %d mutes are left of a device that was removed, %v", status, st.Muted, err)
		}
	}
}

// The device subscribes anew while its old subscription is found to be gone: it
// must not be muted for the old one's sake.
func TestGoneAtTheWrongMoment(t *testing.T) {
	w := newWeb(t)
	v := w.visitor()
	d := v.arrive("phone")
	old := v.subscribe()
	p := &pushes{devices: w.devices}
	fresh := v.subscribe()
	err := p.gone(t.Context(), d.ID, old, lastlook.Gone(errors.New("HTTP 410")))
	if class, _ := lastlook.Classify(err); class != lastlook.ClassTransient {
		t.Errorf("classified %s: %v", class, err)
	}
	if !v.self().Push.GoneAt.IsZero() {
		t.Error("the new one is noted as gone")
	}
	// And if the mute came a moment later than the new subscription, it is
	// lifted: by a test at once, by the next tidying in any case.
	for name, heal := range map[string]func(){"test": func() { v.test() }, "tidy": func() {
		if err := w.tidy(t.Context()); err != nil {
			t.Error(err)
		}
		v.test()
	}} {
		if err := w.Outbox().Mute(t.Context(), DeviceRecipient(d.ID), config.PushChannel); err != nil {
			t.Fatal(err)
		}
		before := len(w.pushed(fresh))
		heal()
		w.dispatch()
		if got := len(w.pushed(fresh)); got != before+1 {
			t.Errorf("%s: %d pushes, want %d", name, got, before+1)
		}
	}
}

// After a rotation, a device is told with the key that it subscribed with, until
// it subscribes anew; then the old key goes.
func TestRotation(t *testing.T) {
	w := newWeb(t)
	slow, quick := w.visitor(), w.visitor()
	slow.arrive("slow")
	quick.arrive("quick")
	oldKey := w.PushKey()
	slowSub, quickSub := slow.subscribe(), quick.subscribe()
	if _, err := w.opt.Dir.RotateVAPID(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.dispatch()
	newKey := w.PushKey()
	if newKey == oldKey {
		t.Fatal("the key is the old one")
	}
	// The page compares the two, and has the browser subscribe anew.
	if got := quick.self().Push.Key; got != oldKey {
		t.Errorf("the subscription's key is shown as %q", got)
	}
	quickSub2 := quick.subscribe()
	slow.test()
	quick.test()
	w.dispatch()
	if a, b, c := len(w.pushed(slowSub)), len(w.pushed(quickSub)), len(w.pushed(quickSub2)); a != 1 || b != 0 || c != 1 {
		t.Fatalf("pushes: slow %d, quick's old one %d, quick's new one %d; refused %v", a, b, c, w.service.Refused())
	}
	if err := w.tidy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if v, err := w.opt.Dir.VAPID(); err != nil || len(v) != 2 {
		t.Errorf("a key that is needed was forgotten: %d left, %v", len(v), err)
	}
	slow.subscribe()
	if err := w.tidy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if v, err := w.opt.Dir.VAPID(); err != nil || len(v) != 1 || v.Current().Public() != newKey {
		t.Errorf("the old key is still there: %d, %v", len(v), err)
	}
	// A subscription made with a key that is gone cannot be given any more.
	sub, err := w.service.Subscribe(w.origin, oldKey)
	if err != nil {
		t.Fatal(err)
	}
	w.dispatch()
	slow.must(http.StatusUnprocessableEntity, http.MethodPut, "/api/v1/devices/self/subscription", map[string]any{"subscription": sub, "application_server_key": oldKey}, nil)
	if refused := w.service.Refused(); len(refused) != 0 {
		t.Errorf("the push service refused %v", refused)
	}
}

// A push service that takes another key's messages only: that is a matter of our
// settings, and never takes the device for gone.
func TestWrongKey(t *testing.T) {
	w := newWeb(t)
	v := w.visitor()
	v.arrive("phone")
	other, err := w.service.Subscribe(w.origin, "BNcRdreALRFXTkOOUHK1EtK2wtaz5Ry4YfYCA_0QTpQtUbVlUls0VJXg7A8u-Ts1XbjhazAkj7I99e8QcYP7DkM")
	if err != nil {
		t.Fatal(err)
	}
	v.must(http.StatusOK, http.MethodPut, "/api/v1/devices/self/subscription", map[string]any{"subscription": other, "application_server_key": w.PushKey()}, nil)
	v.test()
	w.dispatch()
	got := v.self()
	if got.Push.State != "active" || got.Test.State != "retry" || got.Test.Error == "" || len(w.service.Refused()) == 0 {
		t.Errorf("shown as %+v, %+v", got.Push, got.Test)
	}
	if strings.Contains(got.Test.Error, other.Endpoint()) {
		t.Errorf("the error shows the endpoint: %s", got.Test.Error)
	}
}

// Devices name push services: a private one is not called, whatever it is.
func TestPrivatePushServices(t *testing.T) {
	w := newWeb(t)
	for _, origin := range []string{"https://127.0.0.1:8443", "https://192.168.1.1", "https://[::1]", "https://169.254.169.254", "https://localhost"} {
		v := w.visitor()
		v.arrive("phone")
		sub, err := w.service.Subscribe(origin, w.PushKey())
		if err != nil {
			t.Fatal(err)
		}
		v.must(http.StatusOK, http.MethodPut, "/api/v1/devices/self/subscription", map[string]any{"subscription": sub, "application_server_key": w.PushKey()}, nil)
		v.test()
		w.dispatch()
		if test := v.self().Test; test.State == "sent" || !strings.Contains(test.Error, "not a public address") {
			t.Errorf("%s: %+v", origin, test)
		}
	}
	if w.service.Count() != 0 {
		t.Error("a private push service was called")
	}
	w.notParked("after devices that name private places")
}

// A watch's rows go into its push service's lane, by detection and by the first
// look alike; other channels keep their own.
func TestPushLanes(t *testing.T) {
	w := newWeb(t)
	v := w.visitor()
	d := v.arrive("phone")
	r := DeviceRecipient(d.ID)
	if got := w.lanes.of(r, config.PushChannel); got != "" {
		t.Errorf("before it subscribes: %q", got)
	}
	v.subscribe()
	want := "push:" + pushHost
	if got := []string{w.lanes.of(r, config.PushChannel), w.lanes.of(r, "log"), w.lanes.of("me", config.PushChannel)}; !slices.Equal(got, []string{want, "", ""}) {
		t.Errorf("the lanes are %q", got)
	}
	// Another process reads them.
	other := newPushLanes(storeOf(t, w))
	if err := other.refresh(t.Context(), time.Now()); err != nil || other.of(r, config.PushChannel) != want {
		t.Errorf("another process: %q, %v", other.of(r, config.PushChannel), err)
	}
}

func storeOf(t *testing.T, w *web) device.Store {
	t.Helper()
	s, err := openSQLite(t.Context(), w.opt.Dir.Database())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.outbox.Close() })
	return s.devices
}

// Watches whose device is gone go too, with what waits of them; an operator's
// stay.
func TestOrphansAndIdleDevices(t *testing.T) {
	s := newShop(t, eur("598.00"))
	w := newWeb(t, at(s))
	kept, lost := w.visitor(), w.visitor()
	kept.arrive("kept")
	kept.subscribe()
	d := lost.arrive("lost")
	w.watchThere(kept, "500 EUR")
	w.watchThere(lost, "500 EUR")
	w.add(t, NewWatch{URL: s.URL, Below: "1 EUR"})
	if err := w.devices.Remove(t.Context(), d.ID); err != nil { // as if it was interrupted there
		t.Fatal(err)
	}
	if err := w.tidy(t.Context()); err != nil {
		t.Fatal(err)
	}
	left, err := w.Watches(t.Context())
	if err != nil || len(left) != 2 {
		t.Errorf("left are %+v, %v", left, err)
	}
	// Whoever was made and never used goes sooner.
	w.visitor().arrive("passing by")
	w.tickLater(t, unusedAfter-time.Hour)
	if devices, err := w.Devices(t.Context()); err != nil || len(devices) != 2 {
		t.Errorf("before the time, left are %+v, %v", devices, err)
	}
	w.tickLater(t, unusedAfter+time.Hour)
	if devices, err := w.Devices(t.Context()); err != nil || len(devices) != 1 || devices[0].Name != "kept" {
		t.Errorf("left are %+v, %v", devices, err)
	}
	// Whoever cannot be pushed to and is not seen for long goes with all of it.
	idle := w.visitor()
	idle.arrive("idle")
	w.watchThere(idle, "500 EUR")
	w.tickLater(t, device.IdleAfter+time.Hour)
	devices, err := w.Devices(t.Context())
	if err != nil || len(devices) != 1 || devices[0].Name != "kept" {
		t.Errorf("left are %+v, %v", devices, err)
	}
	if left, err = w.Watches(t.Context()); err != nil || len(left) != 2 {
		t.Errorf("left are %+v, %v", left, err)
	}
}

func TestQuotaOfWatches(t *testing.T) {
	w := newWeb(t)
	r := DeviceRecipient("d_x")
	for range maxDeviceWatches {
		if _, err := w.AddWatch(t.Context(), NewWatch{URL: "http://shop.example/", Below: "1 EUR", Recipient: r, Channels: []string{config.PushChannel}, Foreign: true, NoLook: true}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.WatchFor(t.Context(), asRecipient(r), httpapi.NewWatch{URL: "http://shop.example/", Below: "1 EUR"}); !errors.Is(err, httpapi.ErrTooMany) {
		t.Errorf("one more: %v", err)
	}
}

// An operator's watch cannot push to nobody.
func TestPushNeedsADevice(t *testing.T) {
	w := newWeb(t)
	_, err := w.AddWatch(t.Context(), NewWatch{URL: "https://shop.example/", Below: "1 EUR", Recipient: "me", Channels: []string{config.PushChannel}, NoLook: true})
	if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "lastlook serve") {
		t.Errorf("error %v", err)
	}
	bare := open(t)
	_, err = bare.AddWatch(t.Context(), NewWatch{URL: "https://shop.example/", Below: "1 EUR", Recipient: "device:d_x", Channels: []string{config.PushChannel}, NoLook: true})
	if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "no keys") {
		t.Errorf("error %v", err)
	}
}

// One device adds a watch; what the page says then, and a moment later, is what
// the service worker is told.
func TestNow(t *testing.T) {
	s := newShop(t, eur("480.00"), eur("480.00"), eur("598.00"), eur("598.00"))
	clock := newTestClock()
	w := newWeb(t, at(s), func(o *Options) { o.Clock = clock.now })
	v := w.visitor()
	v.arrive("phone")
	v.subscribe()
	added := w.watchThere(v, "500 EUR")
	now := func() (n httpapi.Now) {
		t.Helper()
		v.must(http.StatusOK, http.MethodGet, "/api/v1/watches/"+added.ID+"/now", nil, &n)
		return n
	}
	if n := now(); !n.Known || !n.Holds || *n.Price != (httpapi.Money{Amount: "480", Currency: "EUR"}) || n.Title != "Lamp" || n.URL != added.URL || !strings.Contains(n.Body, "below 500.00 EUR") {
		t.Errorf("at once: %+v", n)
	}
	if got := s.left(); got != 3 {
		t.Errorf("it was looked at again within %s: %d prices left", nowEvery, got)
	}
	clock.add(nowEvery)
	now()
	clock.add(nowEvery)
	n := now()
	if !n.Known || n.Holds || *n.Price != (httpapi.Money{Amount: "598", Currency: "EUR"}) || n.Body != "598.00 EUR, in stock" || time.Since(n.At) > time.Minute+2*nowEvery {
		t.Errorf("later: %+v", n)
	}
	// What it saw counts like any other look.
	if history, err := w.History(t.Context(), mustFind(t, w, added.ID).Listing.ID, 10); err != nil || len(history) != 3 {
		t.Errorf("%d observations are kept, %v", len(history), err)
	}
	// The page fails: what was seen last stands, with its age.
	s.status.Store(http.StatusServiceUnavailable)
	clock.add(nowEvery)
	if n := now(); !n.Known || n.Holds || *n.Price != (httpapi.Money{Amount: "598", Currency: "EUR"}) || !n.At.Before(lastlook.Micro(clock.now().Add(-nowEvery/2))) {
		t.Errorf("when it cannot be looked at: %+v", n)
	}
	v.must(http.StatusOK, http.MethodPost, "/api/v1/watches/"+added.ID+"/snooze", map[string]any{"hours": 24}, nil)
	if n := now(); n.SnoozedUntil.IsZero() {
		t.Errorf("snoozed: %+v", n)
	}
	v.must(http.StatusOK, http.MethodPost, "/api/v1/watches/"+added.ID+"/snooze", map[string]any{"hours": 0}, nil)
	if n := now(); !n.SnoozedUntil.IsZero() {
		t.Errorf("not snoozed any more: %+v", n)
	}
	v.must(http.StatusNoContent, http.MethodDelete, "/api/v1/watches/"+added.ID, nil, nil)
	v.must(http.StatusNotFound, http.MethodGet, "/api/v1/watches/"+added.ID+"/now", nil, nil)
}

// Nobody knows anything of a page that never answered.
func TestNowUnknown(t *testing.T) {
	s := newShop(t, eur("480.00"))
	s.status.Store(http.StatusServiceUnavailable)
	w := newWeb(t, at(s))
	v := w.visitor()
	v.arrive("phone")
	v.subscribe()
	added := w.watchThere(v, "500 EUR")
	if added.Problem == "" || len(added.Warnings) == 0 {
		t.Errorf("added as %+v", added)
	}
	var n httpapi.Now
	v.must(http.StatusOK, http.MethodGet, "/api/v1/watches/"+added.ID+"/now", nil, &n)
	if n.Known || n.Holds || !n.At.IsZero() {
		t.Errorf("known: %+v", n)
	}
}

// Many ask at the same time: the page is asked once.
func TestNowIsShared(t *testing.T) {
	l := newNowLooks()
	start := time.Now()
	var wg sync.WaitGroup
	begun, joined, refused := 0, 0, 0
	look, begin := l.join("l", start)
	if !begin {
		t.Fatal("nobody began it")
	}
	var mu sync.Mutex
	for range 20 {
		wg.Go(func() {
			other, begin := l.join("l", start.Add(time.Second))
			mu.Lock()
			defer mu.Unlock()
			switch {
			case begin:
				begun++
			case other == look:
				joined++
			default:
				refused++
			}
		})
	}
	wg.Wait()
	if begun != 0 || joined != 20 {
		t.Errorf("%d began, %d joined, %d were refused", begun, joined, refused)
	}
	l.end("l", nil)
	<-look.done
	if again, begin := l.join("l", start.Add(nowEvery-time.Millisecond)); again != nil || begin {
		t.Error("looked again too soon")
	}
	if _, begin := l.join("other", start); !begin {
		t.Error("another listing has to wait")
	}
	l.end("other", nil)
	if _, begin := l.join("l", start.Add(nowEvery)); !begin {
		t.Error("not looked again when it was time")
	}
	if len(l.begun) != 1 {
		t.Errorf("it remembers %d looks", len(l.begun))
	}
}

func mustFind(t *testing.T, w *web, id string) Entry {
	t.Helper()
	e, err := w.FindWatch(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func (s *shop) left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.prices)
}

// testClock is a clock that a test moves, and that goes on by itself meanwhile.
type testClock struct {
	mu sync.Mutex
	by time.Duration
}

func newTestClock() *testClock { return &testClock{} }

func (c *testClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.by)
}

func (c *testClock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.by += d
}
