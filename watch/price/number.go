package price

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/govalues/decimal"
)

// convention is what is known of how a number is written where it stands.
type convention struct {
	// point and group are '.' or ',', ' ' or '\'' for group; 0 is not known.
	point, group rune
	// digits are how many decimals prices in the currency have in use, -1 if the
	// currency is not known.
	digits int
	// unit says that the price is for a unit, where three decimals are usual.
	unit bool
	// native says that the currency is the locale's own, so that its decimals are
	// to be expected as the locale writes them.
	native bool
}

// maxGroups is how many groups a number can have: more are no price.
const maxGroups = 8

// written is a number as it stands in a text: its digits, in ASCII, and where it
// is separated.
type written struct {
	digits [maxDigits]byte
	n      int
	lens   [maxGroups]int
	seps   [maxGroups - 1]rune
	groups int
}

// readNumber reads a number in any digits. ok is false if it cannot be a number;
// doubtful says that it was read as the locale has it, in a way in which prices
// of its currency are not written: "1.299" as 1.299 USD.
func readNumber(s string, c convention) (d decimal.Decimal, doubtful, ok bool) {
	for i, r := range s {
		if zeros := myriads(r); zeros > 0 {
			return readMyriads(s[:i], s[i+utf8.RuneLen(r):], zeros, c)
		}
	}
	var w written
	if !w.scan(s) {
		return d, false, false
	}
	places, doubtful, ok := w.places(c)
	if !ok {
		return d, false, false
	}
	return w.value(places), doubtful, true
}

// readMyriads reads 12万8,000 as 128000: what stands before the 万 counts ten
// thousand times.
func readMyriads(head, tail string, zeros int, c convention) (d decimal.Decimal, doubtful, ok bool) {
	d, doubtful, ok = readNumber(head, c)
	if !ok {
		return d, false, false
	}
	d, err := d.Mul(decimal.MustNew(pow10(zeros), 0))
	if err != nil {
		return d, false, false
	}
	if tail == "" {
		return d, doubtful, true
	}
	rest, _, ok := readNumber(strings.TrimLeft(tail, " \u00a0\u3000"), c)
	if !ok {
		return d, false, false
	}
	d, err = d.Add(rest)
	return d, doubtful, err == nil
}

func pow10(n int) int64 {
	p := int64(1)
	for range n {
		p *= 10
	}
	return p
}

// myriads returns how many zeros a rune stands for: 4 for 万, 8 for 億.
func myriads(r rune) int {
	switch r {
	case '万', '萬', '만':
		return 4
	case '億', '亿', '억':
		return 8
	}
	return 0
}

// scan takes a number apart. A first group may be empty: ".99".
func (w *written) scan(s string) bool {
	size := 0
	for _, r := range s {
		v, ok := digit(r)
		if high := superscript(r); high >= 0 { // 19⁹⁹
			if v, ok = high, true; w.groups == 0 || w.seps[w.groups-1] != '٫' {
				if size == 0 || w.groups == maxGroups-1 {
					return false
				}
				w.lens[w.groups], w.seps[w.groups] = size, '٫'
				w.groups++
				size = 0
			}
		}
		if ok {
			if w.n == len(w.digits) {
				return false
			}
			w.digits[w.n] = byte('0' + v)
			w.n++
			size++
			continue
		}
		sep := separator(r)
		if r == '\n' || r == '\r' || r == '\t' {
			sep = ' '
		}
		switch {
		case sep == 0 && (invisible(r) || r == '-'):
			continue
		case sep == ' ' && size == 0 && w.groups > 0: // 219. 95
			continue
		case sep != 0 && size == 0 && w.groups > 0 && w.seps[w.groups-1] == ' ': // 219 ,95
			w.seps[w.groups-1] = sep
			continue
		case sep == 0 || w.groups == maxGroups-1 || size == 0 && w.groups > 0:
			return false
		}
		w.lens[w.groups], w.seps[w.groups] = size, sep
		w.groups++
		size = 0
	}
	w.lens[w.groups] = size
	w.groups++
	return size > 0
}

// places returns how many of the digits stand after the decimal point.
func (w *written) places(c convention) (places int, doubtful, ok bool) {
	n := w.groups - 1
	if n == 0 {
		return 0, false, true
	}
	last, tail := w.seps[n-1], w.lens[n]
	same := true
	for _, s := range w.seps[:n] {
		same = same && s == w.seps[0]
	}
	switch {
	case last == '٫': // always the decimal point
		return tail, false, n == 1 || w.sameSeps(n-1) && w.grouped(n-1)
	case same && (last == ' ' || last == '\'' || last == '٬'): // never the decimal point
		return 0, false, w.grouped(n)
	case n == 1:
		return w.lone(c)
	case same:
		if w.grouped(n) {
			return 0, false, true
		}
		return tail, false, tail <= 2 && w.grouped(n-1) // 1.299.00
	case last != '.' && last != ',':
		return 0, false, false
	}
	return tail, false, w.sameSeps(n-1) && w.seps[0] != last && w.grouped(n-1)
}

// lone decides what a single '.' or ',' is: before anything but three digits it
// is the decimal point.
func (w *written) lone(c convention) (places int, doubtful, ok bool) {
	whole, tail, sep := w.lens[0], w.lens[1], w.seps[0]
	if tail != 3 || whole == 0 || whole > 3 || w.digits[0] == '0' {
		return tail, false, true
	}
	switch {
	case c.digits == 0 || c.group == sep:
		return 0, false, true
	case c.digits == 3:
		// 18.750 KWD
		if sep == '.' || c.point == ',' {
			return 3, false, true
		}
		return 0, c.point == 0, true
	case c.point == sep && c.unit:
		return 3, false, true // 1,459 €/l
	case c.point == sep && c.native:
		return 3, true, true
	case c.unit && c.point == 0:
		return 3, true, true
	}
	return 0, false, true
}

func (w *written) sameSeps(n int) bool {
	for _, s := range w.seps[:n] {
		if s != w.seps[0] {
			return false
		}
	}
	return true
}

// grouped reports whether the first n separators separate thousands, or lakhs
// and crores.
func (w *written) grouped(n int) bool {
	if n == 0 {
		return w.lens[0] > 0
	}
	first, last := w.lens[0], w.lens[n]
	if first == 0 || first > 3 || last != 3 {
		return false
	}
	for _, l := range w.lens[1:n] {
		if l != w.lens[1] || l != 3 && (l != 2 || first > 2) {
			return false
		}
	}
	return true
}

func (w *written) value(places int) decimal.Decimal {
	var buf [maxDigits + 2]byte
	b := append(buf[:0], w.digits[:w.n-places]...)
	if len(b) == 0 {
		b = append(b, '0')
	}
	if places > 0 {
		b = append(b, '.')
		b = append(b, w.digits[w.n-places:w.n]...)
	}
	d, _ := decimal.Parse(string(b)) // digits and a point, in bounds
	return d
}

// separator returns what a rune separates in numbers, in one form for each kind:
// '.', ',', '\”, ' ', '٫' for a decimal point only, '٬' for thousands only; 0
// for what separates nothing.
func separator(r rune) rune {
	switch r {
	case '.', '．', '·', '‧', '․':
		return '.'
	case ',', '，', '、', '،', '﹐':
		return ','
	case '\'', '’', '‘', '´', '`', 'ʼ', '′', '＇':
		return '\''
	case '٫':
		return '٫'
	case '٬':
		return '٬'
	case ' ', '\u00a0', '\u202f', '\u2009', '\u2007', '\u2008', '\u2002', '\u2003', '\u2004', '\u2005', '\u2006', '\u200a', '\u205f', '\u3000':
		return ' '
	}
	return 0
}

// superscript returns the value of a raised digit, -1 for any other rune.
func superscript(r rune) int {
	switch r {
	case '¹':
		return 1
	case '²', '³':
		return int(r-'²') + 2
	case '⁰', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹':
		return int(r - '⁰')
	}
	return -1
}

// invisible reports whether a rune only directs how text runs or breaks.
func invisible(r rune) bool {
	switch {
	case r == '\u00ad', r == '\u061c', r == '\ufeff', r == '\u2060':
		return true
	}
	return r >= '\u200b' && r <= '\u200f' || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069' || r >= 0xfe00 && r <= 0xfe0f
}

// digit returns the value of a decimal digit of any script.
func digit(r rune) (int, bool) {
	switch {
	case r >= '0' && r <= '9':
		return int(r - '0'), true
	case r < 0x660:
		return 0, false
	case r >= '０' && r <= '９':
		return int(r - '０'), true
	case r >= 0x3000 && r < 0xa620 || r >= 0xac00 && r < 0xd7b0:
		return 0, false // most of the text in East Asian pages
	case !unicode.Is(unicode.Nd, r):
		return 0, false
	}
	// Digits come in runs of ten from zero, most of which begin at a multiple of
	// 16 or 6 after one. The mathematical ones are five runs without a gap.
	if r >= 0x1d7ce && r <= 0x1d7ff {
		return int(r-0x1d7ce) % 10, true
	}
	for v := range rune(10) {
		if !unicode.Is(unicode.Nd, r-v-1) {
			return int(v), true
		}
	}
	return 0, false
}
