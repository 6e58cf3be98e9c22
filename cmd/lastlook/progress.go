package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// progress draws a bar of how far something is, on a terminal only.
type progress struct {
	w     io.Writer // nil if it is no terminal
	now   func() time.Time
	began time.Time
	drawn time.Time
	wide  int // of the last line
}

// barWidth is how wide the bar itself is, barEvery how often it is drawn.
const (
	barWidth = 30
	barEvery = 100 * time.Millisecond
)

// newProgress draws on w if that is a terminal.
func newProgress(w io.Writer, now func() time.Time) *progress {
	p := &progress{now: now, began: now()}
	if f, ok := w.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			p.w = w
		}
	}
	return p
}

// step says how far it is.
func (p *progress) step(what string, done, total int64) {
	now := p.now()
	if p.w == nil || done < total && now.Sub(p.drawn) < barEvery {
		return
	}
	p.drawn = now
	part := 1.0
	if total > 0 {
		part = min(float64(done)/float64(total), 1)
	}
	full := int(part * barWidth)
	line := fmt.Sprintf("[%s%s] %3.0f %%  %d of %d rows  %s", strings.Repeat("#", full), strings.Repeat(".", barWidth-full), part*100, done, total, what)
	if left := p.left(now, part); left != "" {
		line += "  " + left
	}
	p.draw(line)
}

// left says how long it takes yet, once that can be told.
func (p *progress) left(now time.Time, part float64) string {
	took := now.Sub(p.began)
	if took < 2*time.Second || part <= 0 || part >= 1 {
		return ""
	}
	return "about " + time.Duration(float64(took)*(1-part)/part).Round(time.Second).String() + " left"
}

func (p *progress) draw(line string) {
	_, _ = fmt.Fprintf(p.w, "\r%s%s", line, strings.Repeat(" ", max(p.wide-len(line), 0)))
	p.wide = len(line)
}

// end takes the bar away.
func (p *progress) end() {
	if p.w != nil && p.wide > 0 {
		_, _ = fmt.Fprintf(p.w, "\r%s\r", strings.Repeat(" ", p.wide))
	}
}
