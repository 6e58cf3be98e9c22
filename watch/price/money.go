// Package price holds money as lastlook needs it: a decimal amount with its
// ISO 4217 currency, never a float, the currency never guessed.
//
// [ReadText] reads it from what shops write for people, in some forty languages:
// "UVP 1.299,00 € jetzt nur 999,00 €". [Machine] reads what they write for
// machines, [Parse] what users type.
package price

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/bojanz/currency"
	"github.com/govalues/decimal"
)

// ErrInvalid is wrapped by every error of this package that is about its input.
var ErrInvalid = errors.New("invalid price")

// Money is an amount in a currency. The zero value is no money at all.
type Money struct {
	amount   decimal.Decimal
	currency string
}

// New returns money from a decimal number such as "1299.00" and an ISO 4217
// code such as "EUR".
func New(amount, code string) (Money, error) {
	d, err := decimal.Parse(amount)
	if err != nil || strings.ContainsAny(amount, "eE") {
		return Money{}, fmt.Errorf("%w: %q is not a decimal number such as 1299.00", ErrInvalid, cut(amount))
	}
	code = strings.ToUpper(code)
	if !currency.IsValid(code) {
		return Money{}, fmt.Errorf("%w: %q is not an ISO 4217 currency such as EUR", ErrInvalid, cut(code))
	}
	return Money{amount: d, currency: code}, nil
}

// Parse reads an amount and a currency as people type them on a command line:
// "499.90 EUR", "EUR 499.90" or "499.90EUR". It takes no separators of
// thousands, and a missing currency is an error.
func Parse(s string) (Money, error) {
	t := strings.TrimSpace(s)
	isAmount := func(r rune) bool { return r >= '0' && r <= '9' || r == '.' || r == '-' || r == '+' }
	first := strings.IndexFunc(t, isAmount)
	if first < 0 {
		return Money{}, fmt.Errorf("%w: %q: write an amount and a currency, such as \"499.90 EUR\"", ErrInvalid, cut(s))
	}
	last := strings.LastIndexFunc(t, isAmount)
	amount := t[first : last+1]
	code := strings.TrimSpace(t[:first]) + strings.TrimSpace(t[last+1:])
	if code == "" {
		return Money{}, fmt.Errorf("%w: %q has no currency: write it with the amount, such as \"%s EUR\"", ErrInvalid, cut(s), cut(amount))
	}
	return New(amount, code)
}

// Amount returns the amount.
func (m Money) Amount() decimal.Decimal { return m.amount }

// Currency returns the ISO 4217 code, "" for the zero value.
func (m Money) Currency() string { return m.currency }

// IsZero reports whether m is no money at all; an amount of 0 in a currency is
// money.
func (m Money) IsZero() bool { return m.currency == "" }

// Positive reports whether the amount is above zero.
func (m Money) Positive() bool { return m.amount.IsPos() }

// Cmp compares two amounts of one currency; ok is false if the currencies
// differ, since then nothing can be said.
func (m Money) Cmp(o Money) (c int, ok bool) {
	if m.currency != o.currency || m.IsZero() {
		return 0, false
	}
	return m.amount.Cmp(o.amount), true
}

// String returns the money for people and logs, such as "499.90 EUR".
func (m Money) String() string {
	if m.IsZero() {
		return ""
	}
	amount := m.amount
	if digits, ok := currency.GetDigits(m.currency); ok && amount.Scale() < int(digits) {
		amount = amount.Pad(int(digits))
	}
	return amount.String() + " " + m.currency
}

type moneyJSON struct {
	Amount   string `json:"amount"`
	Currency string `json:"currency"`
}

// MarshalJSON implements [json.Marshaler]: {"amount":"499.90","currency":"EUR"}.
// The amount is in its shortest form, so that equal amounts look alike.
func (m Money) MarshalJSON() ([]byte, error) {
	if m.IsZero() {
		return []byte("null"), nil
	}
	return json.Marshal(moneyJSON{m.amount.Trim(0).String(), m.currency})
}

// UnmarshalJSON implements [json.Unmarshaler].
func (m *Money) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*m = Money{}
		return nil
	}
	var j moneyJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	got, err := New(j.Amount, j.Currency)
	if err != nil {
		return err
	}
	*m = got
	return nil
}

func cut(s string) string {
	const limit = 40
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}
