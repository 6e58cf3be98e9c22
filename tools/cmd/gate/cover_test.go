package main

import (
	"strings"
	"testing"
)

func TestCoverage(t *testing.T) {
	// The second test binary reaches what the first did not, and the other way round.
	const profile = `mode: atomic
m/a/x.go:1.1,2.2 3 0
m/a/x.go:3.1,4.2 1 7
m/b/y.go:1.1,2.2 4 0
mode: atomic
m/a/x.go:1.1,2.2 3 1
m/a/x.go:3.1,4.2 1 0
m/b/y.go:1.1,2.2 4 0
`
	got, err := readProfile(strings.NewReader(profile))
	if err != nil {
		t.Fatal(err)
	}
	if got["m/a"] != (coverage{4, 4}) || got["m/b"] != (coverage{0, 4}) || len(got) != 2 {
		t.Errorf("readProfile: %v", got)
	}

	tests := []struct {
		floors map[string]float64
		ok     bool
	}{
		{map[string]float64{"m/a": 85}, true},
		{map[string]float64{"m/b": 1}, false},
		{map[string]float64{"m/unseen": 85}, false},
	}
	for _, tt := range tests {
		var out strings.Builder
		if err := judgeCoverage(got, tt.floors, &out); (err == nil) != tt.ok {
			t.Errorf("judgeCoverage with %v: %v\n%s", tt.floors, err, &out)
		}
	}

	for _, bad := range []string{"m/a/x.go:1.1,2.2 3", "m/a/x.go 1 1", "m/a/x.go:1.1,2.2 x 1"} {
		if _, err := readProfile(strings.NewReader(bad)); err == nil {
			t.Errorf("readProfile(%q) found nothing wrong", bad)
		}
	}
}
