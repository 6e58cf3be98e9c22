package peersbench

import (
	"math"
	"os"
	"testing"
	"time"

	"github.com/lastlook/lastlook/internal/pgtest"
)

// Every part runs, on a server that make bench-quick also starts; and every figure
// is one.
func TestParts(t *testing.T) {
	if os.Getenv(pgtest.Env) != "start" {
		t.Skip("make bench-quick: runs this on a PostgreSQL server of its own; " + pgtest.Env + " is not \"start\"")
	}
	b := &Bench{Quick: true, Say: t.Logf, Summary: map[string]float64{}, Held: time.Second, History: 10_000}
	if err := b.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"drain_vs_river", "drain_vs_raw", "enqueue_batch_vs_river", "enqueue_dup_vs_river", "enqueue_single_vs_river",
		"latency_p50_vs_river", "latency_p99_vs_river", "cpu_vs_river", "wal_vs_river", "mixed_worst_vs_median", "held_tx_slowdown", "history_slowdown"} {
		if v, ok := b.Summary[key]; !ok || v <= 0 || math.IsInf(v, 0) || math.IsNaN(v) {
			t.Errorf("%s is %v", key, v)
		}
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
