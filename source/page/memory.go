package page

import (
	"container/list"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lastlook/lastlook/source/internal/fetch"
	"github.com/lastlook/lastlook/watch"
)

const (
	// trusted is how long a site's word that nothing has changed is taken: then the
	// whole page is asked for again, since there are sites whose validators stand
	// for less than the page.
	trusted = 6 * time.Hour
	// settledFor is how much older than its answer a page's date must be to tell two
	// versions apart: the date counts seconds (RFC 9110, section 8.8.2.2).
	settledFor = time.Minute
	// maxValidator bounds what is kept of a header.
	maxValidator = 512
)

// memory keeps the last observations of listings with what the sites' servers
// need to say that nothing has changed. It forgets those that were longest not
// used.
type memory struct {
	most int

	mu   sync.Mutex
	by   map[question]*list.Element
	used *list.List // of *kept, the last used first
}

// question is what an observation answers. A listing that is read in another way
// is another question.
type question struct {
	url     string
	private bool
	options watch.Options
}

// kept is an observation, and what names the version of the page that it was read
// from.
type kept struct {
	question
	at       string // the address where the redirects ended
	etag     string
	modified string
	seen     watch.Observation
	read     time.Time // when the whole page was read
}

func newMemory(most int) *memory {
	return &memory{most: most, by: map[question]*list.Element{}, used: list.New()}
}

func questionOf(l watch.Listing) question { return question{l.URL, l.Private, l.Options} }

// get returns what is kept of a listing; nil if nothing is, or nothing that is
// trusted any more.
func (m *memory) get(l watch.Listing, now time.Time) *kept {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.by[questionOf(l)]
	if e == nil {
		return nil
	}
	k, ok := e.Value.(*kept)
	if age := now.Sub(k.read); !ok || age < 0 || age > trusted {
		return nil
	}
	m.used.MoveToFront(e)
	return k
}

// put keeps an observation, if the site gave it something to be known by.
func (m *memory) put(l watch.Listing, a fetch.Answer, o watch.Observation) {
	k := &kept{question: questionOf(l), at: a.Final.String(), seen: o, read: a.Began, etag: a.Header.Get("ETag"), modified: lastModified(a.Header, a.Began)}
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.by[k.question]; e != nil {
		m.used.Remove(e)
		delete(m.by, k.question)
	}
	if m.most <= 0 || a.Status != http.StatusOK || k.etag == "" && k.modified == "" || len(k.etag) > maxValidator || !mayKeep(a.Header) {
		return
	}
	m.by[k.question] = m.used.PushFront(k)
	for m.used.Len() > m.most {
		last := m.used.Back()
		if old, ok := m.used.Remove(last).(*kept); ok {
			delete(m.by, old.question)
		}
	}
}

// mayKeep reports whether an answer may be kept (RFC 9111, section 5.2.2.5), and
// whether another one could be told from it.
func mayKeep(h http.Header) bool {
	for _, v := range h.Values("Cache-Control") {
		if strings.Contains(strings.ToLower(v), "no-store") {
			return false
		}
	}
	return !slices.Contains(h.Values("Vary"), "*")
}

// lastModified returns a page's date, if it tells the page from a later version.
func lastModified(h http.Header, now time.Time) string {
	modified, err := http.ParseTime(h.Get("Last-Modified"))
	if err != nil {
		return ""
	}
	answered := now
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		answered = date
	}
	if answered.Sub(modified) < settledFor {
		return ""
	}
	return h.Get("Last-Modified")
}

// ask makes a request one for what has changed, if it is for the page that is
// known.
func (k *kept) ask(at *url.URL, h http.Header) bool {
	if k == nil || at.String() != k.at {
		return false
	}
	if k.etag != "" {
		h.Set("If-None-Match", k.etag)
	}
	if k.modified != "" {
		h.Set("If-Modified-Since", k.modified)
	}
	return true
}

// again is the observation once more, which the site has just said is still what
// its page says.
func (k *kept) again() watch.Observation {
	o := k.seen
	by := "ETag"
	if k.etag == "" {
		by = "Last-Modified"
	}
	o.Evidence = append(slices.Clone(o.Evidence), watch.Evidence{
		Fact: "unchanged", Where: "HTTP 304, by " + by, Text: "since " + k.read.UTC().Format(time.RFC3339),
	})
	return o
}
