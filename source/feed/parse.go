package feed

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"mime"
	"strings"
	"time"

	"golang.org/x/net/html/charset"

	"github.com/lastlook/lastlook/source/internal/fact"
)

// Limits of a feed.
const (
	maxDepth   = 64
	maxEntries = 5000
	maxText    = 4 << 10 // bytes of a field
)

// entry is what is read of one.
type entry struct {
	id, title, link string
	date            time.Time
	// product holds the fields of Google Merchant, by their local names.
	product map[string]string
}

// merchant is the namespace of Google Merchant's fields.
const merchant = "http://base.google.com/ns/1.0"

// root is what a feed's first element can be.
var root = map[string]bool{"rss": true, "RDF": true, "feed": true}

// parse reads all entries of a feed.
func parse(ctx context.Context, body []byte, contentType string) ([]entry, error) {
	d := xml.NewDecoder(&ctxReader{ctx, bytes.NewReader(body)})
	d.CharsetReader = charset.NewReaderLabel
	d.Strict = true
	d.Entity = xml.HTMLEntity
	if label := declared(contentType); label != "" && !bytes.HasPrefix(bytes.TrimSpace(body), []byte("<?xml")) {
		r, err := charset.NewReaderLabel(label, &ctxReader{ctx, bytes.NewReader(body)})
		if err != nil {
			return nil, fmt.Errorf("the feed's character set %.40q is not known", label)
		}
		d = xml.NewDecoder(r)
		d.Entity = xml.HTMLEntity
	}
	p := parser{d: d}
	if err := p.run(); err != nil {
		return nil, err
	}
	return p.entries, nil
}

// declared is the character set that the header names, if it is not the usual one.
func declared(contentType string) string {
	_, params, err := mime.ParseMediaType(contentType)
	if err != nil || strings.EqualFold(params["charset"], "utf-8") {
		return ""
	}
	return params["charset"]
}

// ctxReader ends the reading when the context ends.
type ctxReader struct {
	ctx context.Context
	r   io.Reader
}

func (c *ctxReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

// parser goes through the elements of a feed.
type parser struct {
	d       *xml.Decoder
	entries []entry
	depth   int
	started bool
}

var errNoFeed = errors.New("the answer is no feed: enter the address of an RSS or Atom feed")

func (p *parser) run() error {
	for {
		t, err := p.d.Token()
		switch {
		case errors.Is(err, io.EOF) && p.started && p.depth == 0:
			return nil
		case errors.Is(err, io.EOF):
			return errNoFeed
		case err != nil && !p.started:
			return errNoFeed
		case err != nil:
			return p.broken(err)
		}
		switch t := t.(type) {
		case xml.StartElement:
			if !p.started && !root[t.Name.Local] {
				return errNoFeed
			}
			p.started = true
			if name := t.Name.Local; name == "item" || name == "entry" {
				if err := p.entry(t); err != nil {
					return p.broken(err)
				}
				continue
			}
			if p.depth++; p.depth > maxDepth {
				return fmt.Errorf("the feed is nested deeper than %d levels", maxDepth)
			}
		case xml.EndElement:
			p.depth--
		}
	}
}

func (p *parser) broken(err error) error {
	if e, ok := errors.AsType[*xml.SyntaxError](err); ok {
		return fmt.Errorf("the feed is broken or cut off, at line %d: it will be asked for again", e.Line)
	}
	return err
}

// entry reads an entry, up to its end.
func (p *parser) entry(start xml.StartElement) error {
	if len(p.entries) == maxEntries {
		return fmt.Errorf("the feed has more than %d entries", maxEntries)
	}
	e := entry{product: map[string]string{}}
	for _, a := range start.Attr {
		if a.Name.Local == "about" { // RSS 1.0 names its items so
			e.id = a.Value
		}
	}
	for {
		t, err := p.d.Token()
		if err != nil {
			return err
		}
		switch t := t.(type) {
		case xml.StartElement:
			text, err := p.text(0)
			if err != nil {
				return err
			}
			e.put(t, text)
		case xml.EndElement:
			p.entries = append(p.entries, e)
			return nil
		}
	}
}

// text returns the text of an element and of those in it, up to its end.
func (p *parser) text(depth int) (string, error) {
	if depth > maxDepth {
		return "", fmt.Errorf("the feed is nested deeper than %d levels", maxDepth)
	}
	var b strings.Builder
	for {
		t, err := p.d.Token()
		if err != nil {
			return "", err
		}
		switch t := t.(type) {
		case xml.CharData:
			if b.Len() < maxText {
				b.Write(t[:min(len(t), maxText)])
			}
		case xml.StartElement:
			inner, err := p.text(depth + 1)
			if err != nil {
				return "", err
			}
			if b.Len() < maxText {
				b.WriteString(" " + inner)
			}
		case xml.EndElement:
			return strings.TrimSpace(b.String()), nil
		}
	}
}

// put keeps a field of an entry.
func (e *entry) put(t xml.StartElement, text string) {
	if t.Name.Space == merchant || t.Name.Space == "g" {
		if _, have := e.product[t.Name.Local]; !have {
			e.product[t.Name.Local] = text
		}
		return
	}
	attr := func(name string) string {
		for _, a := range t.Attr {
			if a.Name.Local == name {
				return a.Value
			}
		}
		return ""
	}
	switch t.Name.Local {
	case "title":
		// A media:title stands in some feeds beside the entry's own.
		if e.title == "" || !strings.Contains(t.Name.Space, "mrss") && !strings.Contains(t.Name.Space, "media") {
			e.title = fact.Clip(text, fact.MaxTitle)
		}
	case "guid", "id":
		e.id = fact.Clip(text, fact.MaxTitle)
	case "link":
		rel := attr("rel")
		if href := attr("href"); href != "" {
			if e.link == "" || rel == "" || rel == "alternate" {
				e.link = href
			}
		} else if text != "" {
			e.link = text
		}
	case "pubDate", "published", "date":
		e.setDate(text, true)
	case "updated", "modified":
		e.setDate(text, false)
	}
}

// setDate takes a date; that of a change counts only where none else is stated.
func (e *entry) setDate(text string, first bool) {
	if !e.date.IsZero() && !first {
		return
	}
	for _, layout := range []string{
		time.RFC3339, time.RFC1123Z, time.RFC1123, "Mon, 2 Jan 2006 15:04:05 -0700", "Mon, 2 Jan 2006 15:04:05 MST", "2 Jan 2006 15:04:05 -0700",
		"2 Jan 2006 15:04:05 MST", "Mon, 2 Jan 2006 15:04 -0700", "2006-01-02T15:04:05", "2006-01-02T15:04Z07:00", "2006-01-02",
	} {
		if t, err := time.Parse(layout, text); err == nil {
			e.date = t.UTC()
			return
		}
	}
}
