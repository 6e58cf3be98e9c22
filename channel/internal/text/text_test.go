package text

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestClean(t *testing.T) {
	for _, tt := range []struct{ in, clean, line string }{
		{"", "", ""},
		{"plain", "plain", "plain"},
		{" a\r\nb\rc\n", "a\nb\nc", "a b c"},
		{"a\x00b\x1b[31mc\u0085d", "ab[31mcd", "ab[31mcd"},
		{"a\xff\xfeb", "a\uFFFDb", "a\uFFFDb"},
		{"tab\t\t x", "tab\t\t x", "tab x"},
		{"line\u2028two", "line\ntwo", "line two"},
		{"日本 ¥480", "日本 ¥480", "日本 ¥480"},
	} {
		if got := Clean(tt.in); got != tt.clean {
			t.Errorf("Clean(%q) = %q, want %q", tt.in, got, tt.clean)
		}
		if got := Line(tt.in); got != tt.line {
			t.Errorf("Line(%q) = %q, want %q", tt.in, got, tt.line)
		}
	}
}

func TestShorten(t *testing.T) {
	for _, tt := range []struct {
		in    string
		limit int
		want  string
	}{
		{"short", 5, "short"},
		{"longer", 5, "lo…"},
		{"longer", 3, "…"},
		{"longer", 2, ""},
		{"a word more", 9, "a word…"},
		{"日本語です", 9, "日本…"},
		{"日本語です", 10, "日本…"},
		{"xe\u0301yyyy", 5, "x…"},                 // e and its accent stay together
		{"x👩\u200d👩\u200d👧yy", 5 + 4 + 3, "x…"},   // a family is not torn apart
		{"x👍\U0001F3FDyyy", 8, "x…"},              // nor a thumb from its colour
		{"x👍\U0001F3FDyyyy", 12, "x👍\U0001F3FD…"}, // which it keeps where there is room
	} {
		got := Shorten(tt.in, tt.limit)
		if got != tt.want {
			t.Errorf("Shorten(%q, %d) = %q, want %q", tt.in, tt.limit, got, tt.want)
		}
	}
}

func FuzzShorten(f *testing.F) {
	f.Add("a\xffb 日本\u0301", 4)
	f.Add(strings.Repeat("\u0301", 40), 30)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		limit %= 100
		got := Shorten(Clean(s), limit)
		if !utf8.ValidString(got) || len(got) > max(limit, 0) {
			t.Errorf("Shorten(%q, %d) = %q", s, limit, got)
		}
	})
}
