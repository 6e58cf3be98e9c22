package price

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bojanz/currency"
	"github.com/govalues/decimal"
)

// ErrAmbiguous is wrapped by errors about an amount that can be read in two
// ways, such as "1,299": it must not be guessed. It wraps [ErrInvalid].
var ErrAmbiguous = fmt.Errorf("%w: ambiguous", ErrInvalid)

const (
	// maxMachine is the longest text taken for an amount.
	maxMachine = 64
	// maxDigits is how many digits an amount can have without loss.
	maxDigits = decimal.MaxPrec
)

// ParseMachine reads an amount as pages write it for machines: in a JSON-LD
// "price", an itemprop or a meta tag. By schema.org a '.' is the decimal point
// there and nothing else separates (https://schema.org/price); what shops
// write instead is accepted where it can be read in one way only:
//
//	1299  1299.00  .99  1.29900E3     as schema.org and JSON have it
//	1464,00  12,5                     a lone comma that cannot group thousands
//	1,299.00  1.299,00  1'299.00      two separators: the last one is the decimal's
//	1,299,000  1.299.000  1,29,999    one separator, several times: it groups
//	1,299                             [ErrAmbiguous]
//
// "1.299" is read as schema.org says. [Machine], which knows the currency,
// refuses it where no price has three decimals. A text with anything else in
// it, a currency symbol included, is an error that wraps [ErrInvalid]. What goes
// beyond 19 digits after the point, or in all, is rounded off.
func ParseMachine(s string) (decimal.Decimal, error) {
	plain, err := plainNumber(s)
	if err != nil {
		return decimal.Decimal{}, err
	}
	d, err := decimal.Parse(plain)
	if err != nil {
		return decimal.Decimal{}, fmt.Errorf("%w: %q has too many digits", ErrInvalid, cut(s))
	}
	return d, nil
}

// Machine reads an amount as [ParseMachine] does, in the currency that stands
// beside it, an ISO 4217 code in any case.
//
// Knowing the currency it is stricter: "1.299" in a currency of two decimals
// may be a price or a thousand times that, and is [ErrAmbiguous]. And it undoes
// what binary floating point does to decimals: 1099.9900000000001 USD is
// 1099.99.
func Machine(amount, code string) (Money, error) {
	code = strings.ToUpper(strings.TrimSpace(code))
	digits, ok := currency.GetDigits(code)
	if !ok {
		return Money{}, fmt.Errorf("%w: %q is not an ISO 4217 currency such as EUR", ErrInvalid, cut(code))
	}
	d, err := ParseMachine(amount)
	if err != nil {
		return Money{}, err
	}
	if digits < 3 && looksGrouped(strings.TrimSpace(amount)) {
		return Money{}, fmt.Errorf("%w: %q can be %s or a thousand times as much %s", ErrAmbiguous, cut(amount), d, code)
	}
	d, noisy := denoise(d, int(digits))
	if !noisy && countDigits(amount) > maxDigits {
		return Money{}, fmt.Errorf("%w: %q has too many digits", ErrInvalid, cut(amount))
	}
	return Money{amount: d, currency: code}, nil
}

// plainNumber rewrites s as decimal.Parse takes it: digits, at most one '.',
// perhaps a sign and an exponent.
func plainNumber(s string) (string, error) {
	t := strings.TrimSpace(s)
	if len(t) > maxMachine {
		return "", fmt.Errorf("%w: %q is too long to be an amount", ErrInvalid, cut(s))
	}
	notPlain := func() error { return fmt.Errorf("%w: %q is not a plain number such as 1299.00", ErrInvalid, cut(s)) }
	sign := ""
	if rest, ok := strings.CutPrefix(t, "-"); ok {
		sign, t = "-", rest
	} else {
		t = strings.TrimPrefix(t, "+")
	}
	if i := strings.IndexAny(t, "eE"); i >= 0 {
		mantissa, exponent := t[:i], strings.TrimLeft(t[i+1:], "+-")
		whole, fraction, _ := strings.Cut(mantissa, ".")
		if !isDigits(whole) || fraction != "" && !isDigits(fraction) || !isDigits(exponent) ||
			len(exponent) > 2 || len(t)-i-1-len(exponent) > 1 {
			return "", notPlain()
		}
		return sign + t, nil
	}
	groups, seps, ok := split(t)
	if !ok {
		return "", notPlain()
	}
	n := len(seps)
	if n == 0 {
		return sign + groups[0], nil
	}
	last := seps[n-1]
	switch {
	case n == 1 && last == '.':
		return sign + groups[0] + "." + groups[1], nil
	case n == 1 && last == ',' && looksGrouped(groups[0]+"."+groups[1]):
		return "", fmt.Errorf("%w: %q can be %s.%s or %s%s", ErrAmbiguous, cut(s), groups[0], groups[1], groups[0], groups[1])
	case n == 1 && last == ',':
		return sign + groups[0] + "." + groups[1], nil
	case allSame(seps) && grouped(groups):
		return sign + strings.Join(groups, ""), nil
	case n > 1 && (last == '.' || last == ',') && last != seps[0] && allSame(seps[:n-1]) && grouped(groups[:n]):
		return sign + strings.Join(groups[:n], "") + "." + groups[n], nil
	}
	return "", notPlain()
}

// split cuts a number at its separators; the kinds of space are one separator,
// and so are the kinds of apostrophe. Only a lone '.' may have nothing before it.
func split(t string) (groups []string, seps []rune, ok bool) {
	start := 0
	for i, r := range t {
		switch {
		case r >= '0' && r <= '9':
			continue
		case r == '.' || r == ',':
		case r == '\'' || r == '’':
			r = '\''
		case unicode.Is(unicode.Zs, r):
			r = ' '
		default:
			return nil, nil, false
		}
		groups, seps = append(groups, t[start:i]), append(seps, r)
		_, size := utf8.DecodeRuneInString(t[i:])
		start = i + size
	}
	groups = append(groups, t[start:])
	for i, g := range groups {
		if g == "" && (i > 0 || len(seps) != 1 || seps[0] != '.') {
			return nil, nil, false
		}
	}
	return groups, seps, true
}

// grouped reports whether the groups are thousands, or lakhs and crores.
func grouped(groups []string) bool {
	n := len(groups)
	if n < 2 || len(groups[0]) > 3 || len(groups[n-1]) != 3 {
		return false
	}
	middle := groups[1 : n-1]
	for _, g := range middle {
		if len(g) != len(middle[0]) || len(g) != 3 && (len(g) != 2 || len(groups[0]) > 2) {
			return false
		}
	}
	return true
}

// looksGrouped reports whether s, with a lone '.', may mean thousands: one to
// three digits, not starting with 0, and then three more.
func looksGrouped(s string) bool {
	whole, fraction, found := strings.Cut(strings.TrimLeft(s, "+-"), ".")
	return found && len(fraction) == 3 && len(whole) >= 1 && len(whole) <= 3 && whole[0] != '0' &&
		isDigits(whole) && isDigits(fraction)
}

// denoise rounds to the currency's digits if what is lost can only be the
// noise of a binary float: a long tail that changes nothing before the seventh
// significant digit.
func denoise(d decimal.Decimal, digits int) (decimal.Decimal, bool) {
	const long = 12
	if d.Prec() < long || d.Scale() <= digits {
		return d, false
	}
	rounded := d.Round(digits)
	lost, err := d.SubAbs(rounded)
	if err != nil {
		return d, false
	}
	bound, err := lost.Mul(decimal.MustNew(10_000_000, 0))
	if err != nil || bound.CmpAbs(d) > 0 {
		return d, false
	}
	return rounded, true
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

func countDigits(s string) (n int) {
	for _, r := range s {
		if r >= '0' && r <= '9' {
			n++
		}
	}
	return n
}

func allSame(r []rune) bool {
	for _, x := range r {
		if x != r[0] {
			return false
		}
	}
	return true
}
