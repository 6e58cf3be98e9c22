package main

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode"
)

const hostile = "Camera\x1b[31m\u009b2J\u202e\u2066\u200b\u00ad\U000e0001\r\nforged line\x00\x7f\xff"

func TestNothingAPageSaysReachesTheTerminalRaw(t *testing.T) {
	var out, hints strings.Builder
	p := &printer{w: &out, hints: &hints, now: time.Now}
	p.linef("%s %v", hostile, errors.New(hostile))
	p.notef("%s", hostile)
	p.table([]string{"A", "B"}, [][]string{{hostile, "x"}, {"", hostile}})
	p.facts("  ", hostile, hostile, "empty", "")
	j := &printer{w: &out, hints: &hints, json: true}
	j.notef("%s", hostile)
	if err := j.value(map[string]string{hostile: hostile}); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{out.String(), hints.String(), plain(hostile), explain(errors.New(hostile))} {
		for _, r := range text {
			if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
				t.Fatalf("%U is in %q", r, text)
			}
		}
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "forged") {
				t.Fatalf("a line was forged: %q", text)
			}
		}
	}
}

func TestJSONSurvivesEscaping(t *testing.T) {
	var out strings.Builder
	p := &printer{w: &out, json: true}
	want := map[string]string{"title": "a\u009b\u202e\u200b\U000e0001\u2028\n\"<é日本🙂"}
	if err := p.jsonLine(want); err != nil {
		t.Fatal(err)
	}
	var got map[string]string
	if err := json.Unmarshal([]byte(out.String()), &got); err != nil || got["title"] != want["title"] {
		t.Errorf("%q came back as %q, %v", out.String(), got, err)
	}
	if strings.Count(out.String(), "\n") != 1 {
		t.Errorf("not one line: %q", out.String())
	}
}

func TestTable(t *testing.T) {
	var out strings.Builder
	p := &printer{w: &out}
	p.table([]string{"ID", "NAME", "X"}, [][]string{{"1", "Größe", "a"}, {"22", "", "b"}})
	want := "ID  NAME   X\n1   Größe  a\n22  -      b\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}

func TestQuiet(t *testing.T) {
	var out strings.Builder
	p := &printer{w: &out, quiet: true}
	p.notef("a remark")
	p.linef("a result")
	if out.String() != "a result\n" {
		t.Errorf("got %q", out.String())
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestAWriteThatFailsIsNotForgotten(t *testing.T) {
	p := &printer{w: full{}}
	p.linef("a")
	if p.err == nil || p.value(1) == nil {
		t.Error("the error is lost")
	}
}

func TestTimes(t *testing.T) {
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	p := &printer{now: func() time.Time { return now }}
	for _, c := range []struct {
		d    time.Duration
		want string
	}{
		{0, "just now"}, {400 * time.Millisecond, "just now"}, {5 * time.Second, "5s ago"}, {-90 * time.Second, "in 1m 30s"},
		{2 * time.Hour, "2h ago"}, {25*time.Hour + time.Minute, "1d 1h ago"}, {-400 * 24 * time.Hour, "in 400d"},
	} {
		if got := p.ago(now.Add(-c.d)); got != c.want {
			t.Errorf("%s: got %q, want %q", c.d, got, c.want)
		}
	}
	berlin := time.FixedZone("", 3600)
	if got := p.when(now.Add(-time.Minute).In(berlin)); got != "1m ago (2026-12-01 11:59:00 UTC)" {
		t.Errorf("got %q", got)
	}
	if got := p.when(time.Time{}) + p.ago(time.Time{}); got != "" {
		t.Errorf("no time shows as %q", got)
	}
	if got := span(1500 * time.Microsecond); got != "2ms" {
		t.Errorf("got %q", got)
	}
}

func TestShort(t *testing.T) {
	for in, want := range map[string]string{"": "", "äbc": "äbc", "äbcd": "äb…"} {
		if got := short(in, 3); got != want {
			t.Errorf("%q: got %q", in, got)
		}
	}
}
