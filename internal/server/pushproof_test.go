package server

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/device"
	"github.com/lastlook/lastlook/internal/lanes"
	"github.com/lastlook/lastlook/webpush"
	"github.com/lastlook/lastlook/webpush/webpushtest"
)

// foreignKey is a public key that is none of this server's.
const foreignKey = "BNcRdreALRFXTkOOUHK1EtK2wtaz5Ry4YfYCA_0QTpQtUbVlUls0VJXg7A8u-Ts1XbjhazAkj7I99e8QcYP7DkM"

// deceive gives a subscription that was made with a foreign key, as if it was
// made with the server's.
func (v *visitor) deceive() {
	v.w.t.Helper()
	sub, err := v.w.service.Subscribe(v.w.origin, foreignKey)
	if err != nil {
		v.w.t.Fatal(err)
	}
	v.must(http.StatusOK, http.MethodPut, "/api/v1/devices/self/subscription", map[string]any{"subscription": sub, "application_server_key": v.w.PushKey()}, nil)
}

// ticker ticks one dispatcher, as in a server that runs.
func (w *web) ticker() (tick func()) {
	w.t.Helper()
	set, err := readChannels(w.opt.Dir)
	if err != nil {
		w.t.Fatal(err)
	}
	d, err := w.newDispatcher(set)
	if err != nil {
		w.t.Fatal(err)
	}
	return func() {
		w.t.Helper()
		if _, err := d.Tick(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
	}
}

// notParked reports an error if the operator is alerted to a lane.
func (w *web) notParked(when string) {
	w.t.Helper()
	if states, err := Lanes(w.opt.Dir); err != nil || len(states) > 0 {
		w.t.Errorf("%s: lanes that do not work: %+v, %v", when, states, err)
	}
	if log := w.log.String(); strings.Contains(log, "alert:") {
		w.t.Errorf("%s: an alert:\n%s", when, log)
	}
}

// A device gives a subscription that was made with another key, so that the push
// service refuses ours. The lane of that service is everybody's: it must not be
// parked for one device's sake.
func TestOneDeviceDoesNotParkAPushService(t *testing.T) {
	w := newWeb(t)
	good, bad := w.visitor(), w.visitor()
	good.arrive("good")
	sub := good.subscribe()
	bad.arrive("bad")
	bad.deceive()
	tick := w.ticker()
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
	w.notParked("in the end")
}

// Nor right after a start, when nobody has been told yet; nor by many of them.
func TestStrangersDoNotParkAPushServiceAtTheStart(t *testing.T) {
	w := newWeb(t)
	good := w.visitor()
	good.arrive("good")
	sub := good.subscribe()
	tick := w.ticker()
	for i := range 8 {
		bad := w.visitor()
		bad.arrive(fmt.Sprint("bad ", i))
		bad.deceive()
		bad.test()
		tick()
	}
	w.notParked("after eight strangers")
	good.test()
	tick()
	if got := len(w.pushed(sub)); got != 1 {
		t.Errorf("%d pushes reached the good device: it waits for strangers", got)
	}
	w.notParked("in the end")
}

// If it is our trouble, the operator is told, and no attempts are spent: by a
// device that was told once, also before this process began; and if there is no
// device left that could prove the contrary.
func TestOurOwnTroubleParks(t *testing.T) {
	for name, refused := range map[string]func(*web, *visitor, *visitor){
		"told before": func(w *web, a, _ *visitor) {
			a.test()
			w.dispatch()
			w.refusing.Store(true)
			w.proofs = newProofs() // another process
			if err := w.remember(t.Context()); err != nil {
				t.Fatal(err)
			}
			a.test()
		},
		"all refused": func(w *web, a, b *visitor) {
			w.refusing.Store(true)
			a.test()
			b.test()
		},
	} {
		w := newWeb(t)
		a, b := w.visitor(), w.visitor()
		a.arrive("a")
		a.subscribe()
		b.arrive("b")
		b.subscribe()
		refused(w, a, b)
		w.ticker()()
		states, err := Lanes(w.opt.Dir)
		if err != nil || len(states) != 1 || states[0].Status != lanes.Parked || states[0].Lane != "push:"+pushHost {
			t.Errorf("%s: %+v, %v; want one parked", name, states, err)
		}
	}
}

// A service of a stranger's own refuses all: that is no alert for the operator
// while others take our key.
func TestAStrangersOwnService(t *testing.T) {
	w := newWeb(t)
	good, bad := w.visitor(), w.visitor()
	good.arrive("good")
	good.subscribe()
	good.test()
	tick := w.ticker()
	tick()
	bad.arrive("bad")
	sub, err := w.service.Subscribe("https://www.example.com", foreignKey)
	if err != nil {
		t.Fatal(err)
	}
	w.opt.Via["www.example.com:443"] = w.opt.Via[pushHost+":443"]
	bad.must(http.StatusOK, http.MethodPut, "/api/v1/devices/self/subscription", map[string]any{"subscription": sub, "application_server_key": w.PushKey()}, nil)
	bad.test()
	tick()
	if got := bad.self().Test; got.State != "retry" || !strings.Contains(got.Error, "other services") {
		t.Errorf("the bad one is shown %+v", got)
	}
	w.notParked("in the end")
}

// What proves that our credentials are taken is another device's message,
// lately, with the same key.
func TestProofs(t *testing.T) {
	keys, err := webpush.GenerateKeys()
	if err != nil {
		t.Fatal(err)
	}
	service := webpushtest.NewService(webpushtest.Config{})
	of := func(id, host, key string) device.Device {
		sub, err := service.Subscribe("https://"+host, keys.Public())
		if err != nil {
			t.Fatal(err)
		}
		return device.Device{ID: id, Push: device.Push{Subscription: sub, Key: key}}
	}
	p, now := newProofs(), time.Now()
	p.took(of("a", "h.example", "k"), now)
	for _, c := range []struct {
		host, key, device string
		at                time.Time
		want              bool
	}{
		{"h.example", "k", "b", now, true},
		{"h.example", "k", "a", now, false},
		{"h.example", "other", "b", now, false},
		{"other", "k", "b", now, false},
		{"h.example", "k", "b", now.Add(proofAge), false},
	} {
		if got := p.others(c.host, c.key, c.device, c.at); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	b := of("b", "h.example", "k")
	p.took(b, now)
	p.took(b, now)
	if !p.others("h.example", "k", "b", now) || !p.others("h.example", "k", "a", now) {
		t.Error("two devices do not prove each other")
	}
	for i := range 3 * maxProofs {
		b.Push.Key = fmt.Sprint(i)
		p.took(b, now)
	}
	if len(p.taken) > maxProofs {
		t.Errorf("%d services are remembered", len(p.taken))
	}
	for i := range 2*maxToldDevices + 10 {
		b.ID = fmt.Sprint(i)
		p.took(b, now)
		p.blame(b, newPushLanes(nil), now)
	}
	if len(p.told) > maxToldDevices || len(p.refused) > maxToldDevices {
		t.Errorf("%d and %d devices are remembered", len(p.told), len(p.refused))
	}
}
