package email

import (
	"bytes"
	"fmt"
	"html/template"
	"net/mail"
	"net/url"
	"strings"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/channel/internal/text"
	gomail "github.com/wneessen/go-mail"
)

const (
	// maxSubject bounds a subject, in bytes: more is not shown.
	maxSubject = 200
	// maxBody bounds a body, in bytes.
	maxBody = 16 << 10
	maxURL  = 2000
)

// compose writes the mail. Whatever a message holds, it fills one header of
// one line, and two bodies.
func (c *Channel) compose(d lastlook.Delivery, to *mail.Address) (*gomail.Msg, error) {
	if !identifier(d.DeliveryKey) || d.ReplaceKey != "" && !identifier(d.ReplaceKey) {
		return nil, fmt.Errorf("the delivery key %.40q and the replace key %.40q must be letters, digits, hyphens or underscores", d.DeliveryKey, d.ReplaceKey)
	}
	w := words{Title: text.Shorten(text.Line(d.Message.Title), maxSubject), Body: text.Shorten(text.Clean(d.Message.Body), maxBody), URL: link(d.Message.URL)}
	if w.Title == "" {
		w.Title = text.Shorten(text.Line(w.Body), maxSubject)
	}
	if w.Title == "" {
		w.Title = text.Shorten(text.Line(d.Key.Subject), maxSubject) // better than nothing
	}
	domain := domainOf(c.from)
	m := gomail.NewMsg()
	m.FromMailAddress(c.from)
	m.ToMailAddress(to)
	m.Subject(w.Title)
	m.SetDateWithValue(c.cfg.Clock())
	m.SetMessageIDWithValue(d.DeliveryKey + "@" + domain)
	if d.ReplaceKey != "" {
		m.SetGenHeader("References", "<"+d.ReplaceKey+"@"+domain+">")
	}
	m.SetGenHeader("Auto-Submitted", "auto-generated")
	m.SetUserAgent("lastlook")
	if d.Message.Silent {
		m.SetImportance(gomail.ImportanceLow)
	}
	if c.cfg.Unsubscribe != nil {
		if u := c.cfg.Unsubscribe(d.Key); u != "" {
			if link(u) == "" {
				return nil, fmt.Errorf("the address to unsubscribe at cannot be one")
			}
			if err := m.SetListUnsubscribeOneClick(u); err != nil {
				return nil, fmt.Errorf("the address to unsubscribe at is no https address")
			}
		}
	}
	m.SetBodyString(gomail.TypeTextPlain, w.plain())
	var html bytes.Buffer
	if err := page.Execute(&html, w); err != nil {
		return nil, err
	}
	m.AddAlternativeString(gomail.TypeTextHTML, html.String())
	return m, nil
}

// words is what a person is to read.
type words struct{ Title, Body, URL string }

func (w words) plain() string {
	var parts []string
	for _, p := range []string{w.Body, w.URL} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	if len(parts) == 0 {
		parts = []string{w.Title}
	}
	return strings.Join(parts, "\n\n") + "\n"
}

// Lines are the body's.
func (w words) Lines() []string { return strings.Split(w.Body, "\n") }

// page is the HTML part: html/template escapes whatever a shop's title may hold.
var page = template.Must(template.New("mail").Parse(`<!DOCTYPE html>
<html><head><meta charset="utf-8"><title>{{.Title}}</title></head>
<body style="font-family:sans-serif;line-height:1.4">
<h1 style="font-size:1.2em">{{.Title}}</h1>
{{if .Body}}<p>{{range $i, $line := .Lines}}{{if $i}}<br>
{{end}}{{$line}}{{end}}</p>
{{end}}{{if .URL}}<p><a href="{{.URL}}">{{.URL}}</a></p>
{{end}}</body></html>
`))

// link returns an address that a mail program may open, or nothing.
func link(s string) string {
	if len(s) > maxURL || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\uFFFD' || strings.ContainsRune(`<>"`, r) }) {
		return ""
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return ""
	}
	return u.String()
}

func identifier(s string) bool {
	return s != "" && len(s) <= 64 && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '-' && r != '_'
	})
}
