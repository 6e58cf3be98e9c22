package extract

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits on what is read from one page's JSON.
const (
	maxDepth  = 100
	maxValues = 250_000
)

type kind uint8

const (
	null kind = iota
	boolean
	number
	text
	list
	object
)

// value is one JSON value. A number keeps the characters that were written, so
// that no decimal is ever changed.
type value struct {
	kind  kind
	text  string   // of a text, number or boolean
	keys  []string // of an object, one for each item, as [term] gives them
	items []value
}

// get returns the item of an object's key, whatever the key's case; nil if
// there is none. Of a key that stands there twice the last counts, as in
// JavaScript.
func (v *value) get(key string) *value {
	if v == nil || v.kind != object {
		return nil
	}
	for i := len(v.keys) - 1; i >= 0; i-- {
		if strings.EqualFold(v.keys[i], key) {
			return &v.items[i]
		}
	}
	return nil
}

// term strips what makes a schema.org term a full IRI or a compact one:
// https://schema.org/price, schema:price.
func term(s string) string {
	s = strings.TrimSpace(s)
	if rest, ok := cutPrefixFold(s, "https://"); ok {
		s = rest
	} else if rest, ok := cutPrefixFold(s, "http://"); ok {
		s = rest
	} else {
		rest, ok := cutPrefixFold(s, "schema:")
		if ok {
			return rest
		}
		return s
	}
	s = strings.TrimPrefix(s, "www.")
	if rest, ok := cutPrefixFold(s, "schema.org/"); ok {
		return strings.TrimPrefix(rest, "#")
	}
	if rest, ok := cutPrefixFold(s, "data-vocabulary.org/"); ok {
		return strings.TrimPrefix(rest, "#")
	}
	return s
}

func cutPrefixFold(s, prefix string) (string, bool) {
	if len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix) {
		return s[len(prefix):], true
	}
	return s, false
}

// readJSON reads the values of one script block. It reads what [JSON] allows,
// and mends what shops' templates break, where that can be understood in one
// way only:
//
//   - comments, commas too many, single quotes, names without quotes, values that
//     are missing or are amounts without quotes;
//   - line breaks and tabs in strings, unknown escapes, quotes that were not
//     escaped (27" monitor);
//   - wrappers: <!-- -->, CDATA, a body escaped as HTML;
//   - closing brackets too many, or too few at the end behind others; several
//     values one after the other; a script's "name = " before them.
//
// What is not closed is not mended: a cut-off page must not turn 1299 into 12.
// On an error the values before it are returned with it.
//
// [JSON]: https://www.rfc-editor.org/rfc/rfc8259
func readJSON(ctx context.Context, s string, budget *int) ([]value, error) {
	r := &jsonReader{ctx: ctx, s: s, left: budget}
	values, err := r.all()
	if err != nil && len(values) == 0 && ctx.Err() == nil {
		if inner := encodedTwice(s); inner != "" {
			r = &jsonReader{ctx: ctx, s: inner, left: budget}
			return r.all()
		}
	}
	if err == nil || !strings.Contains(s, "&quot;") && !strings.Contains(s, "&#34;") || ctx.Err() != nil {
		return values, err
	}
	r = &jsonReader{ctx: ctx, s: html.UnescapeString(s), left: budget}
	if again, err2 := r.all(); err2 == nil || len(again) > len(values) {
		return again, err2
	}
	return values, err
}

// encodedTwice returns what stands in a JSON string, with its quotes or without;
// "" if that is not what s is.
func encodedTwice(s string) (inner string) {
	switch t := strings.TrimSpace(s); {
	case strings.HasPrefix(t, `"`):
		if json.Unmarshal([]byte(t), &inner) != nil {
			return ""
		}
	case strings.HasPrefix(t, `{\"`):
		inner = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\/`, `/`, `\n`, "\n").Replace(t)
	}
	return inner
}

var errTooMany = errors.New("more values than any product page has")

type jsonReader struct {
	ctx   context.Context
	s     string
	pos   int
	depth int
	left  *int // how many values may still be read
}

func (r *jsonReader) errorf(format string, args ...any) error {
	return fmt.Errorf("at byte %d: %s", r.pos, fmt.Sprintf(format, args...))
}

func (r *jsonReader) all() (values []value, err error) {
	for {
		r.space()
		if len(values) == 0 {
			r.assignment()
		}
		for len(values) > 0 && r.pos < len(r.s) && strings.IndexByte("}]),;", r.s[r.pos]) >= 0 {
			r.pos++
			r.space()
		}
		switch {
		case r.pos == len(r.s):
			return values, nil
		case r.s[r.pos] != '{' && r.s[r.pos] != '[':
			return values, r.errorf("%q where an object or an array begins", r.at())
		}
		v, err := r.value(list)
		if err != nil {
			return values, err
		}
		values = append(values, v)
	}
}

// assignment skips what makes a script of the value: "window.product = ".
func (r *jsonReader) assignment() {
	const longest = 80
	head := r.s[r.pos:min(len(r.s), r.pos+longest)]
	name, _, found := strings.Cut(head, "=")
	if found && name != "" && isLetter(name[0]) && strings.IndexFunc(name, func(c rune) bool {
		return !strings.ContainsRune("._$[]'\" ", c) && !unicode.IsLetter(c) && !unicode.IsDigit(c)
	}) < 0 {
		r.pos += len(name) + 1
		r.space()
	}
}

// at returns the character at the position, for messages.
func (r *jsonReader) at() string {
	_, n := utf8.DecodeRuneInString(r.s[r.pos:])
	return r.s[r.pos : r.pos+n]
}

// space skips white space, comments and, around the values, wrappers.
func (r *jsonReader) space() {
	for r.pos < len(r.s) {
		rest := r.s[r.pos:]
		switch c := rest[0]; {
		case c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\v' || c == '\f':
			r.pos++
		case c == '/' && strings.HasPrefix(rest, "//"):
			r.pos += lineComment(rest)
		case c == '/' && strings.HasPrefix(rest, "/*"):
			n := strings.Index(rest[2:], "*/")
			if n < 0 {
				r.pos = len(r.s)
				return
			}
			r.pos += n + 4
		case c == '<' || c == '-' || c == ']':
			n := wrapper(rest)
			if n == 0 || r.depth > 0 {
				return
			}
			r.pos += n
		case c >= utf8.RuneSelf:
			n := wideSpace(rest)
			if n == 0 {
				return
			}
			r.pos += n
		default:
			return
		}
	}
}

// lineComment returns the length of a // comment. One that hides a wrapper from
// scripts ends with it: everything may stand on one line.
func lineComment(s string) int {
	body := strings.TrimLeft(s[2:], " \t")
	if n := wrapper(body); n > 0 {
		return len(s) - len(body) + n
	}
	if n := strings.IndexAny(s, "\r\n"); n >= 0 {
		return n
	}
	return len(s)
}

func wrapper(s string) int {
	for _, w := range []string{"<!--", "-->", "<![CDATA[", "]]>"} {
		if strings.HasPrefix(s, w) {
			return len(w)
		}
	}
	return 0
}

func wideSpace(s string) int {
	r, n := utf8.DecodeRuneInString(s)
	switch r {
	case '\u00a0', '\ufeff', '\u200b', '\u2028', '\u2029', '\u3000', '\u202f':
		return n
	}
	return 0
}

// value reads one value; in is the kind of what it stands in.
func (r *jsonReader) value(in kind) (value, error) {
	if *r.left--; *r.left < 0 {
		return value{}, errTooMany
	}
	if *r.left%4096 == 0 && r.ctx.Err() != nil {
		return value{}, r.ctx.Err()
	}
	if r.pos == len(r.s) {
		return value{}, r.errorf("the value is cut off")
	}
	switch c := r.s[r.pos]; {
	case c == '{' || c == '[':
		if r.depth == maxDepth {
			return value{}, r.errorf("nested deeper than %d", maxDepth)
		}
		r.depth++
		defer func() { r.depth-- }()
		r.pos++
		if c == '{' {
			return r.object()
		}
		return r.list()
	case c == '"' || c == '\'':
		s, err := r.str(false)
		return value{kind: text, text: s}, err
	case c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.':
		return r.number(in)
	case isLetter(c):
		return r.word(in)
	case in == object && (c == ',' || c == '}'):
		return value{}, nil // "name": ,
	}
	return r.bare(in)
}

func (r *jsonReader) object() (value, error) {
	v := value{kind: object}
	for {
		if done, err := r.next('}'); done || err != nil {
			return v, err
		}
		key, err := r.key()
		if err != nil {
			return v, err
		}
		r.space()
		item, err := r.value(object)
		if err != nil {
			return v, err
		}
		v.keys = append(v.keys, term(key))
		v.items = append(v.items, item)
	}
}

func (r *jsonReader) list() (value, error) {
	v := value{kind: list}
	for {
		if done, err := r.next(']'); done || err != nil {
			return v, err
		}
		item, err := r.value(list)
		if err != nil {
			return v, err
		}
		v.items = append(v.items, item)
	}
}

// next goes to the next item of a list or object; done says that it was closed.
func (r *jsonReader) next(closing byte) (done bool, err error) {
	r.space()
	for r.pos < len(r.s) && r.s[r.pos] == ',' {
		r.pos++
		r.space()
	}
	if r.pos == len(r.s) {
		// A bracket too few behind another one is a template's: nothing that
		// stands there can have been cut.
		if t := strings.TrimRight(r.s, " \t\r\n"); t != "" && (t[len(t)-1] == '}' || t[len(t)-1] == ']') {
			return true, nil
		}
		return false, r.errorf("%q is missing: the block is cut off", closing)
	}
	if r.s[r.pos] == closing {
		r.pos++
		return true, nil
	}
	return false, nil
}

// key reads a name and the colon behind it.
func (r *jsonReader) key() (key string, err error) {
	switch c := r.s[r.pos]; {
	case c == '"' || c == '\'':
		if key, err = r.str(true); err != nil {
			return "", err
		}
	case isLetter(c) || c == '@':
		start := r.pos
		for r.pos < len(r.s) && (isLetter(r.s[r.pos]) || isDigit(r.s[r.pos]) || r.s[r.pos] == '@') {
			r.pos++
		}
		key = r.s[start:r.pos]
	default:
		return "", r.errorf("%q where a name begins", r.at())
	}
	r.space()
	if r.pos == len(r.s) || r.s[r.pos] != ':' {
		return "", r.errorf("no colon after the name %q", shorten(key))
	}
	r.pos++
	return key, nil
}
