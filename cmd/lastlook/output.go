package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// printer writes what a command says. Titles and errors come from pages and
// servers of strangers, so whatever it prints is made plain first.
type printer struct {
	w     io.Writer
	hints io.Writer
	json  bool
	quiet bool
	now   func() time.Time
	err   error // of the first write that failed
}

// linef prints one line, whatever the arguments contain.
func (p *printer) linef(format string, args ...any) {
	p.write(plain(fmt.Sprintf(format, args...)) + "\n")
}

// notef prints a remark for people, which is no result.
func (p *printer) notef(format string, args ...any) {
	if p.quiet {
		return
	}
	if p.json {
		// Standard output is for the one JSON value.
		_, _ = io.WriteString(p.hints, plain(fmt.Sprintf(format, args...))+"\n")
		return
	}
	p.linef(format, args...)
}

func (p *printer) write(s string) {
	if p.err == nil {
		_, p.err = io.WriteString(p.w, s)
	}
}

// value prints v as indented JSON.
func (p *printer) value(v any) error { return p.encode(v, "  ") }

// jsonLine prints v as JSON on one line.
func (p *printer) jsonLine(v any) error { return p.encode(v, "") }

func (p *printer) encode(v any, indent string) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	p.write(escapeJSON(b.String()))
	return p.err
}

// escapeJSON escapes what JSON allows in strings but a terminal may obey.
func escapeJSON(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r == '\n' || !unsafeRune(r) { // newlines stand between values only
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}

// plain makes text safe for a terminal, on one line: control characters, and
// those of Unicode's class Cf, which are invisible or change the direction of
// text, are shown as they would be written in a Go string.
func plain(s string) string {
	if strings.IndexFunc(s, unsafeRune) < 0 && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			b.WriteByte(' ')
		case unsafeRune(r):
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		default:
			b.WriteRune(r) // a byte that is no UTF-8 has become U+FFFD
		}
	}
	return b.String()
}

func unsafeRune(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029'
}

// columnGap stands between the columns of a table.
const columnGap = 2

// table prints aligned columns; empty cells show as a dash.
func (p *printer) table(header []string, rows [][]string) {
	all := append([][]string{header}, rows...)
	widths := make([]int, len(header))
	for i, row := range all {
		for j := range row {
			if all[i][j] = plain(row[j]); all[i][j] == "" {
				all[i][j] = "-"
			}
			widths[j] = max(widths[j], utf8.RuneCountInString(all[i][j]))
		}
	}
	for _, row := range all {
		var b strings.Builder
		for j, cell := range row {
			b.WriteString(cell)
			if j < len(row)-1 {
				b.WriteString(strings.Repeat(" ", widths[j]-utf8.RuneCountInString(cell)+columnGap))
			}
		}
		p.write(b.String() + "\n")
	}
}

// facts prints names and values, aligned, below a heading; without values that
// are empty.
func (p *printer) facts(indent string, pairs ...string) {
	width := 0
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			width = max(width, utf8.RuneCountInString(pairs[i]))
		}
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			p.linef("%s%-*s  %s", indent, width, pairs[i], pairs[i+1])
		}
	}
}

// short cuts text for a table.
func short(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	r := []rune(s)
	return string(r[:limit-1]) + "…"
}

const stampForm = "2006-01-02 15:04:05"

// stamp returns a time in UTC.
func stamp(t time.Time) string { return t.UTC().Format(stampForm) + " UTC" }

// when returns a time as people think of it, and in UTC; "" for none.
func (p *printer) when(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return p.ago(t) + " (" + stamp(t) + ")"
}

// ago returns how long ago, or in how long, a time is.
func (p *printer) ago(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	d := p.now().Sub(t)
	switch {
	case d >= time.Second:
		return span(d) + " ago"
	case d <= -time.Second:
		return "in " + span(-d)
	}
	return "just now"
}

// span returns a duration in its two largest units.
func span(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return units(d, time.Minute, "m", time.Second, "s")
	case d < day:
		return units(d, time.Hour, "h", time.Minute, "m")
	}
	return units(d, day, "d", time.Hour, "h")
}

func units(d, big time.Duration, bigName string, small time.Duration, smallName string) string {
	s := fmt.Sprintf("%d%s", d/big, bigName)
	if rest := d % big / small; rest > 0 {
		s += fmt.Sprintf(" %d%s", rest, smallName)
	}
	return s
}

// plural returns a count with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
