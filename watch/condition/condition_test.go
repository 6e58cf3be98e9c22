package condition_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/lastlook/lastlook/internal/cputest"
	"github.com/lastlook/lastlook/watch/condition"
)

func values(now, last string) condition.Values {
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	return condition.Values{Now: raw(now), Last: raw(last), Previous: raw("5"), First: raw("10"), Low: raw("1"), High: raw("20")}
}

func TestHolds(t *testing.T) {
	for _, c := range []struct {
		text, now, last string
		want            bool
	}{
		{"now < 100", "99", "null", true},
		{"now < 100", "100", "null", false},
		{"now < 100 && now < last * 0.9", "89", "100", true},
		{"now < 100 && now < last * 0.9", "95", "100", false},
		// Integers are doubles, as the values are: all of these would be errors
		// otherwise.
		{"now * 2 == 10", "5", "null", true},
		{"now - 1 > 3", "4.5", "null", true},
		{"last / 2 > now", "4", "9", true},
		{"-now == 3", "-3", "null", true},
		{"now in [1, 2, 3]", "2", "null", true},
		{"now[1] == 2", "[1, 2]", "null", true},
		{"size(now) > 2", "[1, 2]", "null", false},
		{"size(now) % 2 == 0", "[1, 2]", "null", true},
		{"now.price.amount < 10", `{"price":{"amount":9.5}}`, "null", true},
		{"now.status == 'up'", `{"status":"up"}`, "null", true},
		{"has(now.error)", `{"status":"up"}`, "null", false},
		{"now.exists(x, x > 3)", "[1, 4]", "null", true},
		{"now.exists_one(x, x > 3)", "[1, 4]", "null", true},
		{"now.map(x, x * 2).all(x, x < 10)", "[1, 4]", "null", true},
		{"now.filter(x, x > 1).size() == 1", "[1, 4]", "null", true},
		{"now == null", "null", "1", true},
		{"now != previous && now < first && now >= low && now <= high", "7", "null", true},
		{"now ? true : false", "true", "null", true},
		{"now.matches('^v2[.]')", `"v2.1"`, "null", true},
		{"double(now) < 5.5", `"5.4"`, "null", true},
	} {
		cond, err := condition.Compile(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if got, err := cond.Holds(values(c.now, c.last)); err != nil || got != c.want {
			t.Errorf("%s for %s, last %s: %v, %v", c.text, c.now, c.last, got, err)
		}
	}
}

// What does not come to true or false cannot be told; it is not false.
func TestHoldsCannotTell(t *testing.T) {
	for text, now := range map[string]string{
		"now < 100":       `"soon"`,
		"now.a.b == 1":    `{"a":7}`,
		"now.missing > 1": "{}",
		"now[5] == 1":     "[1]",
		"now < last":      "null",
		"now > 0":         "{",
	} {
		cond, err := condition.Compile(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := cond.Holds(values(now, "1")); err == nil {
			t.Errorf("%s for %s: %v", text, now, got)
		} else if strings.Contains(err.Error(), "\n") || len(err.Error()) > 400 {
			t.Errorf("%s: a long error: %q", text, err)
		}
	}
}

func TestCompileRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "empty",
		"  ":                           "empty",
		"now <":                        "Syntax error",
		"now + 1":                      "not to true or false",
		"now":                          "not to true or false",
		"price < 100":                  "undeclared reference",
		"now.foo()":                    "undeclared reference",
		"'a' < 5":                      "no matching overload",
		strings.Repeat("a", 2001):      "the limit is 2000",
		strings.Repeat("(", 200) + "1": "",
		"now < 1 " + strings.Repeat("&& (now < 1 ", 60) + strings.Repeat(")", 60): "",
	} {
		if _, err := condition.Compile(text); !errors.Is(err, condition.ErrInvalid) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.40q: %v, want one about %q", text, err, want)
		}
	}
}

func TestUses(t *testing.T) {
	for text, want := range map[string]bool{"now < last * 0.9": true, "now < 1": false, "[1].exists(last, last > 0)": true, "now.last > 0": false} {
		c, err := condition.Compile(text)
		if err != nil {
			t.Fatal(err)
		}
		if c.Uses("last") != want {
			t.Errorf("%s uses last: %v", text, c.Uses("last"))
		}
	}
}

// However much there is to do, asking ends.
func TestCostIsLimited(t *testing.T) {
	list := "[" + strings.TrimSuffix(strings.Repeat("1,", 1000), ",") + "]"
	c, err := condition.Compile("now.all(a, now.all(b, now.all(c, a + b + c > 0)))")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.Holds(values(list, "null")); err == nil || !strings.Contains(err.Error(), "cost") {
		t.Errorf("%v, %v", got, err)
	}
}

// FuzzCondition: no panic, no hang, and an answer or an error. A condition of up to
// 2 kB, and values of up to 8 kB, are parsed, checked and asked within 100 ms of a
// processor; what is asked is bounded by its cost as well (TestNoSingleStepIsLarge).
func FuzzCondition(f *testing.F) {
	for _, text := range []string{"now < 100 && now < last * 0.9", "now.a[1].exists(x, x in last)", "size(now) % 2 == 0", "now.map(x, x+x)==[1]", "'\\u1F600' == now", "now.matches('(a*)*b')", "timestamp(now) > timestamp('2026-01-01T00:00:00Z')", "duration('1h') > duration(now)", "1/0 > now", "-9223372036854775808 < now",
		"[now].map(a, a+a).map(a, a+a).all(a, a == a)", "now.map(a, [1,1].map(b, a)) == now", "now.all(a, now.exists(b, b in last))"} {
		f.Add(text, `{"a":[1,[2,3]]}`)
		f.Add(text, `"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"`)
	}
	f.Fuzz(func(t *testing.T, text, now string) {
		var err error
		cputest.Within(t, len(text), func() {
			var c *condition.Condition
			if c, err = condition.Compile(text); err == nil {
				_, _ = c.Holds(values(now, "1"))
			}
		})
		if err != nil && !errors.Is(err, condition.ErrInvalid) {
			t.Errorf("%q: %v", text, err)
		}
	})
}
