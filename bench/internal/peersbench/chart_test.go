package peersbench

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestChart(t *testing.T) {
	rows := []Row{{Name: "drain, gue", Value: 1500, Unit: unitRate}, {Name: "drain, lastlook", Value: 31234, Unit: unitRate},
		{Name: "drain, 2 dispatchers", Value: 1, Unit: unitRate}, {Name: "drain: lastlook ÷ gue", Value: 3, Unit: unitX}}
	bars := DrainBars(rows)
	if len(bars) != 2 || bars[0].Ours || !bars[1].Ours {
		t.Fatalf("bars %+v", bars)
	}
	svg := Chart("drain & tell", unitRate, bars)
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, svg)
		}
	}
	if a, b := strings.Index(svg, "31 234 rows/s"), strings.Index(svg, "1 500 rows/s"); a < 0 || b < a {
		t.Errorf("the longest bar does not come first:\n%s", svg)
	}
	if !strings.Contains(svg, "drain &amp; tell") {
		t.Error("the title is not escaped")
	}
}
