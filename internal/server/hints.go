package server

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/price"
)

// bareAddress is what a browser's address bar shows of https://shop.example/lamp.
var bareAddress = regexp.MustCompile(`^(?i)[a-z0-9-]+(\.[a-z0-9-]+)*\.[a-z][a-z0-9-]+(:[0-9]+)?([/?#]|$)`)

// parseURL is [watch.ParseURL], and suggests what may have been meant.
func parseURL(s string) (string, error) {
	u, err := watch.ParseURL(s)
	if err == nil {
		return u, nil
	}
	s = strings.TrimSpace(s)
	if !bareAddress.MatchString(s) || strings.Contains(s, "@") || len(s) > maxHint {
		return "", err
	}
	if _, perr := url.Parse("https://" + s); perr != nil {
		return "", err
	}
	return "", fmt.Errorf("%w; did you mean https://%s?", err, s)
}

// maxHint bounds what is repeated in a suggestion.
const maxHint = 200

// symbols are the currency symbols that stand for one currency alone.
var symbols = strings.NewReplacer("€", " EUR ", "£", " GBP ", "₹", " INR ", "₩", " KRW ", "₺", " TRY ", "₪", " ILS ", "₴", " UAH ", "zł", " PLN ")

var (
	decimalComma = regexp.MustCompile(`^([^0-9,.]*[0-9]+),([0-9]{1,2}[^0-9,.]*)$`)
	anySymbol    = regexp.MustCompile(`\p{Sc}`)
)

// priceHint suggests how to write an amount that [price.Parse] does not take.
func priceHint(s string) string {
	if len(s) > maxHint {
		return ""
	}
	meant := strings.Join(strings.Fields(symbols.Replace(s)), " ")
	comma := decimalComma.MatchString(meant)
	if comma {
		meant = decimalComma.ReplaceAllString(meant, "$1.$2")
	}
	m, err := price.Parse(meant)
	switch {
	case err == nil && m.Positive() && comma:
		return fmt.Sprintf("; use a dot before the decimals: %q", written(meant))
	case err == nil && m.Positive():
		return fmt.Sprintf("; did you mean %q?", written(meant))
	case anySymbol.MatchString(s):
		return "; name the currency by its code, such as \"500 USD\""
	}
	return ""
}

// written puts the currency's code behind the amount.
func written(s string) string {
	if code, amount, ok := strings.Cut(s, " "); ok && amount != "" && strings.Trim(amount, "0123456789.") == "" {
		return amount + " " + code
	}
	return s
}
