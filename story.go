package lastlook

import (
	"encoding/json"
	"fmt"
	"strconv"
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

// encodeStory writes a story as json.Marshal would: by hand, since every row
// that ends writes one.
func encodeStory(steps []Step) ([]byte, error) {
	if steps == nil {
		return []byte("null"), nil
	}
	b := make([]byte, 0, 32+256*len(steps))
	b = append(b, '[')
	for i := range steps {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = steps[i].append(b); err != nil {
			return nil, fmt.Errorf("lastlook: encode story: %w", err)
		}
	}
	return append(b, ']'), nil
}

// append appends the step as JSON.
func (s *Step) append(b []byte) ([]byte, error) {
	state, err := s.State.MarshalText()
	if err != nil {
		return nil, err
	}
	b, err = appendTime(append(b, `{"at":`...), s.At)
	if err != nil {
		return nil, err
	}
	b = appendText(append(b, `,"event":`...), string(s.Event))
	b = appendText(append(b, `,"state":`...), string(state))
	if s.Attempt != 0 {
		b = strconv.AppendInt(append(b, `,"attempt":`...), int64(s.Attempt), 10)
	}
	if s.Reason != "" {
		b = appendText(append(b, `,"reason":`...), string(s.Reason))
	}
	if !s.LookedAt.IsZero() {
		if b, err = appendTime(append(b, `,"looked_at":`...), s.LookedAt); err != nil {
			return nil, err
		}
	}
	if s.Value != nil {
		if !json.Valid(s.Value) {
			return nil, fmt.Errorf("%w: the value of step %q is not valid JSON", ErrInvalid, s.Event)
		}
		b = append(append(b, `,"value":`...), s.Value...)
	}
	for _, f := range [...]struct{ name, text string }{{`,"error":`, s.Error}, {`,"answer":`, s.Answer}, {`,"by":`, s.By}} {
		if f.text != "" {
			b = appendText(append(b, f.name...), f.text)
		}
	}
	if s.Skipped != 0 {
		b = strconv.AppendInt(append(b, `,"skipped":`...), int64(s.Skipped), 10)
	}
	return append(b, '}'), nil
}

// appendTime appends a time as its MarshalJSON writes it.
func appendTime(b []byte, t time.Time) ([]byte, error) {
	if y := t.Year(); y < 0 || y > 9999 {
		return nil, fmt.Errorf("year %d is outside of what a story can hold", y)
	}
	return append(t.AppendFormat(append(b, '"'), time.RFC3339Nano), '"'), nil
}

// appendText appends a text as a JSON string.
func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			quoted, err := json.Marshal(s)
			if err != nil {
				panic(err) // a string always encodes
			}
			return append(b, quoted...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
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
