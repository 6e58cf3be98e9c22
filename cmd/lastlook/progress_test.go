package main

import (
	"strings"
	"testing"
	"time"
)

func TestProgress(t *testing.T) {
	var out strings.Builder
	now := time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)
	if p := newProgress(&out, func() time.Time { return now }); p.w != nil {
		t.Error("a bar for what is no terminal")
	}
	p := &progress{w: &out, now: func() time.Time { return now }, began: now}
	p.step("keys", 0, 200)
	p.step("keys", 1, 200) // too soon to be drawn
	now = now.Add(10 * time.Second)
	p.step("keys", 50, 200)
	p.step("live", 200, 200)
	p.end()
	lines := strings.Split(strings.TrimPrefix(out.String(), "\r"), "\r")
	want := []string{
		"[" + strings.Repeat(".", 30) + "]   0 %  0 of 200 rows  keys",
		"[" + strings.Repeat("#", 7) + strings.Repeat(".", 23) + "]  25 %  50 of 200 rows  keys  about 30s left",
		"[" + strings.Repeat("#", 30) + "] 100 %  200 of 200 rows  live",
	}
	for i, w := range want {
		if got := strings.TrimRight(lines[i], " "); got != w {
			t.Errorf("line %d: %q, want %q", i, got, w)
		}
	}
	if len(lines) != 5 || lines[4] != "" || strings.TrimSpace(lines[3]) != "" || len(lines[3]) != len(want[2]) {
		t.Errorf("at the end: %q", lines)
	}
	none := &progress{w: &out, now: func() time.Time { return now }}
	none.step("keys", 0, 0)
	if !strings.Contains(out.String(), "100 %  0 of 0 rows") {
		t.Errorf("of nothing: %q", out.String())
	}
}
