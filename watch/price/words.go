package price

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// means is what a word says of an amount near it.
type means uint64

const (
	mFrom      means = 1 << iota // the lowest of several follows
	mUpTo                        // an upper bound follows
	mTo                          // stands between the ends of a range
	mList                        // a price of before, or recommended
	mUsual                       // a usual price: the price, if there is no other
	mTotal                       // a sum: the price, if there is no other
	mNow                         // the price that counts
	mInstall                     // instalments
	mSave                        // cheaper by
	mShip                        // delivery
	mFreeShip                    // delivery for nothing
	mOver                        // from a value on
	mOrder                       // an order, of that value
	mMember                      // for members
	mClub                        // perhaps for members
	mPoints                      // points
	mFor                         // "2 for"
	mIn                          // in it
	mEx                          // not in it
	mTaxWord                     // tax
	mNet                         // without tax, as one word
	mGross                       // with tax, as one word
	mFree                        // for nothing
	mSold                        // sold out
	mExtra                       // on top
	mRoughly                     // about
	mPer                         // for one of
	mEach                        // for one
	mUnit                        // a unit
	mTimes                       // "12x"
	mOf                          // joins a count and an amount
	mScale                       // thousands, millions
	mPack                        // "pack of"
	mUnitPrice                   // for a unit, whichever
	mFiller                      // says nothing
	mShort                       // an abbreviation: its full stop ends no sentence

	// Where the amount stands of which it says something.
	before // the word stands before the amount
	after  // the word stands after it
	rather // either, where both are possible before
	near   // and only next to it

	either = before | after
	said   = before - 1
)

// entry is a word or phrase of the lexicon.
type entry struct {
	text  string
	words int // of which it has
	means
	unit  *unit
	scale int // zeros, for mScale
	sign  int // an index into the signs, 0 if it is none
}

// lexicon holds words by the first of their phrases, folded; and those of scripts
// that put no space between words, by their first character. In both the
// longest stand first.
type lexicon struct {
	spaced map[string][]entry
	joined map[rune][]entry
}

// words builds the lexicon once.
var words = sync.OnceValue(func() *lexicon {
	l := &lexicon{spaced: map[string][]entry{}, joined: map[rune][]entry{}}
	for _, list := range [][]phrase{phrases, phrasesOfTerms, phrasesOfDelivery} {
		for _, p := range list {
			for text := range strings.SplitSeq(p.text, "|") {
				l.add(text, entry{means: p.means, scale: p.scale})
			}
		}
	}
	for i := range units {
		u := &units[i]
		for text := range strings.SplitSeq(u.names, "|") {
			l.add(text, entry{means: mUnit, unit: u})
		}
	}
	for name, id := range allSigns().folded {
		if r, _ := utf8.DecodeRuneInString(name); unspaced(r) {
			l.add(name, entry{sign: id})
		}
	}
	byLength := func(a, b entry) int { return len(b.text) - len(a.text) }
	for _, list := range l.spaced {
		slices.SortStableFunc(list, byLength)
	}
	for _, list := range l.joined {
		slices.SortStableFunc(list, byLength)
	}
	return l
})

// phrase is a line of the lexicon: phrases that mean the same, with | between
// them.
type phrase struct {
	means
	text  string
	scale int
}

// add adds a phrase, or what it means to one that is there.
func (l *lexicon) add(text string, e entry) {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '-' || r == '\'' || r == '&' || r == '/' }), " ")
	if text == "" {
		return
	}
	if r, _ := utf8.DecodeRuneInString(text); unspaced(r) {
		e.text = text
		l.joined[r] = merge(l.joined[r], e)
		return
	}
	var b []byte
	for _, r := range text {
		b = appendFolded(b, r)
	}
	e.text = string(b)
	e.words = strings.Count(e.text, " ") + 1
	e.text = strings.TrimSuffix(strings.ReplaceAll(e.text, ". ", " "), ".")
	first, _, _ := strings.Cut(e.text, " ")
	l.spaced[first] = merge(l.spaced[first], e)
}

func merge(list []entry, e entry) []entry {
	for i := range list {
		if list[i].text == e.text {
			list[i].means |= e.means
			if e.sign > 0 {
				list[i].sign = e.sign
			}
			if e.unit != nil {
				list[i].unit = e.unit
			}
			list[i].scale += e.scale
			return list
		}
	}
	return append(list, e)
}

// unspaced reports whether a rune is of a script that puts no space between
// words, or glues endings to them.
func unspaced(r rune) bool {
	switch {
	case r < 0x0e00:
		return false
	case r <= 0x0eff, r >= 0x1000 && r <= 0x109f, r >= 0x1780 && r <= 0x17ff:
		return true
	}
	return r >= 0x2e80 && r <= 0x2fdf || r >= 0x3005 && r <= 0x3007 || r >= 0x3040 && r <= 0xa4cf || r >= 0xac00 && r <= 0xd7a3 ||
		r >= 0xf900 && r <= 0xfaff || r >= 0xff66 && r <= 0xff9f
}

// folds maps letters to themselves without case and marks, up to U+0500 and from
// U+1E00 to U+1FFF.
var folds = sync.OnceValue(func() *[0x700]string {
	var t [0x700]string
	for i := range t {
		r := rune(i)
		if i >= 0x500 {
			r = rune(i) - 0x500 + 0x1e00
		}
		var b strings.Builder
		decomposed := norm.NFD.String(string(r))
		if strings.ContainsAny(decomposed, "\u0308\u030a") && strings.ContainsAny(decomposed, "aouAOU") {
			decomposed = string(r) // för is not for
		}
		for _, d := range decomposed {
			if !unicode.Is(unicode.Mn, d) {
				b.WriteRune(unicode.ToLower(d))
			}
		}
		t[i] = b.String()
	}
	for from, to := range map[rune]string{'ß': "ss", 'ı': "i", 'Ø': "ø", 'æ': "ae", 'Æ': "ae", 'đ': "d", 'Đ': "d", 'ł': "l", 'Ł': "l", 'œ': "oe", 'Œ': "oe", 'þ': "th", 'ð': "d", 'ς': "σ"} {
		t[from] = to
	}
	return &t
})

// appendFolded appends a rune without case and marks, so that "À partir" and "a
// partir" are the same.
func appendFolded(b []byte, r rune) []byte {
	switch {
	case r < 0x80:
		if r >= 'A' && r <= 'Z' {
			r += 'a' - 'A'
		}
		return append(b, byte(r))
	case r < 0x500:
		return append(b, folds()[r]...)
	case r >= 0x1e00 && r < 0x2000:
		return append(b, folds()[r-0x1e00+0x500]...)
	case r == 'أ' || r == 'إ' || r == 'آ':
		r = 'ا'
	case r == 'ى':
		r = 'ي'
	case r >= 0x64b && r <= 0x65f || r == 0x640: // vowels, and what stretches
		return b
	case r >= 0xff21 && r <= 0xff5a:
		return appendFolded(b, r-0xff21+'A')
	case r == '’':
		r = '\''
	}
	return utf8.AppendRune(b, r)
}
