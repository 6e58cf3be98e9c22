package log

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"

	"github.com/lastlook/lastlook/channel/internal/text"
)

// people writes records as short lines: when, title, body and address.
type people struct{ w io.Writer }

func (p people) Enabled(context.Context, slog.Level) bool { return true }
func (p people) WithAttrs([]slog.Attr) slog.Handler       { return p }
func (p people) WithGroup(string) slog.Handler            { return p }

func (p people) Handle(_ context.Context, r slog.Record) error {
	body, url := "", ""
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "body":
			body = text.Line(a.Value.String())
		case "url":
			url = a.Value.String()
		}
		return true
	})
	line := r.Time.UTC().Format(time.RFC3339) + " " + r.Message
	if body != "" {
		line += ": " + body
	}
	if url != "" {
		line += " " + url
	}
	_, err := io.WriteString(p.w, visible(line)+"\n")
	return err
}

// visible shows what a terminal may obey, or not show, as Go would write it.
func visible(s string) string {
	if strings.IndexFunc(s, hidden) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if hidden(r) {
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func hidden(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }

// escaping escapes in JSON what may stand there, but a terminal may obey.
type escaping struct{ w io.Writer }

func (e escaping) Write(b []byte) (int, error) {
	s := strings.TrimSuffix(string(b), "\n")
	if strings.IndexFunc(s, hidden) < 0 {
		return e.w.Write(b)
	}
	var out strings.Builder
	for _, r := range s {
		if !hidden(r) {
			out.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&out, `\u%04x`, unit)
		}
	}
	out.WriteByte('\n')
	if _, err := io.WriteString(e.w, out.String()); err != nil {
		return 0, err // how much was taken, the writer below has counted
	}
	return len(b), nil
}
