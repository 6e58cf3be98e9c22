package callback

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lastlook/lastlook"
)

// Value is what a program answered: the value that a message asserts, as JSON.
// Only that is kept; the verdict counts for the look that gave it.
type Value struct {
	raw json.RawMessage
	// verdict and what belongs to it are those of a look; a stored value has none.
	verdict string
	reason  lastlook.Reason
	until   time.Time
	message lastlook.Message
}

// MarshalJSON implements [json.Marshaler].
func (v Value) MarshalJSON() ([]byte, error) {
	if len(v.raw) == 0 {
		return []byte("null"), nil
	}
	return v.raw, nil
}

// UnmarshalJSON implements [json.Unmarshaler]: any JSON is a value.
func (v *Value) UnmarshalJSON(b []byte) error {
	*v = Value{raw: bytes.Clone(b)}
	return nil
}

// The verdicts.
const (
	verdictSend  = "send"
	verdictDrop  = "drop"
	verdictDefer = "defer"
)

// Limits on what is answered of one subject.
const (
	maxTitle, maxBody, maxURL = 500, 8 << 10, 2 << 10
	// defaultDefer is how long a defer without a time waits, maxDefer the
	// longest.
	defaultDefer, maxDefer = time.Minute, 24 * time.Hour
)

// reasons are those that a program may drop for.
var reasons = []lastlook.Reason{
	lastlook.ReasonConditionLost, lastlook.ReasonOutOfStock, lastlook.ReasonGone, lastlook.ReasonAlreadyTold,
}

// answer is the form of an answer about one subject.
type answer struct {
	Verdict string          `json:"verdict"`
	Value   json.RawMessage `json:"value"`
	Message *message        `json:"message"`
	Reason  lastlook.Reason `json:"reason"`
	// Until and AfterSeconds say until when, or how long, a defer waits.
	Until        time.Time `json:"until"`
	AfterSeconds float64   `json:"after_seconds"`

	bad bool
}

type message struct {
	Title  string          `json:"title"`
	Body   string          `json:"body"`
	URL    string          `json:"url"`
	Silent bool            `json:"silent"`
	Data   json.RawMessage `json:"data"`
}

// value returns what the answer says, or why it says nothing.
func (a *answer) value(now time.Time) (Value, error) {
	v := Value{raw: a.Value, verdict: a.Verdict}
	switch {
	case a.bad:
		return v, errors.New("its answer has a member of the wrong type")
	case len(a.Value) > lastlook.MaxPayload:
		return v, fmt.Errorf("the value of its answer has %d bytes: the limit is %d", len(a.Value), lastlook.MaxPayload)
	}
	switch a.Verdict {
	case verdictSend:
		return v, v.setMessage(a)
	case verdictDrop:
		if v.reason = a.Reason; a.Reason == "" {
			v.reason = lastlook.ReasonConditionLost
		}
		if !slices.Contains(reasons, v.reason) {
			return v, fmt.Errorf("its answer drops it for %.40q: use one of condition_lost, out_of_stock, gone and already_told", a.Reason)
		}
		return v, nil
	case verdictDefer:
		v.until = a.Until
		switch {
		case a.AfterSeconds < 0 || a.AfterSeconds > maxDefer.Seconds():
			v.until = now.Add(maxDefer)
		case a.AfterSeconds > 0:
			v.until = now.Add(time.Duration(a.AfterSeconds * float64(time.Second)))
		case a.Until.IsZero():
			v.until = now.Add(defaultDefer)
		}
		if latest := now.Add(maxDefer); v.until.After(latest) {
			v.until = latest
		}
		return v, nil
	}
	return v, fmt.Errorf("its answer has the verdict %.40q: use send, drop or defer", a.Verdict)
}

func (v *Value) setMessage(a *answer) error {
	m := a.Message
	switch {
	case len(bytes.TrimSpace(a.Value)) == 0:
		return errors.New("its answer sends without a value: say what the message asserts")
	case m == nil || strings.TrimSpace(m.Title) == "":
		return errors.New("its answer sends without a message that has a title")
	case len(m.Title) > maxTitle || len(m.Body) > maxBody || len(m.URL) > maxURL || len(m.Data) > lastlook.MaxPayload:
		return fmt.Errorf("its answer's message is too long: a title has up to %d bytes, a body %d, an address %d", maxTitle, maxBody, maxURL)
	case !utf8.ValidString(m.Title) || !utf8.ValidString(m.Body) || !utf8.ValidString(m.URL):
		return errors.New("its answer's message is not UTF-8")
	}
	v.message = lastlook.Message{Title: m.Title, Body: m.Body, URL: m.URL, Silent: m.Silent, Data: m.Data}
	return nil
}

func judge(c lastlook.Case[Value]) lastlook.Verdict {
	switch c.Value.verdict {
	case verdictSend:
		return lastlook.Send()
	case verdictDrop:
		return lastlook.Drop(c.Value.reason)
	case verdictDefer:
		return lastlook.Defer(c.Value.until)
	}
	return lastlook.CannotTell("there is no answer")
}

func word(c lastlook.Case[Value]) lastlook.Message { return c.Value.message }
