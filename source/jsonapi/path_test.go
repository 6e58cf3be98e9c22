package jsonapi_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/lastlook/lastlook/internal/cputest"
	"github.com/lastlook/lastlook/source/jsonapi"
	"github.com/lastlook/lastlook/watch"
)

// TestPermitted: what could run for long, fill the memory or look at the machine
// is refused when it is saved.
func TestPermitted(t *testing.T) {
	for path, ok := range map[string]bool{
		".price": true, ".a[0].b // .c": true, `.items[] | select(.sku == "b") | .price`: true, "[.[] | .price?] | min": true,
		`.a | tonumber / 100`: true, `first(.v[] | .p)`: true, ".a # a comment": true, `.p | sub("EUR ";"")`: true, ".a as $x | $x": true,
		"if .a then .b else .c end": true, "..": true, `"\(.whole).\(.cents)"`: true,
		"": false, " ": false, ".a |": false, ".a)": false, ".a), (.b": false, strings.Repeat(".a", 300): false,
		"env": false, "$ENV.PATH": false, "input": false, "[inputs]": false, "now": false, "debug": false, "stderr": false, "input_filename": false,
		"range(10)": false, "repeat(.)": false, "[limit(9; repeat(1))]": false, "def f: f; f": false, "reduce .[] as $x (0; . + $x)": false,
		"foreach .[] as $x (0; .)": false, "recurse(.)": false, "until(false; .)": false, "while(true; .)": false, "$__loc__": false,
		`.a | gsub("";"x")`: false, `@base64`: false, ".a = 1": false, ".a |= 1": false, "label $out | break $out": false, `import "a" as a; .`: false,
		`include "a"; .`: false, "halt": false, "error": false, "get_search_list": false, "[.,.]|[.,.]|[.,.]|[.,.]|[.,.]|[.,.]|[.,.]": false, "combinations": false,
	} {
		err := jsonapi.ValidateOptions(watch.Options{PricePath: path, StockPath: ".s"})
		if path == "" {
			err = jsonapi.ValidateOptions(watch.Options{})
		}
		if (err == nil) != ok {
			t.Errorf("%q: %v", path, err)
		}
		if err != nil && !errors.Is(err, watch.ErrInvalid) {
			t.Errorf("%q: %v is not ErrInvalid", path, err)
		}
	}
}

func read(t *testing.T, body string, o watch.Options) (watch.Observation, error) {
	t.Helper()
	return jsonapi.Read(t.Context(), []byte(body), o, "shop.example")
}

func TestValue(t *testing.T) {
	for _, c := range []struct{ body, path, want, says string }{
		{`{"a":{"b":[1,2.50,"x"]}}`, ".a", `{"b":[1,2.50,"x"]}`, ""},
		{`{"a":12345678901234567890.123}`, ".a", `12345678901234567890.123`, ""},
		{`{"a":[1,2]}`, ".a | length", "2", ""},
		{`{"a":[1,2]}`, "[.a[] | . * 2]", "[2,4]", ""},
		{`{"a":"<&>"}`, ".a", `"\u003c\u0026\u003e"`, ""},
		{`{"a":false}`, ".a", "false", ""},
		{`{"a":null}`, ".a", "", "lead to nothing"},
		{`{"a":[1,2]}`, ".a[]", "", "several values"},
		{`{"a":[` + strings.Repeat("1,", 20) + `1]}`, ".a[]", "", "more than 16"},
		{`{"a":"` + strings.Repeat("x", 20<<10) + `"}`, ".a", "", "larger than"},
		{`{"a":"` + strings.Repeat("x", 3000) + `"}`, "[.a,.a]|[.,.]|[.,.]|[.,.]", "", "larger than"},
		{strings.Repeat("[", 300) + strings.Repeat("]", 300), ".", "", "deeper"},
		{`{"a":1} {"a":2}`, ".a", "", "something follows"},
		{`{"a":"x"}`, ".a | tonumber", "", "the value path"},
	} {
		o, err := read(t, c.body, watch.Options{ValuePath: c.path})
		if string(o.Value) != c.want || (c.says == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s of %.40s: %s, %v", c.path, c.body, o.Value, err)
		}
	}
}

// TestEnds: a filter ends with the context.
func TestEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o, err := jsonapi.Read(ctx, []byte("["+strings.Repeat("1,", 1<<12)+"1]"), watch.Options{ValuePath: "[..] | [..] | length"}, "")
	if err == nil {
		t.Errorf("it ran to its end, and gave %s", o.Value)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(`{"price":"1.299,00 €","stock":1}`, ".price", "EUR", "de-DE")
	f.Add(`{"offer":{"price":{"amount":"24.50","currencyCode":"CHF"}}}`, ".offer.price", "", "")
	f.Add(`[1,[2]]`, "..|numbers", "JPY", "")
	f.Fuzz(func(t *testing.T, body, path, currency, locale string) {
		var o watch.Observation
		var err error
		cputest.Within(t, len(body), func() {
			o, err = jsonapi.Read(t.Context(), []byte(body), watch.Options{PricePath: path, Currency: currency, Locale: locale}, "shop.example")
		})
		if err != nil && !o.Price.IsZero() {
			t.Errorf("%+v beside %v", o, err)
		}
		if o.Price.Amount().IsNeg() {
			t.Errorf("a price below zero: %s", o.Price)
		}
	})
}
