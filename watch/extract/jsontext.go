package extract

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// number reads a number as it is written. In an object, where a comma is
// followed by a name, one followed by a digit belongs to the number.
func (r *jsonReader) number(in kind) (value, error) {
	start, digits := r.pos, false
	for ; r.pos < len(r.s); r.pos++ {
		c := r.s[r.pos]
		switch {
		case isDigit(c):
			digits = true
		case c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E':
		case c == ',' && in == object && r.pos+1 < len(r.s) && isDigit(r.s[r.pos+1]):
		default:
			if !digits || strings.IndexByte(" \t\r\n,}]/", c) < 0 && wideSpace(r.s[r.pos:]) == 0 {
				r.pos = start
				return r.bare(in)
			}
			if next := strings.TrimLeft(r.s[r.pos:], " \u00a0"); in == object && next != "" && strings.IndexByte(",}]/\r\n\t\"", next[0]) < 0 {
				r.pos = start
				return r.bare(in) // 61,00 €
			}
			return value{kind: number, text: strings.TrimSuffix(r.s[start:r.pos], ".")}, nil
		}
	}
	return value{}, r.errorf("the number is cut off")
}

// bare reads an amount that an object has without quotes: €61.00. It ends before a
// comma that no digit follows, a bracket or a line's end, and has a digit.
func (r *jsonReader) bare(in kind) (value, error) {
	const longest = 24
	start := r.pos
	for i := start; in == object && i < min(len(r.s), start+longest); i++ {
		switch c := r.s[i]; {
		case c == '}' || c == '\r' || c == '\n' || c == ',' && (i+1 == len(r.s) || !isDigit(r.s[i+1])):
			if s := strings.TrimSpace(r.s[start:i]); strings.ContainsAny(s, "0123456789") {
				r.pos = i
				return value{kind: text, text: s}, nil
			}
			return value{}, r.errorf("%q where a value begins", r.at())
		case strings.IndexByte("\"'{[]:\\/<>", c) >= 0:
			return value{}, r.errorf("%q where a value begins", r.at())
		}
	}
	return value{}, r.errorf("%q where a value begins", r.at())
}

// word reads true, false, null, and what other languages call them.
func (r *jsonReader) word(in kind) (value, error) {
	start := r.pos
	for r.pos < len(r.s) && isLetter(r.s[r.pos]) {
		r.pos++
	}
	switch w := r.s[start:r.pos]; strings.ToLower(w) {
	case "true", "false":
		return value{kind: boolean, text: strings.ToLower(w)}, nil
	case "null", "none", "nil", "undefined", "nan":
		return value{}, nil
	}
	r.pos = start
	return r.bare(in)
}

// str reads a string. Its quote ends it only where a string can end: before a
// colon if it is a name, else before a comma, a bracket or a comment. So valid
// JSON is read as it is, and a quote that was not escaped is kept.
func (r *jsonReader) str(isKey bool) (string, error) {
	stops := `"\`
	if r.s[r.pos] == '\'' {
		stops = `'\`
	}
	r.pos++
	start := r.pos
	var b []byte // nil as long as the string is what is written
	for r.pos < len(r.s) {
		n := strings.IndexAny(r.s[r.pos:], stops)
		if n < 0 {
			break
		}
		at := r.pos + n
		if r.s[at] == '\\' {
			b = append(b, r.s[start:at]...)
			r.pos = at
			var err error
			if b, err = r.escape(b); err != nil {
				return "", err
			}
			start = r.pos
			continue
		}
		r.pos = at + 1
		if r.ends(isKey) {
			if b == nil {
				return r.s[start:at], nil
			}
			return string(append(b, r.s[start:at]...)), nil
		}
	}
	r.pos = len(r.s)
	return "", r.errorf("the text that begins %q is cut off", shorten(r.s[start:]))
}

// ends reports whether a string can end at the position.
func (r *jsonReader) ends(isKey bool) bool {
	i := r.pos
	for i < len(r.s) && (r.s[i] == ' ' || r.s[i] == '\n' || r.s[i] == '\r' || r.s[i] == '\t') {
		i++
	}
	if i == len(r.s) {
		return !isKey // whatever it stands in is cut off, and says so
	}
	switch r.s[i] {
	case ':':
		return isKey
	case ',', '}', ']':
		return !isKey
	case '/':
		return i+1 < len(r.s) && (r.s[i+1] == '/' || r.s[i+1] == '*')
	}
	return false
}

// escape reads an escape and appends what it stands for.
func (r *jsonReader) escape(b []byte) ([]byte, error) {
	if r.pos+1 >= len(r.s) {
		return b, r.errorf("the text is cut off")
	}
	c := r.s[r.pos+1]
	r.pos += 2
	switch c {
	case 'b':
		return append(b, '\b'), nil
	case 'f':
		return append(b, '\f'), nil
	case 'n':
		return append(b, '\n'), nil
	case 'r':
		return append(b, '\r'), nil
	case 't':
		return append(b, '\t'), nil
	case 'u':
		u, ok := r.hex4(r.pos)
		if !ok {
			return append(b, `\u`...), nil
		}
		r.pos += 4
		if utf16.IsSurrogate(u) && strings.HasPrefix(r.s[r.pos:], `\u`) {
			if low, ok := r.hex4(r.pos + 2); ok {
				if full := utf16.DecodeRune(u, low); full != utf8.RuneError {
					r.pos += 6
					return utf8.AppendRune(b, full), nil
				}
			}
		}
		return utf8.AppendRune(b, u), nil
	case '\n':
		return b, nil // JavaScript's line continuation
	}
	return append(b, c), nil
}

func (r *jsonReader) hex4(at int) (rune, bool) {
	if at+4 > len(r.s) {
		return 0, false
	}
	u, err := strconv.ParseUint(r.s[at:at+4], 16, 16)
	return rune(u), err == nil
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isLetter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '$'
}
