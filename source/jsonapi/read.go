package jsonapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/lastlook/lastlook/source/internal/fact"
	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/extract"
)

const (
	maxDepth = 200
	maxValue = 16 << 10 // bytes of Observation.Value
	rule     = "path"
)

// ErrNothing says that no path led to anything.
var ErrNothing = errors.New("the paths lead to nothing in the document: check them")

// Read reads a document by the paths of its listing; host is that of its address.
func Read(ctx context.Context, body []byte, o watch.Options, host string) (watch.Observation, error) {
	all, err := compileAll(o)
	if err != nil {
		return watch.Observation{}, err
	}
	doc, err := decode(body)
	if err != nil {
		return watch.Observation{}, err
	}
	r := reader{ctx: ctx, doc: doc, opt: o, host: host}
	r.o.Availability = watch.Unknown
	for _, step := range []struct {
		p    *path
		read func(*path) error
		name string
	}{{all.stock, r.stock, "stock"}, {all.price, r.price, "price"}, {all.value, r.value, "value"}} {
		if step.p == nil {
			continue
		}
		if err := step.read(step.p); err != nil {
			return watch.Observation{}, fmt.Errorf("the %s path %.80q: %w", step.name, step.p.text, err)
		}
	}
	if !r.any {
		return watch.Observation{}, ErrNothing
	}
	return r.o, nil
}

// decode reads one JSON value, of bounded depth; numbers stay as they are
// written.
func decode(body []byte) (any, error) {
	body = unwrap(body)
	if err := bounded(body); err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var doc any
	if err := d.Decode(&doc); err != nil {
		if bytes.HasPrefix(bytes.TrimSpace(body), []byte("<")) {
			return nil, errors.New("the answer is a web page, not JSON: use the source page, or the API's address")
		}
		return nil, errors.New("the answer is not JSON, or cut off: it will be asked for again")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("the answer is not one JSON value: something follows it")
	}
	return doc, nil
}

// callback is what stands before the value in an answer that is a script.
var callback = regexp.MustCompile(`^(?:/\*\*/)?\s*[A-Za-z_$][\w$.]{0,80}\(\s*[\[{]`)

// unwrap takes away what stands around the value: a mark of the encoding, what
// keeps other sites' scripts from reading it, the call that a script makes of it.
func unwrap(body []byte) []byte {
	body = bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\ufeff")))
	for _, guard := range []string{")]}',", ")]}'", "while(1);", "for(;;);"} {
		if rest, ok := bytes.CutPrefix(body, []byte(guard)); ok {
			return rest
		}
	}
	if called := callback.Find(body); called != nil {
		if rest := bytes.TrimRight(body, "; \t\r\n"); bytes.HasSuffix(rest, []byte(")")) {
			return rest[len(called)-1 : len(rest)-1]
		}
	}
	return body
}

// bounded refuses documents that are nested deeper than any for people's data.
func bounded(body []byte) error {
	depth, quoted := 0, false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return fmt.Errorf("the answer is nested deeper than %d levels", maxDepth)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

// reader reads one document.
type reader struct {
	ctx  context.Context
	doc  any
	opt  watch.Options
	host string
	o    watch.Observation
	any  bool // something was found
}

func (r *reader) stock(p *path) error {
	all, err := p.run(r.ctx, r.doc)
	if err != nil {
		return err
	}
	said := map[watch.Availability]bool{}
	for _, f := range all {
		is := fact.Availability(f.value)
		fact.Note(&r.o, extract.FactAvailability, p.text, text(f.value))
		if r.any = true; is != watch.Unknown {
			said[is] = true
			r.o.Availability = is
		}
	}
	if len(said) > 1 { // nobody knows which of them is meant
		r.o.Availability = watch.Unknown
	}
	return nil
}

func (r *reader) value(p *path) error {
	all, err := p.run(r.ctx, r.doc)
	switch {
	case err != nil:
		return err
	case len(all) == 0:
		return nil
	case len(all) > 1:
		return errors.New("it leads to several values: point at one, or make a list with [ ]")
	}
	w := writer{left: maxValue}
	w.put(all[0].value)
	if w.left < 0 {
		return fmt.Errorf("its value is larger than %d bytes: point at a part", maxValue)
	}
	r.o.Value, r.any = json.RawMessage(w.b.String()), true
	fact.Note(&r.o, "value", p.text, text(all[0].value))
	return nil
}

// text shows a value.
func text(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	w := writer{left: 400}
	w.put(v)
	return w.b.String()
}

// compact makes one word of a key, to compare it.
func compact(s string) string {
	return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(s))
}
