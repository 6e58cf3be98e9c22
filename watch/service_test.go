package watch_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/watch"
)

var errBlocked = errors.New("a block page: \"are you a robot?\"")

// The whole way: noticed, looked at again, told from the new value.
func TestTellsWhatIsTrueNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, nil)
		w := e.watch(1, below(t, "500 EUR"))
		e.page(1, "498 EUR", watch.InStock)
		if res := e.sweep(); res != (watch.SweepResult{Looked: 1, Enqueued: 1}) {
			t.Errorf("sweep: %+v", res)
		}
		e.page(1, "480 EUR", watch.InStock)
		e.tick()
		r := e.want(lastlook.StateSent, "")
		if got := e.told(); len(got) != 1 || got[0] != "480.00 EUR: below your target of 500.00 EUR (in stock)" {
			t.Errorf("told %q", got)
		}
		if !strings.Contains(string(r.Detection), `"498"`) || !strings.Contains(string(r.Asserted), `"480"`) {
			t.Errorf("noticed %s, asserted %s", r.Detection, r.Asserted)
		}
		// The last look is an observation like any other.
		h, err := e.store.History(t.Context(), w.Listing.ID, 10)
		if err != nil || len(h) != 2 || h[0].Price != money(t, "480 EUR") {
			t.Errorf("history %+v, %v", h, err)
		}
		time.Sleep(15 * time.Minute)
		if res := e.sweep(); res.Looked != 1 || res.Enqueued != 0 {
			t.Errorf("told, and noticed again: %+v", res)
		}
	})
}

// However many watch a page, a batch looks at it once, and so does a sweep.
func TestOneLookForAllWatchers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, nil)
		const n = 30
		for i := range n {
			w := *watchFor(below(t, "500 EUR"))
			w.Recipient = fmt.Sprint("r", i)
			e.watchAs(1, w)
		}
		e.page(1, "490 EUR", watch.InStock)
		if res := e.sweep(); res != (watch.SweepResult{Looked: 1, Enqueued: n}) {
			t.Errorf("sweep: %+v", res)
		}
		if res := e.tick(); res.Sent != n || e.source.looked(url(1)) != 2 {
			t.Errorf("%+v, looked %d times", res, e.source.looked(url(1)))
		}
	})
}

func TestWithholdsWhatIsNotTrueAnyMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, nil)
		e.watch(1, below(t, "500 EUR"))
		e.page(1, "498 EUR", watch.InStock)
		e.sweep()
		e.page(1, "598 EUR", watch.InStock)
		e.tick()
		r := e.want(lastlook.StateDropped, lastlook.ReasonConditionLost)
		if step := r.Story[len(r.Story)-1]; step.Error != "598.00 EUR is not below 500.00 EUR" {
			t.Errorf("story: %+v", step)
		}
		// It begins again, is noticed again, and is sold out when looked at.
		e.page(1, "490 EUR", watch.InStock)
		time.Sleep(15 * time.Minute)
		e.sweep()
		e.page(1, "490 EUR", watch.OutOfStock)
		e.tick()
		e.want(lastlook.StateDropped, lastlook.ReasonOutOfStock)
		if got := e.told(); len(got) != 0 {
			t.Errorf("told %q", got)
		}
		e.page(1, "490 EUR", watch.InStock)
		time.Sleep(15 * time.Minute)
		e.sweep()
		e.tick()
		e.want(lastlook.StateSent, "")
	})
}

func TestMissingTwiceIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, nil)
		e.watch(1, below(t, "500 EUR"))
		e.page(1, "498 EUR", watch.InStock)
		e.sweep()
		missing := fmt.Errorf("404: %w", watch.ErrMissing)
		e.source.fail(url(1), missing)
		began := time.Now()
		e.tick()
		e.want(lastlook.StateRetry, "")
		for range 5 {
			time.Sleep(20 * time.Second)
			e.tick()
			if r := e.rows()[0]; !r.State.Live() {
				break
			}
		}
		e.want(lastlook.StateDropped, lastlook.ReasonGone)
		if d := time.Since(began); d < time.Minute {
			t.Errorf("gone after %s: two answers must be a minute apart", d)
		}
		if got := e.told(); len(got) != 0 {
			t.Errorf("told %q", got)
		}
	})
}

func TestMissingOnceIsAHiccup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, nil)
		w := e.watch(1, below(t, "500 EUR"))
		e.page(1, "498 EUR", watch.InStock)
		e.sweep()
		e.source.fail(url(1), watch.ErrMissing)
		e.tick()
		e.page(1, "490 EUR", watch.InStock)
		time.Sleep(time.Minute)
		e.tick()
		e.want(lastlook.StateSent, "")
		if l := e.entry(w.Watch.ID).Listing; !l.MissingSince.IsZero() || l.Failures != 0 {
			t.Errorf("%+v", l)
		}
		// An hour later it is missing once more: that is the first time again.
		time.Sleep(time.Hour)
		e.page(1, "600 EUR", watch.InStock)
		e.sweep()
		e.page(1, "480 EUR", watch.InStock)
		time.Sleep(24 * time.Hour)
		e.sweep()
		e.source.fail(url(1), watch.ErrMissing)
		e.tick()
		e.want(lastlook.StateRetry, "")
		// A definite answer needs no second one.
		e.source.fail(url(1), lastlook.Gone(errors.New("410")))
		time.Sleep(time.Minute)
		e.tick()
		e.want(lastlook.StateDropped, lastlook.ReasonGone)
	})
}

// A page that cannot be read says nothing: no message, no drop, and what was
// known stays known.
func TestBlockedIsRetriedAndNeverTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, nil)
		w := e.watch(1, below(t, "500 EUR"))
		e.page(1, "498 EUR", watch.InStock)
		e.sweep()
		before := e.entry(w.Watch.ID)
		e.source.fail(url(1), errBlocked)
		for range 4 {
			e.tick()
			if r := e.want(lastlook.StateRetry, ""); !strings.Contains(r.Story[len(r.Story)-1].Error, "robot") {
				t.Errorf("story: %+v", r.Story)
			}
			time.Sleep(30 * time.Minute)
			if res := e.sweep(); res.Failed+res.Looked > 1 || res.Looked != 0 {
				t.Errorf("sweep: %+v", res)
			}
		}
		after := e.entry(w.Watch.ID)
		if after.Last.Price != before.Last.Price || !after.Last.At.Equal(before.Last.At) || after.States["below"] != before.States["below"] {
			t.Errorf("a block page changed what is known: %+v", after)
		}
		if l := after.Listing; l.Failures == 0 || l.LastError != errBlocked.Error() || !l.LastOK.Equal(before.Listing.LastOK) {
			t.Errorf("listing: %+v", l)
		}
		if got := e.told(); len(got) != 0 {
			t.Errorf("told %q", got)
		}
		e.page(1, "470 EUR", watch.InStock)
		time.Sleep(30 * time.Minute)
		e.tick()
		e.want(lastlook.StateSent, "")
	})
}

// Failing pages are asked less and less, as the site wants, within reason.
func TestSweepBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, nil)
		w := e.watch(1, below(t, "500 EUR"))
		next := func(err error) time.Duration {
			t.Helper()
			e.source.fail(url(1), err)
			if res := e.sweep(); res != (watch.SweepResult{Failed: 1}) {
				t.Fatalf("sweep: %+v", res)
			}
			d := time.Until(e.entry(w.Watch.ID).Listing.NextLook)
			time.Sleep(d)
			return d.Round(time.Second)
		}
		const interval = 15 * time.Minute
		for i, want := range []time.Duration{interval, 2 * interval, 4 * interval, 8 * interval, 8 * interval} {
			if got := next(errBlocked); got != want {
				t.Errorf("after failure %d: next look in %s, want %s", i+1, got, want)
			}
		}
		if got := next(lastlook.RetryAfter(3*time.Hour, errors.New("429"))); got != 3*time.Hour {
			t.Errorf("asked to wait 3 h: next look in %s", got)
		}
		if got := next(lastlook.RetryAfter(10_000*time.Hour, errors.New("429"))); got != 6*time.Hour {
			t.Errorf("asked to wait a year: next look in %s", got)
		}
		if got := next(watch.ErrMissing); got != time.Minute {
			t.Errorf("missing for the first time: next look in %s", got)
		}
		e.page(1, "600 EUR", watch.InStock)
		e.sweep()
		if l := e.entry(w.Watch.ID).Listing; l.Failures != 0 || !l.NextLook.Equal(lastlook.Micro(time.Now().Add(interval))) {
			t.Errorf("read again: %+v", l)
		}
	})
}

// A page that has failed for long, and that the dispatcher can read again, is
// swept as before.
func TestDispatchersLookEndsTheBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, nil)
		w := e.watch(1, below(t, "500 EUR"))
		e.page(1, "490 EUR", watch.InStock)
		e.sweep()
		e.source.fail(url(1), errBlocked)
		for range 3 {
			time.Sleep(time.Until(e.entry(w.Watch.ID).Listing.NextLook))
			e.sweep()
			e.tick()
		}
		if d := time.Until(e.entry(w.Watch.ID).Listing.NextLook); d < time.Hour {
			t.Fatalf("next look in %s: no backoff to end", d)
		}
		time.Sleep(30 * time.Minute)
		e.page(1, "480 EUR", watch.InStock)
		e.tick()
		e.want(lastlook.StateSent, "")
		if l := e.entry(w.Watch.ID).Listing; time.Until(l.NextLook) > 15*time.Minute || l.Failures != 0 {
			t.Errorf("%+v", l)
		}
	})
}

// One watch that cannot be read: the others of its listing are told, and the
// operator hears of it.
func TestUnreadableWatchIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, nil)
		bad := e.watch(1, below(t, "500 EUR"))
		e.page(1, "490 EUR", watch.InStock)
		e.sweep()
		e.watch(1, below(t, "500 EUR"))
		err := e.db.WithTx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "UPDATE lastlook_watch_watches SET triggers = replace(triggers, 'EUR', 'XQX') WHERE id = ?", bad.Watch.ID)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(15 * time.Minute)
		if res := e.sweep(); res.Enqueued != 1 || !strings.Contains(e.log.String(), bad.Watch.ID) {
			t.Errorf("%+v, log: %s", res, e.log)
		}
		if res := e.tick(); res.Sent != 1 || res.Retried != 1 {
			t.Errorf("%+v", res)
		}
	})
}

// Removed and paused between detection and last look: dropped, also if the one
// who did it died before it could tell the outbox.
func TestRemovedAndPausedAreDropped(t *testing.T) {
	for name, c := range map[string]struct {
		act    func(e *engine, id string)
		reason lastlook.Reason
	}{
		"removed": {func(e *engine, id string) {
			if err := e.store.Remove(e.Context(), time.Now(), id); err != nil {
				e.Fatal(err)
			}
		}, lastlook.ReasonWatchRemoved},
		"paused": {func(e *engine, id string) { e.update(id, func(w *watch.Watch) { w.Paused = true }) }, lastlook.ReasonListingPaused},
	} {
		for _, drop := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, drop %v", name, drop), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					e := newEngine(t, nil)
					w := e.watch(1, below(t, "500 EUR"))
					e.page(1, "498 EUR", watch.InStock)
					e.sweep()
					looks := e.source.looked(url(1))
					c.act(e, w.Watch.ID)
					if drop {
						if n, err := e.outbox.DropSubject(t.Context(), watch.TopicName, w.Watch.ID, c.reason); err != nil || n != 1 {
							t.Errorf("dropped %d, %v", n, err)
						}
					}
					e.tick()
					e.want(lastlook.StateDropped, c.reason)
					time.Sleep(time.Hour)
					e.sweep()
					e.tick()
					if len(e.told()) != 0 || e.source.looked(url(1)) != looks || len(e.rows()) != 1 {
						t.Errorf("told %q, looked %d times, %d rows", e.told(), e.source.looked(url(1)), len(e.rows()))
					}
				})
			})
		}
	}
}

// Paused while it is being looked at: the next claim drops it.
func TestPausedDuringTheLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, nil)
		w := e.watch(1, below(t, "500 EUR"))
		e.page(1, "498 EUR", watch.InStock)
		e.sweep()
		e.source.answer(url(1), func(context.Context) (watch.Observation, error) {
			e.update(w.Watch.ID, func(w *watch.Watch) { w.Paused = true })
			return *seen(t, time.Time{}, "498 EUR", watch.InStock), nil
		})
		e.tick()
		time.Sleep(time.Minute)
		e.tick()
		e.want(lastlook.StateDropped, lastlook.ReasonListingPaused)
		if len(e.told()) != 0 {
			t.Errorf("told %q", e.told())
		}
	})
}

// Removed while a sweep looks at it: nothing to complain of.
func TestRemovedDuringASweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, nil)
		for name, answer := range map[string]error{"read": nil, "failed": errBlocked} {
			w := e.watch(1, below(t, "500 EUR"))
			e.source.answer(url(1), func(context.Context) (watch.Observation, error) {
				if err := e.store.Remove(t.Context(), time.Now(), w.Watch.ID); err != nil {
					t.Error(err)
				}
				return *seen(t, time.Time{}, "498 EUR", watch.InStock), answer
			})
			if _, err := e.svc.Sweep(t.Context(), 10); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if rows := e.rows(); len(rows) != 0 {
			t.Errorf("rows: %+v", rows)
		}
	})
}

// A snooze that begins after the detection holds the row until it ends.
func TestSnoozedAfterDetection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, nil)
		w := e.watch(1, below(t, "500 EUR"))
		e.page(1, "498 EUR", watch.InStock)
		e.sweep()
		until := time.Now().Add(3 * time.Hour)
		e.update(w.Watch.ID, func(w *watch.Watch) { w.SnoozedUntil = until })
		e.tick()
		if r := e.want(lastlook.StatePending, ""); !r.Due.Equal(lastlook.Micro(until)) || r.Attempt != 0 {
			t.Errorf("%+v", r)
		}
		time.Sleep(3 * time.Hour)
		e.tick()
		e.want(lastlook.StateSent, "")
	})
}

func TestSweepAtScale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const pages, workers = scale, 20
		e := newEngine(t, func(w *watch.Config, _ *lastlook.Config) { w.Workers, w.PerHost = workers, workers })
		for n := range pages {
			e.watch(n, below(t, "500 EUR"))
			price := "600 EUR"
			if n%10 == 0 {
				price = "480 EUR"
			}
			o := *seen(t, time.Time{}, price, watch.InStock)
			e.source.answer(url(n), func(ctx context.Context) (watch.Observation, error) {
				select {
				case <-time.After(time.Second):
					return o, nil
				case <-ctx.Done():
					return o, ctx.Err()
				}
			})
		}
		began := time.Now()
		if res := e.sweep(); res != (watch.SweepResult{Looked: pages, Enqueued: pages / 10}) {
			t.Errorf("sweep: %+v", res)
		}
		if d := time.Since(began); d != pages/workers*time.Second || e.source.most != workers {
			t.Errorf("took %s, %d looks at once", d, e.source.most)
		}
		if res := e.sweep(); res != (watch.SweepResult{}) {
			t.Errorf("a second sweep: %+v", res)
		}
		if rows := e.rows(); len(rows) != pages/10 {
			t.Errorf("%d rows", len(rows))
		}
	})
}

func TestSweepStopsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, func(w *watch.Config, _ *lastlook.Config) { w.Workers = 2 })
		for n := range 5 {
			e.watch(n, below(t, "500 EUR"))
			e.source.answer(url(n), func(ctx context.Context) (watch.Observation, error) {
				<-ctx.Done()
				return watch.Observation{}, ctx.Err()
			})
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if res, err := e.svc.Sweep(ctx, 10); !errors.Is(err, context.DeadlineExceeded) || res.Looked != 0 {
			t.Errorf("%+v, %v", res, err)
		}
		due, err := e.store.Due(t.Context(), time.Now(), time.Now(), 10)
		if err != nil || len(due) != 5 || due[0].Failures != 0 {
			t.Errorf("what was not looked at stays due: %+v, %v", due, err)
		}
	})
}

// A page that never answers keeps a worker for a while, not for ever.
func TestSweepGoesOnBesideAPageThatNeverAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, func(w *watch.Config, _ *lastlook.Config) { w.Workers = 1 })
		hanging := e.watch(1, below(t, "500 EUR"))
		e.source.answer(url(1), func(ctx context.Context) (watch.Observation, error) {
			<-ctx.Done()
			return watch.Observation{}, ctx.Err()
		})
		time.Sleep(time.Second)
		e.watch(2, below(t, "500 EUR"))
		e.page(2, "480 EUR", watch.InStock)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		res, err := e.svc.Sweep(ctx, 10)
		if err != nil || res != (watch.SweepResult{Looked: 1, Failed: 1, Enqueued: 1}) {
			t.Errorf("%+v, %v", res, err)
		}
		if l := e.entry(hanging.Watch.ID).Listing; l.Failures != 1 || !strings.Contains(l.LastError, "deadline") {
			t.Errorf("%+v", l)
		}
	})
}

// G9: at the last look too, nobody waits for a stranger until their own value
// is too old to be sent.
func TestSlowPageDoesNotMakeTheOthersTooOld(t *testing.T) {
	for name, hang := range map[string]func(context.Context){
		"honours its context": func(ctx context.Context) { <-ctx.Done() },
		"ignores it":          func(context.Context) { pass(time.Minute) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newEngine(t, nil)
				for n := range 5 {
					e.watch(n, below(t, "500 EUR"))
					e.page(n, "480 EUR", watch.InStock)
				}
				e.sweep()
				e.source.answer(url(0), func(ctx context.Context) (watch.Observation, error) {
					hang(ctx)
					return watch.Observation{}, errors.New("too late")
				})
				e.channel.Respond(func(_ context.Context, d lastlook.Delivery) (lastlook.Receipt, error) {
					// At 10 s it would not be sent at all; the rest is for the
					// write and for other deliveries.
					if age := time.Since(d.LookedAt); age > 9*time.Second {
						t.Errorf("told from a look %s old", age)
					}
					return lastlook.Receipt{}, nil
				})
				if res := e.tick(); res.Sent != 4 || res.Retried != 1 {
					t.Errorf("tick: %+v", res)
				}
				time.Sleep(2 * time.Minute)
			})
		})
	}
}

// More pages than can be looked at while the first look is fresh.
func TestManySlowPagesAreToldInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const pages = 30
		e := newEngine(t, func(w *watch.Config, _ *lastlook.Config) { w.Workers = 4 })
		for n := range pages {
			e.watch(n, below(t, "500 EUR"))
			e.page(n, "480 EUR", watch.InStock)
		}
		e.sweep()
		for n := range pages {
			o := *seen(t, time.Time{}, "480 EUR", watch.InStock)
			e.source.answer(url(n), func(ctx context.Context) (watch.Observation, error) {
				time.Sleep(1500 * time.Millisecond)
				return o, ctx.Err()
			})
		}
		e.channel.Respond(func(_ context.Context, d lastlook.Delivery) (lastlook.Receipt, error) {
			if age := time.Since(d.LookedAt); age > 10*time.Second {
				t.Errorf("told from a look %s old", age)
			}
			return lastlook.Receipt{}, nil
		})
		first := e.tick()
		if first.Sent < 8 {
			t.Errorf("the first batch told %+v", first)
		}
		for range 40 {
			time.Sleep(30 * time.Second)
			e.tick()
		}
		if n := len(e.told()); n != pages {
			t.Errorf("%d told, want %d", n, pages)
		}
	})
}

// Two looks at one listing overlap: the dispatcher's saw the low price first
// and answers last. What a newer look has seen decides.
func TestOverlappingLooks(t *testing.T) {
	for name, c := range map[string]struct {
		slow, fast string
		told       int
		reason     lastlook.Reason
	}{
		"the newer one says lost":  {"480 EUR", "600 EUR", 0, lastlook.ReasonConditionLost},
		"the newer one says holds": {"600 EUR", "470 EUR", 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newEngine(t, nil)
				w := e.watch(1, below(t, "500 EUR"))
				e.page(1, "490 EUR", watch.InStock)
				e.sweep()
				time.Sleep(15 * time.Minute)
				var looks atomic.Int64
				e.source.answer(url(1), func(context.Context) (watch.Observation, error) {
					if looks.Add(1) == 1 {
						time.Sleep(3 * time.Second)
						return *seen(t, time.Time{}, c.slow, watch.InStock), nil
					}
					return *seen(t, time.Time{}, c.fast, watch.InStock), nil
				})
				done := make(chan lastlook.TickResult)
				go func() {
					res, err := e.d.Tick(t.Context())
					if err != nil {
						t.Error(err)
					}
					done <- res
				}()
				time.Sleep(time.Second)
				e.sweep()
				<-done
				rows := e.rows()
				if len(e.told()) != c.told || rows[0].Reason != c.reason {
					t.Errorf("told %q, row %s %s", e.told(), rows[0].State, rows[0].Reason)
				}
				if len(e.told()) == 1 && !strings.HasPrefix(e.told()[0], "470") {
					t.Errorf("told %q", e.told())
				}
				// The episode that the late look knew nothing of goes on.
				time.Sleep(15 * time.Minute)
				e.sweep()
				e.tick()
				if st := e.entry(w.Watch.ID).States["below"]; st.Episode != 1 || len(e.told()) != c.told {
					t.Errorf("%+v, told %q", st, e.told())
				}
			})
		})
	}
}

// A source that can only give an old copy: no message from it.
func TestOldCopyIsNotTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, nil)
		e.watch(1, below(t, "500 EUR"))
		e.page(1, "490 EUR", watch.InStock)
		e.sweep()
		time.Sleep(time.Second)
		for _, age := range []time.Duration{5 * time.Minute, 3 * time.Second} {
			e.source.answer(url(1), func(context.Context) (watch.Observation, error) {
				return *seen(t, time.Now().Add(-age), "490 EUR", watch.InStock), nil
			})
			e.tick()
			e.want(lastlook.StateRetry, "")
			if age == 5*time.Minute {
				e.page(1, "490 EUR", watch.InStock)
				time.Sleep(15 * time.Minute)
				e.sweep()
			}
		}
		// A site's clock that is ahead makes nothing fresher than it is.
		e.source.answer(url(1), func(context.Context) (watch.Observation, error) {
			return *seen(t, time.Now().Add(time.Hour), "490 EUR", watch.InStock), nil
		})
		time.Sleep(time.Hour)
		now := time.Now()
		e.tick()
		if r := e.want(lastlook.StateSent, ""); !r.LookedAt.Equal(lastlook.Micro(now)) {
			t.Errorf("looked at %s, now is %s", r.LookedAt, now)
		}
	})
}

// What a page says cannot push its listing over the outbox's limits.
func TestHugePage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, nil)
		w := e.watch(1, below(t, "500 EUR"))
		o := *seen(t, time.Time{}, "490 EUR", watch.InStock)
		bad := strings.Repeat("\x01", 100_000) // six bytes each, in JSON
		o.Title, o.SKU, o.Image = bad, bad, "data:image/png;base64,"+strings.Repeat("A", 100_000)
		for range 1000 {
			o.Evidence = append(o.Evidence, watch.Evidence{Fact: bad, Where: bad, Text: bad})
		}
		e.source.answer(url(1), func(context.Context) (watch.Observation, error) { return o, nil })
		if res := e.sweep(); res.Enqueued != 1 {
			t.Errorf("sweep: %+v", res)
		}
		e.tick()
		e.want(lastlook.StateSent, "")
		if last := e.entry(w.Watch.ID).Last; len(last.Title) > 600 || last.Image != "" || len(last.Evidence) > 20 {
			t.Errorf("kept %d bytes of title, %d of image, %d pieces of evidence", len(last.Title), len(last.Image), len(last.Evidence))
		}
		e.source.answer(url(1), func(context.Context) (watch.Observation, error) {
			return watch.Observation{}, errors.New(bad)
		})
		time.Sleep(15 * time.Minute)
		e.sweep()
		if l := e.entry(w.Watch.ID).Listing; len(l.LastError) > 600 || l.Failures != 1 {
			t.Errorf("kept %d bytes of error", len(l.LastError))
		}
	})
}

// Nobody knows whether it arrived: the row tries again, with the same key; when
// it has given up, no sweep tells the same episode once more.
func TestMaybeDeliveredIsNotRepeatedBySweeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, nil)
		e.watch(1, below(t, "500 EUR"))
		e.page(1, "490 EUR", watch.InStock)
		e.channel.Respond(func(context.Context, lastlook.Delivery) (lastlook.Receipt, error) {
			return lastlook.Receipt{}, lastlook.Unknown(errors.New("timeout"))
		})
		for range 20 {
			e.sweep()
			e.tick()
			time.Sleep(31 * time.Minute)
		}
		e.want(lastlook.StateFailed, lastlook.ReasonUnknownOutcome)
		keys := map[string]bool{}
		for _, d := range e.channel.Deliveries() {
			keys[d.DeliveryKey] = true
		}
		if n := len(e.told()); n != lastlook.DefaultPolicy().MaxAttempts || len(keys) != 1 || len(e.rows()) != 1 {
			t.Errorf("%d calls with %d keys, %d rows", n, len(keys), len(e.rows()))
		}
		e.channel.Respond(nil)
		e.page(1, "600 EUR", watch.InStock)
		e.sweep()
		time.Sleep(24 * time.Hour)
		e.page(1, "490 EUR", watch.InStock)
		e.sweep()
		time.Sleep(31 * time.Minute) // rows that failed put the next one off
		e.tick()
		e.want(lastlook.StateSent, "")
	})
}

// A source that panics, on a page that nobody foresaw, is one that failed.
func TestPanickingSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, nil)
		w := e.watch(1, below(t, "500 EUR"))
		e.page(1, "490 EUR", watch.InStock)
		e.sweep()
		e.source.answer(url(1), func(context.Context) (watch.Observation, error) { panic("boom") })
		e.tick()
		e.want(lastlook.StateRetry, "")
		time.Sleep(15 * time.Minute)
		if res := e.sweep(); res.Failed != 1 {
			t.Errorf("sweep: %+v", res)
		}
		if l := e.entry(w.Watch.ID).Listing; !strings.Contains(l.LastError, "panicked: boom") {
			t.Errorf("%+v", l)
		}
		e.source.answer(url(1), nil)
	})
}
