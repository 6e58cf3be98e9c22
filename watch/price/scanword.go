package price

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxWord is the longest word that can be known, folded, in bytes.
const maxWord = 48

// wordEnd returns where the word at a position ends. A full stop inside of short
// ones belongs to them: "K.D.", "د.إ".
func (s *scanner) wordEnd(at int) int {
	start, part := at, at
	for {
		r, size := s.peek(at)
		switch {
		case size == 0:
			return at
		case isLetter(r) && !unspaced(r):
			at += size
			continue
		case invisible(r) && at > start:
			at += size
			continue
		case (r == '"' || r == '״' || r == '\'' || r == '׳') && at > start && s.hebrew(at+size):
			at += size
			continue
		case r == '.' && at > part && utf8.RuneCountInString(s.text[part:at]) <= 2:
			if next, _ := s.peek(at + 1); isLetter(next) && !unspaced(next) {
				at++
				part = at
				continue
			}
		}
		return at
	}
}

func (s *scanner) hebrew(at int) bool {
	r, _ := s.peek(at)
	return r >= 0x5d0 && r <= 0x5ea
}

// lookup returns what is known of the word from a position to end, a phrase that
// begins with it included, and where that ends.
func (s *scanner) lookup(end, at int) (*entry, int) {
	if end-at > maxWord || end == at {
		return nil, end
	}
	var buf [2 * maxWord]byte
	folded := appendFoldedText(buf[:0], s.text[at:end])
	list := s.lex.spaced[string(folded)]
	for i := range list {
		e := &list[i]
		if e.words == 1 {
			return e, end
		}
		if stop := s.goesOn(e.text[len(folded):], end); stop > 0 {
			return e, stop
		}
	}
	return nil, end
}

func appendFoldedText(b []byte, text string) []byte {
	for _, r := range text {
		if !invisible(r) {
			b = appendFolded(b, r)
		}
	}
	return b
}

// goesOn reports where the rest of a phrase, each word after a space, ends in the
// text; 0 if something else stands there.
func (s *scanner) goesOn(rest string, at int) int {
	for rest != "" {
		rest = rest[1:]
		start := s.skipBetween(at)
		end := s.wordEnd(start)
		if end == start {
			end, _ = s.digits(start) // "30 days"
		}
		if end == start || end-start > maxWord {
			return 0
		}
		var buf [2 * maxWord]byte
		folded := appendFoldedText(buf[:0], s.text[start:end])
		n := len(folded)
		if len(rest) < n || rest[:n] != string(folded) || len(rest) > n && rest[n] != ' ' {
			return 0
		}
		rest, at = rest[n:], end
	}
	return at
}

// skipBetween returns where the next word of a phrase may begin: after a few
// spaces, a full stop, a hyphen or an apostrophe.
func (s *scanner) skipBetween(at int) int {
	for range 4 {
		r, size := s.peek(at)
		if separator(r) != ' ' && r != '-' && r != '.' && separator(r) != '\'' && r != '&' && r != '/' {
			return at
		}
		at += size
	}
	return at
}

// word scans a word or a phrase, or the letters of a currency.
func (s *scanner) word() {
	end := s.wordEnd(s.pos)
	if end == s.pos { // a mark without a letter
		_, size := s.peek(s.pos)
		s.pos += size
		return
	}
	e, phraseEnd := s.lookup(end, s.pos)
	if sign, stop, ok := s.signAt(end); ok && (e == nil || phraseEnd <= stop) { // P&P is no currency
		s.add(tokSign, stop).sign = int16(sign)
		if s.pos < len(s.text) && s.text[s.pos] == '.' && !s.digitAt(s.pos+1) {
			s.pos++ // Rs. kr. руб.
		} else if s.pos < len(s.text) && s.text[s.pos] == '.' {
			s.pos++ // Rs.499
		}
		return
	}
	short := e != nil && e.means&mShort != 0 || utf8.RuneCountInString(s.text[s.pos:phraseEnd]) <= 3
	s.add(tokWord, phraseEnd).e = e
	if s.pos < len(s.text) && s.text[s.pos] == '.' && (short || e != nil && s.amountAt(s.pos+1)) {
		s.pos++
	}
}

// amountAt reports whether a number or a currency's symbol stands after a space.
func (s *scanner) amountAt(at int) bool {
	r, size := s.peek(at)
	if separator(r) != ' ' {
		return false
	}
	r, _ = s.peek(at + size)
	return s.digitAt(at+size) || unicode.Is(unicode.Sc, r)
}

// signAt returns the currency that the letters from the position to end mean,
// with a symbol that belongs to them: "EUR", "US$", "Kč", "S/".
func (s *scanner) signAt(end int) (sign, stop int, ok bool) {
	word := s.text[s.pos:end]
	if len(word) > maxWord {
		return 0, 0, false
	}
	r, size := s.peek(end)
	switch r {
	case '$', '£', '¥', '₵', '¢', '€':
		stop = end + size
		if r == '$' && (word == "U" || word == "u") { // U$S
			if next, _ := s.peek(stop); next == 'S' || next == 'D' {
				stop++
			}
		}
		if sign, ok = s.signNamed(s.text[s.pos:stop]); ok {
			return sign, stop, true
		}
		if _, known := s.signNamed(word); !known && len(word) <= 3 {
			if e, _ := s.lookup(end, s.pos); e == nil {
				return unknownSign, stop, true // somebody's dollars
			}
		}
	case '/':
		if sign, ok = s.signNamed(word + "/"); ok {
			return sign, end + 1, true
		}
	case ' ', '\u00a0', '\u202f': // AU $18.99
		if word == "F" && strings.HasPrefix(s.text[end+size:], "CFA") {
			sign, ok = s.signNamed("CFA")
			return sign, end + size + len("CFA"), ok
		}
		if next, _ := s.peek(end + size); next == '$' && len(word) == 2 && s.digitAt(end+size+1) {
			if sign, ok = s.signNamed(word + "$"); ok {
				return sign, end + size + 1, true
			}
		}
	}
	sign, ok = s.signNamed(word)
	return sign, end, ok
}

func (s *scanner) signNamed(name string) (int, bool) {
	if id, ok := s.sg.exact[name]; ok {
		return id, true
	}
	var buf [2 * maxWord]byte
	b := buf[:0]
	for _, r := range name {
		switch {
		case invisible(r):
			continue
		case r >= 'A' && r <= 'Z':
			r += 'a' - 'A'
		case r >= utf8.RuneSelf:
			r = unicode.ToLower(r)
		}
		b = utf8.AppendRune(b, r)
	}
	id, ok := s.sg.folded[string(b)]
	return id, ok
}

// plain returns the plain form of a character that means something; 0 if it
// means nothing here.
func plain(r rune) rune {
	switch r {
	case '%', '％', '٪', '﹪':
		return '%'
	case '/', '／', '⁄', '∕':
		return '/'
	case '(', '（', '[', '［', '【', '「', '〔', '{', '﹙':
		return '('
	case ')', '）', ']', '］', '】', '」', '〕', '}', '﹚':
		return ')'
	case '+', '＋':
		return '+'
	case ':', '：':
		return ':'
	case '=', '＝':
		return '='
	case '~', '～', '〜', '∼', '≈', '≃':
		return '~'
	case '×', '✕', '✖':
		return '×'
	case ',', '、', '，', '،':
		return ','
	case '#', '№', '"', '\'', '’', '@', '&', '_', '^', '<', '°':
		return r
	}
	if isDash(r) {
		return '-'
	}
	return 0
}

// breaks reports whether a character ends what words say of an amount.
func breaks(r rune) bool {
	switch r {
	case '|', ';', '•', '●', '·', '!', '?', '！', '？', '。', '→', '⇒', '➔', '▶', '»', '›', '>', '¡', '¿', '¦', '‖', '│', '▸', '★', '…':
		return true
	}
	return false
}

// other scans a character that is no letter and no digit.
func (s *scanner) other(r rune, size int) {
	end := s.pos + size
	if r >= 0x80 || r == '$' {
		if id, ok := s.sg.folded[s.text[s.pos:end]]; ok {
			s.add(tokSign, end).sign = int16(id)
			if r == '$' || r == '£' || r == '¥' {
				s.country(r)
			}
			return
		}
	}
	if p := plain(r); p != 0 {
		s.add(tokRune, end).r = p
		return
	}
	if r == '.' || breaks(r) {
		next, _ := s.peek(end)
		if r == '.' && next != 0 && next != '\n' && separator(next) != ' ' {
			s.pos = end
			return
		}
		s.add(tokBreak, end).r = r
		return
	}
	s.pos = end // decoration
}

// country goes on after a "$" or "£" with the country that may stand behind it:
// "$US", "129,99 $ CA".
func (s *scanner) country(symbol rune) {
	at := s.pos
	if r, size := s.peek(at); separator(r) == ' ' {
		at += size
	}
	end := at
	for end < len(s.text) && s.text[end] >= 'A' && s.text[end] <= 'Z' {
		end++
	}
	if end-at != 2 {
		return
	}
	if r, _ := s.peek(end); isLetter(r) {
		return
	}
	if id, ok := s.signNamed(s.text[at:end] + string(symbol)); ok {
		t := &s.toks[len(s.toks)-1]
		t.sign, t.to = int16(id), int32(end)
		s.pos = end
	}
}
