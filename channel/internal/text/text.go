// Package text prepares what a person is to read for services that limit its
// length and its characters. Nothing here loses a message: what is too long is
// shortened, what cannot be shown is left out or replaced, and the result is
// always valid UTF-8. The functions are pure.
package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Ellipsis ends what was shortened.
const Ellipsis = "…"

// Clean returns s as valid UTF-8 without control characters, except for line
// feeds and tabs: CRLF and CR become line feeds, invalid bytes U+FFFD, and
// space at both ends goes.
func Clean(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.ContainsAny(s, "\r\u2028\u2029") { // a replacer is costly to make
		s = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n").Replace(s)
	}
	s = strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) {
			return -1
		}
		return r
	}, s)
	return strings.TrimSpace(s)
}

// Line is [Clean] on one line: runs of white space become one space.
func Line(s string) string { return strings.Join(strings.Fields(Clean(s)), " ") }

// Shorten returns s, or as much of its beginning as fits into limit bytes with
// an ellipsis. It cuts between characters, and drops combining marks, joiners
// and variation selectors rather than leave a broken cluster at the end.
func Shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	if limit < len(Ellipsis) {
		return ""
	}
	cut := limit - len(Ellipsis)
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	// What follows the cut must not belong to what precedes it.
	for cut > 0 {
		next, _ := utf8.DecodeRuneInString(s[cut:])
		last, size := utf8.DecodeLastRuneInString(s[:cut])
		if !extends(next) && last != joiner {
			break
		}
		cut -= size
	}
	return strings.TrimRightFunc(s[:cut], unicode.IsSpace) + Ellipsis
}

const joiner = '\u200d'

func extends(r rune) bool {
	return r == joiner || unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Me, r) ||
		r >= 0x1f3fb && r <= 0x1f3ff // skin tones
}
