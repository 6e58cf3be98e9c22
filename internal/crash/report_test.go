package crash

import (
	"strings"
	"testing"
)

func TestOutcomeReports(t *testing.T) {
	o := Outcome{Kills: 329, Random: 200, Points: map[string]int{"judge": 3}}
	o.Ruling = Ruling{Rows: 10, Accepted: 9, Repeats: 2, Ended: map[string]int{"sent": 8, "dropped gone": 2}}
	if got, want := o.Line(), "crash: kills=329 rows=10 lost=0 repeats=2 two_keys_same_value=0 final_changed=0"; got != want {
		t.Errorf("the line is %q, want %q", got, want)
	}
	if err := o.Err(); err != nil {
		t.Errorf("nothing was found, and it says %v", err)
	}
	if got := len(o.Details()); got != 3 {
		t.Errorf("%d details, want one of the failpoint and two of the ends", got)
	}
	for name, spoil := range map[string]func(o *Outcome){
		"findings":  func(o *Outcome) { o.Findings = []Finding{{Fault: FaultLost}, {Fault: FaultChanged}} },
		"reached":   func(o *Outcome) { o.Unreached = []string{"judge"} },
		"nothing":   func(o *Outcome) { o.Accepted = 0 },
		"few sents": func(o *Outcome) { o.Ended = map[string]int{"sent": 1} },
	} {
		bad := o
		spoil(&bad)
		if bad.Err() == nil {
			t.Errorf("%s: no error", name)
		}
		if name != "findings" {
			continue
		}
		if s := bad.Summary(); s["lost"] != 1 || s["final_changed"] != 1 || s["kills_random"] != 200 {
			t.Errorf("summary: %v", s)
		}
		if !strings.Contains(bad.Line(), "lost=1 ") {
			t.Errorf("the line is %q", bad.Line())
		}
	}
}
