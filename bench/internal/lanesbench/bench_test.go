package lanesbench

import "testing"

// TestQuick: all is measured, and the summary has what others ask for by name.
func TestQuick(t *testing.T) {
	b := &Bench{Quick: true, Dir: t.TempDir(), Summary: map[string]float64{}, Say: t.Logf}
	if err := b.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(b.Rows) != 3 || b.Summary["healthy_lane_ratio"] <= 0 {
		t.Errorf("%+v, %v", b.Rows, b.Summary)
	}
}
