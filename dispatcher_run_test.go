package lastlook_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lastlook/lastlook"
)

// run starts the loop and returns what stops it and gives Run's error.
func (r *rig) run(t *testing.T) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.d.Run(ctx) }()
	return func() error {
		cancel()
		return <-done
	}
}

func TestRunIsWokenByAnEnqueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(r *rig) { r.cfg.Poll = time.Hour })
		r.world.Set("a", 480)
		r.world.Set("b", 480)
		stop := r.run(t)
		synctest.Wait()
		begin := time.Now()
		id := r.enqueue(t, 498, "a")[0]
		synctest.Wait()
		r.want(t, id, lastlook.StateSent, "")
		if time.Since(begin) != 0 {
			t.Errorf("took %v", time.Since(begin))
		}
		// Written by somebody else: only a call of Wake, or the poll, finds it.
		res, err := r.store.Enqueue(t.Context(), time.Now(), []lastlook.Item{itemFor(t, r, "b")})
		if err != nil {
			t.Fatal(err)
		}
		r.d.Wake()
		synctest.Wait()
		r.want(t, res[0].ID, lastlook.StateSent, "")
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestRunPollsAndKeepsDueTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.world.Set("a", 480)
		stop := r.run(t)
		it := itemFor(t, r, "a")
		it.Due = time.Now().Add(90 * time.Minute)
		id := r.enqueueItems(t, it)[0]
		time.Sleep(90*time.Minute - time.Second)
		r.want(t, id, lastlook.StatePending, "")
		time.Sleep(time.Second + 10*time.Millisecond)
		synctest.Wait()
		r.want(t, id, lastlook.StateSent, "")
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestShutdownGivesUnstartedRowsBackAndFinishesCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(r *rig) { r.cfg.LaneConcurrency = 2 })
		var subjects []string
		for i := range 4 {
			s := fmt.Sprint("s", i)
			subjects = append(subjects, s)
			r.world.Set(s, 480)
		}
		r.channel.Respond(func(context.Context, lastlook.Delivery) (lastlook.Receipt, error) {
			time.Sleep(3 * time.Second) // a call under way is not cut off
			return lastlook.Receipt{}, nil
		})
		ids := r.enqueue(t, 498, subjects...)
		stop := r.run(t)
		time.Sleep(time.Second)
		synctest.Wait()
		if err := stop(); err != nil {
			t.Error(err)
		}
		sent := 0
		for _, id := range ids {
			rec := r.get(t, id)
			if rec.State == lastlook.StateSent {
				sent++
				continue
			}
			if rec.Attempt != 0 || !rec.Leased.IsZero() || rec.State == lastlook.StateSending {
				t.Errorf("row %d: %s, attempt %d, leased until %v", id, rec.State, rec.Attempt, rec.Leased)
			}
		}
		if sent != 2 {
			t.Errorf("%d sent, want the 2 that were under way", sent)
		}
	})
}

func TestShutdownWhileLookingGivesRowsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(r *rig) {
			r.topic.Look = func(ctx context.Context, s []string) []lastlook.Looked[int] {
				<-ctx.Done()
				return []lastlook.Looked[int]{{Err: ctx.Err()}}
			}
		})
		id := r.enqueue(t, 498, "a")[0]
		stop := r.run(t)
		time.Sleep(time.Second)
		if err := stop(); err != nil {
			t.Error(err)
		}
		if rec := r.want(t, id, lastlook.StatePending, ""); rec.Attempt != 0 || !rec.Leased.IsZero() {
			t.Errorf("attempt %d, leased until %v", rec.Attempt, rec.Leased)
		}
	})
}

func TestASlowLaneDelaysNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.world.Set("a", 480)
		var slow, fast atomic.Int64
		r.channel.Respond(func(ctx context.Context, d lastlook.Delivery) (lastlook.Receipt, error) {
			if d.Key.Recipient[0] == 's' {
				slow.Add(1)
				<-ctx.Done()
				return lastlook.Receipt{}, lastlook.Unknown(ctx.Err())
			}
			fast.Add(1)
			return lastlook.Receipt{}, nil
		})
		var items []lastlook.Item
		for i := range 2000 {
			for _, lane := range []string{"slow", "fast"} {
				it, err := r.topic.Item(lastlook.Target{Subject: "a", Recipient: fmt.Sprint(lane, i), Channel: "push"}, 498)
				if err != nil {
					t.Fatal(err)
				}
				it.Lane = lane
				items = append(items, it)
			}
		}
		r.enqueueItems(t, items...)
		stop := r.run(t)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if fast.Load() != 2000 {
			t.Errorf("%d of 2000 sent on the fast lane after 2 s beside a dead one (%d tried there)", fast.Load(), slow.Load())
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestSlowLooksDoNotMakeOthersOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(r *rig) {
			r.topic.Look = nil
			r.topic.LookOne = func(ctx context.Context, s string) (int, error) {
				if s == "slow" {
					<-ctx.Done()
					return 0, ctx.Err()
				}
				return 480, nil
			}
		})
		ids := r.enqueue(t, 498, "slow", "a", "b")
		stop := r.run(t)
		time.Sleep(time.Second)
		synctest.Wait()
		r.want(t, ids[1], lastlook.StateSent, "")
		r.want(t, ids[2], lastlook.StateSent, "")
		time.Sleep(15 * time.Second)
		synctest.Wait()
		if rec := r.want(t, ids[0], lastlook.StateRetry, ""); rec.Attempt != 1 {
			t.Errorf("attempt %d", rec.Attempt)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestCallsThatIgnoreTheirContextAreSettledAtTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.world.Set("a", 480)
		r.channel.Respond(func(context.Context, lastlook.Delivery) (lastlook.Receipt, error) {
			time.Sleep(40 * time.Second)
			return lastlook.Receipt{}, nil
		})
		id := r.enqueue(t, 498, "a")[0]
		stop := r.run(t)
		time.Sleep(18 * time.Second)
		synctest.Wait()
		if rec := r.want(t, id, lastlook.StateRetry, ""); string(rec.KeyRow.Maybe) != "480" {
			t.Errorf("key row %+v", rec.KeyRow)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestTickReachesDueRowsBehindRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(r *rig) { r.cfg.BatchSize = 100 })
		r.world.Fail("down", errors.New("503"))
		r.world.Set("up", 480)
		var down, up []lastlook.Item
		for i := range 1000 {
			for _, s := range []string{"down", "up"} {
				it, err := r.topic.Item(lastlook.Target{Subject: s, Recipient: fmt.Sprint("r", i), Channel: "push"}, 498)
				if err != nil {
					t.Fatal(err)
				}
				if s == "down" {
					down = append(down, it)
				} else {
					up = append(up, it)
				}
			}
		}
		r.enqueueItems(t, down...)
		for range 10 {
			if res := r.tick(t); res.Retried != 100 {
				t.Fatalf("tick: %+v", res)
			}
		}
		r.enqueueItems(t, up...)
		if res := r.tick(t); res.Sent != 100 {
			t.Errorf("behind 1000 retries that are not due: %+v, want the full 100 sent", res)
		}
	})
}

func TestARowKeptOverMidnightCountsForTheDayItIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(r *rig) { r.topic.Windows = lastlook.Day(time.UTC) })
		r.world.Set("a", 480)
		time.Sleep(23 * time.Hour)
		it := itemFor(t, r, "a")
		it.Due = time.Now().Add(2 * time.Hour) // 01:00 the next day
		id := r.enqueueItems(t, it)[0]
		time.Sleep(2 * time.Hour)
		r.tick(t)
		r.want(t, id, lastlook.StateSent, "")
		time.Sleep(8 * time.Hour) // the same morning's sweep
		res, err := r.outbox.Enqueue(t.Context(), itemFor(t, r, "a"))
		if err != nil || res[0].Status != lastlook.AlreadyTold || res[0].ID != id {
			t.Errorf("told twice on one day: %+v, %v", res, err)
		}
		time.Sleep(16 * time.Hour)
		if res, err = r.outbox.Enqueue(t.Context(), itemFor(t, r, "a")); err != nil || res[0].Status != lastlook.Inserted {
			t.Errorf("not told on the next day: %+v, %v", res, err)
		}
	})
}

func TestADroppedRowDoesNotBlockItsDay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(r *rig) { r.topic.Windows = lastlook.Day(time.UTC) })
		r.world.Set("a", 598)
		id := r.enqueue(t, 498, "a")[0]
		r.tick(t)
		r.want(t, id, lastlook.StateDropped, lastlook.ReasonConditionLost)
		r.world.Set("a", 480)
		id = r.enqueue(t, 480, "a")[0]
		r.tick(t)
		r.want(t, id, lastlook.StateSent, "")
	})
}

func TestDeferAndCannotTell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := []lastlook.Verdict{lastlook.Defer(time.Now().Add(time.Minute)).Because("second reading"), lastlook.CannotTell("no availability"), lastlook.Send()}
		r := newRig(t, func(r *rig) {
			r.topic.Judge = func(lastlook.Case[int]) lastlook.Verdict {
				v := answers[0]
				answers = answers[1:]
				return v
			}
		})
		r.world.Set("a", 480)
		id := r.enqueue(t, 498, "a")[0]
		r.tick(t)
		if rec := r.want(t, id, lastlook.StatePending, ""); rec.Attempt != 0 || !rec.Due.Equal(time.Now().Add(time.Minute)) {
			t.Errorf("deferred: attempt %d, due %v", rec.Attempt, rec.Due)
		}
		time.Sleep(time.Minute)
		r.tick(t)
		r.want(t, id, lastlook.StateRetry, "")
		time.Sleep(time.Minute)
		r.tick(t)
		rec := r.want(t, id, lastlook.StateSent, "")
		if rec.Story[0].Error != "second reading" || rec.Story[1].Error != "no availability" {
			t.Errorf("story: %+v", rec.Story)
		}
	})
}

func TestInactiveSubjectsDrop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reasons := map[string]lastlook.Reason{"removed": lastlook.ReasonWatchRemoved, "paused": lastlook.ReasonListingPaused, "odd": lastlook.ReasonCancelled}
		var fail error
		r := newRig(t, func(r *rig) {
			r.topic.Active = func(_ context.Context, subjects []string) ([]lastlook.Reason, error) {
				var out []lastlook.Reason
				for _, s := range subjects {
					out = append(out, reasons[s])
				}
				return out, fail
			}
		})
		for _, s := range []string{"a", "removed", "paused", "odd", "b"} {
			r.world.Set(s, 480)
		}
		ids := r.enqueue(t, 498, "a", "removed", "paused", "odd")
		r.tick(t)
		r.want(t, ids[0], lastlook.StateSent, "")
		r.want(t, ids[1], lastlook.StateDropped, lastlook.ReasonWatchRemoved)
		r.want(t, ids[2], lastlook.StateDropped, lastlook.ReasonListingPaused)
		r.want(t, ids[3], lastlook.StateRetry, "")
		if _, subjects := r.world.Looks(); subjects != 1 {
			t.Errorf("looked at %d subjects, want only the active one", subjects)
		}
		fail = errors.New("database is away")
		id := r.enqueue(t, 498, "b")[0]
		r.tick(t)
		r.want(t, id, lastlook.StateRetry, "")
	})
}

func TestExpiredRowsDropWhateverTheirTopic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.world.Set("a", 480)
		known, strange := itemFor(t, r, "a"), itemFor(t, r, "a")
		known.Due, known.ExpiresAt = time.Now().Add(23*time.Hour), time.Now().Add(24*time.Hour)
		strange.Topic, strange.Channel = "other", "elsewhere"
		ids := r.enqueueItems(t, known, strange)
		if res := r.tick(t); res.Claimed != 0 {
			t.Errorf("claimed somebody else's row: %+v", res)
		}
		time.Sleep(24 * time.Hour)
		r.tick(t)
		for _, id := range ids {
			r.want(t, id, lastlook.StateDropped, lastlook.ReasonExpired)
		}
	})
}

// brokenStore fails Apply while broken.
type brokenStore struct {
	lastlook.Store
	broken atomic.Bool
	after  func(changes []lastlook.Change) bool // which calls fail
}

func (b *brokenStore) Apply(ctx context.Context, now time.Time, changes []lastlook.Change) ([]bool, error) {
	if b.broken.Load() && (b.after == nil || b.after(changes)) {
		return nil, fmt.Errorf("apply: %w", lastlook.ErrBusy)
	}
	return b.Store.Apply(ctx, now, changes)
}

func TestAnEndIsWrittenHoweverLongTheStoreIsBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &brokenStore{}
		b.after = func(cs []lastlook.Change) bool {
			return slices.ContainsFunc(cs, func(c lastlook.Change) bool { return c.Event == lastlook.EventAccepted })
		}
		r := newRig(t, func(r *rig) {
			b.Store = r.store
			r.outbox = lastlook.NewOutbox(b)
		})
		r.world.Set("a", 480)
		b.broken.Store(true)
		id := r.enqueue(t, 498, "a")[0]
		stop := r.run(t)
		time.Sleep(5 * time.Minute) // the lease is long over
		synctest.Wait()
		r.want(t, id, lastlook.StateSending, "")
		b.broken.Store(false)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		r.want(t, id, lastlook.StateSent, "")
		if n := len(r.channel.Deliveries()); n != 1 {
			t.Errorf("%d deliveries: its own reaper took a row whose end was only waiting to be written", n)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestNothingIsSentIfSendingCannotBeWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &brokenStore{}
		r := newRig(t, func(r *rig) {
			b.Store = r.store
			r.outbox = lastlook.NewOutbox(b)
		})
		r.world.Set("a", 480)
		b.broken.Store(true)
		id := r.enqueue(t, 498, "a")[0]
		stop := r.run(t)
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		if n := len(r.channel.Deliveries()); n != 0 {
			t.Errorf("%d deliveries without a written claim to send", n)
		}
		b.broken.Store(false)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		r.want(t, id, lastlook.StateSent, "")
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestADeadDispatchersRowsAreReaped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.world.Set("a", 480)
		id := r.enqueue(t, 498, "a")[0]
		// Another process claims, moves to sending, and dies.
		lanes, err := r.store.Lanes(t.Context(), lastlook.LaneQuery{Now: time.Now(), Topics: []string{"price"}, Channels: []string{"push"}})
		if err != nil {
			t.Fatal(err)
		}
		rows, err := r.store.Claim(t.Context(), lastlook.ClaimRequest{Now: time.Now(), Token: lastlook.NewToken(),
			Lanes: []lastlook.LaneClaim{{Lane: lanes[0].Lane, N: 1, MaxAttempts: 10, Lease: time.Minute}}})
		if err != nil {
			t.Fatal(err)
		}
		c, err := rows[0].Sending(time.Now(), lastlook.Assertion{Value: []byte("480"), LookedAt: time.Now(), Window: lastlook.Always().At(time.Now(), 0), Seq: 1}, time.Now().Add(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.store.Apply(t.Context(), time.Now(), []lastlook.Change{c}); err != nil {
			t.Fatal(err)
		}
		stop := r.run(t)
		time.Sleep(59 * time.Second)
		r.want(t, id, lastlook.StateSending, "")
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		rec := r.want(t, id, lastlook.StateSent, "")
		if rec.Attempt != 2 || rec.Story[1].By != "reaper" || rec.Story[0].Event != lastlook.EventSending {
			t.Errorf("attempt %d, story %+v", rec.Attempt, rec.Story)
		}
		if key := r.channel.Deliveries()[0].DeliveryKey; key != lastlook.DeliveryKey(rec.Key, 1) {
			t.Error("the resend of a maybe delivered value has another key")
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// gate admits n rows, or asks to wait.
type gate struct {
	n    atomic.Int64
	wait time.Duration
	seen atomic.Int64
}

func (g *gate) Admit(lastlook.Lane, time.Time) (int, time.Duration) { return int(g.n.Load()), g.wait }
func (g *gate) Observe(lastlook.Transition)                         { g.seen.Add(1) }

func TestGateHoldsRowsBackBeforeTheLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{wait: time.Hour}
		r := newRig(t, func(r *rig) { r.cfg.Gate = g })
		r.world.Set("a", 480)
		id := r.enqueue(t, 498, "a")[0]
		stop := r.run(t)
		time.Sleep(30 * time.Minute)
		synctest.Wait()
		if rec := r.want(t, id, lastlook.StatePending, ""); rec.Attempt != 0 {
			t.Errorf("attempt %d", rec.Attempt)
		}
		if calls, _ := r.world.Looks(); calls != 0 {
			t.Error("looked while the lane was held back")
		}
		g.n.Store(5)
		time.Sleep(time.Hour)
		synctest.Wait()
		r.want(t, id, lastlook.StateSent, "")
		if g.seen.Load() != 2 {
			t.Errorf("a gate that observes saw %d transitions, want 2", g.seen.Load())
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestMarksBecomeRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.world.Set("a", 480)
		edge := itemFor(t, r, "a")
		edge.Edge = true
		entered, release := make(chan struct{}), make(chan struct{})
		r.channel.Respond(func(context.Context, lastlook.Delivery) (lastlook.Receipt, error) {
			close(entered)
			<-release
			return lastlook.Receipt{}, nil
		})
		stop := r.run(t)
		r.enqueueItems(t, edge)
		<-entered
		res, err := r.outbox.Enqueue(t.Context(), edge) // while the row is being sent
		if err != nil || res[0].Status != lastlook.Marked {
			t.Fatalf("%+v, %v", res, err)
		}
		r.channel.Respond(nil)
		close(release)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if n := len(r.channel.Deliveries()); n != 2 {
			t.Errorf("%d deliveries: the edge that came while its row was sent is lost", n)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestOneLoopAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		stop := r.run(t)
		synctest.Wait()
		if err := r.d.Run(t.Context()); !errors.Is(err, lastlook.ErrDispatcherRunning) {
			t.Errorf("second Run: %v", err)
		}
		if _, err := r.d.Tick(t.Context()); !errors.Is(err, lastlook.ErrDispatcherRunning) {
			t.Errorf("Tick beside Run: %v", err)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestNotLookedAtCostsNoAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := true
		r := newRig(t, func(r *rig) {
			look := r.topic.Look
			r.topic.Look = func(ctx context.Context, subjects []string) []lastlook.Looked[int] {
				out := look(ctx, subjects)
				for i := range out {
					if busy && subjects[i] == "b" {
						out[i] = lastlook.Looked[int]{Err: fmt.Errorf("too many: %w", lastlook.ErrNotLooked)}
					}
				}
				return out
			}
		})
		r.world.Set("a", 480)
		r.world.Set("b", 480)
		ids := r.enqueue(t, 498, "a", "b")
		r.tick(t)
		r.want(t, ids[0], lastlook.StateSent, "")
		if rec := r.want(t, ids[1], lastlook.StatePending, ""); rec.Attempt != 0 || !rec.Due.Equal(time.Now().Add(time.Second)) {
			t.Errorf("attempt %d, due %v", rec.Attempt, rec.Due)
		}
		busy = false
		time.Sleep(time.Second)
		r.tick(t)
		r.want(t, ids[1], lastlook.StateSent, "")
	})
}

func TestInFlightCap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(r *rig) { r.cfg.MaxInFlight, r.cfg.LaneConcurrency = 5, 50 })
		r.world.Set("a", 480)
		var now, most atomic.Int64
		r.channel.Respond(func(context.Context, lastlook.Delivery) (lastlook.Receipt, error) {
			most.Store(max(most.Load(), now.Add(1)))
			time.Sleep(time.Second)
			now.Add(-1)
			return lastlook.Receipt{}, nil
		})
		var items []lastlook.Item
		for i := range 40 {
			it := itemFor(t, r, "a")
			it.Recipient, it.Lane = fmt.Sprint("r", i), fmt.Sprint("lane", i%4)
			items = append(items, it)
		}
		r.enqueueItems(t, items...)
		stop := r.run(t)
		for range 100 {
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
			st, err := r.store.Stats(t.Context(), time.Now(), time.Now())
			if err != nil {
				t.Fatal(err)
			}
			leased := 0
			for _, l := range st.Live {
				leased += l.Leased
			}
			if leased > 5 {
				t.Fatalf("%d rows in flight, the cap is 5", leased)
			}
		}
		if most.Load() != 5 || len(r.channel.Deliveries()) != 40 {
			t.Errorf("%d calls at once, %d in all", most.Load(), len(r.channel.Deliveries()))
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}
