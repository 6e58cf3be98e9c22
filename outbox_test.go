package lastlook_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/lastlooktest"
	"github.com/lastlook/lastlook/store/memstore"
)

func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.world.Set("a", 480)
		ids := r.enqueue(t, 498, "a")
		if err := r.outbox.Cancel(t.Context(), ids[0], "ann at the console"); err != nil {
			t.Fatal(err)
		}
		rec := r.want(t, ids[0], lastlook.StateDropped, lastlook.ReasonCancelled)
		if rec.Story[0].By != "ann at the console" {
			t.Errorf("story: %+v", rec.Story)
		}
		if err := r.outbox.Cancel(t.Context(), ids[0], "x"); !errors.Is(err, lastlook.ErrNotCancellable) {
			t.Errorf("cancel twice: %v", err)
		}
		if err := r.outbox.Cancel(t.Context(), 999, "x"); !errors.Is(err, lastlook.ErrNotFound) {
			t.Errorf("cancel nothing: %v", err)
		}
		entered, release := make(chan struct{}), make(chan struct{})
		r.channel.Respond(func(context.Context, lastlook.Delivery) (lastlook.Receipt, error) {
			close(entered)
			<-release
			return lastlook.Receipt{}, nil
		})
		id := r.enqueue(t, 498, "a")[0]
		stop := r.run(t)
		<-entered
		if err := r.outbox.Cancel(t.Context(), id, "x"); !errors.Is(err, lastlook.ErrNotCancellable) || !strings.Contains(err.Error(), "right now") {
			t.Errorf("cancel what is being delivered: %v", err)
		}
		close(release)
		if err := stop(); err != nil {
			t.Error(err)
		}
		r.want(t, id, lastlook.StateSent, "")
	})
}

func TestDropSubject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.world.Fail("a", errors.New("503"))
		var items []lastlook.Item
		for i := range 1200 {
			it := itemFor(t, r, "a")
			it.Recipient = fmt.Sprint("r", i)
			items = append(items, it)
		}
		other := itemFor(t, r, "b")
		other.Due = time.Now().Add(time.Hour)
		ids := r.enqueueItems(t, append(items, other)...)
		r.tick(t) // they are in retry now
		edge := itemFor(t, r, "a")
		edge.Recipient, edge.Edge = "r0", true
		if res, err := r.outbox.Enqueue(t.Context(), edge); err != nil || res[0].Status != lastlook.Marked {
			t.Fatalf("%+v, %v", res, err)
		}
		n, err := r.outbox.DropSubject(t.Context(), "price", "a", lastlook.ReasonWatchRemoved)
		if err != nil || n != 1200 {
			t.Fatalf("dropped %d, %v", n, err)
		}
		rec := r.want(t, ids[0], lastlook.StateDropped, lastlook.ReasonWatchRemoved)
		if len(rec.Story) != 2 {
			t.Errorf("the story before the removal is gone: %+v", rec.Story)
		}
		r.want(t, ids[1200], lastlook.StatePending, "")
		st, err := r.outbox.Stats(t.Context(), time.Time{})
		if err != nil || st.Marks != 0 {
			t.Errorf("%d marks of a removed subject, %v", st.Marks, err)
		}
		if n, err := r.outbox.DropSubject(t.Context(), "price", "a", lastlook.ReasonWatchRemoved); n != 0 || err != nil {
			t.Errorf("again: %d, %v", n, err)
		}
		for _, reason := range []lastlook.Reason{lastlook.ReasonCancelled, "", "bored"} {
			if _, err := r.outbox.DropSubject(t.Context(), "price", "a", reason); !errors.Is(err, lastlook.ErrInvalid) {
				t.Errorf("reason %q: %v", reason, err)
			}
		}
		if _, err := r.outbox.DropSubject(t.Context(), "price", "", lastlook.ReasonWatchRemoved); !errors.Is(err, lastlook.ErrInvalid) {
			t.Errorf("no subject: %v", err)
		}
	})
}

func TestRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(r *rig) { r.topic.Windows = lastlook.Once() })
		r.world.Set("a", 480)
		r.world.Set("b", 480)
		r.channel.Respond(func(_ context.Context, d lastlook.Delivery) (lastlook.Receipt, error) {
			if d.Key.Subject == "a" {
				return lastlook.Receipt{}, lastlook.Permanent(errors.New("400 bad"))
			}
			return lastlook.Receipt{}, lastlook.Unknown(errors.New("reset"))
		})
		ids := r.enqueue(t, 498, "a", "b")
		if _, err := r.outbox.Retry(t.Context(), ids[0], lastlook.RetryOptions{}); !errors.Is(err, lastlook.ErrNotRetriable) {
			t.Errorf("retry a live row: %v", err)
		}
		for range 10 {
			r.tick(t)
			time.Sleep(time.Hour)
		}
		r.want(t, ids[0], lastlook.StateFailed, lastlook.ReasonRejected)
		r.want(t, ids[1], lastlook.StateFailed, lastlook.ReasonUnknownOutcome)
		r.channel.Respond(nil)

		res, err := r.outbox.Retry(t.Context(), ids[0], lastlook.RetryOptions{})
		if err != nil || res.Status != lastlook.Inserted {
			t.Fatalf("%+v, %v", res, err)
		}
		if _, err := r.outbox.Retry(t.Context(), ids[1], lastlook.RetryOptions{}); !errors.Is(err, lastlook.ErrNotRetriable) || !strings.Contains(err.Error(), "may-repeat") {
			t.Errorf("retry a maybe delivered row: %v", err)
		}
		again, err := r.outbox.Retry(t.Context(), ids[1], lastlook.RetryOptions{MayRepeat: true})
		if err != nil || again.Status != lastlook.Inserted {
			t.Fatalf("%+v, %v", again, err)
		}
		r.tick(t) // at once: an operator need not wait for the key's backoff
		if rec := r.want(t, res.ID, lastlook.StateSent, ""); rec.RetryOf != ids[0] || rec.MayRepeat {
			t.Errorf("retry of %d, may repeat %v", rec.RetryOf, rec.MayRepeat)
		}
		rec := r.want(t, again.ID, lastlook.StateSent, "")
		if rec.RetryOf != ids[1] || !rec.MayRepeat {
			t.Errorf("retry of %d, may repeat %v", rec.RetryOf, rec.MayRepeat)
		}
		keys := map[string]bool{}
		for _, d := range r.channel.Deliveries() {
			if d.Key.Subject == "b" {
				keys[d.DeliveryKey] = true
			}
		}
		if len(keys) != 1 {
			t.Errorf("the same assertion went out under %d delivery keys", len(keys))
		}
	})
}

func TestMutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.world.Set("a", 480)
		id := r.enqueue(t, 498, "a")[0]
		if err := r.outbox.Mute(t.Context(), "ann", "push"); err != nil {
			t.Fatal(err)
		}
		r.tick(t)
		r.want(t, id, lastlook.StateDropped, lastlook.ReasonMuted)
		if err := r.outbox.Unmute(t.Context(), "ann", "push"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		id = r.enqueue(t, 498, "a")[0]
		r.tick(t)
		r.want(t, id, lastlook.StateSent, "")
		if err := r.outbox.Mute(t.Context(), "", "push"); !errors.Is(err, lastlook.ErrInvalid) {
			t.Errorf("mute nobody: %v", err)
		}
	})
}

func TestOutboxRefusesUnknownTopics(t *testing.T) {
	o := lastlook.NewOutbox(memstore.New(), lastlook.WithTopics("price"))
	_, err := o.Enqueue(t.Context(), item(nil), item(func(it *lastlook.Item) { it.Topic = "prise" }))
	if !errors.Is(err, lastlook.ErrUnknownTopic) || !strings.Contains(err.Error(), `"price"`) {
		t.Errorf("got %v", err)
	}
	if recs, err := o.List(t.Context(), lastlook.Query{}); err != nil || len(recs) != 0 {
		t.Errorf("half of the call was written: %v, %v", recs, err)
	}
}

func TestHandleEnqueuesWithoutTheTopic(t *testing.T) {
	clock := lastlooktest.NewClock(t0)
	o := lastlook.NewOutbox(memstore.New(), lastlook.WithClock(clock.Now))
	h := lastlook.Handle[map[string]int]{Name: "price"}
	it, err := h.Item(lastlook.Target{Subject: "s", Recipient: "r", Channel: "c"}, map[string]int{"cents": 49800})
	if err != nil {
		t.Fatal(err)
	}
	res, err := o.Enqueue(t.Context(), it)
	if err != nil || res[0].Status != lastlook.Inserted {
		t.Fatalf("%+v, %v", res, err)
	}
	rec := lastlooktest.RequireEnqueued(t, o, lastlook.Query{Topic: "price"})
	if string(rec.Detection) != `{"cents":49800}` || !rec.CreatedAt.Equal(t0) {
		t.Errorf("%+v", rec)
	}
	lastlooktest.RequireNotEnqueued(t, o, lastlook.Query{Topic: "stock"})
	if _, err := (lastlook.Handle[chan int]{Name: "x"}).Item(lastlook.Target{}, nil); !errors.Is(err, lastlook.ErrInvalid) {
		t.Errorf("a value that JSON cannot hold: %v", err)
	}
}

func TestConfigValidation(t *testing.T) {
	o := lastlook.NewOutbox(memstore.New())
	ch := map[string]lastlook.Channel{"push": lastlooktest.NewChannel()}
	good := lastlooktest.Topic("price", lastlooktest.NewWorld[int](), func(int) bool { return true }, func(int) string { return "" })
	topic := func(mod func(*lastlook.Topic[int])) []lastlook.Registration {
		t := good
		mod(&t)
		return []lastlook.Registration{t}
	}
	one := func(context.Context, string) (int, error) { return 0, nil }
	for name, c := range map[string]lastlook.Config{
		"no topics":       {Channels: ch},
		"no channels":     {Topics: []lastlook.Registration{good}},
		"nil channel":     {Topics: []lastlook.Registration{good}, Channels: map[string]lastlook.Channel{"push": nil}},
		"negative batch":  {Topics: []lastlook.Registration{good}, Channels: ch, BatchSize: -1},
		"same topic":      {Topics: []lastlook.Registration{good, good}, Channels: ch},
		"no name":         {Topics: topic(func(t *lastlook.Topic[int]) { t.Name = "" }), Channels: ch},
		"no look":         {Topics: topic(func(t *lastlook.Topic[int]) { t.Look = nil }), Channels: ch},
		"two looks":       {Topics: topic(func(t *lastlook.Topic[int]) { t.LookOne = one }), Channels: ch},
		"no judge":        {Topics: topic(func(t *lastlook.Topic[int]) { t.Judge = nil }), Channels: ch},
		"no word":         {Topics: topic(func(t *lastlook.Topic[int]) { t.Word = nil }), Channels: ch},
		"no window":       {Topics: topic(func(t *lastlook.Topic[int]) { t.Windows = lastlook.Windows{} }), Channels: ch},
		"bad window":      {Topics: topic(func(t *lastlook.Topic[int]) { t.Windows = lastlook.Every(0) }), Channels: ch},
		"bad policy":      {Topics: topic(func(t *lastlook.Topic[int]) { t.Policy.MaxAttempts = -1 }), Channels: ch},
		"bad concurrency": {Topics: topic(func(t *lastlook.Topic[int]) { t.LookConcurrency = -1 }), Channels: ch},
	} {
		if _, err := lastlook.NewDispatcher(o, c); !errors.Is(err, lastlook.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestClockAtYearZeroDispatchesNothing(t *testing.T) {
	clock := lastlooktest.NewClock(t0)
	o := lastlook.NewOutbox(memstore.New(), lastlook.WithClock(clock.Now))
	w := lastlooktest.NewWorld[int]()
	w.Set("s", 1)
	ch := lastlooktest.NewChannel()
	d, err := lastlook.NewDispatcher(o, lastlook.Config{Clock: clock.Now, Channels: map[string]lastlook.Channel{"push": ch},
		Topics: []lastlook.Registration{lastlooktest.Topic("price", w, func(int) bool { return true }, func(int) string { return "" })}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.Enqueue(t.Context(), item(func(it *lastlook.Item) { it.Detection = json.RawMessage("1") })); err != nil {
		t.Fatal(err)
	}
	clock.Advance(time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC).Sub(t0)) // saturates: still before 1970
	if _, err := d.Tick(t.Context()); !errors.Is(err, lastlook.ErrClock) {
		t.Errorf("got %v, want ErrClock", err)
	}
	if len(ch.Deliveries()) != 0 {
		t.Error("something was delivered")
	}
}

func TestEpisodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(r *rig) {
			r.topic.Windows = lastlook.Episodes()
			r.topic.Episode = func(v int) int64 { return int64(v / 100) }
		})
		for _, step := range []struct {
			detected, now int
			status        lastlook.EnqueueStatus
			told          bool
		}{
			{110, 110, lastlook.Inserted, true},
			{150, 150, lastlook.AlreadyTold, false},
			{210, 310, lastlook.Inserted, true}, // detected in 2, told in 3
			{320, 320, lastlook.AlreadyTold, false},
			{410, 450, lastlook.Inserted, true},
		} {
			r.world.Set("a", step.now)
			before := len(r.channel.Deliveries())
			it, err := r.topic.Item(lastlook.Target{Subject: "a", Recipient: "ann", Channel: "push"}, step.detected)
			if err != nil {
				t.Fatal(err)
			}
			res, err := r.outbox.Enqueue(t.Context(), it)
			if err != nil || res[0].Status != step.status {
				t.Fatalf("%+v: %+v, %v", step, res, err)
			}
			r.tick(t)
			if told := len(r.channel.Deliveries()) > before; told != step.told {
				t.Errorf("%+v: told %v", step, told)
			}
			time.Sleep(time.Minute)
		}
		it := itemFor(t, r, "a")
		it.Episode = 1
		if _, err := r.outbox.Enqueue(t.Context(), it); !errors.Is(err, lastlook.ErrWindowBackwards) {
			t.Errorf("an episode that is over: %v", err)
		}
	})
}

func TestAssertAndSame(t *testing.T) {
	type price struct {
		Cents int
		Seen  int64 // differs at each look
	}
	synctest.Test(t, func(t *testing.T) {
		world := lastlooktest.NewWorld[price]()
		r := newRig(t, func(r *rig) {
			topic := lastlooktest.Topic("price", world, func(p price) bool { return p.Cents < 500 }, func(price) string { return "" })
			topic.Assert = func(c lastlook.Case[price]) price { return price{c.Value.Cents, c.Now.Unix()} }
			topic.Same = func(p price) any { return p.Cents }
			r.cfg.Topics = []lastlook.Registration{topic}
		})
		world.Set("a", price{Cents: 480})
		r.channel.Respond(func(context.Context, lastlook.Delivery) (lastlook.Receipt, error) {
			return lastlook.Receipt{}, lastlook.Unknown(errors.New("reset"))
		})
		it := itemFor(t, r, "a")
		it.Detection = json.RawMessage(`{"Cents":498}`)
		id := r.enqueueItems(t, it)[0]
		r.tick(t)
		r.channel.Respond(nil)
		time.Sleep(time.Minute)
		r.tick(t)
		r.want(t, id, lastlook.StateSent, "")
		ds := r.channel.Deliveries()
		if ds[0].DeliveryKey != ds[1].DeliveryKey || string(ds[0].Value) == string(ds[1].Value) {
			t.Errorf("keys %s %s, values %s %s", ds[0].DeliveryKey, ds[1].DeliveryKey, ds[0].Value, ds[1].Value)
		}
	})
}
