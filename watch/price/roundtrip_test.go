package price_test

import (
	"strings"
	"testing"

	"github.com/bojanz/currency"
	"github.com/govalues/decimal"
	xcurrency "golang.org/x/text/currency"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"pgregory.net/rapid"

	"github.com/lastlook/lastlook/watch/price"
)

// locales and codes are what prices are written in, and read back from.
var (
	locales = []string{
		"en-US", "en-GB", "en-CA", "en-AU", "en-IN", "en-IE", "en-ZA", "de-DE", "de-AT", "de-CH", "fr-FR", "fr-CH", "fr-CA", "fr-BE",
		"es-ES", "es-MX", "es-AR", "es-CL", "es-CO", "it-IT", "it-CH", "pt-BR", "pt-PT", "nl-NL", "nl-BE", "sv-SE", "nb-NO", "da-DK",
		"fi-FI", "is-IS", "pl-PL", "cs-CZ", "sk-SK", "hu-HU", "ro-RO", "bg-BG", "hr-HR", "sl-SI", "sr-RS", "el-GR", "ru-RU", "uk-UA",
		"tr-TR", "he-IL", "ar-SA", "ar-AE", "ar-EG", "ar-MA", "fa-IR", "hi-IN", "bn-BD", "mr-IN", "ne-NP", "th-TH", "vi-VN", "id-ID",
		"ms-MY", "ja-JP", "zh-CN", "zh-TW", "zh-HK", "ko-KR", "et-EE", "lv-LV", "lt-LT", "ca-ES", "my-MM",
	}
	codes = []string{
		"EUR", "USD", "GBP", "JPY", "KRW", "CHF", "SEK", "NOK", "DKK", "PLN", "CZK", "HUF", "RON", "RUB", "UAH", "TRY", "ILS",
		"SAR", "AED", "EGP", "KWD", "BHD", "OMR", "JOD", "TND", "INR", "PKR", "BDT", "THB", "VND", "IDR", "MYR", "SGD", "PHP", "CNY",
		"HKD", "TWD", "AUD", "NZD", "CAD", "MXN", "BRL", "ARS", "CLP", "COP", "PEN", "ZAR", "NGN", "KES", "ISK",
	}
)

// amountOf draws a price with the decimals of its currency.
func amountOf(t *rapid.T, code string) decimal.Decimal {
	digits, _ := currency.GetDigits(code)
	magnitude := rapid.SampledFrom([]int64{99, 9_999, 999_999, 99_999_999, 9_999_999_999}).Draw(t, "magnitude")
	return decimal.MustNew(rapid.Int64Range(1, magnitude).Draw(t, "coefficient"), int(digits))
}

// readsBack checks that text is read as one price, d, and in no other currency
// than code.
func readsBack(t *rapid.T, text string, c price.Context, d decimal.Decimal, code string) {
	r := price.ReadText(text, c)
	p, ok := r.Price()
	if !ok || p.Amount.Number.Cmp(d) != 0 || len(r.Candidates) != 1 || p.Kind != price.KindPrice {
		t.Fatalf("%s %s was written %q in %+v, and read as %+v", d, code, text, c, r)
	}
	if p.Amount.Currency != code && p.Amount.Currency != "" && !shared(text, c.Locale, p.Amount.Currency) {
		t.Fatalf("%s %s was written %q in %+v, and read in %s", d, code, text, c, p.Amount.Currency)
	}
}

// shared reports whether the text has a symbol that the formatter gives to
// another currency beside the locale's own, which is what was read: "$" for US
// dollars in Mexico.
func shared(text, locale, read string) bool {
	home, _ := currency.ForCountryCode(locale[len(locale)-2:])
	return read == home && strings.ContainsAny(text, "$£¥")
}

// skipUnsure skips what is written in two ways in one country: in South
// Africa "1,000" is one to CLDR and a thousand to most shops, in French
// Switzerland numbers have a comma and prices a point.
func skipUnsure(t *rapid.T, locale string, d decimal.Decimal) {
	if (locale == "en-ZA" || locale == "fr-CH") && d.Scale() == 3 {
		t.Skip("who knows")
	}
}

// TestReadsBack: a price formatted as CLDR has it for a locale reads back the
// same, with the currency's symbol or code, and its currency is never another.
func TestReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		locale := rapid.SampledFrom(locales).Draw(t, "locale")
		code := rapid.SampledFrom(codes).Draw(t, "code")
		d := amountOf(t, code)
		skipUnsure(t, locale, d)
		amount, err := currency.NewAmount(d.String(), code)
		if err != nil {
			t.Fatal(err)
		}
		f := currency.NewFormatter(currency.NewLocale(locale))
		if rapid.Bool().Draw(t, "as code") {
			f.CurrencyDisplay = currency.DisplayCode
		}
		f.NoGrouping = rapid.Bool().Draw(t, "ungrouped")
		text := f.Format(amount)
		readsBack(t, text, price.Context{Locale: locale}, d, code)
		readsBack(t, text, price.Context{Locale: locale, Currency: code}, d, code)
		if f.CurrencyDisplay == currency.DisplayCode {
			r := price.ReadText(text, price.Context{Locale: locale})
			if c, _ := r.Price(); c.Amount.Currency != code {
				t.Fatalf("%q was read in %q", text, c.Amount.Currency)
			}
		}
	})
}

// TestReadsBackXText does the same with the other formatter that Go has.
func TestReadsBackXText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		locale := rapid.SampledFrom(locales).Draw(t, "locale")
		code := rapid.SampledFrom(codes).Draw(t, "code")
		d := amountOf(t, code)
		if digits, _ := currency.GetDigits(code); int(digits) != d.Scale() {
			t.Skip("no such amount")
		}
		skipUnsure(t, locale, d)
		value, _ := d.Float64()
		unit := xcurrency.MustParseISO(code)
		text := message.NewPrinter(language.MustParse(locale)).Sprint(xcurrency.Symbol(unit.Amount(value)))
		scale, _ := xcurrency.Standard.Rounding(unit)
		if scale < d.Scale() || value > 1e9 {
			t.Skip("it rounds")
		}
		readsBack(t, text, price.Context{Locale: locale}, d, code)
	})
}
