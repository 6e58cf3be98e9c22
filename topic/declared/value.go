package declared

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/lastlook/lastlook"
)

// Value is what was seen, and what a message asserts.
type Value struct {
	// Now is the value that the condition judges, as JSON.
	Now json.RawMessage
	// What else may stand in a message.
	Price, Currency, Availability, Title, URL string
}

// stored is a value's own form.
type stored struct {
	Now          json.RawMessage `json:"now"`
	Price        string          `json:"price,omitzero"`
	Currency     string          `json:"currency,omitzero"`
	Availability string          `json:"availability,omitzero"`
	Title        string          `json:"title,omitzero"`
	URL          string          `json:"url,omitzero"`
}

// MarshalJSON implements [json.Marshaler].
func (v Value) MarshalJSON() ([]byte, error) { return json.Marshal(stored(v)) }

// UnmarshalJSON implements [json.Unmarshaler]. A detection is whatever its
// sender gave, so that any JSON is taken: what is not of a value's own form is
// its Now.
func (v *Value) UnmarshalJSON(b []byte) error {
	var s stored
	if err := json.Unmarshal(b, &s); err != nil || s.Now == nil {
		s = stored{Now: slices.Clone(b)}
	}
	*v = Value(s)
	return nil
}

// Fields are what may stand in a template, in braces: {subject}, {now} (the
// value just seen), {last} (the value last told), {price}, {currency},
// {availability}, {title} (the page's) and {url}.
func Fields() []string {
	return []string{"subject", "now", "last", "price", "currency", "availability", "title", "url"}
}

// maxTemplate and maxField bound a template, and what takes a field's place.
const maxTemplate, maxField = 2000, 500

var field = regexp.MustCompile(`\{([^{}]*)\}`)

func checkTemplate(text string) error {
	if len(text) > maxTemplate {
		return fmt.Errorf("a template of %d bytes: the limit is %d", len(text), maxTemplate)
	}
	for _, m := range field.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(Fields(), m[1]) {
			return fmt.Errorf("the template names {%s}: known are {%s}", m[1], strings.Join(Fields(), "}, {"))
		}
	}
	return nil
}

// fill puts the values into a template, each in the given form.
func fill(text string, c lastlook.Case[Value], form func(string) string) string {
	return field.ReplaceAllStringFunc(text, func(m string) string {
		v := &c.Value
		var s string
		switch m[1 : len(m)-1] {
		case "subject":
			s = c.Key.Subject
		case "now":
			s = textOf(v.Now)
		case "last":
			if c.Baseline != nil {
				s = textOf(c.Baseline.Now)
			}
		case "price":
			s = v.Price
		case "currency":
			s = v.Currency
		case "availability":
			s = v.Availability
		case "title":
			s = v.Title
		case "url":
			return v.URL // is an address already
		}
		if len(s) > maxField {
			s = strings.ToValidUTF8(s[:maxField], "") + "…"
		}
		return form(s)
	})
}

// textOf is a value as people read it: a string without its quotes, all else as
// JSON.
func textOf(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// plain is a text in one line.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
}
