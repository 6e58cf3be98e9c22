package price

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/bojanz/currency"

	"github.com/lastlook/lastlook/internal/cputest"
)

// seed is a text of the corpus. (The corpus' own reader knows this package.)
type seed struct {
	Kind, Input string
	Ctx         struct{ Locale, Currency string }
}

func seeds(t testing.TB) []seed {
	t.Helper()
	var all []seed
	for _, file := range []string{"../testdata/corpus/corpus.jsonl", "../testdata/corpus/own.jsonl"} {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(b) {
			var s seed
			if err := json.Unmarshal(line, &s); err != nil {
				t.Fatal(err)
			}
			if s.Kind == "price_text" {
				all = append(all, s)
			}
		}
	}
	if len(all) == 0 {
		t.Fatal("no seeds")
	}
	return all
}

// FuzzReadText holds for any text: no currency comes out that neither the text
// nor its context names, no number whose digits do not stand where it was read,
// and nothing is chosen that cannot be a price.
func FuzzReadText(f *testing.F) {
	for _, c := range seeds(f) {
		f.Add(c.Input, c.Ctx.Locale, c.Ctx.Currency, "")
	}
	for _, s := range []string{
		"1万2万3万円", "$..75,333", "12<99 €", "1250€600", "\xff€1", "1\u200f2 ₪", "€€1€€", "(((1 €", "1 €)))", "-€-1", "1-2-3-4 €",
		"%1%", "1 € 2 € 3 € 4 € 5 € 6 € 7 €", "１２，８００円", "0 0 0 €", "1'2'3 CHF", "x x 1x $2", "99p", "$ US 5", "2 for 2 for £2",
	} {
		f.Add(s, "en-GB", "", "shop.example.de")
		f.Add(s, "", "EUR", "")
	}
	f.Fuzz(func(t *testing.T, text, locale, cur, host string) {
		c := Context{Locale: locale, Currency: cur, Host: host}
		// The work is counted; that time follows it is measured.
		if _, work := readText(text, c); work > mostWork*len(text)+10_000 {
			t.Errorf("%q: %d looks", text, work)
		}
		var r Reading
		cputest.Within(t, len(text), func() { r = ReadText(text, c) })
		if r.Choice < -1 || r.Choice >= len(r.Candidates) || r.Ambiguous && r.Choice >= 0 || r.Alertable && r.Choice < 0 {
			t.Fatalf("%q: %+v", text, r)
		}
		for _, cand := range r.Candidates {
			checkCandidate(t, text, c, cand)
		}
		if p, ok := r.Price(); ok && (p.Amount.Number.IsNeg() || !slices.Contains([]Kind{KindPrice, KindFrom, KindRange, KindUnit, KindMultibuy}, p.Kind)) {
			t.Errorf("%q: %+v was chosen", text, p)
		}
	})
}

func checkCandidate(t *testing.T, text string, c Context, cand Candidate) {
	t.Helper()
	if !slices.Contains(Kinds(), cand.Kind) {
		t.Errorf("%q: kind %q", text, cand.Kind)
	}
	if cand.Start < 0 || cand.End > len(text) || cand.Start >= cand.End || !strings.Contains(text, cand.Snippet) {
		t.Fatalf("%q: %+v is not in it", text, cand)
	}
	amounts := []Amount{cand.Amount}
	if cand.High != nil {
		amounts = append(amounts, *cand.High)
	}
	for _, a := range amounts {
		if a.Currency != "" && a.CurrencyAmbiguous {
			t.Errorf("%q: %+v is both known and ambiguous", text, a)
		}
		if a.Currency != "" && !named(text, c, a.Currency) {
			t.Errorf("%q in %+v: nobody names %s", text, c, a.Currency)
		}
		if a.Number.IsNeg() {
			t.Errorf("%q: %s is negative", text, a.Number)
		}
		// A price for a unit is brought to one of it.
		if cand.Kind != KindUnit && !containsDigits(text[cand.Start:cand.End], a.Number.String()) {
			t.Errorf("%q: the digits of %s are not in %q", text, a.Number, text[cand.Start:cand.End])
		}
	}
}

// named reports whether a text or its context names a currency.
func named(text string, c Context, code string) bool {
	v := c.view()
	if v.names(code) {
		return true
	}
	clean := strings.ToLower(strings.Map(func(r rune) rune {
		if invisible(r) || separator(r) == ' ' {
			return -1
		}
		return r
	}, text))
	contains := func(name string) bool { return strings.Contains(clean, strings.ToLower(name)) }
	for _, row := range signTable {
		if row.code == code && slices.ContainsFunc(strings.Fields(row.names), contains) {
			return true
		}
	}
	for _, symbol := range []string{"$", "£", "¥"} { // EG£, $US
		if contains(code[:2]+symbol) || contains(symbol+code[:2]) {
			return true
		}
	}
	return contains(code)
}

// containsDigits reports whether the digits of a number, zeros aside, stand in a
// text in their order.
func containsDigits(text, number string) bool {
	significant := func(s string) string {
		return strings.Map(func(r rune) rune {
			if high := superscript(r); high > 0 {
				return rune('0' + high)
			}
			if d, ok := digit(r); ok && d > 0 {
				return rune('0' + d)
			}
			return -1
		}, s)
	}
	return strings.Contains(significant(text), significant(number))
}

// TestSigns holds the tables to ISO 4217 and to themselves.
func TestSigns(t *testing.T) {
	seen := map[string]bool{}
	for _, row := range signTable {
		for _, code := range append(slices.Clone(row.or), row.code) {
			if code != "" && !currency.IsValid(code) {
				t.Errorf("%s: %q is no currency", row.names, code)
			}
		}
		if row.code != "" && row.or != nil && !slices.Contains(row.or, row.code) && !row.shy {
			t.Errorf("%s: %s is not among %v", row.names, row.code, row.or)
		}
		for name := range strings.FieldsSeq(row.names) {
			if seen[name] {
				t.Errorf("%s stands twice", name)
			}
			seen[name] = true
		}
	}
	for _, code := range append(slices.Clone(shyCodes), lowerCodes...) {
		if !currency.IsValid(code) {
			t.Errorf("%s is no currency", code)
		}
	}
}

// TestLexicon finds words that can never match: a phrase of several scripts is a
// slip of the keyboard, and one without a direction would say nothing.
func TestLexicon(t *testing.T) {
	scripts := map[string]*unicode.RangeTable{
		"Latin": unicode.Latin, "Cyrillic": unicode.Cyrillic, "Greek": unicode.Greek, "Arabic": unicode.Arabic, "Hebrew": unicode.Hebrew,
	}
	for _, list := range [][]phrase{phrases, phrasesOfTerms, phrasesOfDelivery} {
		for _, p := range list {
			if p.means&(mList|mUsual|mNow|mInstall|mSave|mMember|mExtra|mFrom) != 0 && p.means&either == 0 {
				t.Errorf("%.40s: where does the amount stand?", p.text)
			}
			for word := range strings.FieldsFuncSeq(p.text, func(r rune) bool { return r == ' ' || r == '|' }) {
				in := 0
				for _, table := range scripts {
					if strings.ContainsFunc(word, func(r rune) bool { return unicode.Is(table, r) }) {
						in++
					}
				}
				if in > 1 {
					t.Errorf("%s is written in %d scripts", word, in)
				}
			}
		}
	}
}

func TestDigits(t *testing.T) {
	for _, zero := range []rune{'0', '٠', '۰', '०', '০', '੦', '૦', '୦', '௦', '౦', '೦', '൦', '๐', '໐', '༠', '၀', '០', '᠐', '０', '𝟎', '𝟘'} {
		for v := range 10 {
			if got, ok := digit(zero + rune(v)); !ok || got != v {
				t.Errorf("%q: got %d, %v", zero+rune(v), got, ok)
			}
		}
	}
	for _, r := range "a²½一万-." {
		if v, ok := digit(r); ok {
			t.Errorf("%q was taken for %d", r, v)
		}
	}
}

// mostWork is how often a byte is looked at.
const mostWork = 60

// TestLinear holds the work of reading to the text's length, whatever it is made
// of: the looks at characters and tokens are counted, so that a busy machine
// makes no difference.
func TestLinear(t *testing.T) {
	pieces := []string{
		"10-20 € ", "1 ", "1,", "1.", "1万", "€", "€ ", "($", "$1)", "x", "x ", "x.", "a.b.", "free shipping ", "from ", "12x de ", "2 for ",
		"送料無料", "無", "税込", "円", "あ", "1円", "ポイント", "-", "- ", "1- ", "(", ")", ":", "+", "/ ", "1/kg ", "% 1", "1% ", "inkl. MwSt. ", "1 kg = ",
		"orders over ", "ab ", "was ", "now ", "\n", " ", "\u200e", "'", "1'000", "\xff", "é", "Rs. ", "R ", "TRY 1 ", "99p ", "$ US ", "$29 95 ",
		"unverbindliche ", "du sparst 5 € ", "5 € je 100 g, ", "$.", "..", "0 000 ", "1 000 ", "1. 1. ",
	}
	for i, c := range seeds(t) {
		if i%3 == 0 {
			pieces = append(pieces, c.Input+" ")
		}
	}
	const size = 5 << 10
	for _, piece := range pieces {
		text := strings.Repeat(piece, size/len(piece)+1)
		_, once := readText(text, Context{Locale: "de-DE", Currency: "EUR"})
		_, twice := readText(text+text, Context{Locale: "de-DE", Currency: "EUR"})
		if once > mostWork*len(text) {
			t.Errorf("%q, %d bytes of it: %d looks", piece, len(text), once)
		}
		if twice > 2*once+once/4+10_000 {
			t.Errorf("%q: %d looks at %d bytes, and %d at twice as many", piece, once, len(text), twice)
		}
	}
}
