package lastlook

import (
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"
)

// Bounds of a row's story, so that a row that is tried for weeks stays small.
const (
	maxSteps      = 40
	keepFirst     = 8
	maxStepText   = 500
	maxStepValue  = 1 << 10
	elidedPattern = `{"elided_bytes":%d}`
)

// Step is one entry of a row's story: a transition, and what led to it.
type Step struct {
	At    time.Time `json:"at"`
	Event Event     `json:"event"`
	// State is the state after the step.
	State State `json:"state"`
	// Attempt is the attempt's number, from 1; 0 if the row was unclaimed.
	Attempt int    `json:"attempt,omitzero"`
	Reason  Reason `json:"reason,omitzero"`
	// LookedAt and Value are what the look saw. A value over 1 KiB is replaced
	// by its size: the asserted one stands whole in [Record.Asserted].
	LookedAt time.Time       `json:"looked_at,omitzero"`
	Value    json.RawMessage `json:"value,omitzero"`
	// Error and Answer are cut at 500 bytes.
	Error  string `json:"error,omitzero"`
	Answer string `json:"answer,omitzero"`
	By     string `json:"by,omitzero"`
	// Skipped counts the steps left out before this one.
	Skipped int `json:"skipped,omitzero"`
}

func (r *Row) addStep(s Step) {
	s.Error, s.Answer = cut(s.Error), cut(s.Answer)
	if !s.LookedAt.IsZero() {
		s.LookedAt = Micro(s.LookedAt)
	}
	if len(s.Value) > maxStepValue {
		s.Value = fmt.Appendf(nil, elidedPattern, len(s.Value))
	}
	// A fresh slice: rows are copied by value, and copies must not share the
	// story's tail.
	story := make([]Step, 0, len(r.Story)+2)
	story = append(story, r.Story...)
	if len(story) >= maxSteps {
		next := story[keepFirst+1]
		next.Skipped += 1 + story[keepFirst].Skipped
		story[keepFirst+1] = next
		story = append(story[:keepFirst], story[keepFirst+1:]...)
	}
	r.Story = append(story, s)
}

func cut(s string) string {
	if len(s) <= maxStepText {
		return s
	}
	n := maxStepText - len("…")
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

func encodeStory(steps []Step) ([]byte, error) {
	b, err := json.Marshal(steps)
	if err != nil {
		return nil, fmt.Errorf("lastlook: encode story: %w", err)
	}
	return b, nil
}

// StoryOf decodes a stored story and completes it with what the live row's
// columns say: the write that moves a row to sending does not rewrite the
// story. Stores call it. An unreadable story is no reason to hold a row up, so
// it comes back as a single step that says so.
func StoryOf(stored []byte, state State, attempt int, a Assertion) []Step {
	var steps []Step
	if len(stored) > 0 {
		if err := json.Unmarshal(stored, &steps); err != nil {
			steps = []Step{{Event: "unreadable", Error: cut(err.Error())}}
		}
	}
	if state == StateSending {
		r := Row{Story: steps, Attempt: attempt}
		r.addStep(r.step(EventSending, StateSending, a.LookedAt, "", Outcome{LookedAt: a.LookedAt, Value: a.Value}))
		steps = r.Story
	}
	return steps
}
