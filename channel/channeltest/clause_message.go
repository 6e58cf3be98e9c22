package channeltest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/lastlook/lastlook"
)

// plainClauses hold for every channel.
var plainClauses = []Clause{
	{Name: "message/accepted", Promise: "Channel", run: acceptsMessage},
	{Name: "message/hostile", Promise: "shorten and escape as needed; nothing is lost", run: hostileMessages},
	{Name: "message/memory", Promise: "caller's memory is left alone", run: leavesMemoryAlone},
	{Name: "message/concurrent", Promise: "safe for concurrent use", run: concurrent},
	{Name: "message/not called", Promise: "a context that has ended: known not delivered", run: contextEnded},
	{Name: "message/printed", Promise: "G12: no secret in logs", run: printed},
}

// requestClauses look at what is sent.
var requestClauses = []Clause{
	{Name: "request/shape", Promise: "RFC 9110", run: requestShape},
	{Name: "request/hostile", Promise: "no header or request is injected", run: hostileRequests},
	{Name: "request/once", Promise: "G7: one call is one request", run: onePerCall},
}

// accepting runs a server that takes everything.
func (f *fixture) accepting() (string, *recording) {
	f.Helper()
	rec := &recording{}
	srv := httptest.NewServer(rec)
	f.Cleanup(srv.Close)
	return srv.URL, rec
}

func acceptsMessage(f *fixture) {
	url, _ := f.accepting()
	ch := f.channel(url)
	f.accepted(f.deliver(f.Context(), ch, message()), "an ordinary message")
	bare := message()
	bare.Message = lastlook.Message{Title: "Only a title", Silent: true}
	bare.Value, bare.Trace = nil, ""
	f.accepted(f.deliver(f.Context(), ch, bare), "a message that has only a title")
	bare.Message = lastlook.Message{Body: "Only a body"}
	f.accepted(f.deliver(f.Context(), ch, bare), "a message that has only a body")
}

// hostile are texts that break what is careless.
var hostile = []string{
	"line\r\nX-Injected: 1\r\n\r\nGET / HTTP/1.1",
	"nul\x00byte \x1b[31mred\x07 \u202eright to left \u2028 line",
	"invalid \xff\xfe\xc0\xaf utf-8 \xed\xa0\x80",
	`"quotes" \ 'back' </script><b>&amp; {{.}} ${x} %s %00 $(x)`,
	strings.Repeat("x", 60<<10),
	strings.Repeat("\"\\\n", 20<<10),
	strings.Repeat("日本語 👩\u200d👩\u200d👧 e\u0301", 2<<10),
	strings.Repeat("\xff", 60<<10),
	strings.Repeat("\u2028\x01", 10<<10),
	" \t\r\n ",
	"",
}

// hostileDeliveries put each text everywhere where one may come from outside.
func hostileDeliveries() []lastlook.Delivery {
	var out []lastlook.Delivery
	for _, text := range hostile {
		one := message()
		one.Message.Title = text
		two := message()
		two.Message.Body = text
		three := message()
		three.Message.URL = text
		four := message()
		part := text[:min(len(text), lastlook.MaxKeyPart)]
		four.Key = lastlook.Key{Topic: part, Subject: part, Recipient: part, Channel: part}
		four.Trace = part
		five := message()
		five.Message = lastlook.Message{Title: text, Body: text, URL: "https://shop.example/" + text}
		five.Value, _ = json.Marshal(text)
		out = append(out, one, two, three, four, five)
	}
	return out
}

func describe(d lastlook.Delivery) string {
	return fmt.Sprintf("title %.40q, body %.40q, url %.40q, topic %.40q", d.Message.Title, d.Message.Body, d.Message.URL, d.Key.Topic)
}

func hostileMessages(f *fixture) {
	url, _ := f.accepting()
	ch := f.channel(url)
	for _, d := range hostileDeliveries() {
		f.accepted(f.deliver(f.Context(), ch, d), describe(d))
	}
}

func hostileRequests(f *fixture) {
	url, rec := f.accepting()
	ch := f.channel(url)
	for _, d := range hostileDeliveries() {
		f.deliver(f.Context(), ch, d)
		reqs, bodies := rec.take()
		if len(reqs) != 1 {
			f.Errorf("%s: led to %d requests", describe(d), len(reqs))
		}
		for i, r := range reqs {
			f.request(r, bodies[i], describe(d))
		}
	}
}

// request checks what holds for every request.
func (f *fixture) request(r *http.Request, body []byte, of string) {
	f.Helper()
	text, isJSON := body, strings.Contains(r.Header.Get("Content-Type"), "json")
	if f.h.Open != nil {
		var err error
		if text, err = f.h.Open(body); err != nil {
			f.Errorf("%s: the body cannot be opened: %v", of, err)
		}
		isJSON = true
	}
	switch {
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		f.Errorf("%s: sent with %s, which may be repeated on the way", of, r.Method)
	case r.Header.Get("X-Injected") != "":
		f.Errorf("%s: a header was injected", of)
	case !utf8.Valid(text):
		f.Errorf("%s: the body is not valid UTF-8: %.100q", of, text)
	case isJSON && !json.Valid(text):
		f.Errorf("%s: the body is not valid JSON: %.100q", of, text)
	case r.ContentLength != int64(len(body)):
		f.Errorf("%s: no Content-Length: some services refuse that", of)
	case !strings.Contains(r.UserAgent(), "lastlook"):
		f.Errorf("%s: the user agent %q does not say who is calling", of, r.UserAgent())
	case len(r.Header["Idempotency-Key"])+len(r.Header["X-Idempotency-Key"]) > 2:
		f.Errorf("%s: idempotency keys are repeated", of)
	}
	if f.h.Inspect != nil {
		f.h.Inspect(f, r, body)
	}
}

func requestShape(f *fixture) {
	url, rec := f.accepting()
	f.accepted(f.deliver(f.Context(), f.channel(url), message()), "an ordinary message")
	reqs, bodies := rec.take()
	for i, r := range reqs {
		f.request(r, bodies[i], "an ordinary message")
	}
}

// leavesMemoryAlone looks at the caller's bytes, and at those behind them.
func leavesMemoryAlone(f *fixture) {
	url, _ := f.accepting()
	ch := f.channel(url)
	const canary = "canary canary canary canary"
	guarded := func(s string) ([]byte, func() bool) {
		whole := []byte(s + canary)
		return whole[:len(s)], func() bool { return string(whole) == s+canary }
	}
	d := message()
	value, valueSame := guarded(string(d.Value))
	data, dataSame := guarded(string(d.Message.Data))
	d.Value, d.Message.Data = value, data
	var wg sync.WaitGroup
	for range 4 { // and under the race detector
		wg.Go(func() { _, _ = ch.Deliver(f.Context(), d) })
	}
	wg.Wait()
	if !valueSame() || !dataSame() {
		f.Errorf("the caller's memory was changed: %q, %q", value[:cap(value)], data[:cap(data)])
	}
	clear(value) // whoever still reads it races with this
	clear(data)
	if !bytes.Equal(value, make([]byte, len(value))) {
		f.Errorf("the caller's memory was changed after the call")
	}
}

func concurrent(f *fixture) {
	url, _ := f.accepting()
	ch := f.channel(url)
	var wg sync.WaitGroup
	outcomes := make(chan outcome, 200)
	for i := range 16 {
		wg.Go(func() {
			for j := range 8 {
				d := message()
				d.ID = lastlook.ID(100*i + j)
				d.DeliveryKey = lastlook.DeliveryKey(d.Key, int64(d.ID))
				r, err := ch.Deliver(f.Context(), d)
				outcomes <- outcome{r, err}
			}
		})
	}
	wg.Wait()
	close(outcomes)
	for o := range outcomes {
		f.inspect(o)
		f.accepted(o, "one of many")
	}
}

// onePerCall counts, with many calls at a time.
func onePerCall(f *fixture) {
	var requests atomic.Int64
	url := f.serve(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		requests.Add(1)
	})
	ch := f.channel(url)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 16 {
				_, _ = ch.Deliver(f.Context(), message())
			}
		})
	}
	wg.Wait()
	if n := requests.Load(); n != 8*16 {
		f.Errorf("%d calls led to %d requests", 8*16, n)
	}
}

func contextEnded(f *fixture) {
	url, rec := f.accepting()
	ctx, cancel := context.WithCancel(f.Context())
	cancel()
	f.class(f.deliver(ctx, f.channel(url), message()), "a cancelled context", lastlook.ClassTransient)
	if reqs, _ := rec.take(); len(reqs) > 0 {
		f.Errorf("the server saw %d requests", len(reqs))
	}
}

// printed: a channel that ends up in a log line.
func printed(f *fixture) {
	url, _ := f.accepting()
	ch := f.channel(url)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		f.secretFree("channel printed with "+verb, fmt.Sprintf(verb, ch))
	}
	if b, err := json.Marshal(ch); err == nil {
		f.secretFree("channel as JSON", string(b))
	}
}
