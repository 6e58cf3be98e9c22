package main

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestOpenVulns(t *testing.T) {
	accepted, err := readAccepted(strings.NewReader("# why\n\nGO-2026-0001 2026-06-30 the parser is not reached\n"))
	if err != nil {
		t.Fatal(err)
	}
	day := func(s string) time.Time {
		d, err := time.Parse(time.DateTime, s)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	const report = "=== Symbol Results ===\n\nVulnerability #1: GO-2026-0001\n    x\n\nVulnerability #2: GO-2026-0002\n  Module: example.com/m\n    Found in: m@v1\n\nVulnerability #3: GO-2026-0003\n  Standard library\n    Found in: html/template@go1.26.8\n"
	tests := []struct {
		name, report, now string
		want              []string
	}{
		{"one accepted", report, "2026-06-30 23:00:00", []string{"GO-2026-0002"}},
		{"no longer", report, "2026-07-01 00:00:01", []string{"GO-2026-0001", "GO-2026-0002"}},
		{"unreadable", "Something else", "2026-01-01 00:00:00", []string{"a finding that this program cannot read"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ofGo := openVulns(tt.report, accepted, day(tt.now))
			if !slices.Equal(got, tt.want) {
				t.Errorf("openVulns: %v, want %v", got, tt.want)
			}
			if want := tt.report == report; want != slices.Equal(ofGo, []string{"GO-2026-0003"}) {
				t.Errorf("of the standard library: %v", ofGo)
			}
		})
	}
	for _, bad := range []string{"GO-2026-0001 2026-06-30", "GO-2026-0001 soon because"} {
		if _, err := readAccepted(strings.NewReader(bad)); err == nil {
			t.Errorf("readAccepted(%q) found nothing wrong", bad)
		}
	}
}
