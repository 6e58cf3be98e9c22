package lastlook

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// agree demands that both ways to the canonical form agree, on what is JSON too.
func agree(t testing.TB, in []byte) {
	t.Helper()
	got, err := Canonical(in)
	want, wantErr := canonicalDecoded(in)
	if (err == nil) != (wantErr == nil) || !bytes.Equal(got, want) {
		t.Fatalf("%q: %q, %v; decoded: %q, %v", in, got, err, want, wantErr)
	}
	if err != nil {
		return
	}
	if again, err := Canonical(got); err != nil || !bytes.Equal(again, got) {
		t.Fatalf("%q: its canonical form %q has another: %q, %v", in, got, again, err)
	}
}

var canonicalCases = []string{
	`{"a!":1,"a":2}`, `{"a":2,"a!":1}`, `{"a ":1,"a":2}`, `{"b":1,"a":{"d":[1, 2],"c":"<é>"},"":0}`, `{"a":1,"a":2}`, `{"b":1,"a":1,"b":2}`,
	`{"\u0061":1,"a":2}`, `"\u0041"`, `"\u2028"`, "\"\u2028\"", "\"\xff\"", `"<&>"`, `"\u003c"`, "\"\x7f\"", "\"\t\"",
	`-0`, `01`, `-`, `1.`, `.5`, `1e`, `1e+`, `1E-9`, `0.10`, `+1`, `1 2`, `[1,]`, `[,1]`, `[1 2]`, `{"a":1,}`, `{"a"}`, `{a:1}`, `{"a":1 "b":2}`,
	`true`, `tru`, `truex`, `null`, ` [ ] `, ` { } `, `[[[]]]`, ``, ` `, `"`, `"\"`, `{`, `[`, `{"a":`, "{}\x00",
	strings.Repeat("[", 100) + strings.Repeat("]", 100),
}

func TestCanonicalAgrees(t *testing.T) {
	for _, in := range canonicalCases {
		agree(t, []byte(in))
	}
	rapid.Check(t, func(rt *rapid.T) {
		b, err := json.MarshalIndent(value(rt, 3), "", rapid.SampledFrom([]string{"", " ", "\t"}).Draw(rt, "indent"))
		if err != nil {
			rt.Fatal(err)
		}
		got, err := Canonical(b)
		want, wantErr := canonicalDecoded(b)
		if err != nil || wantErr != nil || !bytes.Equal(got, want) {
			rt.Fatalf("%s: %s, %v; decoded: %s, %v", b, got, err, want, wantErr)
		}
	})
}

// value draws what JSON can hold.
func value(rt *rapid.T, depth int) any {
	text := rapid.StringOfN(rapid.SampledFrom([]rune("ab !\"\\<é\u2028\n\x7f世")), 0, 6, -1)
	kinds := 6
	if depth == 0 {
		kinds = 4
	}
	switch rapid.IntRange(0, kinds-1).Draw(rt, "kind") {
	case 0:
		return text.Draw(rt, "text")
	case 1:
		return rapid.Int64().Draw(rt, "integer")
	case 2:
		return rapid.Bool().Draw(rt, "bool")
	case 3:
		return nil
	case 4:
		out := []any{}
		for range rapid.IntRange(0, 3).Draw(rt, "elements") {
			out = append(out, value(rt, depth-1))
		}
		return out
	}
	out := map[string]any{}
	for range rapid.IntRange(0, 20).Draw(rt, "members") {
		out[text.Draw(rt, "name")] = value(rt, depth-1)
	}
	return out
}

func FuzzCanonical(f *testing.F) {
	for _, in := range canonicalCases {
		f.Add([]byte(in))
	}
	f.Fuzz(func(t *testing.T, in []byte) { agree(t, in) })
}
