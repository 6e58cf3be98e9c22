package price_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/govalues/decimal"
	"pgregory.net/rapid"

	"github.com/lastlook/lastlook/watch/price"
)

func TestParseMachine(t *testing.T) {
	for in, want := range map[string]string{
		"1299": "1299", "1299.00": "1299.00", " 84.9 ": "84.9", "0": "0", "0.00": "0.00", ".99": "0.99", "+5": "5", "-5.50": "-5.50",
		"1464,00": "1464.00", "12,5": "12.5", "0,125": "0.125", "1464,000": "1464.000", "10,5000": "10.5000",
		"1,299.00": "1299.00", "1.299,00": "1299.00", "1 299,00": "1299.00", "1\u00a0299,5": "1299.5", "1\u202f299": "1299",
		"1'299.00": "1299.00", "1’299": "1299", "1.299,000": "1299.000", "12,345,678.90": "12345678.90",
		"1,299,000": "1299000", "1.299.000": "1299000", "1,29,999": "129999", "12,34,567.50": "1234567.50",
		"1.299": "1.299", "1.29900E3": "1299.00", "1.299E7": "12990000", "125e-2": "1.25",
		"1099.9900000000001": "1099.9900000000001",
	} {
		got, err := price.ParseMachine(in)
		if err != nil || got.Cmp(decimal.MustParse(want)) != 0 {
			t.Errorf("%q: got %s, %v; want %s", in, got, err, want)
		}
	}
	for _, in := range []string{"1,299", "999,000", "-1,299"} {
		if got, err := price.ParseMachine(in); !errors.Is(err, price.ErrAmbiguous) || !errors.Is(err, price.ErrInvalid) {
			t.Errorf("%q: got %s, %v; want ErrAmbiguous", in, got, err)
		}
	}
	for _, in := range []string{
		"", " ", "-", ".", ",", "5.", ",5", "$5", "5 EUR", "5€", "free", "1 2", "12 34", "1'2", "1299,000.5,5", "1.2.3", "1,2,3",
		"1,299.000,5", "1,2345.00", "1..5", "1,.5", "--5", "5-", "1e", "e5", "1e999", "1e+-5", "1e5e5", "1.e5,", "0x1F", "NaN", "Inf",
		"１２", "1٫5", "1 299'000", strings.Repeat("9", 40), strings.Repeat("9", 400), "1\x00", "\xff",
	} {
		if got, err := price.ParseMachine(in); !errors.Is(err, price.ErrInvalid) || errors.Is(err, price.ErrAmbiguous) {
			t.Errorf("%q: got %s, %v; want ErrInvalid", in, got, err)
		}
	}
}

func TestMachine(t *testing.T) {
	for _, c := range []struct{ amount, code, want string }{
		{"84.90", "EUR", "84.90 EUR"},
		{"84.9", "eur", "84.90 EUR"},
		{"129000", " KRW ", "129000 KRW"},
		{"1.299", "KWD", "1.299 KWD"},
		{"0.999", "EUR", "0.999 EUR"},
		{"1299.990", "EUR", "1299.990 EUR"},
		{"129.0000", "USD", "129.0000 USD"},
		{"1099.9900000000001", "USD", "1099.99 USD"},
		{"1099.99000000000000909", "USD", "1099.99 USD"},
		{"1099.989990234375", "USD", "1099.99 USD"},
		{"49.989999999999995", "EUR", "49.99 EUR"},
		{"12989.999999999998", "JPY", "12990 JPY"},
		{"0.123456789012", "EUR", "0.123456789012 EUR"},
		{"1.29900E3", "EUR", "1299.00 EUR"},
	} {
		got, err := price.Machine(c.amount, c.code)
		if err != nil || got.String() != c.want {
			t.Errorf("%s %s: got %q, %v; want %q", c.amount, c.code, got, err, c.want)
		}
	}
	for _, c := range []struct{ amount, code string }{
		{"1.299", "EUR"}, {" 12.990 ", "CZK"}, {"1.299", "JPY"}, {"1,299", "USD"},
	} {
		if got, err := price.Machine(c.amount, c.code); !errors.Is(err, price.ErrAmbiguous) {
			t.Errorf("%s %s: got %q, %v; want ErrAmbiguous", c.amount, c.code, got, err)
		}
	}
	for _, c := range []struct{ amount, code string }{
		{"5", ""}, {"5", "€"}, {"5", "EURO"}, {"5", "XXXX"}, {"x", "EUR"}, {"12345678901234567.8901", "EUR"},
	} {
		if got, err := price.Machine(c.amount, c.code); !errors.Is(err, price.ErrInvalid) {
			t.Errorf("%s %s: got %q, %v; want ErrInvalid", c.amount, c.code, got, err)
		}
	}
}

// TestMachineReadsBack: however an amount is grouped, if it can be read at all
// it is read as what it is.
func TestMachineReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := rapid.Int64Range(0, 99_999_999).Draw(t, "whole")
		cents := rapid.Int64Range(0, 99).Draw(t, "cents")
		style := rapid.SampledFrom([]struct{ group, point string }{
			{"", "."}, {"", ","}, {",", "."}, {".", ","}, {" ", ","}, {"'", "."}, {"\u202f", ","}, {"’", "."},
		}).Draw(t, "style")
		d := decimal.MustNew(whole*100+cents, 2)
		n := decimal.MustNew(whole, 0).String()
		for i := len(n) - 3; i > 0; i -= 3 {
			n = n[:i] + style.group + n[i:]
		}
		text := n + style.point + d.String()[len(d.String())-2:]
		got, err := price.Machine(text, "EUR")
		if err != nil || got.Amount().Cmp(d) != 0 {
			t.Fatalf("%q was read as %s, %v; want %s", text, got, err, d)
		}
	})
}

func FuzzParseMachine(f *testing.F) {
	for _, s := range []string{"1299.00", "1,299", "1.299,00", "1'299.-", "1e5", "٣", " 1 "} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := price.ParseMachine(s)
		if err != nil {
			if !errors.Is(err, price.ErrInvalid) {
				t.Errorf("%q: %v is not ErrInvalid", s, err)
			}
			return
		}
		if strings.ContainsAny(s, "eE") {
			return // an exponent moves digits
		}
		// Nothing comes out but the digits that stand there.
		all := func(s string) string {
			return strings.Map(func(r rune) rune {
				if r < '0' || r > '9' {
					return -1
				}
				return r
			}, s)
		}
		digits := func(s string) string { return strings.Trim(all(s), "0") }
		if got, want := digits(d.String()), digits(s); len(all(s)) <= decimal.MaxPrec && got != want {
			t.Errorf("%q was read as %s", s, d)
		}
	})
}
