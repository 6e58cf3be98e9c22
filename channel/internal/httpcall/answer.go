package httpcall

import (
	"io"
	"net/http"
	"strings"

	"github.com/lastlook/lastlook/channel/internal/text"
)

const (
	// maxAnswer is how much of an answer is read, in bytes.
	maxAnswer = 4 << 10
	// maxShown is how much of it is shown, in bytes.
	maxShown = 200
)

// Answer is what the other side said.
type Answer struct {
	Status int
	Header http.Header
	// Body is the beginning of the answer, for the channel to understand. It
	// may hold secrets that the other side repeats: show [Answer.Shown].
	Body []byte
	// Complete says that Body is all of it.
	Complete bool
	// Shown is the answer for people: its beginning on one line, without
	// secrets.
	Shown string
}

// read takes the beginning of the answer's body, for as long as the request's
// context lives.
func read(resp *http.Response) Answer {
	a := Answer{Status: resp.StatusCode, Header: resp.Header}
	if resp.StatusCode < 200 {
		return a // 101: what follows is no body
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	a.Complete = err == nil && len(b) <= maxAnswer
	a.Body = b[:min(len(b), maxAnswer)]
	return a
}

// shown makes an answer fit for people.
func (r *Redactor) shown(a *Answer) string {
	if r.mute {
		return ""
	}
	if enc := a.Header.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return "" // nothing to read there
	}
	s := string(a.Body)
	scrub := r.Scrub
	if !a.Complete {
		scrub = r.ScrubCut
	}
	s = scrub(s)
	if strings.Contains(a.Header.Get("Content-Type"), "html") {
		s = untag(s)
	}
	// What stood between the parts of a secret may just have gone.
	return text.Shorten(r.Scrub(text.Line(s)), maxShown)
}

// untag takes the tags out of HTML, so that an error page's title is seen.
func untag(s string) string {
	var out strings.Builder
	for s != "" {
		before, rest, found := strings.Cut(s, "<")
		out.WriteString(before)
		if !found {
			break
		}
		_, s, _ = strings.Cut(rest, ">")
		out.WriteByte(' ')
	}
	return out.String()
}
