package lastlook_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lastlook/lastlook"
)

// Faults of topics, channels, gates, observers and stores: each ends one row's
// attempt at most.

type nilError struct{ text string }

func (e *nilError) Error() string { return e.text }

func TestTypedNilErrorsKillNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var plain *nilError
		var ours *lastlook.Error
		for name, err := range map[string]error{"plain": plain, "ours": ours} {
			r := newRig(t, nil)
			r.world.Fail("look", err)
			r.world.Set("call", 480)
			r.channel.Respond(func(context.Context, lastlook.Delivery) (lastlook.Receipt, error) { return lastlook.Receipt{}, err })
			ids := r.enqueue(t, 498, "look", "call")
			r.tick(t)
			for _, id := range ids {
				if rec := r.want(t, id, lastlook.StateRetry, ""); rec.Story[len(rec.Story)-1].Error == "" {
					t.Errorf("%s: the story has no error", name)
				}
			}
		}
	})
}

// refusing is a store that never takes some changes, as a constraint would.
type refusing struct {
	lastlook.Store
	refuse func(lastlook.Change) bool
}

func (s *refusing) Apply(ctx context.Context, now time.Time, changes []lastlook.Change) ([]bool, error) {
	if slices.ContainsFunc(changes, s.refuse) {
		return nil, errors.New("constraint failed")
	}
	return s.Store.Apply(ctx, now, changes)
}

func TestOneRefusedChangeHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &refusing{}
		var bad lastlook.ID
		r := newRig(t, func(r *rig) {
			s.Store = r.store
			r.outbox = lastlook.NewOutbox(s)
		})
		subjects := []string{"a", "bad", "c"}
		for _, v := range subjects {
			r.world.Set(v, 480)
		}
		ids := r.enqueue(t, 498, subjects...)
		bad = ids[1]
		s.refuse = func(c lastlook.Change) bool { return c.ID == bad && c.Event != lastlook.EventSending }
		expiring := itemFor(t, r, "later")
		expiring.Due, expiring.ExpiresAt = time.Now().Add(time.Hour), time.Now().Add(90*time.Minute)
		later := r.enqueueItems(t, expiring)[0]
		r.world.Fail("later", errors.New("503"))
		stop := r.run(t)
		time.Sleep(30 * time.Second)
		synctest.Wait()
		r.want(t, ids[0], lastlook.StateSent, "")
		r.want(t, ids[2], lastlook.StateSent, "")
		time.Sleep(3 * time.Hour)
		synctest.Wait()
		r.want(t, later, lastlook.StateDropped, lastlook.ReasonExpired) // by a sweep that also meets the bad row
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestImpossibleAnswersOfATopicEndOneAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, plant := range map[string]func(*rig){
			"deferred for ever": func(r *rig) {
				judge := r.topic.Judge
				r.topic.Judge = func(c lastlook.Case[int]) lastlook.Verdict {
					if c.Key.Subject == "bad" {
						return lastlook.Defer(time.Unix(time.Now().UnixMilli(), 0)) // seconds mixed up
					}
					return judge(c)
				}
			},
			"an endless episode": func(r *rig) {
				r.topic.Windows = lastlook.Episodes()
				r.topic.Episode = func(v int) int64 {
					if v == 481 {
						return math.MaxInt64
					}
					return 1
				}
			},
		} {
			r := newRig(t, plant)
			r.world.Set("a", 480)
			r.world.Set("bad", 481)
			ids := r.enqueue(t, 498, "a", "bad")
			r.tick(t)
			r.want(t, ids[0], lastlook.StateSent, "")
			if rec := r.want(t, ids[1], lastlook.StateRetry, ""); !strings.Contains(rec.Story[0].Error, "price") {
				t.Errorf("%s: %+v", name, rec.Story)
			}
		}
	})
}

func TestShortLivedRowsOfAFailingKeyAreLookedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(r *rig) { r.topic.TTL = 5 * time.Minute })
		r.world.Fail("a", errors.New("503"))
		stop := r.run(t)
		for range 40 {
			r.enqueue(t, 498, "a")
			time.Sleep(time.Minute)
		}
		r.world.Set("a", 480)
		for range 20 {
			r.enqueue(t, 498, "a")
			time.Sleep(time.Minute)
		}
		synctest.Wait()
		if len(r.channel.Deliveries()) == 0 {
			t.Error("the key is silent for ever: its rows expire before they are due")
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestRetryOfAMaybeDeliveredRowAlwaysNeedsMayRepeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(r *rig) { r.topic.Policy.Guarantee = lastlook.AtMostOnce }) // and Always
		r.world.Set("a", 480)
		r.channel.Respond(func(context.Context, lastlook.Delivery) (lastlook.Receipt, error) {
			return lastlook.Receipt{}, lastlook.Unknown(errors.New("reset"))
		})
		id := r.enqueue(t, 498, "a")[0]
		r.tick(t)
		r.want(t, id, lastlook.StateFailed, lastlook.ReasonUnknownOutcome)
		if _, err := r.outbox.Retry(t.Context(), id, lastlook.RetryOptions{}); !errors.Is(err, lastlook.ErrNotRetriable) {
			t.Errorf("got %v", err)
		}
		if _, err := r.outbox.Retry(t.Context(), id, lastlook.RetryOptions{MayRepeat: true}); err != nil {
			t.Error(err)
		}
	})
}

func TestALookFromTheFutureIsFromNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(r *rig) {
			r.topic.Look = func(context.Context, []string) []lastlook.Looked[int] {
				return []lastlook.Looked[int]{{Value: 480, At: time.Unix(time.Now().UnixMilli(), 0)}}
			}
		})
		id := r.enqueue(t, 498, "a")[0]
		r.tick(t)
		if rec := r.want(t, id, lastlook.StateSent, ""); !rec.LookedAt.Equal(time.Now()) {
			t.Errorf("looked at %v", rec.LookedAt)
		}
	})
}

func TestOnePanickingSubjectDoesNotMakeAThousandOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(r *rig) {
			r.topic.Look = func(_ context.Context, subjects []string) []lastlook.Looked[int] {
				if slices.Contains(subjects, "s7") {
					panic("boom")
				}
				time.Sleep(100 * time.Millisecond)
				out := make([]lastlook.Looked[int], len(subjects))
				for i := range out {
					out[i].Value = 480
				}
				return out
			}
		})
		var subjects []string
		for i := range 500 {
			subjects = append(subjects, fmt.Sprint("s", i))
		}
		r.enqueue(t, 498, subjects...)
		stop := r.run(t)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if n := len(r.channel.Deliveries()); n != 499 {
			t.Errorf("%d of 499 told", n)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestADispatcherCanBeUsedAgainAfterACallThatOutlivedIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.world.Set("a", 480)
		r.world.Set("b", 480)
		r.channel.Respond(func(_ context.Context, d lastlook.Delivery) (lastlook.Receipt, error) {
			if d.Key.Subject == "a" {
				time.Sleep(5 * time.Minute)
			}
			return lastlook.Receipt{}, nil
		})
		r.enqueue(t, 498, "a")
		if _, err := r.d.Tick(t.Context()); err == nil {
			t.Error("a call that ignores its context goes unmentioned")
		}
		id := r.enqueue(t, 498, "b")[0]
		r.channel.Respond(nil)
		r.tick(t)
		r.want(t, id, lastlook.StateSent, "")
		time.Sleep(10 * time.Minute) // the old call returns meanwhile
	})
}

type panicking struct{}

func (panicking) Admit(lastlook.Lane, time.Time) (int, time.Duration) { panic("gate") }
func (panicking) Observe(lastlook.Transition)                         { panic("observer") }

func TestPanickingGateAndObserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(r *rig) { r.cfg.Observer = panicking{} })
		r.world.Set("a", 480)
		id := r.enqueue(t, 498, "a")[0]
		r.tick(t)
		r.want(t, id, lastlook.StateSent, "")

		g := newRig(t, func(r *rig) { r.cfg.Gate = panicking{} })
		g.world.Set("a", 480)
		g.enqueue(t, 498, "a")
		for range 2 { // the second would find the dispatcher still running
			func() {
				defer func() {
					if recover() == nil {
						t.Error("the gate's panic was hidden")
					}
				}()
				_, _ = g.d.Tick(t.Context())
			}()
		}
	})
}

func TestAnUnwrittenMoveToSendingIsUndone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &ambiguous{}
		r := newRig(t, func(r *rig) {
			b.Store = r.store
			r.outbox = lastlook.NewOutbox(b)
			r.topic.Policy.Guarantee = lastlook.AtMostOnce
		})
		r.world.Set("a", 480)
		id := r.enqueue(t, 498, "a")[0]
		stop := r.run(t)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		r.want(t, id, lastlook.StateSent, "")
		if n := len(r.channel.Deliveries()); n != 1 {
			t.Errorf("%d deliveries", n)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// ambiguous makes the first move to sending, and says that it did not.
type ambiguous struct {
	lastlook.Store
	done bool
}

func (a *ambiguous) Apply(ctx context.Context, now time.Time, changes []lastlook.Change) ([]bool, error) {
	res, err := a.Store.Apply(ctx, now, changes)
	if !a.done && changes[0].Event == lastlook.EventSending {
		a.done = true
		return nil, errors.New("connection lost during commit")
	}
	return res, err
}

func TestExpiredWhileLookedAtIsNotTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(r *rig) {
			r.topic.TTL = time.Second
			look := r.topic.Look
			r.topic.Look = func(ctx context.Context, s []string) []lastlook.Looked[int] {
				time.Sleep(5 * time.Second)
				return look(ctx, s)
			}
		})
		r.world.Set("a", 480)
		id := r.enqueue(t, 498, "a")[0]
		r.tick(t)
		r.want(t, id, lastlook.StateDropped, lastlook.ReasonExpired)
	})
}

func TestSweepsComeHoweverSeldomThePoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(r *rig) { r.cfg.Poll = 24 * time.Hour })
		stop := r.run(t)
		it := itemFor(t, r, "a")
		it.Topic, it.ExpiresAt = "strange", time.Now().Add(time.Minute)
		id := r.enqueueItems(t, it)[0]
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		r.want(t, id, lastlook.StateDropped, lastlook.ReasonExpired)
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}
