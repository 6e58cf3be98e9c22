package lanes

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
)

var t0 = time.Date(2026, 3, 29, 12, 0, 0, 0, time.UTC)

type rig struct {
	*Gate
	now    time.Time
	alerts []State
	lane   lastlook.Lane
}

func newRig(t *testing.T, c Config) *rig {
	t.Helper()
	r := &rig{now: t0, lane: lastlook.Lane{Topic: "t", Channel: "hook", Name: "hook"}}
	c.Alert = func(s State) { r.alerts = append(r.alerts, s) }
	var err error
	if r.Gate, err = New(c); err != nil {
		t.Fatal(err)
	}
	return r
}

// call claims a row, and lets its call come to err.
func (r *rig) call(err error) {
	r.Claimed(r.lane, 1)
	r.observe(err)
}

func (r *rig) observe(err error) {
	r.Observe(lastlook.Transition{At: r.now, Lane: r.lane, Event: lastlook.EventTransient, Called: r.now, Answered: r.now, Err: err})
	r.Released(r.lane, 1)
}

func (r *rig) want(t *testing.T, n int, wait time.Duration, when string) {
	t.Helper()
	gotN, gotWait := r.Admit(r.lane, r.now)
	if gotN != n || gotWait != wait {
		t.Errorf("%s: %d rows, wait %s; want %d, %s", when, gotN, gotWait, n, wait)
	}
}

const all = math.MaxInt32

var errDown = errors.New("connection refused")

func TestBreaker(t *testing.T) {
	r := newRig(t, Config{Failures: 3, Pause: 30 * time.Second, MaxPause: 100 * time.Second})
	r.call(errDown)
	r.call(lastlook.Unknown(errDown))
	r.want(t, all, 0, "after two")
	r.call(nil)
	r.call(errDown)
	r.call(errDown)
	r.want(t, all, 0, "what went well in between counts")
	r.call(lastlook.Permanent(errDown)) // it answers
	for range 3 {
		r.call(errDown)
	}
	r.want(t, 0, 30*time.Second, "open")
	r.call(errDown) // was under way
	r.want(t, 0, 30*time.Second, "still the first time")
	other := lastlook.Lane{Topic: "t", Channel: "hook", Name: "hook:other"}
	if n, _ := r.Admit(other, r.now); n != all {
		t.Errorf("another lane: %d", n)
	}
	for _, wait := range []time.Duration{60, 100, 100} {
		r.now = r.now.Add(200 * time.Second)
		r.want(t, 1, 0, "one tries")
		r.Claimed(r.lane, 1)
		r.want(t, 0, 0, "only one")
		r.observe(errDown)
		r.want(t, 0, wait*time.Second, "longer")
	}
	if s := r.States(); len(s) != 1 || s[0].Status != Broken || s[0].Why != "connection refused" || !s[0].Since.Equal(t0) {
		t.Errorf("states %+v", s)
	}
	r.now = r.now.Add(200 * time.Second)
	r.call(nil)
	r.want(t, all, 0, "closed")
	if fmt.Sprint(statuses(r.alerts)) != "[broken working]" || len(r.States()) != 0 {
		t.Errorf("alerts %v, states %v", r.alerts, r.States())
	}
}

func statuses(list []State) []Status {
	var out []Status
	for _, s := range list {
		out = append(out, s.Status)
	}
	return out
}

func TestRetryAfterHoldsTheLane(t *testing.T) {
	r := newRig(t, Config{HintCap: time.Hour})
	r.call(lastlook.RetryAfter(10*time.Minute, errDown))
	r.call(lastlook.RetryAfter(time.Minute, errDown))
	r.want(t, 0, 10*time.Minute, "the longer wait")
	r.now = r.now.Add(10 * time.Minute)
	r.want(t, all, 0, "after it")
	r.call(nil)
	r.call(lastlook.RetryAfter(48*time.Hour, errDown))
	r.want(t, 0, time.Hour, "capped")
	r.now = r.now.Add(-24 * time.Hour) // the clock was set back
	r.want(t, all, 0, "no wait of a day")
	if got := fmt.Sprint(statuses(r.alerts)); got != "[asked to wait working asked to wait]" {
		t.Errorf("alerts %s", got)
	}
}

func TestParked(t *testing.T) {
	r := newRig(t, Config{Failures: 1})
	r.call(lastlook.Misconfigured(errors.New("HTTP 401")))
	r.call(lastlook.Misconfigured(errors.New("HTTP 401")))
	r.want(t, all, 0, "the wait is the dispatcher's")
	r.call(lastlook.Permanent(errDown))
	if s := r.States(); len(s) != 1 || s[0].Status != Parked || s[0].Since != t0 {
		t.Errorf("%+v", s)
	}
	r.call(nil)
	if got := fmt.Sprint(statuses(r.alerts)); got != "[parked working]" {
		t.Errorf("alerts %s", got)
	}
}

func TestRateAndInFlight(t *testing.T) {
	r := newRig(t, Config{Limits: map[string]Limits{"hook": {Rate: 2, Burst: 3, InFlight: 4}}})
	r.want(t, 3, 0, "the burst")
	r.Claimed(r.lane, 3)
	r.want(t, 0, 500*time.Millisecond, "used up")
	r.now = r.now.Add(time.Second)
	r.want(t, 1, 0, "one more may be in flight")
	r.Released(r.lane, 3)
	r.want(t, 2, 0, "two a second")
	r.Claimed(r.lane, 1)
	r.Observe(lastlook.Transition{At: r.now, Lane: r.lane, Event: lastlook.EventDropped, To: lastlook.StateDropped})
	r.Released(r.lane, 1)
	r.want(t, 2, 0, "what was not told costs nothing")
	r.now = r.now.Add(time.Hour)
	r.want(t, 3, 0, "never more than the burst")
	other := newRig(t, Config{Default: Limits{Rate: 1}})
	other.want(t, 1, 0, "a burst of one")
	for _, c := range []Config{{Default: Limits{Rate: -1}}, {Limits: map[string]Limits{"a": {Rate: math.Inf(1)}}}, {Pause: -1}, {Failures: -1}} {
		if _, err := New(c); !errors.Is(err, ErrInvalid) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestLanesAreForgotten(t *testing.T) {
	r := newRig(t, Config{})
	for i := range 3 * manyLanes {
		r.now = r.now.Add(time.Second)
		r.Admit(lastlook.Lane{Channel: "push", Name: fmt.Sprint("push:", i)}, r.now)
	}
	if n := len(r.lanes); n > 2*manyLanes {
		t.Errorf("%d lanes are kept", n)
	}
}

// A recipient's own settings are refused, time and again: that is nothing of the
// lane's, which others share.
func TestOfTheRecipientAlone(t *testing.T) {
	r := newRig(t, Config{Failures: 3})
	for range 10 {
		r.call(OfRecipient(lastlook.RetryAfter(time.Minute, errDown)))
	}
	r.want(t, all, 0, "after ten of one recipient's own")
	if len(r.alerts) != 0 || len(r.States()) != 0 {
		t.Errorf("alerts %+v, states %+v", r.alerts, r.States())
	}
	if class, after := lastlook.Classify(OfRecipient(lastlook.RetryAfter(time.Minute, errDown))); class != lastlook.ClassTransient || after != time.Minute {
		t.Errorf("classified %s, %s", class, after)
	}
	if err := OfRecipient(errDown); !errors.Is(err, errDown) || err.Error() != errDown.Error() {
		t.Errorf("it is another error: %v", err)
	}
	// It answers, so what the lane failed at before is over; but it says nothing
	// for credentials that are refused.
	r.call(errDown)
	r.call(errDown)
	r.call(OfRecipient(errDown))
	r.call(errDown)
	r.want(t, all, 0, "not three in a row")
	r.call(lastlook.Misconfigured(errDown))
	r.call(OfRecipient(errDown))
	if s := r.States(); len(s) != 1 || s[0].Status != Parked {
		t.Errorf("the states are %+v, want one parked", s)
	}
}
