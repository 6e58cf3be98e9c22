package price_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/lastlook/lastlook/watch/price"
)

func TestParse(t *testing.T) {
	for in, want := range map[string]string{
		"499.90 EUR": "499.90 EUR", "EUR 499.9": "499.90 EUR", "500eur": "500.00 EUR", " 1200 JPY ": "1200 JPY",
		"0.125KWD": "0.125 KWD", "-5 USD": "-5.00 USD", "1.2345 EUR": "1.2345 EUR",
	} {
		got, err := price.Parse(in)
		if err != nil || got.String() != want {
			t.Errorf("%q: got %q, %v; want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"", "500", "EUR", "500 EURO", "1,299.00 EUR", "1.2.3 EUR", "500 $", "5e3 EUR", "1 299 EUR"} {
		if got, err := price.Parse(in); !errors.Is(err, price.ErrInvalid) {
			t.Errorf("%q: got %q, %v; want ErrInvalid", in, got, err)
		}
	}
}

func TestCmpNeverComparesCurrencies(t *testing.T) {
	eur, _ := price.New("10", "EUR")
	usd, _ := price.New("9", "USD")
	more, _ := price.New("10.50", "EUR")
	if _, ok := eur.Cmp(usd); ok {
		t.Error("compared euros with dollars")
	}
	if c, ok := eur.Cmp(more); !ok || c >= 0 {
		t.Errorf("10 and 10.50: %d, %v", c, ok)
	}
	if _, ok := (price.Money{}).Cmp(price.Money{}); ok {
		t.Error("compared nothing with nothing")
	}
}

func TestJSON(t *testing.T) {
	for in, want := range map[string]string{"470.00": "470", "470": "470", "0.10": "0.1", "0": "0"} {
		m, err := price.New(in, "EUR")
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(m)
		if err != nil || string(b) != `{"amount":"`+want+`","currency":"EUR"}` {
			t.Errorf("%s: %s, %v", in, b, err)
		}
		var back price.Money
		if err := json.Unmarshal(b, &back); err != nil {
			t.Error(err)
		}
		if c, ok := back.Cmp(m); !ok || c != 0 {
			t.Errorf("%s came back as %s", m, back)
		}
	}
	var m price.Money
	if b, _ := json.Marshal(m); string(b) != "null" || json.Unmarshal(b, &m) != nil || !m.IsZero() {
		t.Errorf("no money: %s, %v", b, m)
	}
	for _, in := range []string{`{"amount":"x","currency":"EUR"}`, `{"amount":"1","currency":"euros"}`, `7`} {
		if err := json.Unmarshal([]byte(in), &m); !errors.Is(err, price.ErrInvalid) {
			t.Errorf("%s: %v", in, err)
		}
	}
}
