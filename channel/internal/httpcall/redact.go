package httpcall

import (
	"encoding/base64"
	"encoding/json"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Redacted stands where a secret stood.
const Redacted = "[redacted]"

const (
	// minSecret is the length below which a secret cannot be scrubbed from a
	// text without destroying it.
	minSecret = 4
	// minPart is the length from which a part of a URL's path counts as
	// secret by itself, and not as an ordinary word such as "api" or "hooks".
	minPart = 8
)

// Secrets is what must never be seen in an error, a receipt or a log.
type Secrets struct {
	// Strict are passwords, tokens and keys. If one is too short to be
	// scrubbed, no text of the other side is shown at all.
	Strict []string
	// Weak are texts that may be secret: a topic's name, a header's value.
	// Those too short to be one are not scrubbed.
	Weak []string
}

// add returns both together.
func (s Secrets) add(o Secrets) Secrets {
	return Secrets{Strict: slices.Concat(s.Strict, o.Strict), Weak: slices.Concat(s.Weak, o.Weak)}
}

// Redactor takes secrets out of texts, in any of the forms in which a server
// may send them back: as they are, escaped for URLs, JSON, HTML or Go, in
// base64, in another case. It is safe for concurrent use.
type Redactor struct {
	needles []string // in lower case, in any order
	// mute says that there are secrets which cannot be scrubbed.
	mute bool
}

// NewRedactor prepares to scrub secrets.
func NewRedactor(s Secrets) *Redactor { return (&Redactor{}).With(s) }

// With returns a redactor that scrubs further secrets too.
func (r *Redactor) With(s Secrets) *Redactor {
	out := &Redactor{needles: slices.Clone(r.needles), mute: r.mute}
	for _, secret := range s.Strict {
		switch {
		case secret == "":
		case len(secret) < minSecret:
			out.mute = true
		default:
			out.add(secret)
		}
	}
	for _, secret := range s.Weak {
		if len(secret) >= minSecret {
			out.add(secret)
		}
	}
	return out
}

func (r *Redactor) add(secret string) {
	forms := []string{
		secret,
		url.QueryEscape(secret), url.PathEscape(secret), (&url.URL{Path: secret}).EscapedPath(),
		html.EscapeString(secret), strings.ReplaceAll(secret, "/", `\/`),
		quoted(strconv.Quote(secret)), quoted(strconv.QuoteToASCII(secret)),
		base64.StdEncoding.EncodeToString([]byte(secret)), base64.RawURLEncoding.EncodeToString([]byte(secret)),
	}
	if b, err := json.Marshal(secret); err == nil {
		forms = append(forms, quoted(string(b)))
	}
	for _, f := range forms {
		if n := lower(f); !slices.Contains(r.needles, n) {
			r.needles = append(r.needles, n)
		}
	}
}

// quoted returns what is between the quotes.
func quoted(s string) string { return s[1 : len(s)-1] }

// lower folds ASCII letters only, so that offsets stay what they are.
func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// Scrub returns s with every secret replaced.
func (r *Redactor) Scrub(s string) string {
	low := lower(s)
	type span struct{ from, to int }
	var found []span
	for _, n := range r.needles {
		// Step by one: occurrences may overlap, and all of them must go.
		for at := 0; ; {
			i := strings.Index(low[at:], n)
			if i < 0 {
				break
			}
			found = append(found, span{at + i, at + i + len(n)})
			at += i + 1
		}
	}
	if len(found) == 0 {
		return s
	}
	slices.SortFunc(found, func(a, b span) int { return a.from - b.from })
	var out strings.Builder
	end := 0
	for i, f := range found {
		if i == 0 || f.from > end {
			out.WriteString(s[end:f.from])
			out.WriteString(Redacted)
		}
		end = max(end, f.to)
	}
	out.WriteString(s[end:])
	return out.String()
}

// ScrubCut is [Redactor.Scrub] for a text that was cut off: a secret of which
// only the beginning is there goes as well.
func (r *Redactor) ScrubCut(s string) string {
	low := lower(s)
	cut := len(s)
	for _, n := range r.needles {
		for k := min(len(n)-1, len(low)); k >= minSecret && len(low)-k < cut; k-- {
			if strings.HasSuffix(low, n[:k]) {
				cut = len(low) - k
			}
		}
	}
	return r.Scrub(s[:cut])
}
