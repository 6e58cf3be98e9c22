package price

import (
	"unicode"
	"unicode/utf8"
)

// tokenKind is what a token is.
type tokenKind uint8

const (
	tokNumber tokenKind = iota
	tokWord             // letters; means says whether they are known
	tokSign             // a currency, or a mark that only prices have
	tokRune             // one character that means something: % / ( ) + - : = ~
	tokBreak            // the end of a line, a column or a sentence
)

// token is a piece of a text. A text may have many: it is kept small.
type token struct {
	// e is what is known of a word, nil if nothing is.
	e *entry
	// from and to are where it stands, in bytes.
	from, to int32
	// r is the character of a tokRune, in its plain form; '\n' for a tokBreak that
	// is only the end of a line.
	r rune
	// sign is an index into the signs, for a tokSign.
	sign int16
	kind tokenKind
	// gap says that white space stands before it.
	gap bool
}

func (t *token) start() int { return int(t.from) }
func (t *token) end() int   { return int(t.to) }

func (t *token) is(m means) bool { return t.e != nil && t.e.means&m != 0 }

func (t *token) rune(r rune) bool { return t.kind == tokRune && t.r == r }

// line reports whether the token is the end of a line.
func (t *token) line() bool { return t.kind == tokBreak && t.r == '\n' }

// scanner cuts a text into tokens. It looks ahead no further than a number or a
// phrase is long, so that it is done in one pass.
type scanner struct {
	text string
	// work counts looks at characters and tokens: tests hold it to the text's
	// length.
	work int
	pos  int
	gap  bool
	toks []token
	lex  *lexicon
	sg   *signs
}

// add adds a token that ends somewhere, and goes on there.
func (s *scanner) add(kind tokenKind, end int) *token {
	s.toks = append(s.toks, token{kind: kind, from: int32(s.pos), to: int32(end), gap: s.gap})
	s.gap = false
	s.pos = end
	return &s.toks[len(s.toks)-1]
}

// peek returns the rune at a position, 0 at the end.
func (s *scanner) peek(at int) (rune, int) {
	s.work++
	if at >= len(s.text) {
		return 0, 0
	}
	if c := s.text[at]; c < utf8.RuneSelf {
		return rune(c), 1
	}
	return utf8.DecodeRuneInString(s.text[at:])
}

func (s *scanner) scan() {
	for s.pos < len(s.text) {
		r, size := s.peek(s.pos)
		switch {
		case r == '\n' || r == '\r' || r == '\u2028' || r == '\u2029' || r == '\v' || r == '\f' || r == '\u0085':
			s.add(tokBreak, s.pos+size).r = '\n'
			s.gap = true
		case r == '\t' || r == ' ' || r >= 0x80 && separator(r) == ' ':
			s.gap = true
			s.pos += size
		case invisible(r):
			s.pos += size
		case s.number(r):
		case unspaced(r):
			s.joined(r)
		case r < 0x80 && (r|0x20 >= 'a' && r|0x20 <= 'z') || r >= 0x80 && isLetter(r):
			s.word()
		default:
			s.other(r, size)
		}
	}
}

func isLetter(r rune) bool {
	return unicode.IsLetter(r) || unicode.Is(unicode.M, r) || r == '²' || r == '³'
}

// number scans a number if there is one at the position.
func (s *scanner) number(r rune) bool {
	at, ok := s.pos, false
	if _, ok = digit(r); !ok {
		// .99 and ,99 after something that is no number, and -,99
		if r != '.' && r != ',' || s.touches(tokNumber) || s.touches(tokWord) || !s.digitAt(s.pos+1) {
			return false
		}
		at++
	}
	end := s.raised(s.numberEnd(at))
	s.add(tokNumber, end)
	s.marks()
	return true
}

// raised goes on after "19" in "19⁹⁹": hundredths that stand higher. One raised
// digit is a footnote.
func (s *scanner) raised(end int) int {
	at := end
	for n := 0; ; n++ {
		r, size := s.peek(at)
		if superscript(r) < 0 {
			if n == 2 && s.closes(at) && !s.hasCents(end) {
				return at
			}
			return end
		}
		at += size
	}
}

// hasCents reports whether the digits right before a position are hundredths: at
// most two behind a separator.
func (s *scanner) hasCents(end int) bool {
	for n := 1; n <= 3 && end-n > s.pos; n++ {
		if c := s.text[end-n]; c == '.' || c == ',' {
			return true
		}
	}
	return false
}

// touches reports whether the last token is of a kind, and nothing stands between.
func (s *scanner) touches(k tokenKind) bool {
	n := len(s.toks)
	return n > 0 && !s.gap && s.toks[n-1].kind == k && s.toks[n-1].end() == s.pos
}

func (s *scanner) digitAt(at int) bool {
	r, _ := s.peek(at)
	_, ok := digit(r)
	return ok
}

// digits returns where the digits from a position on end, and how many they are.
func (s *scanner) digits(at int) (end, n int) {
	for {
		r, size := s.peek(at)
		if _, ok := digit(r); !ok {
			return at, n
		}
		at += size
		n++
	}
}

// numberEnd returns where the number whose digits begin at a position ends.
// Separators belong to it if digits follow at once; spaces only if they group.
func (s *scanner) numberEnd(at int) int {
	end, first := s.digits(at)
	spaces, points, tens := 0, at > s.pos, false
	for {
		r, size := s.peek(end)
		if myriads(r) > 0 && !tens {
			end += size
			next := end
			if r, size = s.peek(end); separator(r) == ' ' {
				next += size
			}
			if !s.digitAt(next) {
				return end
			}
			end, first = s.digits(next)
			points, tens = false, true
			continue
		}
		sep := separator(r)
		if r == '\n' || r == '\r' || r == '\t' {
			return s.loosePoint(end, first)
		}
		if sep == 0 {
			return end
		}
		next := end + size
		n := 0
		next, n = s.digits(next)
		switch {
		case sep == ' ' && (n != 3 || points || first > 3 || spaces == 0 && first == 0 || !s.joins(r, next)):
			return s.loosePoint(end, first)
		case sep == ' ':
			spaces++
		case n == 0:
			return end
		case sep == '.' || sep == ',' || sep == '٫':
			points = true
		}
		end = next
	}
}

// joins reports whether digits after a space go on with the number: not if they
// are the measure of something, "£5 100 g".
func (s *scanner) joins(space rune, end int) bool {
	if space != ' ' {
		return true
	}
	r, _ := s.peek(end)
	tight := isLetter(r) && !unspaced(r)
	prefixed := len(s.toks) > 0 && s.toks[len(s.toks)-1].kind == tokSign
	if !tight && !prefixed {
		return true
	}
	if r == ' ' {
		end++
	}
	e, _ := s.lookup(s.wordEnd(end), end)
	return e == nil || e.unit == nil
}

// loosePoint goes on after "219" in "219 ,95" and "$219 . 95": a price whose parts
// were written in elements of their own.
func (s *scanner) loosePoint(end, first int) int {
	at := s.skipSpace(end)
	p, size := s.peek(at)
	if at == end || first == 0 || p != '.' && p != ',' {
		return end
	}
	at += size
	if after := s.skipSpace(at); after > at {
		if n := len(s.toks); n == 0 || s.toks[n-1].kind != tokSign {
			return end
		}
		at = after
	}
	if stop, n := s.digits(at); n == 2 && s.closes(stop) {
		return stop
	}
	return end
}

// skipSpace returns where white space ends, if it isn't long; lines may end in it.
func (s *scanner) skipSpace(at int) int {
	for range 8 {
		r, size := s.peek(at)
		if separator(r) != ' ' && r != '\n' && r != '\r' && r != '\t' {
			break
		}
		at += size
	}
	return at
}

// closes reports whether a number may end here: what follows does not make it
// another kind of number.
func (s *scanner) closes(at int) bool {
	r, _ := s.peek(at)
	return r != '%' && !isLetter(r) && r != '.' && r != ','
}

// marks scans what stands after a number only in prices: ",-" ".–" ":-" "/-".
func (s *scanner) marks() {
	r, size := s.peek(s.pos)
	switch r {
	case '.', ',', ':', '/':
	case ' ':
		return
	default:
		if isDash(r) || r == '=' {
			break
		}
		return
	}
	at := s.pos
	if !isDash(r) && r != '=' {
		at += size
		if r, size = s.peek(at); !isDash(r) {
			// "219. 95"
			s.splitCents(at)
			return
		}
	} else {
		return // "129-" may be the beginning of a range
	}
	for isDash(r) {
		at += size
		r, size = s.peek(at)
	}
	if _, isDigit := digit(r); isDigit || isLetter(r) && s.text[s.pos] == '/' {
		return
	}
	s.add(tokSign, at)
}

// splitCents joins "219. 95" into one number if a currency stands before it, or
// nothing at all.
func (s *scanner) splitCents(at int) {
	n := len(s.toks)
	if s.text[s.pos] != '.' && s.text[s.pos] != ',' || n > 1 && s.toks[n-2].kind != tokSign {
		return
	}
	start := s.skipSpace(at)
	if end, digits := s.digits(start); start > at && digits == 2 && s.closes(end) {
		s.toks[n-1].to = int32(end)
		s.pos = end
	}
}

func isDash(r rune) bool {
	switch r {
	case '-', '–', '—', '−', '‐', '‑', '‒', '―', '－', '﹣', 'ー', '─':
		return true
	}
	return false
}

// joined scans what is written without spaces between words: the longest phrase
// that is known, or what comes before the next one.
func (s *scanner) joined(r rune) {
	start := s.pos
	for at := s.pos; ; {
		if e := s.phraseAt(at, r); e != nil {
			if at > start {
				s.add(tokWord, at)
			}
			t := s.add(tokWord, at+len(e.text))
			if t.e = e; e.sign > 0 {
				t.kind, t.sign = tokSign, int16(e.sign)
			}
			return
		}
		at += utf8.RuneLen(r)
		if r, _ = s.peek(at); !unspaced(r) {
			s.add(tokWord, at)
			return
		}
	}
}

func (s *scanner) phraseAt(at int, r rune) *entry {
	list := s.lex.joined[r]
	for i := range list {
		if e := &list[i]; len(s.text)-at >= len(e.text) && s.text[at:at+len(e.text)] == e.text {
			return e
		}
	}
	return nil
}
