package price

import (
	"slices"
	"strings"

	"github.com/bojanz/currency"
)

// view is a Context, looked at once for a text.
type view struct {
	lang, region string
	// watch, page and host are the currencies that the watch says, that belong to
	// the page's locale and to the country of its host; "" each if there is none.
	watch, page, host string
	point, group      rune
}

func (c Context) view() view {
	var v view
	v.lang, v.region = splitLocale(c.Locale)
	if code := strings.ToUpper(c.Currency); currency.IsValid(code) {
		v.watch = code
	}
	if v.region != "" {
		v.page, _ = currency.ForCountryCode(v.region)
	} else {
		v.page = languageCurrency(v.lang)
	}
	if country := hostCountry(c.Host); country != "" {
		v.host, _ = currency.ForCountryCode(country)
	}
	v.point, v.group = separators(v.lang, v.region)
	return v
}

// splitLocale returns the language and the region of a locale: "de", "AT".
func splitLocale(s string) (lang, region string) {
	s, _, _ = strings.Cut(s, ".") // de_AT.UTF-8
	for i := 0; s != ""; i++ {
		var part string
		at := strings.IndexAny(s, "-_")
		if at < 0 {
			part, s = s, ""
		} else {
			part, s = s[:at], s[at+1:]
		}
		switch {
		case i == 0:
			lang = strings.ToLower(part)
		case len(part) == 1: // extensions follow
			return lang, region
		case len(part) == 2 && region == "" || part == "419":
			region = strings.ToUpper(part)
		case part == "Hant" && region == "" && lang == "zh":
			region = "TW"
		}
	}
	if region == "419" {
		return lang, ""
	}
	return lang, region
}

// languageCurrency is the currency of the one country, or the main one, in which
// a language is spoken. It is asked only which of several currencies a symbol is,
// and only where the language has one answer to that.
func languageCurrency(lang string) string {
	switch lang {
	case "ja":
		return "JPY"
	case "zh":
		return "CNY"
	case "ko":
		return "KRW"
	case "sv":
		return "SEK"
	case "nb", "nn", "no":
		return "NOK"
	case "da":
		return "DKK"
	case "is":
		return "ISK"
	case "hi", "mr", "gu", "kn", "te", "ml", "pa":
		return "INR"
	case "ur":
		return "PKR"
	case "si":
		return "LKR"
	case "ne":
		return "NPR"
	case "be":
		return "BYN"
	case "fa":
		return "IRR"
	case "cs":
		return "CZK"
	case "pl":
		return "PLN"
	case "hu":
		return "HUF"
	}
	return ""
}

// genericCountries are country domains that anybody takes for its sound: they
// say nothing of a country.
var genericCountries = []string{
	"ac", "ag", "ai", "am", "bz", "cc", "cd", "cf", "co", "cx", "dj", "fm", "ga", "gd", "gg", "gl", "gq", "gs", "im", "io", "je",
	"la", "lc", "li", "ly", "me", "ml", "mn", "ms", "nu", "pm", "pw", "re", "sc", "sh", "st", "sx", "tc", "tk", "to", "tv", "vc",
	"vg", "vu", "ws",
}

// hostCountry returns the country of a host by its domain, "" if it has none.
func hostCountry(host string) string {
	if i := strings.LastIndexByte(host, ':'); i >= 0 {
		host = host[:i]
	}
	host = strings.TrimSuffix(host, ".")
	i := strings.LastIndexByte(host, '.')
	if i < 0 || len(host)-i != 3 {
		return ""
	}
	tld := strings.ToLower(host[i+1:])
	second := host[:i]
	second = strings.ToLower(second[strings.LastIndexByte(second, '.')+1:])
	switch {
	case tld == "uk":
		return "GB"
	case second == "com" && strings.Contains(host[:i], "."): // shop.com.co is a country's
	case slices.Contains(genericCountries, tld):
		return ""
	}
	return strings.ToUpper(tld)
}

// commaLanguages write a comma before decimals. Regions of a language that differ
// are in [separators].
var commaLanguages = []string{
	"az", "be", "bg", "bs", "ca", "cs", "da", "de", "el", "es", "et", "eu", "fi", "fo", "fr", "gl", "hr", "hu", "hy", "id", "is",
	"it", "ka", "kk", "ky", "lb", "lt", "lv", "mk", "nb", "nl", "nn", "no", "pl", "pt", "ro", "ru", "sk", "sl", "sq", "sr", "sv",
	"tr", "tk", "uk", "uz", "vi",
}

// dotRegions write a dot where others of their language write a comma, and
// commaRegions the other way round.
var (
	dotRegions = []string{
		"es-MX", "es-US", "es-PR", "es-GT", "es-HN", "es-NI", "es-PA", "es-PE", "es-SV", "es-DO", "es-CU", "es-419", "de-CH",
		"de-LI", "it-CH", "fr-CH",
	}
	commaRegions = []string{
		"en-AT", "en-BE", "en-DE", "en-DK", "en-FI", "en-NL", "en-SE", "en-SI", "en-ES", "en-FR", "en-IT", "ar-DZ", "ar-LY",
		"ar-MA", "ar-TN",
	}
)

// separators returns how a locale writes numbers; zeros if that is not known.
// A group of 0 beside a point means that it groups with something that is no
// point in any locale.
func separators(lang, region string) (point, group rune) {
	if lang == "" {
		return 0, 0
	}
	full := lang + "-" + region
	comma := slices.Contains(commaLanguages, lang)
	if comma && slices.Contains(dotRegions, full) || !comma && slices.Contains(commaRegions, full) {
		comma = !comma
	}
	if comma {
		return ',', '.'
	}
	return '.', ','
}

// homeSeparators returns how prices in a currency are written where it is at
// home; zeros if there are several ways.
func homeSeparators(code string) (point, group rune) {
	switch code {
	case "USD", "GBP", "CAD", "AUD", "NZD", "SGD", "HKD", "TWD", "MXN", "JPY", "CNY", "KRW", "INR", "PKR", "THB", "PHP", "MYR",
		"ILS", "AED", "SAR", "EGP", "NGN", "KES", "LKR", "NPR", "BDT", "PEN", "DOP", "GTQ":
		return '.', ','
	case "BRL", "ARS", "CLP", "COP", "TRY", "DKK", "IDR", "VND", "PLN", "CZK", "HUF", "RON", "RUB", "UAH", "NOK", "SEK", "ISK",
		"UYU", "PYG", "RSD", "KZT", "BYN":
		return ',', '.'
	}
	return 0, 0
}

// convention says how an amount in a currency is written in v's surroundings.
func (v *view) convention(code string, unit bool) convention {
	c := convention{digits: -1, unit: unit}
	if code != "" {
		c.digits = usedDigits(code)
	}
	c.native = v.region != "" && code != "" && code == v.page
	c.point, c.group = v.point, v.group
	if code != "" && !c.native {
		if p, g := homeSeparators(code); p != 0 {
			c.point, c.group = p, g
		}
	}
	if v.point == 0 && (code == "TND" || code == "LYD") {
		c.point, c.group = ',', '.'
	}
	return c
}

// usedDigits returns how many decimals prices in a currency have in use: those of
// ISO 4217, none where they have gone out of use.
func usedDigits(code string) int {
	switch code {
	case "HUF", "IDR", "COP", "IRR", "IQD", "LBP", "SYP", "YER", "MMK", "LAK", "KHR", "UZS", "RSD", "AMD", "KZT", "TZS", "CRC":
		return 0
	}
	d, ok := currency.GetDigits(code)
	if !ok {
		return -1
	}
	return int(d)
}
