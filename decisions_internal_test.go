package lastlook

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestBackoff(t *testing.T) {
	p := DefaultPolicy()
	for n, want := range map[int]time.Duration{-1: 30 * time.Second, 0: 30 * time.Second, 1: time.Minute, 5: 16 * time.Minute,
		6: 30 * time.Minute, 60: 30 * time.Minute, math.MaxInt: 30 * time.Minute} {
		if got := backoff(n, p); got != want {
			t.Errorf("backoff(%d) = %s, want %s", n, got, want)
		}
	}
}

func TestNextIsNeverInThePastAndWithinItsCaps(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		p, err := Policy{
			BackoffBase: time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "base")),
			BackoffCap:  time.Duration(rapid.Int64Range(1, math.MaxInt64).Draw(t, "cap")),
			Jitter:      rapid.Float64Range(0.01, 1).Draw(t, "jitter"),
		}.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		attempt := rapid.IntRange(1, math.MaxInt32).Draw(t, "attempt")
		hint := time.Duration(rapid.Int64Range(0, math.MaxInt64).Draw(t, "hint"))
		n := p.next(now, attempt, hint, rapid.Float64Range(0, 0.999999).Draw(t, "random"))
		wait := n.Due.Sub(now)
		if wait < 0 || wait > max(p.BackoffCap, p.HintCap) || wait < min(hint, p.HintCap) {
			t.Fatalf("wait %s (hint %s, cap %s)", wait, hint, p.BackoffCap)
		}
		if n.Last != (attempt >= p.MaxAttempts) {
			t.Fatalf("attempt %d of %d: last is %v", attempt, p.MaxAttempts, n.Last)
		}
	})
}

func TestJitterTakesOffAFifthAtMost(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	p := DefaultPolicy()
	if got := p.next(now, 1, 0, 0).Due.Sub(now); got != 30*time.Second {
		t.Errorf("without jitter: %s", got)
	}
	if got := p.next(now, 1, 0, 0.999999).Due.Sub(now); got < 24*time.Second || got > 25*time.Second {
		t.Errorf("with the most jitter: %s", got)
	}
	if got := p.next(now, 1, 10*time.Hour, 0).Due.Sub(now); got != 6*time.Hour {
		t.Errorf("a hint of 10 h: %s, want the 6 h cap", got)
	}
}

func TestPolicyValidation(t *testing.T) {
	for name, p := range map[string]Policy{
		"negative attempts": {MaxAttempts: -1}, "negative lease": {Lease: -time.Second}, "jitter": {Jitter: 2},
		"call outlives lease": {CallTimeout: time.Minute}, "looks outlive lease": {LookTimeout: 40 * time.Second}, "guarantee": {Guarantee: 7},
	} {
		if _, err := p.withDefaults(); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	p, err := Policy{Jitter: -1}.withDefaults()
	if err != nil || p.Jitter != 0 {
		t.Errorf("no jitter: %v, %v", p.Jitter, err)
	}
}

func TestStoryIsBounded(t *testing.T) {
	r := Row{ID: 1, State: StatePending}
	for i := range 1000 {
		r.addStep(Step{Attempt: i, Error: strings.Repeat("é", 1000), Value: []byte(`"` + strings.Repeat("v", 5000) + `"`)})
	}
	if len(r.Story) != maxSteps {
		t.Fatalf("%d steps", len(r.Story))
	}
	skipped := 0
	for i, s := range r.Story {
		skipped += s.Skipped
		if i < keepFirst && s.Attempt != i {
			t.Errorf("step %d is of attempt %d: the first ones must stay", i, s.Attempt)
		}
		if len(s.Error) > maxStepText || !utf8.ValidString(s.Error) {
			t.Errorf("step %d: error of %d bytes, valid %v", i, len(s.Error), utf8.ValidString(s.Error))
		}
		if string(s.Value) != `{"elided_bytes":5002}` {
			t.Errorf("step %d: value %s", i, s.Value)
		}
	}
	if r.Story[maxSteps-1].Attempt != 999 || skipped != 1000-maxSteps {
		t.Errorf("last step is of attempt %d, %d skipped", r.Story[maxSteps-1].Attempt, skipped)
	}
	b, err := encodeStory(r.Story)
	if err != nil || len(b) > 32<<10 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
}

func TestRowCopiesDoNotShareTheirStory(t *testing.T) {
	r := Row{State: StatePending}
	r.addStep(Step{Error: "first"})
	a, b := r, r
	a.addStep(Step{Error: "a"})
	b.addStep(Step{Error: "b"})
	if a.Story[1].Error != "a" || b.Story[1].Error != "b" || len(r.Story) != 1 {
		t.Errorf("%+v %+v", a.Story, b.Story)
	}
}

func TestStoryOfUnreadable(t *testing.T) {
	steps := StoryOf([]byte(`[{"at":7}]`), StateRetry, 1, Assertion{})
	if len(steps) != 1 || steps[0].Event != "unreadable" || steps[0].Error == "" {
		t.Errorf("%+v", steps)
	}
}

func TestPlanSharesRoom(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	state := func(lane string, prio Priority, due time.Duration) LaneState {
		return LaneState{Lane: Lane{Topic: "t", Channel: "c", Name: lane, Priority: prio}, Due: now.Add(due)}
	}
	room := func(n map[string]int) laneRoom {
		return func(l Lane) (int, time.Time) { return n[l.Name], now.Add(time.Minute) }
	}
	pol := func(string) Policy { return DefaultPolicy() }
	show := func(p plan) string {
		var s strings.Builder
		for _, c := range p.claims {
			s.WriteString(fmt.Sprintf("%s/%d:%d ", c.Lane.Name, c.Lane.Priority, c.N))
		}
		return strings.TrimSpace(s.String())
	}
	for _, tc := range []struct {
		name   string
		states []LaneState
		total  int
		room   map[string]int
		want   string
		wake   time.Duration
		held   bool
	}{
		{"nothing due", []LaneState{state("a", 0, time.Hour)}, 100, map[string]int{"a": 100}, "", time.Hour, false},
		{"even shares", []LaneState{state("a", 0, 0), state("b", 0, 0), state("c", 0, 0)}, 100, map[string]int{"a": 100, "b": 100, "c": 100}, "a/0:34 b/0:33 c/0:33", 0, false},
		{"a small lane's rest goes to the others", []LaneState{state("a", 0, 0), state("b", 0, 0)}, 100, map[string]int{"a": 2, "b": 100}, "a/0:2 b/0:98", 0, false},
		{"a closed lane holds nobody up", []LaneState{state("dead", 0, -time.Hour), state("b", 0, 0)}, 100, map[string]int{"b": 100}, "b/0:100", time.Minute, false},
		{"high priority first", []LaneState{state("a", 0, -time.Hour), state("b", 1, 0)}, 1, map[string]int{"a": 5, "b": 5}, "b/1:1", 0, true},
		{"priorities share their lane's room by weight", []LaneState{state("a", 1, 0), state("a", 0, 0)}, 100, map[string]int{"a": 10}, "a/1:8 a/0:2", 0, false},
		{"no room in all", []LaneState{state("a", 0, 0)}, 0, map[string]int{"a": 10}, "", 0, true},
		{"over-full", []LaneState{state("a", 0, 0)}, -7, map[string]int{"a": 10}, "", 0, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := planClaims(now, tc.states, tc.total, room(tc.room), pol)
			if show(p) != tc.want || p.held != tc.held {
				t.Errorf("got %q held %v, want %q held %v", show(p), p.held, tc.want, tc.held)
			}
			if want := (time.Time{}); tc.wake != 0 {
				want = now.Add(tc.wake)
				if !p.wakeAt.Equal(want) {
					t.Errorf("wakes at %v, want %v", p.wakeAt, want)
				}
			} else if !p.wakeAt.IsZero() {
				t.Errorf("wakes at %v", p.wakeAt)
			}
		})
	}
}
