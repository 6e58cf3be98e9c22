package lastlook

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// What is written by hand reads back as what json.Marshal writes.
func TestEncodeStory(t *testing.T) {
	text := rapid.StringOfN(rapid.SampledFrom([]rune("ab \"\\<é\u2028\n\x00世")), 0, 8, -1)
	at := rapid.Custom(func(rt *rapid.T) time.Time {
		return time.UnixMicro(rapid.Int64Range(0, 253402300799999999).Draw(rt, "at")).UTC()
	})
	step := rapid.Custom(func(rt *rapid.T) Step {
		s := Step{At: at.Draw(rt, "at"), Event: Event(text.Draw(rt, "event")), State: State(rapid.IntRange(1, 6).Draw(rt, "state")),
			Attempt: rapid.IntRange(0, 99).Draw(rt, "attempt"), Reason: Reason(text.Draw(rt, "reason")), Error: text.Draw(rt, "error"),
			Answer: text.Draw(rt, "answer"), By: text.Draw(rt, "by"), Skipped: rapid.IntRange(0, 3).Draw(rt, "skipped")}
		if rapid.Bool().Draw(rt, "looked") {
			s.LookedAt = at.Draw(rt, "looked at")
		}
		if rapid.Bool().Draw(rt, "value") {
			b, err := json.Marshal(value(rt, 2))
			if err != nil {
				rt.Fatal(err)
			}
			s.Value = b
		}
		return s
	})
	rapid.Check(t, func(rt *rapid.T) {
		steps := rapid.SliceOf(step).Draw(rt, "steps")
		got, err := encodeStory(steps)
		if err != nil {
			rt.Fatal(err)
		}
		want, err := json.Marshal(steps)
		if err != nil {
			rt.Fatal(err)
		}
		var a, b any
		if err := json.Unmarshal(got, &a); err != nil {
			rt.Fatalf("%s: %v", got, err)
		}
		if err := json.Unmarshal(want, &b); err != nil {
			rt.Fatal(err)
		}
		if !reflect.DeepEqual(a, b) {
			rt.Fatalf("got %s, want %s", got, want)
		}
	})
	for name, s := range map[string]Step{
		"a value that is no JSON": {State: StateSent, Value: []byte("{")},
		"a year out of range":     {State: StateSent, At: time.Date(12345, 1, 1, 0, 0, 0, 0, time.UTC)},
	} {
		if b, err := encodeStory([]Step{s}); err == nil {
			t.Errorf("%s: %s", name, b)
		}
	}
	if b, err := encodeStory(nil); string(b) != "null" || err != nil {
		t.Errorf("no story: %s, %v", b, err)
	}
}
