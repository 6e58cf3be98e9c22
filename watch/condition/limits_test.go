package condition

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// numbers is a list of as many ones as a value may have.
func numbers(n int) json.RawMessage {
	return json.RawMessage("[" + strings.TrimSuffix(strings.Repeat("1,", n), ",") + "]")
}

// large is a nested value near the limit.
func large() json.RawMessage {
	deep := strings.Repeat("[", 1000) + strings.Repeat("]", 1000)
	return json.RawMessage("[" + deep + "," + strings.Repeat(`{"a":[1,2]},`, 300) + `"` + strings.Repeat("a", 2000) + `"]`)
}

// TestNoSingleStepIsLarge: what would do much in a single step, or make something
// large for next to nothing, is refused or stopped by its cost. Under CEL's own
// prices, deep comparisons ran for seconds and lists within macros for ever.
func TestNoSingleStepIsLarge(t *testing.T) {
	nested := "a0 == a0"
	for i := range 9 {
		nested = fmt.Sprintf("[[a%d,a%d,a%d,a%d]].all(a%d, %s)", i+1, i+1, i+1, i+1, i, nested)
	}
	for name, text := range map[string]string{
		"a list joined with itself": "[[now]]" + strings.Repeat(".map(a, a+a)", 40) + ".all(a, a == a)",
		"a text joined with itself": "['ab']" + strings.Repeat(".map(a, a+a)", 40) + ".all(a, a == a)",
		"pairs of pairs":            "[now]" + strings.Repeat(".map(a, [a,a])", 40) + " == [now]",
		"pairs by a macro":          "[now]" + strings.Repeat(".map(a, [1,1].map(b, a))", 30) + " == [now]",
		"objects of objects":        "[now]" + strings.Repeat(".map(a, {'x':a,'y':a})", 30) + " == [now]",
		"lists within macros":       strings.ReplaceAll(nested, "a9", "now"),
		"deep comparisons":          "now.all(a, now.all(b, now == last))",
		"deep memberships":          "now.all(a, now.all(b, a in [now, last]))",
		"a pattern that repeats":    "now.all(a, now.all(b, '" + strings.Repeat("a", 300) + "'.matches('" + strings.Repeat(".{900}", 90) + "')))",
		"a pattern from outside":    "now.all(a, 'aaaa'.matches(string(now)))",
		"a small pattern, often":    "now.all(a, now.all(b, '" + strings.Repeat("a", 900) + "'.matches('(a*)*(a*)*(a*)*$')))",
		"loops in loops":            "now.all(a, now.all(b, now.all(c, now.all(d, true))))",
	} {
		t.Run(name, func(t *testing.T) {
			c, err := Compile(text)
			if err != nil {
				if !errors.Is(err, ErrInvalid) {
					t.Error(err)
				}
				return
			}
			for _, value := range []json.RawMessage{numbers(4000), large()} {
				_, cost, err := c.ask(Values{Now: value, Last: value})
				if err == nil || cost > 2*maxCost+10*MaxValue {
					t.Errorf("cost %d, %v", cost, err)
				}
			}
		})
	}
}

// TestStepsCostWhatTheyDo: no condition below does more than a microsecond's work
// for each unit of its cost, by far: the limit on cost is one on time.
func TestStepsCostWhatTheyDo(t *testing.T) {
	n, value := numbers(100), large()
	for text, least := range map[string]uint64{
		"now.all(a, last == last)":                   100 * 1000,
		"now.all(a, a in [1, 2])":                    100 * 3,
		"now.map(a, now.map(b, b)).all(x, x == now)": 100 * 100,
		"size(now + now) > 0":                        100,
		"now.exists(a, 'aaaaaaaaaa'.matches('b'))":   100 * 10,
	} {
		c, err := Compile(text)
		if err != nil {
			t.Fatal(err)
		}
		_, cost, err := c.ask(Values{Now: n, Last: value})
		if cost < least && (err == nil || !strings.Contains(err.Error(), "cost")) {
			t.Errorf("%s: cost %d, %v, want at least %d", text, cost, err, least)
		}
	}
}

func TestWhatIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"now.map(a, [a, 1]).size() > 0":   "made for each element",
		"now.map(a, {'x': a}).size() > 0": "made for each element",
		"now.all(a, [a].all(b, b == 1))":  "made for each element",
		"now.matches(last)":               "written out",
		"now.matches('(a{500}){2}')":      "too large",
		"now.matches('(')":                "the pattern",
		"matches(now, '(a{30}){30}')":     "too large",
	} {
		if _, err := Compile(text); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want one about %q", text, err, want)
		}
	}
	for _, text := range []string{"now in [last, first]", "[now, last].exists(x, x > 3)", "now.all(a, a in [1, 2, 3])", "now.map(a, a + 1) == [2]", "now.matches('^v[0-9]{1,3}[.]')"} {
		if _, err := Compile(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	c, err := Compile("now == last")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Holds(Values{Now: numbers(MaxValue)}); err == nil || !strings.Contains(err.Error(), "point at less") {
		t.Error(err)
	}
}

// TestAccumulator: macros call their results what refuse takes them to.
func TestAccumulator(t *testing.T) {
	env, err := environment()
	if err != nil {
		t.Fatal(err)
	}
	parsed, issues := env.Parse("now.map(x, x)")
	if issues.Err() != nil {
		t.Fatal(issues.Err())
	}
	if got := parsed.NativeRep().Expr().AsComprehension().AccuVar(); got != accumulator {
		t.Errorf("the accumulator is called %q", got)
	}
	if _, issues := env.Compile(accumulator); issues.Err() == nil {
		t.Error("a condition can name it")
	}
}

var sink bool

// BenchmarkCostliest: what asking until the cost limit stops it takes.
func BenchmarkCostliest(b *testing.B) {
	c, err := Compile("now.all(a, now.all(b, now.all(c, a + b + c > 0)))")
	if err != nil {
		b.Fatal(err)
	}
	v := Values{Now: numbers(4000)}
	for b.Loop() {
		sink, _ = c.Holds(v)
	}
}
