package lanes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/lastlooktest"
	"github.com/lastlook/lastlook/store/memstore"
)

// world is a dispatcher with the gate, whose clock the test moves.
type world struct {
	clock   *lastlooktest.Clock
	values  *lastlooktest.World[int]
	channel *lastlooktest.Channel
	outbox  *lastlook.Outbox
	d       *lastlook.Dispatcher
	topic   lastlook.Topic[int]
}

func newWorld(t *testing.T, at time.Time, c Config) *world {
	t.Helper()
	gate, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{clock: lastlooktest.NewClock(at), values: lastlooktest.NewWorld[int](), channel: lastlooktest.NewChannel()}
	w.topic = lastlooktest.Topic("price", w.values, func(v int) bool { return v < 500 }, func(v int) string { return fmt.Sprint(v) })
	w.topic.Windows = lastlook.Always()
	w.topic.TTL = 72 * time.Hour
	w.outbox = lastlook.NewOutbox(memstore.New(), lastlook.WithClock(w.clock.Now))
	w.d, err = lastlook.NewDispatcher(w.outbox, lastlook.Config{
		Topics: []lastlook.Registration{w.topic}, Channels: map[string]lastlook.Channel{"c": w.channel}, Gate: gate, Rand: func() float64 { return 0 },
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) enqueue(t *testing.T, who string, subjects ...string) {
	t.Helper()
	for _, s := range subjects {
		it, err := w.topic.Item(lastlook.Target{Subject: s, Recipient: who, Channel: "c"}, 480)
		if err == nil {
			_, err = w.outbox.Enqueue(t.Context(), it)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func (w *world) tick(t *testing.T) lastlook.TickResult {
	t.Helper()
	res, err := w.d.Tick(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// TestQuietHoursComeBeforeTheLook: a row that waits is not looked at, keeps its
// attempt, and is told in the morning what is true then.
func TestQuietHoursComeBeforeTheLook(t *testing.T) {
	berlin := zone(t, "Europe/Berlin")
	night := time.Date(2026, 3, 28, 23, 30, 0, 0, berlin) // clocks go forward
	w := newWorld(t, night, Config{People: People{Of: func(who string) Person {
		if who == "owl" {
			return Person{}
		}
		return Person{Zone: berlin, Quiet: Quiet{22 * 60, 7 * 60}}
	}}})
	w.values.Set("a", 480)
	w.values.Set("b", 480)
	w.enqueue(t, "kim", "a", "b")
	if res := w.tick(t); res.Postponed != 2 || res.Sent != 0 {
		t.Fatalf("%+v", res)
	}
	if calls, _ := w.values.Looks(); calls != 0 {
		t.Errorf("looked %d times in the night", calls)
	}
	w.enqueue(t, "owl", "a")
	if res := w.tick(t); res.Sent != 1 {
		t.Errorf("somebody else waits: %+v", res)
	}
	rec := lastlooktest.RequireEnqueued(t, w.outbox, lastlook.Query{Recipient: "kim", Subject: "a", Full: true})
	morning := time.Date(2026, 3, 29, 7, 0, 0, 0, berlin)
	if !rec.Due.Equal(morning) || rec.Attempt != 0 || morning.Sub(night) != 6*time.Hour+30*time.Minute {
		t.Errorf("due %s, attempt %d", rec.Due.In(berlin), rec.Attempt)
	}
	w.values.Set("a", 470)
	w.values.Set("b", 520) // no longer
	w.clock.Advance(morning.Sub(night) - time.Second)
	if res := w.tick(t); res.Claimed != 0 {
		t.Errorf("a second early: %+v", res)
	}
	w.clock.Advance(time.Second)
	if res := w.tick(t); res.Sent != 1 || res.Dropped != 1 {
		t.Errorf("%+v", res)
	}
	if d := w.channel.Deliveries(); len(d) != 2 || d[1].Message.Title+d[1].Message.Body != "470" || d[1].Attempt != 1 {
		t.Errorf("%+v", d)
	}
}

func TestDailyCap(t *testing.T) {
	berlin := zone(t, "Europe/Berlin")
	noon := time.Date(2026, 10, 24, 12, 0, 0, 0, berlin)
	var asked []time.Time
	w := newWorld(t, noon, Config{People: People{
		Of: func(string) Person { return Person{Zone: berlin, PerDay: 3, Quiet: Quiet{0, 8 * 60}} },
		Told: func(_ context.Context, _ string, since time.Time) (int, error) {
			asked = append(asked, since)
			return len(asked) % 2, nil // one, on the first day
		},
	}})
	for _, s := range []string{"a", "b", "c", "d", "e"} {
		w.values.Set(s, 480)
	}
	w.values.Set("gone", 520)
	w.enqueue(t, "kim", "gone", "a", "b", "c", "d", "e")
	// One of the two places is taken by a row that is rightly withheld.
	if res := w.tick(t); res.Sent != 1 || res.Dropped != 1 || res.Postponed != 4 {
		t.Fatalf("%+v", res)
	}
	w.enqueue(t, "kim", "a") // which makes its place free again
	if res := w.tick(t); res.Sent != 1 {
		t.Fatalf("%+v", res)
	}
	w.enqueue(t, "kim", "a")
	if res := w.tick(t); res.Sent != 0 || res.Postponed != 1 {
		t.Fatalf("a fourth: %+v", res)
	}
	midnight := time.Date(2026, 10, 25, 0, 0, 0, 0, berlin)
	rec := lastlooktest.RequireEnqueued(t, w.outbox, lastlook.Query{Recipient: "kim", Subject: "e"})
	if !rec.Due.Equal(midnight) {
		t.Errorf("due %s", rec.Due.In(berlin))
	}
	w.clock.Advance(midnight.Sub(noon))
	if res := w.tick(t); res.Postponed != 5 {
		t.Errorf("quiet hours follow: %+v", res)
	}
	w.clock.Advance(9 * time.Hour) // clocks go back: 08:00
	if res := w.tick(t); res.Sent != 3 || res.Postponed != 2 {
		t.Errorf("the next day: %+v", res)
	}
	if len(asked) != 2 || !asked[0].Equal(noon.Add(-12*time.Hour)) || !asked[1].Equal(midnight) {
		t.Errorf("counted since %v", asked)
	}
}

func TestUnknownOutcomesCount(t *testing.T) {
	w := newWorld(t, t0, Config{Failures: 100, People: People{Of: func(string) Person { return Person{PerDay: 1} }}})
	w.values.Set("a", 480)
	w.values.Set("b", 480)
	w.channel.Respond(func(context.Context, lastlook.Delivery) (lastlook.Receipt, error) {
		return lastlook.Receipt{}, lastlook.Unknown(errors.New("no answer"))
	})
	w.enqueue(t, "kim", "a")
	w.tick(t)
	w.enqueue(t, "kim", "b")
	if res := w.tick(t); res.Postponed != 1 {
		t.Errorf("%+v", res)
	}
}

// TestTheCountCannotBeRead: nobody is told too much, and nothing is lost.
func TestTheCountCannotBeRead(t *testing.T) {
	broken := true
	w := newWorld(t, t0, Config{People: People{
		Of: func(string) Person { return Person{PerDay: 1} },
		Told: func(context.Context, string, time.Time) (int, error) {
			if broken {
				return 0, errors.New("disk on fire")
			}
			return 0, nil
		},
	}})
	w.values.Set("a", 480)
	w.enqueue(t, "kim", "a")
	if res := w.tick(t); res.Sent != 0 || res.Postponed != 1 {
		t.Errorf("%+v", res)
	}
	rec := lastlooktest.RequireEnqueued(t, w.outbox, lastlook.Query{Recipient: "kim", Full: true})
	if b, _ := json.Marshal(rec.Story); !json.Valid(b) || rec.Attempt != 0 {
		t.Errorf("%s", b)
	}
	broken = false
	w.clock.Advance(time.Minute)
	if res := w.tick(t); res.Sent != 1 {
		t.Errorf("%+v", res)
	}
}

// TestRefusedSettingsLoseNothing: 401 parks the lane; when the settings are
// right again, every row is told, and no attempt was counted.
func TestRefusedSettingsLoseNothing(t *testing.T) {
	var alerts []State
	w := newWorld(t, t0, Config{Alert: func(s State) { alerts = append(alerts, s) }})
	refused := true
	w.channel.Respond(func(context.Context, lastlook.Delivery) (lastlook.Receipt, error) {
		if refused {
			return lastlook.Receipt{}, lastlook.Misconfigured(errors.New("HTTP 401"))
		}
		return lastlook.Receipt{Answer: "ok"}, nil
	})
	for i := range 50 {
		s := fmt.Sprint("s", i)
		w.values.Set(s, 480)
		w.enqueue(t, "kim", s)
	}
	for range 20 {
		w.tick(t)
		w.clock.Advance(10 * time.Minute)
	}
	if len(alerts) != 1 || alerts[0].Status != Parked {
		t.Errorf("alerts %+v", alerts)
	}
	refused = false
	sent := 0
	for range 20 {
		sent += w.tick(t).Sent
		w.clock.Advance(10 * time.Minute)
	}
	recs, err := w.outbox.List(t.Context(), lastlook.Query{States: []lastlook.State{lastlook.StateSent}, Limit: 100})
	if err != nil || sent != 50 || len(recs) != 50 {
		t.Errorf("%d sent, %d records, %v", sent, len(recs), err)
	}
	for _, r := range recs {
		if r.Attempt != 1 {
			t.Errorf("row %d: attempt %d", r.ID, r.Attempt)
		}
	}
	if len(alerts) != 2 || alerts[1].Status != Working {
		t.Errorf("alerts %+v", alerts)
	}
}
