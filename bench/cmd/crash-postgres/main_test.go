package main

import (
	"strings"
	"testing"

	"github.com/lastlook/lastlook/internal/crash"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		args                       []string
		kills, restarts, failovers int
		out                        string
	}{
		{nil, 100, 20, 3, "results/crash-postgres.json"},
		{[]string{"-quick"}, 10, 2, 1, ""},
		{[]string{"-quick", "-kills", "5", "-failovers", "0"}, 5, 2, 0, ""},
		{[]string{"-out", ""}, 100, 20, 3, ""},
	} {
		o, err := parse(c.args)
		if err != nil || o.Kills != c.kills || o.Restarts != c.restarts || o.Failovers != c.failovers || o.out != c.out {
			t.Errorf("parse(%q): %+v, %v", c.args, o, err)
		}
	}
}

// A run that shows nothing is an error, whatever it has not found.
func TestProven(t *testing.T) {
	o := options{TeamPlan: crash.TeamPlan{Stops: 1, Restarts: 2}}
	out := crash.Outcome{Ruling: crash.Ruling{Refused: 3, Resumed: map[string][]float64{"restart": {0.4, 0.5}}}}
	if err := proven(&out, o); err != nil {
		t.Error(err)
	}
	out.Resumed["restart"] = out.Resumed["restart"][:1]
	if err := proven(&out, o); err == nil || !strings.Contains(err.Error(), "resume") {
		t.Errorf("one restart of two was never followed by anything: %v", err)
	}
	if out.Refused = 0; proven(&out, o) == nil {
		t.Error("no write of those who had been stopped was tried")
	}
}
