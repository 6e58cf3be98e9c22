package lastlook_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/lastlooktest"
	"github.com/lastlook/lastlook/store/memstore"
)

// rig is an outbox in memory, a world of prices, a recording channel and a
// dispatcher. It runs in synctest bubbles, whose clock starts at 2000-01-01.
type rig struct {
	store   *memstore.Store
	outbox  *lastlook.Outbox
	world   *lastlooktest.World[int]
	channel *lastlooktest.Channel
	topic   lastlook.Topic[int]
	cfg     lastlook.Config
	d       *lastlook.Dispatcher
	log     *bytes.Buffer
}

func newRig(t *testing.T, mod func(*rig)) *rig {
	t.Helper()
	r := &rig{store: memstore.New(), world: lastlooktest.NewWorld[int](), channel: lastlooktest.NewChannel(), log: &bytes.Buffer{}}
	r.topic = lastlooktest.Topic("price", r.world, func(v int) bool { return v < 500 }, func(v int) string { return fmt.Sprintf("now %d", v) })
	r.cfg = lastlook.Config{Channels: map[string]lastlook.Channel{"push": r.channel}, Rand: func() float64 { return 0 },
		Logger: slog.New(slog.NewTextHandler(&syncWriter{w: r.log}, nil))}
	r.outbox = lastlook.NewOutbox(r.store)
	if mod != nil {
		mod(r)
	}
	if r.cfg.Topics == nil {
		r.cfg.Topics = []lastlook.Registration{r.topic}
	}
	var err error
	if r.d, err = lastlook.NewDispatcher(r.outbox, r.cfg); err != nil {
		t.Fatal(err)
	}
	return r
}

type syncWriter struct {
	mu sync.Mutex
	w  *bytes.Buffer
}

func (s *syncWriter) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(b)
}

// enqueue enqueues a detection of the value per subject and returns the ids.
func (r *rig) enqueue(t *testing.T, v int, subjects ...string) []lastlook.ID {
	t.Helper()
	var items []lastlook.Item
	for _, s := range subjects {
		it, err := r.topic.Item(lastlook.Target{Subject: s, Recipient: "ann", Channel: "push"}, v)
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, it)
	}
	return r.enqueueItems(t, items...)
}

func (r *rig) enqueueItems(t *testing.T, items ...lastlook.Item) []lastlook.ID {
	t.Helper()
	res, err := r.outbox.Enqueue(t.Context(), items...)
	if err != nil {
		t.Fatal(err)
	}
	var ids []lastlook.ID
	for _, e := range res {
		ids = append(ids, e.ID)
	}
	return ids
}

func (r *rig) tick(t *testing.T) lastlook.TickResult {
	t.Helper()
	res, err := r.d.Tick(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func (r *rig) get(t *testing.T, id lastlook.ID) lastlook.Record {
	t.Helper()
	rec, err := r.store.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func (r *rig) want(t *testing.T, id lastlook.ID, state lastlook.State, reason lastlook.Reason) lastlook.Record {
	t.Helper()
	rec := r.get(t, id)
	if rec.State != state || rec.Reason != reason {
		t.Fatalf("notification %d is %s %q, want %s %q; story %+v", id, rec.State, rec.Reason, state, reason, rec.Story)
	}
	return rec
}

func titles(ds []lastlook.Delivery) []string {
	var out []string
	for _, d := range ds {
		out = append(out, d.Message.Title)
	}
	return out
}

func TestTellsWhatIsTrueNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.world.Set("a", 470) // detected at 498, 470 by now
		r.world.Set("b", 598) // detected at 498, put back
		ids := r.enqueue(t, 498, "a", "b")
		res := r.tick(t)
		if res.Sent != 1 || res.Dropped != 1 || res.Claimed != 2 {
			t.Errorf("tick: %+v", res)
		}
		if got := titles(r.channel.Deliveries()); !slices.Equal(got, []string{"now 470"}) {
			t.Errorf("told %q", got)
		}
		sent := r.want(t, ids[0], lastlook.StateSent, "")
		if string(sent.KeyRow.Baseline) != "470" || string(sent.Asserted) != "470" || sent.Attempt != 1 {
			t.Errorf("baseline %s, asserted %s, attempt %d", sent.KeyRow.Baseline, sent.Asserted, sent.Attempt)
		}
		dropped := r.want(t, ids[1], lastlook.StateDropped, lastlook.ReasonConditionLost)
		if string(dropped.Seen) != "598" || dropped.KeyRow.Baseline != nil {
			t.Errorf("seen %s, baseline %s", dropped.Seen, dropped.KeyRow.Baseline)
		}
		var events []lastlook.Event
		for _, s := range sent.Story {
			events = append(events, s.Event)
		}
		if !slices.Equal(events, []lastlook.Event{lastlook.EventSending, lastlook.EventAccepted}) {
			t.Errorf("story: %v", events)
		}
	})
}

// TestChannelsLearnThePriority: a push is as urgent as its row.
func TestChannelsLearnThePriority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.world.Set("a", 470)
		it, err := r.topic.Item(lastlook.Target{Subject: "a", Recipient: "ann", Channel: "push"}, 498)
		if err != nil {
			t.Fatal(err)
		}
		it.Priority = lastlook.PriorityHigh
		r.enqueueItems(t, it)
		r.tick(t)
		if ds := r.channel.Deliveries(); len(ds) != 1 || ds[0].Priority != lastlook.PriorityHigh {
			t.Errorf("delivered %+v", ds)
		}
	})
}

func TestCouldNotLookRetriesAndLooksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.world.Fail("a", errors.New("503"))
		id := r.enqueue(t, 498, "a")[0]
		r.tick(t)
		rec := r.want(t, id, lastlook.StateRetry, "")
		if wait := time.Until(rec.Due); wait != 30*time.Second {
			t.Errorf("retries after %v", wait)
		}
		if res := r.tick(t); res.Claimed != 0 {
			t.Errorf("claimed a row that is not due: %+v", res)
		}
		r.world.Set("a", 450)
		time.Sleep(30 * time.Second)
		r.tick(t)
		if rec := r.want(t, id, lastlook.StateSent, ""); rec.Attempt != 2 {
			t.Errorf("attempt %d", rec.Attempt)
		}
		if got := titles(r.channel.Deliveries()); !slices.Equal(got, []string{"now 450"}) {
			t.Errorf("told %q", got)
		}
	})
}

func TestNeverLookableFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.world.Fail("a", lastlook.RetryAfter(time.Hour, errors.New("429")))
		id := r.enqueue(t, 498, "a")[0]
		for i := range 10 {
			if rec := r.get(t, id); !rec.State.Live() {
				t.Fatalf("ended after %d attempts", i)
			}
			time.Sleep(time.Hour)
			r.tick(t)
		}
		rec := r.want(t, id, lastlook.StateFailed, lastlook.ReasonLookUnavailable)
		if rec.Attempt != 10 || len(r.channel.Deliveries()) != 0 {
			t.Errorf("attempt %d, %d deliveries", rec.Attempt, len(r.channel.Deliveries()))
		}
	})
}

func TestAGoneItemDrops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.world.Fail("a", lastlook.Gone(errors.New("410")))
		id := r.enqueue(t, 498, "a")[0]
		r.tick(t)
		r.want(t, id, lastlook.StateDropped, lastlook.ReasonGone)
	})
}

func TestManyWatchersOneLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(r *rig) { r.cfg.BatchSize = 5000 })
		r.world.Set("a", 450)
		var items []lastlook.Item
		for i := range 1000 {
			it, err := r.topic.Item(lastlook.Target{Subject: "a", Recipient: fmt.Sprint("r", i), Channel: "push"}, 498)
			if err != nil {
				t.Fatal(err)
			}
			it.Lane = fmt.Sprint("host", i%100)
			items = append(items, it)
		}
		r.enqueueItems(t, items...)
		if res := r.tick(t); res.Sent != 1000 {
			t.Errorf("tick: %+v", res)
		}
		if calls, subjects := r.world.Looks(); calls != subjects || calls > 2 {
			t.Errorf("%d looks at %d subjects", calls, subjects)
		}
	})
}

func TestAnOldLookIsNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(r *rig) { r.cfg.LaneConcurrency = 1 })
		subjects := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
		for _, s := range subjects {
			r.world.Set(s, 450)
		}
		// Fast at first, so that many are claimed at once; then slow.
		r.channel.Respond(func(_ context.Context, d lastlook.Delivery) (lastlook.Receipt, error) {
			if age := time.Since(d.LookedAt); age > 10*time.Second {
				t.Errorf("called with a look %v old", age)
			}
			if d.Key.Subject != "a" {
				time.Sleep(4 * time.Second)
			}
			return lastlook.Receipt{}, nil
		})
		r.enqueue(t, 498, "a")
		r.tick(t)
		ids := r.enqueue(t, 498, subjects[1:]...)
		res := r.tick(t)
		if res.Postponed == 0 {
			t.Errorf("no row was given back: %+v", res)
		}
		for range 10 {
			r.tick(t)
		}
		for _, id := range ids {
			if rec := r.want(t, id, lastlook.StateSent, ""); rec.Attempt != 1 {
				t.Errorf("row %d took %d attempts: rows that were not called must not lose one", id, rec.Attempt)
			}
		}
	})
}

func TestUnknownOutcomeKeepsTheDeliveryKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(r *rig) { r.topic.Windows = lastlook.Once() })
		r.world.Set("a", 480)
		r.channel.Respond(func(ctx context.Context, _ lastlook.Delivery) (lastlook.Receipt, error) {
			<-ctx.Done()
			return lastlook.Receipt{}, fmt.Errorf("post: %w", ctx.Err())
		})
		id := r.enqueue(t, 498, "a")[0]
		r.tick(t)
		rec := r.want(t, id, lastlook.StateRetry, "")
		if string(rec.KeyRow.Maybe) != "480" || rec.KeyRow.ToldBy != id || rec.KeyRow.Baseline != nil {
			t.Errorf("key row %+v", rec.KeyRow)
		}
		r.channel.Respond(nil)
		time.Sleep(time.Minute)
		r.tick(t)
		r.want(t, id, lastlook.StateSent, "")
		ds := r.channel.Deliveries()
		if len(ds) != 2 || ds[0].DeliveryKey != ds[1].DeliveryKey {
			t.Errorf("the resend of the same value has another key: %+v", ds)
		}
	})
}

func TestDeliveryKeysFollowTheValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		var keys []string
		for _, v := range []int{480, 470, 480} {
			r.world.Set("a", v)
			r.enqueue(t, v, "a")
			r.tick(t)
			time.Sleep(time.Hour)
		}
		for _, d := range r.channel.Deliveries() {
			keys = append(keys, d.DeliveryKey)
		}
		slices.Sort(keys)
		if len(slices.Compact(keys)) != 3 {
			t.Errorf("480, 470, 480 have keys %v", keys)
		}
	})
}

func TestAtMostOnceGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cases []lastlook.Case[int]
		r := newRig(t, func(r *rig) {
			r.topic.Policy.Guarantee = lastlook.AtMostOnce
			judge := r.topic.Judge
			r.topic.Judge = func(c lastlook.Case[int]) lastlook.Verdict { cases = append(cases, c); return judge(c) }
		})
		r.world.Set("a", 480)
		r.channel.Respond(func(context.Context, lastlook.Delivery) (lastlook.Receipt, error) {
			return lastlook.Receipt{}, lastlook.Unknown(errors.New("connection reset while waiting for the answer"))
		})
		id := r.enqueue(t, 498, "a")[0]
		r.tick(t)
		r.want(t, id, lastlook.StateFailed, lastlook.ReasonUnknownOutcome)
		time.Sleep(time.Hour)
		r.enqueue(t, 470, "a")
		r.tick(t)
		if b := cases[1].Baseline; b == nil || *b != 480 {
			t.Errorf("a maybe delivered value is not the baseline: %v", b)
		}
	})
}

func TestChannelAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, tc := range map[string]struct {
			err    error
			state  lastlook.State
			reason lastlook.Reason
		}{
			"plain":         {errors.New("refused"), lastlook.StateRetry, ""},
			"permanent":     {lastlook.Permanent(errors.New("400")), lastlook.StateFailed, lastlook.ReasonRejected},
			"gone":          {lastlook.Gone(errors.New("410")), lastlook.StateDropped, lastlook.ReasonRecipientGone},
			"misconfigured": {lastlook.Misconfigured(errors.New("401")), lastlook.StateRetry, ""},
			"unknown":       {lastlook.Unknown(errors.New("reset")), lastlook.StateRetry, ""},
		} {
			r := newRig(t, nil)
			r.world.Set("a", 480)
			r.channel.Respond(func(context.Context, lastlook.Delivery) (lastlook.Receipt, error) { return lastlook.Receipt{}, tc.err })
			id := r.enqueue(t, 498, "a")[0]
			r.tick(t)
			rec := r.want(t, id, tc.state, tc.reason)
			if attempt := 1; name == "misconfigured" {
				attempt = 0
				if rec.Attempt != attempt {
					t.Errorf("%s: attempt %d", name, rec.Attempt)
				}
			}
			if name == "gone" {
				res, err := r.outbox.Enqueue(t.Context(), itemFor(t, r, "b"))
				if err != nil || res[0].Status != lastlook.Muted {
					t.Errorf("a gone recipient is not muted: %+v, %v", res, err)
				}
			}
		}
	})
}

func itemFor(t *testing.T, r *rig, subject string) lastlook.Item {
	t.Helper()
	it, err := r.topic.Item(lastlook.Target{Subject: subject, Recipient: "ann", Channel: "push"}, 498)
	if err != nil {
		t.Fatal(err)
	}
	return it
}

func TestMisconfiguredParksTheLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		for _, s := range []string{"a", "b", "c"} {
			r.world.Set(s, 480)
		}
		r.channel.Respond(func(context.Context, lastlook.Delivery) (lastlook.Receipt, error) {
			return lastlook.Receipt{}, lastlook.Misconfigured(errors.New("403 bad key"))
		})
		ids := r.enqueue(t, 498, "a", "b", "c")
		r.tick(t)
		calls := len(r.channel.Deliveries())
		r.tick(t)
		if n := len(r.channel.Deliveries()); n != calls {
			t.Errorf("%d more calls on a parked lane", n-calls)
		}
		time.Sleep(31 * time.Second)
		if r.tick(t); len(r.channel.Deliveries()) != calls+1 {
			t.Errorf("a parked lane was tried with %d rows, want 1", len(r.channel.Deliveries())-calls)
		}
		if n := strings.Count(r.log.String(), "lane parked"); n != 1 {
			t.Errorf("%d alerts, want 1", n)
		}
		r.channel.Respond(nil)
		for range 5 {
			time.Sleep(10 * time.Minute)
			r.tick(t)
		}
		for _, id := range ids {
			r.want(t, id, lastlook.StateSent, "")
		}
	})
}

func TestPanicsEndOneRowsAttemptAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for where, plant := range map[string]func(*rig){
			"look": func(r *rig) {
				look := r.topic.Look
				r.topic.Look = func(ctx context.Context, subjects []string) []lastlook.Looked[int] {
					if slices.Contains(subjects, "bad") {
						panic("boom")
					}
					return look(ctx, subjects)
				}
			},
			"look one": func(r *rig) {
				r.topic.Look = nil
				r.topic.LookOne = func(ctx context.Context, s string) (int, error) {
					if s == "bad" {
						panic("boom")
					}
					l := r.world.Look(ctx, []string{s})[0]
					return l.Value, l.Err
				}
			},
			"judge": func(r *rig) {
				judge := r.topic.Judge
				r.topic.Judge = func(c lastlook.Case[int]) lastlook.Verdict {
					if c.Key.Subject == "bad" {
						panic("boom")
					}
					return judge(c)
				}
			},
			"no verdict": func(r *rig) {
				judge := r.topic.Judge
				r.topic.Judge = func(c lastlook.Case[int]) lastlook.Verdict {
					if c.Key.Subject == "bad" {
						return lastlook.Verdict{}
					}
					return judge(c)
				}
			},
			"word": func(r *rig) {
				word := r.topic.Word
				r.topic.Word = func(c lastlook.Case[int]) lastlook.Message {
					if c.Key.Subject == "bad" {
						panic("boom")
					}
					return word(c)
				}
			},
			"channel": func(r *rig) {
				r.channel.Respond(func(_ context.Context, d lastlook.Delivery) (lastlook.Receipt, error) {
					if d.Key.Subject == "bad" {
						panic("boom")
					}
					return lastlook.Receipt{}, nil
				})
			},
		} {
			r := newRig(t, plant)
			for _, s := range []string{"a", "bad", "c"} {
				r.world.Set(s, 480)
			}
			ids := r.enqueue(t, 498, "a", "bad", "c")
			r.tick(t)
			r.want(t, ids[0], lastlook.StateSent, "")
			r.want(t, ids[2], lastlook.StateSent, "")
			rec := r.want(t, ids[1], lastlook.StateRetry, "")
			if rec.Attempt != 1 {
				t.Errorf("%s: attempt %d", where, rec.Attempt)
			}
			if maybe := rec.KeyRow.Maybe != nil; maybe != (where == "channel") {
				t.Errorf("%s: maybe delivered is %v", where, maybe)
			}
		}
	})
}

func TestUndecodableRowEndsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(r *rig) { r.topic.Policy.MaxAttempts = 2 })
		r.world.Set("a", 480)
		r.world.Set("bad", 480)
		bad := itemFor(t, r, "bad")
		bad.Detection = []byte(`{"not":"a number"}`)
		ids := r.enqueueItems(t, itemFor(t, r, "a"), bad)
		r.tick(t)
		r.want(t, ids[0], lastlook.StateSent, "")
		r.want(t, ids[1], lastlook.StateRetry, "")
		time.Sleep(time.Hour)
		r.tick(t)
		r.want(t, ids[1], lastlook.StateFailed, lastlook.ReasonBadPayload)
	})
}
