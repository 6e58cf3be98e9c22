package chat

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/lastlook/lastlook"
)

func TestFit(t *testing.T) {
	double := func(w Words) string { return w.Title + strings.ReplaceAll(w.Body, "&", "&amp;") + w.URL }
	for _, body := range []string{strings.Repeat("&", 9000), strings.Repeat("日本", 5000), strings.Repeat("👩\u200d👧", 3000), "short", strings.Repeat("x", 1<<20)} {
		for name, size := range map[string]func(string) int{"bytes": Bytes, "runes": Runes, "utf16": UTF16} {
			got := Fit(Words{Title: "T", Body: body, URL: "https://a.example/"}, 100, 1000, double, size)
			if n := size(got); n > 1000 || !utf8.ValidString(got) || n < 500 && body != "short" || !strings.HasPrefix(got, "T") || !strings.HasSuffix(got, "https://a.example/") {
				t.Errorf("%s of %.10q…: %d units: %.40q…", name, body, n, got)
			}
		}
	}
}

func TestWordsAreNeverEmpty(t *testing.T) {
	for _, tt := range []struct {
		m    lastlook.Message
		want Words
	}{
		{lastlook.Message{Title: "T\nT", Body: "B\r\nB", URL: "https://a.example/"}, Words{"T T", "B\nB", "https://a.example/", false}},
		{lastlook.Message{Title: "T", Silent: true}, Words{"", "T", "", true}},
		{lastlook.Message{URL: "javascript:alert(1)"}, Words{"", "s", "", false}},
		{lastlook.Message{Body: "B", URL: "https://a.example/|x"}, Words{"", "B", "", false}},
	} {
		if got := WordsOf(lastlook.Delivery{Key: lastlook.Key{Subject: "s"}, Message: tt.m}); got != tt.want {
			t.Errorf("%+v: %+v", tt.m, got)
		}
	}
	if got := WordsOf(lastlook.Delivery{}); got.Body == "" {
		t.Error("empty")
	}
}

// TestMemoryIsBounded: what is remembered of messages does not grow.
func TestMemoryIsBounded(t *testing.T) {
	s := &shown{refs: map[string]string{}}
	for i := range 3 * maxShown {
		s.swap(fmt.Sprint(i), "r")
	}
	if len(s.refs) != maxShown || len(s.order) != maxShown || s.swap("1", "") != "" || s.swap(fmt.Sprint(3*maxShown-1), "new") != "r" {
		t.Errorf("%d, %d", len(s.refs), len(s.order))
	}
}
