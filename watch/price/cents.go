package price

import (
	"slices"

	"github.com/govalues/decimal"
)

// centsAt reports whether the number after the currency at token j are the
// hundredths of the amount before it: "39€90", "1.249€ 95".
func (r *reader) centsAt(a *anchor, j int) bool {
	k := j + 1
	n, t := r.tok(k), r.tok(j)
	if n.kind != tokNumber || n.end()-n.start() != 2 || a.last != a.num {
		return false
	}
	if c := r.text[n.start()]; c < '0' || c > '9' {
		return false
	}
	if d, _, ok := readNumber(r.numberText(a.num), r.view.convention("", false)); !ok || d.Scale() > 0 {
		return false
	}
	after := r.tok(k + 1)
	if r.hundredthsOf(t, after) {
		return true
	}
	if after.kind == tokSign || after.rune('%') || after.rune('×') || after.kind == tokNumber {
		return false
	}
	if !n.gap && !t.gap {
		return after.gap || after.kind != tokWord
	}
	if t.gap && a.num > 0 {
		return false
	}
	return after.kind == tokBreak || after.rune(')') || after.rune('/') || after.rune(',')
}

// readCents reads an amount whose hundredths are apart: "39€90", "$29 95".
func (r *reader) readCents(a *anchor, s *sign) bool {
	k := 0
	switch {
	case a.last > a.num && r.tok(a.last).kind == tokSign && a.first == a.num && r.centsAt(&anchor{num: a.num, last: a.last - 1}, a.last):
		k = a.last + 1
	case a.num == 1 && a.last == len(r.toks)-1 && r.toks[0].kind == tokNumber && r.toks[1].gap && r.toks[1].end()-r.toks[1].start() == 2:
		a.num, a.first, k = 0, 0, 1 // 29 95 €
	case a.first < a.num && a.last == a.num && s.first && r.tok(a.num+1).gap && r.centsAt(a, a.num):
		k = a.num + 1
	case a.first < a.num && a.last == a.num && s.first && r.tok(a.num+1).line() && r.centsAt(a, a.num+1):
		k = a.num + 2
	default:
		return false
	}
	whole, _, ok := readNumber(r.numberText(a.num), r.view.convention(a.code, false))
	part, _, ok2 := readNumber(r.numberText(k), convention{})
	if !ok || !ok2 || whole.Scale() > 0 {
		return false
	}
	hundredths, err := decimal.New(int64(part.Coef()), 2)
	if err != nil {
		return false
	}
	if a.value, err = whole.Add(hundredths); err != nil {
		return false
	}
	a.cents, a.last = k, max(k, a.last)
	if r.hundredthsOf(r.tok(k-1), r.tok(k+1)) {
		a.last = k + 1
	}
	return true
}

// hundredthsOf reports whether a word means the hundredths of the currency at
// another token: "12 zł 99 gr".
func (r *reader) hundredthsOf(t, word *token) bool {
	if t.kind != tokSign || word.kind != tokWord && word.kind != tokSign {
		return false
	}
	code, _ := r.view.resolve(&r.sg.list[t.sign])
	var buf [2 * maxWord]byte
	if names := hundredths[code]; names != nil && word.end()-word.start() <= maxWord {
		return slices.Contains(names, string(appendFoldedText(buf[:0], r.text[word.start():word.end()])))
	}
	return false
}

// hundredths are the words for a hundredth of a currency, folded.
var hundredths = map[string][]string{
	"PLN": {"gr", "grosz", "groszy", "grosze"}, "RUB": {"коп", "копеек", "копейки"}, "UAH": {"коп", "копіиок"}, "BYN": {"коп", "копеек"},
	"RON": {"bani", "ban"}, "EUR": {"cent", "cents", "ct", "centimes", "cts"}, "USD": {"cents", "¢"}, "CZK": {"hal", "haleru"}, "INR": {"paise"},
}
