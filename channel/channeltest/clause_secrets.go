package channeltest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"unicode"

	"github.com/lastlook/lastlook"
)

var secretClauses = []Clause{
	{Name: "secrets/echoed", Promise: "G12: no secret in any error or receipt", run: echoed},
	{Name: "secrets/cut off", Promise: "G12: no secret in any error or receipt", run: echoedInPart},
	{Name: "secrets/not HTTP", Promise: "G12: no secret in any error or receipt", run: echoedRaw},
	{Name: "secrets/no answer", Promise: "G12: no secret in any error or receipt", run: unanswered},
}

// pieces are the parts of a request, as a careless server may show them.
func pieces(r *http.Request, body []byte) []string {
	out := []string{r.Method + " " + r.RequestURI, r.RequestURI, r.URL.Path, r.Host + r.RequestURI, "http://" + r.Host + r.RequestURI}
	out = append(out, strings.Split(r.URL.Path, "/")...)
	for _, values := range r.URL.Query() {
		out = append(out, values...)
	}
	var dump bytes.Buffer
	_ = r.Header.Write(&dump)
	out = append(out, dump.String())
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		for _, v := range r.Header[name] {
			out = append(out, name+": "+v, v)
			if _, credentials, ok := strings.Cut(v, " "); ok {
				out = append(out, credentials)
				if plain, err := base64.StdEncoding.DecodeString(credentials); err == nil {
					out = append(out, string(plain))
				}
			}
		}
	}
	out = append(out, string(body))
	var fields map[string]any
	if json.Unmarshal(body, &fields) == nil {
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			if s, ok := fields[name].(string); ok {
				out = append(out, s)
			}
		}
	}
	return slices.DeleteFunc(out, func(s string) bool { return s == "" })
}

// echoed shows every part of the request in every form, and as it is with
// statuses of every kind: in the body, in the reason, in headers that are read.
func echoed(f *fixture) {
	kinds := []int{200, 302, 400, 503}
	forms := slices.Sorted(maps.Keys(encodings))
	for range kinds {
		forms = append(forms, "as it is")
	}
	var step, total atomic.Int64
	total.Store(1)
	address := f.conversation(func(r *http.Request, body []byte) string {
		parts := pieces(r, body)
		total.Store(int64(len(parts) * len(forms)))
		part, form := int(step.Load())/len(forms)%len(parts), int(step.Load())%len(forms)
		said := encodings[forms[form]](parts[part])
		line := oneLine(said)
		return fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Type: text/html\r\nRetry-After: %s\r\nLocation: https://elsewhere.example/%s\r\n"+
			"Www-Authenticate: Basic realm=%s\r\nContent-Length: %d\r\n\r\n%s",
			kinds[(part+form)%len(kinds)], line, line, url.PathEscape(line), line, len(said)+1, said+".")
	})
	ch := f.channel(address)
	for ; step.Load() < total.Load() && !f.Failed(); step.Add(1) {
		f.deliver(f.Context(), ch, message())
	}
}

func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
}

// echoedInPart moves each secret across the places where an answer may be cut.
func echoedInPart(f *fixture) {
	var said atomic.Value
	address := f.answers(func(*http.Request, []byte) string {
		s := said.Load().(string)
		return fmt.Sprintf("HTTP/1.1 500 X\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s", len(s)+10, s) // cut off
	})
	ch := f.channel(address)
	for _, secret := range f.h.Secrets {
		said.Store(secret[:len(secret)-1])
		f.deliver(f.Context(), ch, message())
		for limit := 64; limit <= 8<<10; limit *= 2 {
			for _, before := range []int{1, len(secret) / 2, len(secret) - 1} {
				said.Store(strings.Repeat("-", max(limit-before, 0)) + secret + strings.Repeat("-", limit))
				f.deliver(f.Context(), ch, message())
				// Where what precedes it shrinks, for it is scrubbed too.
				again := limit / (len(secret) + 1)
				said.Store(strings.Repeat(secret+" ", again) + strings.Repeat("-", max(limit-again*(len(secret)+1)-before, 0)) + secret)
				f.deliver(f.Context(), ch, message())
			}
		}
	}
}

// echoedRaw: a server that sends back the very bytes, without making it HTTP.
func echoedRaw(f *fixture) {
	for _, frame := range []string{"%s", "HTTP/1.1 %s\r\n\r\n", "HTTP/1.1 200 OK\r\n%s\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: %s\r\n\r\n", "HTTP/1.1 302 X\r\nLocation: http://[%s\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: %s\r\n\r\n"} {
		for i := range 100 {
			var last atomic.Bool
			address := f.answers(func(r *http.Request, body []byte) string {
				parts := pieces(r, body)
				last.Store(i >= len(parts)-1)
				return fmt.Sprintf(frame, oneLine(parts[min(i, len(parts)-1)]))
			})
			f.deliver(f.Context(), f.channel(address), message())
			if last.Load() || f.Failed() {
				break
			}
		}
	}
}

// unanswered: errors of the network, which are fond of naming the URL.
func unanswered(f *fixture) {
	f.deliver(f.Context(), f.channel(f.nobody()), message())
	reset := f.listen(reset)
	f.deliver(f.Context(), f.channel(reset), message())
	f.deliver(f.Context(), f.channel("https"+reset[len("http"):]), message())
	address, got := f.silence()
	ctx := f.expiring()
	done := f.start(ctx, f.channel(address), message())
	f.wait(got, "the request")
	ctx.expire()
	if o := f.await(done); o.err != nil {
		f.class(o, "no answer", lastlook.ClassUnknown)
	}
	f.deliver(ctx, f.channel(address), message())
}
