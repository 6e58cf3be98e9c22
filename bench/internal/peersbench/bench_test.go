package peersbench

import (
	"math"
	"testing"
)

func TestMissing(t *testing.T) {
	b := &Bench{Summary: map[string]float64{}}
	for _, key := range figures {
		b.Summary[key] = 1
	}
	if m := b.Missing(); len(m) > 0 {
		t.Errorf("nothing is missing, and %v are said to be", m)
	}
	delete(b.Summary, "drain_vs_river")
	b.Summary["cpu_vs_river"] = math.NaN()
	b.Summary["wal_vs_river"] = 0
	if m := b.Missing(); len(m) != 3 {
		t.Errorf("missing: %v, want three", m)
	}
}

func TestCounter(t *testing.T) {
	for _, c := range []struct{ warm, n int }{{2, 3}, {2, 0}, {0, 2}} {
		k := newCounter(c.warm, c.n)
		for i := range c.warm + c.n {
			if closed(k.done) {
				t.Errorf("%+v: done after %d", c, i)
			}
			k.one()
			if c.warm > 0 && closed(k.warm) != (i+1 >= c.warm) {
				t.Errorf("%+v: warm is %t after %d", c, closed(k.warm), i+1)
			}
		}
		if !closed(k.done) {
			t.Errorf("%+v: not done", c)
		}
	}
}

func closed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// The statements that the bound runs are the store's: all are there, and whole.
func TestStatements(t *testing.T) {
	q, err := loadStatements()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"begin", "settings", "claim_rows", "claim_marks", "claim_read", "claim_record", "apply_sending", "apply_end", "marks_any", "commit"} {
		if q[name] == "" || fragmentUse.MatchString(q[name]) {
			t.Errorf("%s: %q", name, q[name])
		}
	}
}
