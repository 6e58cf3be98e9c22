package fetch

import (
	"net/http"
	"net/url"
	"strings"
	"sync"
)

// Bounds of what is kept for conditional requests.
const (
	maxStored     = 256
	maxStoredBody = 1 << 20
	maxStoredAll  = 16 << 20
)

// stored is a document with what its server calls this state of it.
type stored struct {
	etag, modified, contentType string
	body                        []byte
}

// ask makes a request conditional (RFC 9110, section 13.1).
func (s *stored) ask(h http.Header) {
	if s == nil {
		return
	}
	if s.etag != "" {
		h.Set("If-None-Match", s.etag)
	}
	if s.modified != "" {
		h.Set("If-Modified-Since", s.modified)
	}
}

// cache keeps the latest documents, the oldest of which make room for new ones.
// The zero value is empty.
type cache struct {
	mu    sync.Mutex
	by    map[string]*stored
	order []string
	size  int
}

// key tells documents apart: a private look must never see what a public one
// was answered, or the other way round.
func key(r Request, at *url.URL) string {
	if r.Private {
		return "private " + at.String()
	}
	return at.String()
}

func (c *cache) get(r Request, at *url.URL) *stored {
	if !r.Conditional || len(r.Secrets) > 0 {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.by[key(r, at)]
}

func (c *cache) put(r Request, a Answer) {
	etag, modified := a.Header.Get("Etag"), a.Header.Get("Last-Modified")
	if !r.Conditional || len(r.Secrets) > 0 || a.Status != http.StatusOK {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	k := key(r, a.Final)
	c.drop(k)
	varies := strings.Contains(a.Header.Get("Vary"), "*")
	if etag == "" && modified == "" || varies || len(a.Body) > maxStoredBody {
		return
	}
	if c.by == nil {
		c.by = map[string]*stored{}
	}
	c.by[k] = &stored{etag, modified, a.Header.Get("Content-Type"), a.Body}
	c.order = append(c.order, k)
	c.size += len(a.Body)
	for len(c.order) > maxStored || c.size > maxStoredAll {
		c.drop(c.order[0])
	}
}

func (c *cache) drop(k string) {
	s := c.by[k]
	if s == nil {
		return
	}
	c.size -= len(s.body)
	delete(c.by, k)
	for i, o := range c.order {
		if o == k {
			c.order = append(c.order[:i], c.order[i+1:]...)
			return
		}
	}
}
