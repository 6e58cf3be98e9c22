package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
)

var storyNow = time.Date(2026, 12, 1, 3, 0, 0, 0, time.UTC)

func storyTeller() teller {
	p := &printer{now: func() time.Time { return storyNow }}
	return teller{now: storyNow, when: p.when}
}

// Every event of the state machine is told in words of its own.
func TestEveryEventHasWords(t *testing.T) {
	seen := map[string]lastlook.Event{}
	for _, rule := range lastlook.Rules() {
		if rule.Event == lastlook.EventEnqueued || rule.Event == lastlook.EventClaimed {
			continue // no step of a story has these
		}
		s := lastlook.Step{At: storyNow, Event: rule.Event, State: rule.To, Attempt: 3, By: "reaper", Answer: "200 OK"}
		if len(rule.Reasons) > 0 {
			s.Reason = rule.Reasons[0]
		}
		text := storyTeller().step("t", &s)
		if !strings.HasPrefix(text, "attempt 3: ") || !strings.HasSuffix(text, "; answer: 200 OK (by reaper)") {
			t.Errorf("%s: %q", rule.Event, text)
		}
		if s.Reason != "" && !strings.Contains(text, string(s.Reason)) && rule.Event != lastlook.EventRecipientGone && rule.Event != lastlook.EventRejected && rule.Event != lastlook.EventGaveUpUnknown {
			t.Errorf("%s: the reason is not in %q", rule.Event, text)
		}
		if other, ok := seen[text]; ok {
			t.Errorf("%s and %s read alike: %q", rule.Event, other, text)
		}
		seen[text] = rule.Event
		if strings.HasPrefix(text, "attempt 3: "+string(rule.Event)+";") {
			t.Errorf("%s is told by its name alone: %q", rule.Event, text)
		}
	}
}

func TestALookIsToldWithItsValueAndAge(t *testing.T) {
	s := lastlook.Step{At: storyNow, Event: lastlook.EventDropped, Reason: lastlook.ReasonConditionLost, Attempt: 1,
		LookedAt: storyNow.Add(-120 * time.Millisecond), Value: json.RawMessage(`{"price": 598}`), Error: "598 is not below 500"}
	want := `attempt 1: looked, 120ms before: {"price":598}; not told, condition_lost: 598 is not below 500`
	if got := storyTeller().step("orders", &s); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	s.Value, s.LookedAt, s.Error, s.Reason = nil, time.Time{}, "", lastlook.ReasonMuted
	if got := storyTeller().step("orders", &s); got != "attempt 1: dropped before looking: muted" {
		t.Errorf("got %s", got)
	}
}

func TestNext(t *testing.T) {
	hour := time.Hour
	base := lastlook.Record{ID: 7, Key: lastlook.Key{Topic: "watch", Channel: "phone"}, ExpiresAt: storyNow.Add(hour), Due: storyNow.Add(-2 * time.Minute)}
	with := func(change func(*lastlook.Record)) *lastlook.Record {
		r := base
		change(&r)
		return &r
	}
	for name, c := range map[string]struct {
		r      *lastlook.Record
		known  bool
		want   string
		expiry bool
	}{
		"due":       {with(func(r *lastlook.Record) { r.State = lastlook.StatePending }), true, "became due 2m ago", true},
		"waiting":   {with(func(r *lastlook.Record) { r.State, r.Attempt, r.Due = lastlook.StateRetry, 2, storyNow.Add(hour) }), true, "attempt 3 of at most 10, in 1h", true},
		"at work":   {with(func(r *lastlook.Record) { r.State, r.Leased = lastlook.StatePending, storyNow.Add(time.Minute) }), true, "another takes over in 1m", true},
		"sending":   {with(func(r *lastlook.Record) { r.State, r.Leased = lastlook.StateSending, storyNow.Add(time.Minute) }), true, "counts as perhaps delivered", true},
		"stranger":  {with(func(r *lastlook.Record) { r.State = lastlook.StatePending }), false, `through channel "phone"`, true},
		"marks":     {with(func(r *lastlook.Record) { r.State, r.Marks = lastlook.StatePending, 2 }), true, "2 newer detections", true},
		"sent":      {with(func(r *lastlook.Record) { r.State = lastlook.StateSent }), true, "it was told", false},
		"withheld":  {with(func(r *lastlook.Record) { r.State, r.Reason = lastlook.StateDropped, lastlook.ReasonConditionLost }), true, "rightly withheld", false},
		"failed":    {with(func(r *lastlook.Record) { r.State, r.Reason = lastlook.StateFailed, lastlook.ReasonRejected }), true, "lastlook outbox retry 7", false},
		"perhaps":   {with(func(r *lastlook.Record) { r.State, r.KeyRow = lastlook.StateFailed, &lastlook.KeyRow{ToldBy: 7} }), true, "--may-repeat", false},
		"not maybe": {with(func(r *lastlook.Record) { r.State, r.KeyRow = lastlook.StateFailed, &lastlook.KeyRow{ToldBy: 6} }), true, "retry 7", false},
	} {
		got := strings.Join(storyTeller().next(c.r, c.known), "\n")
		if !strings.Contains(got, c.want) || strings.Contains(got, "dropped as expired") != c.expiry {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
		if name == "not maybe" && strings.Contains(got, "--may-repeat") {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

func TestNextKnowsWhatIsAround(t *testing.T) {
	due := &lastlook.Record{ID: 7, State: lastlook.StatePending, Key: lastlook.Key{Topic: "watch", Subject: "w_a", Recipient: "bob", Channel: "phone"}, Due: storyNow.Add(-time.Minute)}
	fresh := *due
	fresh.Due = storyNow.Add(-time.Second)
	ended := func(reason lastlook.Reason, k *lastlook.KeyRow) *lastlook.Record {
		return &lastlook.Record{ID: 7, Key: due.Key, State: lastlook.StateDropped, Reason: reason, KeyRow: k}
	}
	maybe := &lastlook.KeyRow{Maybe: json.RawMessage(`1`), ToldBy: 7}
	another := &lastlook.KeyRow{Maybe: json.RawMessage(`1`), ToldBy: 6}
	for name, c := range map[string]struct {
		t    teller
		r    *lastlook.Record
		want string
		not  string
	}{
		"nobody serves": {teller{}, due, "start one", "parked"},
		"late":          {teller{serving: true, trouble: "401 Unauthorized"}, due, "parked or held back, which serve's log says; the last trouble through phone: 401 Unauthorized", "start one"},
		"just due":      {teller{serving: true}, &fresh, "the lastlook that runs takes it within seconds", "parked"},
		"paused, maybe": {teller{}, ended(lastlook.ReasonListingPaused, maybe), "it may have arrived, so it isn't told again in this episode", "resume"},
		"paused":        {teller{}, ended(lastlook.ReasonListingPaused, another), "resume it", "arrived"},
		"gone":          {teller{}, ended(lastlook.ReasonRecipientGone, nil), "lastlook channel unmute phone --recipient bob", ""},
		"cancelled":     {teller{watched: true}, ended(lastlook.ReasonCancelled, nil), "lastlook watch pause w_a", ""},
		"stays away":    {teller{}, ended(lastlook.ReasonCancelled, nil), "nothing", "pause"},
	} {
		c.t.now, c.t.when = storyNow, storyTeller().when
		got := strings.Join(c.t.next(c.r, true), "\n")
		if !strings.Contains(got, c.want) || c.not != "" && strings.Contains(got, c.not) {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

func TestTheWordForTold(t *testing.T) {
	maybe := &lastlook.KeyRow{Maybe: json.RawMessage(`1`), ToldBy: 7}
	for want, r := range map[string]lastlook.Record{
		"told":            {ID: 7, State: lastlook.StateSent},
		"is telling":      {ID: 7, State: lastlook.StateSending, KeyRow: maybe},
		"perhaps told":    {ID: 7, State: lastlook.StateFailed, KeyRow: maybe},
		"tried to tell":   {ID: 7, State: lastlook.StateRetry},
		"would have told": {ID: 8, State: lastlook.StateDropped, KeyRow: maybe},
	} {
		if got := toldWord(&r); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestHeadlines(t *testing.T) {
	for _, s := range lastlook.States()[1:] {
		if got := headline(&lastlook.Record{ID: 1, State: s}); got == "notification 1" {
			t.Errorf("%s has no words", s)
		}
	}
	for _, info := range lastlook.Reasons() {
		got := headline(&lastlook.Record{State: info.State, Reason: info.Reason})
		if strings.Contains(got, "rightly withheld") != info.Verdict {
			t.Errorf("%s: %q", info.Reason, got)
		}
	}
}

func TestTheKeyRowIsTold(t *testing.T) {
	r := &lastlook.Record{Key: lastlook.Key{Topic: "t"}, KeyRow: &lastlook.KeyRow{
		Baseline: json.RawMessage(`480`), BaselineAt: storyNow.Add(-time.Hour), Maybe: json.RawMessage(`470`),
		Told: lastlook.Window{Policy: "once"}, ToldBy: 3, ToldAt: storyNow, Failures: 2,
		Last: lastlook.End{ID: 4, State: lastlook.StateFailed, Reason: lastlook.ReasonRejected, At: storyNow},
	}}
	got := strings.Join(storyTeller().keyRow(r), "|")
	for _, want := range []string{"last told|480, 1h ago", "perhaps told|470", "window told|once, by notification 3", "notification 4, failed rejected", "2 notifications"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
	if got := storyTeller().keyRow(&lastlook.Record{}); got != nil {
		t.Errorf("no key row: %v", got)
	}
}
