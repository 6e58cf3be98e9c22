package channeltest

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/lastlook/lastlook"
)

// maxText bounds what goes into a row's story, in bytes.
const maxText = 1 << 10

// inspect checks what holds for every outcome, whatever led to it.
func (f *fixture) inspect(o outcome) {
	f.Helper()
	f.text("receipt", o.receipt.Answer)
	if o.err == nil {
		if o.receipt.Answer == "" {
			f.Errorf("accepted without a receipt: the row's story shows nothing")
		}
		return
	}
	if o.receipt != (lastlook.Receipt{}) {
		f.Errorf("both a receipt (%q) and an error (%q)", o.receipt.Answer, o.err)
	}
	f.text("error", o.err.Error())
	if s := o.err.Error(); s == "" || unicode.IsUpper([]rune(s)[0]) {
		f.Errorf("error %q does not begin with a lower-case word", s)
	}
	walk(o.err, func(err error) {
		for _, verb := range []string{"%v", "%+v", "%#v"} {
			f.secretFree(fmt.Sprintf("error in the chain (%T, %s)", err, verb), fmt.Sprintf(verb, err))
		}
	})
}

// text checks a text for people.
func (f *fixture) text(what, s string) {
	f.Helper()
	switch {
	case len(s) > maxText:
		f.Errorf("the %s has %d bytes, more than %d: %.100q…", what, len(s), maxText, s)
	case !utf8.ValidString(s):
		f.Errorf("the %s is not valid UTF-8: %q", what, s)
	case strings.ContainsFunc(s, unicode.IsControl):
		f.Errorf("the %s has line ends or control characters: %q", what, s)
	}
	f.secretFree(what, s)
}

// class checks that an error has a class that was given on purpose.
func (f *fixture) class(o outcome, after string, want ...lastlook.Class) {
	f.Helper()
	if o.err == nil {
		f.Errorf("%s: accepted (%s), want an error of class %v", after, o.receipt.Answer, want)
		return
	}
	e, ok := errors.AsType[*lastlook.Error](o.err)
	if !ok {
		f.Errorf("%s: error %q has no class of its own, want %v: an unclassified error is transient, or unknown if it is the context's", after, o.err, want)
		return
	}
	if slices.Contains(want, e.Class) {
		return
	}
	f.Errorf("%s: error %q is %s, want %v", after, o.err, e.Class, want)
}

func (f *fixture) accepted(o outcome, after string) {
	f.Helper()
	if o.err != nil {
		f.Errorf("%s: error %q, want it accepted", after, o.err)
	}
}

func walk(err error, visit func(error)) {
	if err == nil {
		return
	}
	visit(err)
	//lint:ignore errorlint this walks the chain itself
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		walk(e.Unwrap(), visit)
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			walk(inner, visit)
		}
	}
}

// secretFree checks that a text holds no secret, in no form.
func (f *fixture) secretFree(what, s string) {
	f.Helper()
	low := strings.ToLower(s)
	for _, n := range f.needles {
		if strings.Contains(low, n.text) {
			f.Errorf("the %s holds a secret (%s): %q", what, n.form, s)
			return
		}
	}
}

// needle is a form of a secret, in lower case.
type needle struct{ form, text string }

// needles are the forms in which secrets must not be seen.
func needles(secrets []string) []needle {
	var out []needle
	for _, secret := range secrets {
		for form, encode := range encodings {
			out = append(out, needle{form, strings.ToLower(encode(secret))})
		}
		if len(secret) >= 12 && !strings.Contains(secret, "://") {
			out = append(out, needle{"its beginning", strings.ToLower(secret[:8])})
		}
	}
	return out
}

// encodings are the forms in which servers repeat what they were sent.
var encodings = map[string]func(string) string{
	"as it is":    func(s string) string { return s },
	"for queries": url.QueryEscape,
	"for paths":   url.PathEscape,
	"for HTML":    html.EscapeString,
	"for Go":      func(s string) string { s = strconv.Quote(s); return s[1 : len(s)-1] },
	"for JSON":    func(s string) string { b, _ := json.Marshal(s); return string(b[1 : len(b)-1]) },
	"for PHP":     func(s string) string { return strings.ReplaceAll(s, "/", `\/`) },
	"in base64":   func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
}
