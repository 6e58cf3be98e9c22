package peersbench

import (
	"fmt"
	"html"
	"slices"
	"strings"
)

// Bar is one bar of a chart.
type Bar struct {
	Name  string
	Value float64
	// Ours is drawn in another colour.
	Ours bool
}

// Chart draws bars as SVG, the longest first.
func Chart(title, unit string, bars []Bar) string {
	bars = slices.Clone(bars)
	slices.SortStableFunc(bars, func(a, b Bar) int {
		switch {
		case a.Value > b.Value:
			return -1
		case a.Value < b.Value:
			return 1
		}
		return 0
	})
	const left, width, row, top = 190, 420, 26, 44
	most := 1e-9
	for _, b := range bars {
		most = max(most, b.Value)
	}
	height := top + row*len(bars) + 12
	var s strings.Builder
	fmt.Fprintf(&s, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="13" role="img" aria-label="%s">`+"\n",
		left+width+110, height, html.EscapeString(title))
	fmt.Fprintf(&s, `<rect width="100%%" height="100%%" fill="#fff"/><text x="12" y="26" font-size="15" fill="#222">%s</text>`+"\n", html.EscapeString(title))
	for i, b := range bars {
		colour := "#9aa5b1"
		if b.Ours {
			colour = "#2f6f4f"
		}
		y := top + i*row
		fmt.Fprintf(&s, `<text x="%d" y="%d" text-anchor="end" fill="#222">%s</text><rect x="%d" y="%d" width="%.1f" height="18" fill="%s"/><text x="%.1f" y="%d" fill="#222">%s</text>`+"\n",
			left-8, y+14, html.EscapeString(b.Name), left, y, max(b.Value/most*width, 1), colour, float64(left)+b.Value/most*width+6, y+14, html.EscapeString(thousands(b.Value)+" "+unit))
	}
	return s.String() + "</svg>\n"
}

// thousands writes a number without fractions, with spaces between thousands.
func thousands(v float64) string {
	s := fmt.Sprintf("%.0f", v)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + " " + s[i:]
	}
	return s
}

// DrainBars are the drains among rows, for the chart.
func DrainBars(rows []Row) []Bar {
	var out []Bar
	for _, r := range rows {
		if name, ok := strings.CutPrefix(r.Name, "drain, "); ok && r.Unit == unitRate && !strings.Contains(name, "dispatchers") && !strings.Contains(name, "ended before") && name != "no history" {
			out = append(out, Bar{Name: name, Value: r.Value, Ours: name == "lastlook"})
		}
	}
	return out
}
