package lastlook_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
)

var t0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// legal is DESIGN §2 once more, written by hand: from, event, to.
var legal = []struct {
	number int
	from   lastlook.State
	event  lastlook.Event
	to     lastlook.State
}{
	{1, lastlook.StateNone, lastlook.EventEnqueued, lastlook.StatePending},
	{2, lastlook.StatePending, lastlook.EventSending, lastlook.StateSending},
	{3, lastlook.StatePending, lastlook.EventDropped, lastlook.StateDropped},
	{4, lastlook.StatePending, lastlook.EventPostponed, lastlook.StatePending},
	{5, lastlook.StatePending, lastlook.EventLookUnknown, lastlook.StateRetry},
	{6, lastlook.StateSending, lastlook.EventAccepted, lastlook.StateSent},
	{7, lastlook.StateSending, lastlook.EventTransient, lastlook.StateRetry},
	{8, lastlook.StateSending, lastlook.EventNotCalled, lastlook.StateRetry},
	{9, lastlook.StateSending, lastlook.EventMisconfigured, lastlook.StateRetry},
	{10, lastlook.StateSending, lastlook.EventOutcomeUnknown, lastlook.StateRetry},
	{11, lastlook.StateSending, lastlook.EventGaveUpUnknown, lastlook.StateFailed},
	{12, lastlook.StateSending, lastlook.EventRecipientGone, lastlook.StateDropped},
	{13, lastlook.StateSending, lastlook.EventRejected, lastlook.StateFailed},
	{14, lastlook.StateRetry, lastlook.EventClaimed, lastlook.StatePending},
	{15, lastlook.StateRetry, lastlook.EventExhausted, lastlook.StateFailed},
	{16, lastlook.StatePending, lastlook.EventSwept, lastlook.StateFailed},
	{17, lastlook.StatePending, lastlook.EventWithdrawn, lastlook.StateDropped},
	{17, lastlook.StateRetry, lastlook.EventWithdrawn, lastlook.StateDropped},
}

func TestRulesAreTheDesign(t *testing.T) {
	want := 0
	for _, r := range lastlook.Rules() {
		for _, from := range r.From {
			want++
			ok := slices.ContainsFunc(legal, func(l struct {
				number int
				from   lastlook.State
				event  lastlook.Event
				to     lastlook.State
			}) bool {
				return l.number == r.Number && l.from == from && l.event == r.Event && l.to == r.To
			})
			if !ok {
				t.Errorf("rule %d takes %q by %q to %q, which the design does not have", r.Number, from, r.Event, r.To)
			}
		}
	}
	if want != len(legal) {
		t.Errorf("the table has %d transitions, the design %d", want, len(legal))
	}
}

func rowIn(state lastlook.State, g lastlook.Guarantee) lastlook.Row {
	r := lastlook.Row{
		ID: 7, Key: lastlook.Key{Topic: "t", Subject: "s", Recipient: "r", Channel: "c"}, State: state,
		Attempt: 3, Due: t0.Add(-time.Minute), Token: lastlook.Token{1}, Lease: t0.Add(time.Minute),
		KeyRow: lastlook.KeyRow{ID: 9, Seq: 4},
	}
	if state == lastlook.StateSending {
		r.Assertion = lastlook.Assertion{Value: json.RawMessage(`1`), LookedAt: t0, Window: lastlook.Window{Policy: "once"}, Seq: 5, Guarantee: g}
	}
	return r
}

// constructors makes, per event, the change by the exported constructor.
// Events 1 and 14 are the store's (Enqueue, Claim), 15 comes with 5, 7 and 10.
var constructors = map[lastlook.Event]func(*lastlook.Row) (lastlook.Change, error){
	lastlook.EventSending: func(r *lastlook.Row) (lastlook.Change, error) {
		return r.Sending(t0, lastlook.Assertion{Value: json.RawMessage(`1`), LookedAt: t0, Seq: 5}, t0.Add(time.Minute))
	},
	lastlook.EventDropped: func(r *lastlook.Row) (lastlook.Change, error) {
		return r.Drop(t0, lastlook.ReasonConditionLost, lastlook.Outcome{Value: json.RawMessage(`2`)})
	},
	lastlook.EventPostponed: func(r *lastlook.Row) (lastlook.Change, error) {
		return r.Postpone(t0, t0.Add(time.Hour), lastlook.Outcome{})
	},
	lastlook.EventLookUnknown: func(r *lastlook.Row) (lastlook.Change, error) {
		return r.LookUnknown(t0, lastlook.Next{Due: t0.Add(time.Hour)}, lastlook.ReasonLookUnavailable, lastlook.Outcome{})
	},
	lastlook.EventAccepted: func(r *lastlook.Row) (lastlook.Change, error) { return r.Accepted(t0, lastlook.Outcome{}) },
	lastlook.EventTransient: func(r *lastlook.Row) (lastlook.Change, error) {
		return r.Transient(t0, lastlook.Next{Due: t0.Add(time.Hour)}, lastlook.Outcome{})
	},
	lastlook.EventNotCalled: func(r *lastlook.Row) (lastlook.Change, error) { return r.NotCalled(t0, lastlook.Outcome{}) },
	lastlook.EventMisconfigured: func(r *lastlook.Row) (lastlook.Change, error) {
		return r.Misconfigured(t0, t0.Add(time.Hour), lastlook.Outcome{})
	},
	lastlook.EventOutcomeUnknown: func(r *lastlook.Row) (lastlook.Change, error) {
		r.Assertion.Guarantee = lastlook.AtLeastOnce
		return r.OutcomeUnknown(t0, lastlook.Next{Due: t0.Add(time.Hour)}, lastlook.Outcome{})
	},
	lastlook.EventGaveUpUnknown: func(r *lastlook.Row) (lastlook.Change, error) {
		r.Assertion.Guarantee = lastlook.AtMostOnce
		return r.OutcomeUnknown(t0, lastlook.Next{Due: t0.Add(time.Hour)}, lastlook.Outcome{})
	},
	lastlook.EventRecipientGone: func(r *lastlook.Row) (lastlook.Change, error) { return r.RecipientGone(t0, lastlook.Outcome{}) },
	lastlook.EventRejected:      func(r *lastlook.Row) (lastlook.Change, error) { return r.Rejected(t0, lastlook.Outcome{}) },
	lastlook.EventSwept:         func(r *lastlook.Row) (lastlook.Change, error) { return r.SweepExhausted(t0) },
	lastlook.EventWithdrawn: func(r *lastlook.Row) (lastlook.Change, error) {
		return r.Withdraw(t0, lastlook.ReasonCancelled, "operator")
	},
}

func TestEveryStateAndEvent(t *testing.T) {
	for _, state := range lastlook.States() {
		for event, construct := range constructors {
			r := rowIn(state, lastlook.AtLeastOnce)
			c, err := construct(&r)
			i := slices.IndexFunc(lastlook.Rules(), func(r lastlook.Rule) bool {
				return r.Event == event && slices.Contains(r.From, state)
			})
			if i < 0 {
				if !errors.Is(err, lastlook.ErrIllegal) {
					t.Errorf("%q by %q: got %v, want ErrIllegal", state, event, err)
				}
				if c.ID != 0 {
					t.Errorf("%q by %q: an illegal change came out", state, event)
				}
				continue
			}
			rule := lastlook.Rules()[i]
			if err != nil {
				t.Errorf("%q by %q: %v", state, event, err)
				continue
			}
			checkChange(t, rule, state, c)
		}
	}
}

func checkChange(t *testing.T, rule lastlook.Rule, from lastlook.State, c lastlook.Change) {
	t.Helper()
	fence := rule.Fence
	if rule.Event == lastlook.EventSwept {
		fence = rule.ReaperFence
	}
	attempt := 3
	if rule.Attempt == lastlook.AttemptGiveBack {
		attempt = 2
	}
	if c.ID != 7 || c.KeyID != 9 || c.From != from || c.To != rule.To || c.Event != rule.Event || c.Fence != fence || c.Attempt != attempt || c.Key != rule.Key || c.Token != (lastlook.Token{1}) || !c.At.Equal(t0) {
		t.Errorf("rule %d from %q: got %+v", rule.Number, from, c)
	}
	if c.Ends() != !rule.To.Live() || c.Mute != (rule.Number == 12) {
		t.Errorf("rule %d: ends=%v mute=%v", rule.Number, c.Ends(), c.Mute)
	}
	if len(rule.Reasons) > 0 {
		info, ok := c.Reason.Info()
		if !ok || !slices.Contains(rule.Reasons, c.Reason) || c.AddFailure != info.Delays || info.State != rule.To {
			t.Errorf("rule %d: reason %q, add failure %v", rule.Number, c.Reason, c.AddFailure)
		}
	} else if c.Reason != "" || c.AddFailure {
		t.Errorf("rule %d: reason %q, add failure %v", rule.Number, c.Reason, c.AddFailure)
	}
	switch rule.Number {
	case 2:
		if c.Story != nil || !c.Lease.Equal(t0.Add(time.Minute)) {
			t.Errorf("rule 2: story %q, lease %v", c.Story, c.Lease)
		}
	case 8:
		if !c.Due.Equal(t0) {
			t.Errorf("rule 8 is due at %v, want now", c.Due)
		}
	case 4, 5, 7, 9, 10:
		if !c.Due.Equal(t0.Add(time.Hour)) {
			t.Errorf("rule %d is due at %v", rule.Number, c.Due)
		}
	}
	if rule.Number != 2 {
		steps := lastlook.StoryOf(c.Story, c.To, 3, lastlook.Assertion{})
		if len(steps) != 1 || steps[0].Event != rule.Event || steps[0].State != rule.To || steps[0].Attempt != 3 || steps[0].Reason != c.Reason {
			t.Errorf("rule %d: story %+v", rule.Number, steps)
		}
	}
}

func TestLastAttemptFailsInOneWrite(t *testing.T) {
	last := lastlook.Next{Due: t0.Add(time.Hour), Last: true}
	for name, tc := range map[string]struct {
		from lastlook.State
		do   func(*lastlook.Row) (lastlook.Change, error)
		want lastlook.Reason
		key  lastlook.KeyEffect
	}{
		"look": {lastlook.StatePending, func(r *lastlook.Row) (lastlook.Change, error) {
			return r.LookUnknown(t0, last, lastlook.ReasonLookUnavailable, lastlook.Outcome{Err: "503"})
		}, lastlook.ReasonLookUnavailable, lastlook.KeyKeep},
		"undecodable": {lastlook.StatePending, func(r *lastlook.Row) (lastlook.Change, error) {
			return r.LookUnknown(t0, last, lastlook.ReasonBadPayload, lastlook.Outcome{Err: "bad"})
		}, lastlook.ReasonBadPayload, lastlook.KeyKeep},
		"transient": {lastlook.StateSending, func(r *lastlook.Row) (lastlook.Change, error) {
			return r.Transient(t0, last, lastlook.Outcome{Err: "503"})
		}, lastlook.ReasonAttemptsExhausted, lastlook.KeyKeep},
		"unknown": {lastlook.StateSending, func(r *lastlook.Row) (lastlook.Change, error) {
			return r.OutcomeUnknown(t0, last, lastlook.Outcome{Err: "timeout"})
		}, lastlook.ReasonUnknownOutcome, lastlook.KeyMaybe},
		"reaped": {lastlook.StateSending, func(r *lastlook.Row) (lastlook.Change, error) {
			return r.Reap(t0, last)
		}, lastlook.ReasonUnknownOutcome, lastlook.KeyMaybe},
	} {
		t.Run(name, func(t *testing.T) {
			r := rowIn(tc.from, lastlook.AtLeastOnce)
			c, err := tc.do(&r)
			if err != nil {
				t.Fatal(err)
			}
			if c.To != lastlook.StateFailed || c.Reason != tc.want || !c.AddFailure || c.Key != tc.key || c.From != tc.from {
				t.Errorf("got %+v", c)
			}
			steps := lastlook.StoryOf(c.Story, c.To, 3, lastlook.Assertion{})
			if len(steps) != 2 || steps[0].State != lastlook.StateRetry || steps[1].Event != lastlook.EventExhausted || steps[1].Reason != tc.want {
				t.Errorf("story %+v", steps)
			}
		})
	}
}

func TestReapIsFencedByTheDeadLease(t *testing.T) {
	for _, g := range []lastlook.Guarantee{lastlook.AtLeastOnce, lastlook.AtMostOnce} {
		r := rowIn(lastlook.StateSending, g)
		c, err := r.Reap(t0, lastlook.Next{Due: t0})
		if err != nil {
			t.Fatal(err)
		}
		if c.Fence != lastlook.FenceTokenDead || c.Key != lastlook.KeyMaybe {
			t.Errorf("guarantee %d: fence %d, key effect %d", g, c.Fence, c.Key)
		}
	}
}

func TestReasonsBelongToRules(t *testing.T) {
	// A reason that no rule allows could never be given; a reason on a rule
	// that leads to another final state would lie.
	seen := map[lastlook.Reason]bool{}
	for _, rule := range lastlook.Rules() {
		for _, reason := range rule.Reasons {
			info, ok := reason.Info()
			if !ok || info.State != rule.To {
				t.Errorf("rule %d: reason %q leads to %q", rule.Number, reason, rule.To)
			}
			seen[reason] = true
		}
	}
	for _, info := range lastlook.Reasons() {
		if !seen[info.Reason] {
			t.Errorf("no rule gives reason %q", info.Reason)
		}
		if info.Meaning == "" || info.Do == "" {
			t.Errorf("reason %q is not documented", info.Reason)
		}
	}
	if _, ok := lastlook.Reason("bored").Info(); ok {
		t.Error("the list of reasons is not closed")
	}
}

func TestWrongReasonIsIllegal(t *testing.T) {
	r := rowIn(lastlook.StatePending, lastlook.AtLeastOnce)
	if _, err := r.Drop(t0, lastlook.ReasonCancelled, lastlook.Outcome{}); !errors.Is(err, lastlook.ErrIllegal) {
		t.Errorf("drop for a withdrawal's reason: %v", err)
	}
	r = rowIn(lastlook.StatePending, lastlook.AtLeastOnce)
	if _, err := r.LookUnknown(t0, lastlook.Next{Last: true}, lastlook.ReasonRejected, lastlook.Outcome{}); !errors.Is(err, lastlook.ErrIllegal) {
		t.Errorf("exhausted for a rejection's reason: %v", err)
	}
}

func TestStateText(t *testing.T) {
	for _, s := range lastlook.States() {
		b, err := s.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var back lastlook.State
		if err := back.UnmarshalText(b); err != nil || back != s {
			t.Errorf("%v came back as %v, %v", s, back, err)
		}
	}
	var s lastlook.State
	if err := s.UnmarshalText([]byte("asleep")); !errors.Is(err, lastlook.ErrInvalid) {
		t.Errorf("unknown state: %v", err)
	}
}
