package lastlook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"
)

// Canonical returns JSON in one form per value: no insignificant space, object
// members sorted by name, numbers as written. Two assertions are the same if
// their canonical forms are.
func Canonical(v json.RawMessage) (json.RawMessage, error) {
	c := canonicalizer{src: v, out: make([]byte, 0, len(v))}
	if c.value(0) && c.space() == len(v) {
		return c.out, nil
	}
	return canonicalDecoded(v)
}

// canonicalDecoded is the canonical form of what is not plain: of escapes and
// names that stand twice; and says what is no JSON.
func canonicalDecoded(v json.RawMessage) (json.RawMessage, error) {
	dec := json.NewDecoder(bytes.NewReader(v))
	dec.UseNumber()
	var x any
	if err := dec.Decode(&x); err != nil {
		return nil, fmt.Errorf("%w: not valid JSON: %w", ErrInvalid, err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("%w: more than one JSON value", ErrInvalid)
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(x); err != nil { // maps are encoded with sorted keys
		return nil, fmt.Errorf("lastlook: canonical form: %w", err)
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// canonicalizer copies plain JSON into its canonical form, as the decoder and
// encoder of encoding/json would, at a tenth of their cost: every row that is
// told is compared by it. Its methods report false for whatever is not plain,
// which is not necessarily wrong.
type canonicalizer struct {
	src []byte
	at  int
	out []byte
}

// maxPlainDepth bounds the recursion.
const maxPlainDepth = 64

// space skips space and returns the position behind it.
func (c *canonicalizer) space() int {
	for c.at < len(c.src) && (c.src[c.at] == ' ' || c.src[c.at] == '\t' || c.src[c.at] == '\n' || c.src[c.at] == '\r') {
		c.at++
	}
	return c.at
}

// next skips space and takes the byte b, if it is there.
func (c *canonicalizer) next(b byte) bool {
	if c.space() < len(c.src) && c.src[c.at] == b {
		c.at++
		return true
	}
	return false
}

func (c *canonicalizer) value(depth int) bool {
	if depth > maxPlainDepth || c.space() == len(c.src) {
		return false
	}
	switch c.src[c.at] {
	case '{':
		return c.object(depth)
	case '[':
		return c.array(depth)
	case '"':
		return c.text()
	case 't':
		return c.literal("true")
	case 'f':
		return c.literal("false")
	case 'n':
		return c.literal("null")
	}
	return c.number()
}

func (c *canonicalizer) literal(s string) bool {
	if !bytes.HasPrefix(c.src[c.at:], []byte(s)) {
		return false
	}
	c.at += len(s)
	c.out = append(c.out, s...)
	return true
}

// number copies a number (RFC 8259, section 6).
func (c *canonicalizer) number() bool {
	i := c.at
	digits := func() bool {
		from := i
		for i < len(c.src) && c.src[i] >= '0' && c.src[i] <= '9' {
			i++
		}
		return i > from
	}
	if c.src[i] == '-' {
		i++
	}
	if i < len(c.src) && c.src[i] == '0' {
		i++
	} else if !digits() {
		return false
	}
	if i < len(c.src) && c.src[i] == '.' {
		if i++; !digits() {
			return false
		}
	}
	if i < len(c.src) && (c.src[i] == 'e' || c.src[i] == 'E') {
		if i++; i < len(c.src) && (c.src[i] == '+' || c.src[i] == '-') {
			i++
		}
		if !digits() {
			return false
		}
	}
	c.out = append(c.out, c.src[c.at:i]...)
	c.at = i
	return true
}

// text copies a string that the encoder would leave as it is.
func (c *canonicalizer) text() bool {
	i, ascii := c.at+1, true
	for ; i < len(c.src) && c.src[i] != '"'; i++ {
		switch b := c.src[i]; {
		case b < ' ' || b == '\\':
			return false
		case b >= utf8.RuneSelf:
			ascii = false
		}
	}
	if i == len(c.src) {
		return false
	}
	s := c.src[c.at : i+1]
	if !ascii && (!utf8.Valid(s) || bytes.Contains(s, []byte("\u2028")) || bytes.Contains(s, []byte("\u2029"))) {
		return false
	}
	c.out = append(c.out, s...)
	c.at = i + 1
	return true
}

func (c *canonicalizer) array(depth int) bool {
	c.at++
	c.out = append(c.out, '[')
	for n := 0; !c.next(']'); n++ {
		if n > 0 {
			if !c.next(',') {
				return false
			}
			c.out = append(c.out, ',')
		}
		if !c.value(depth + 1) {
			return false
		}
	}
	c.out = append(c.out, ']')
	return true
}

// member is where a member of an object stands in the output.
type member struct{ name, value, end int }

func (c *canonicalizer) object(depth int) bool {
	c.at++
	c.out = append(c.out, '{')
	var buffer [16]member
	members, sorted := buffer[:0], true
	// Without its closing quote a name sorts as the text does.
	name := func(m member) []byte { return c.out[m.name+1 : m.value-1] }
	for !c.next('}') {
		if len(members) > 0 {
			if !c.next(',') {
				return false
			}
			c.out = append(c.out, ',')
		}
		m := member{name: len(c.out)}
		if c.space() == len(c.src) || c.src[c.at] != '"' || !c.text() || !c.next(':') {
			return false
		}
		m.value = len(c.out)
		c.out = append(c.out, ':')
		if !c.value(depth + 1) {
			return false
		}
		m.end = len(c.out)
		if n := len(members); n > 0 && bytes.Compare(name(members[n-1]), name(m)) >= 0 {
			sorted = false
		}
		members = append(members, m)
	}
	if !sorted && !c.sort(members) {
		return false
	}
	c.out = append(c.out, '}')
	return true
}

// sort puts the members of the last object into the order of their names. It
// reports false if two have the same.
func (c *canonicalizer) sort(members []member) bool {
	from := members[0].name
	whole := slices.Clone(c.out[from:])
	name := func(m member) []byte { return whole[m.name-from+1 : m.value-from-1] }
	slices.SortFunc(members, func(a, b member) int { return bytes.Compare(name(a), name(b)) })
	c.out = c.out[:from]
	for i, m := range members {
		if i > 0 {
			if bytes.Equal(name(members[i-1]), name(m)) {
				return false
			}
			c.out = append(c.out, ',')
		}
		c.out = append(c.out, whole[m.name-from:m.end-from]...)
	}
	return true
}
