package server

import (
	"bytes"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lastlook/lastlook/access"
)

// schema is as much of a schema as the fuzz needs.
type schema struct {
	Ref        string `json:"$ref"`
	Type       any
	Properties map[string]*schema
	Items      *schema
	Enum       []any
	Required   []string
}

// described is a route with all that a request to it may have.
type described struct {
	route
	params []struct {
		Name, In string
		Schema   schema
	}
	body *schema
}

// description is the API's own, as the fuzz reads it.
type description struct {
	Paths map[string]map[string]struct {
		Parameters []struct {
			Name, In string
			Schema   schema
		}
		RequestBody struct {
			Content map[string]struct{ Schema *schema }
		}
	}
	Components struct{ Schemas map[string]*schema }
}

func (d *description) of(r route) described {
	op := d.Paths[r.path][strings.ToLower(r.method)]
	out := described{route: r, body: op.RequestBody.Content["application/json"].Schema}
	for _, p := range op.Parameters {
		out.params = append(out.params, struct {
			Name, In string
			Schema   schema
		}(p))
	}
	return out
}

// fuzzer makes values that a schema allows, nearly allows, or does not.
type fuzzer struct {
	*rand.Rand
	doc  *description
	fill map[string]string
}

// nasty are texts that somebody will send.
var nasty = []string{
	"", " ", ".", "..", "../../etc/passwd", "%2e%2e%2f", "\x00", "a\x00b", "\xff\xfe", "\u202e", "';--", "\"", "<script>", "{subject}", "${x}", "null", "-1", "0", "9223372036854775808", "1e999", "NaN",
	"http://[", "javascript:alert(1)", "file:///etc/passwd", "http://169.254.169.254/", "http://" + shopHost + "/lamp", strings.Repeat("a", 5000), strings.Repeat("💥", 200), "day Moon/Base", "every 1ns", "\r\nX: y", "self", "operator", "watch",
}

func (f *fuzzer) text() string { return nasty[f.IntN(len(nasty))] }

// value makes a value: mostly of the schema's type.
func (f *fuzzer) value(s *schema, depth int) any {
	if s != nil && s.Ref != "" {
		s = f.doc.Components.Schemas[s.Ref[strings.LastIndex(s.Ref, "/")+1:]]
	}
	if s == nil || depth > 6 || f.IntN(8) == 0 {
		return []any{nil, true, -1, 1e300, 1 << 60, f.text(), []any{}, []any{nil}, map[string]any{}, map[string]any{f.text(): f.text()}}[f.IntN(10)]
	}
	kind, _ := s.Type.(string)
	if list, ok := s.Type.([]any); ok && len(list) > 0 {
		kind, _ = list[0].(string)
	}
	switch kind {
	case "object":
		out := map[string]any{}
		for name, p := range s.Properties {
			if slices.Contains(s.Required, name) || f.IntN(3) == 0 {
				if out[name] = f.value(p, depth+1); name == "watch" && f.IntN(2) == 0 {
					out[name] = f.fill["{watch}"]
				}
			}
		}
		if f.IntN(10) == 0 {
			out[f.text()] = 1
		}
		return out
	case "array":
		out := make([]any, f.IntN(4))
		for i := range out {
			out[i] = f.value(s.Items, depth+1)
		}
		return out
	case "integer":
		return []int64{0, 1, -1, 60, 1 << 31, 1 << 62, -1 << 63}[f.IntN(7)]
	case "number":
		return []float64{0, 1, -1, 1e-9, 1e18, 1e300}[f.IntN(6)]
	case "boolean":
		return f.IntN(2) == 0
	case "string":
		if len(s.Enum) > 0 && f.IntN(4) > 0 {
			return s.Enum[f.IntN(len(s.Enum))]
		}
		return []string{f.text(), "orders", "lamp", "log", "2026-12-01T10:00:00Z", "500 EUR", "10%"}[f.IntN(7)]
	}
	return f.text()
}

// body makes a body: mostly JSON of the schema.
func (f *fuzzer) body(s *schema) (b []byte, kind string) {
	kind = "application/json"
	b, err := json.Marshal(f.value(s, 0))
	if err != nil {
		b = []byte("{}")
	}
	switch f.IntN(12) {
	case 0:
		kind = []string{"", "text/plain", "application/xml", "application/cbor", "multipart/form-data", "application/json; charset=utf-16", "nonsense"}[f.IntN(7)]
	case 1:
		b = b[:len(b)/2]
	case 2:
		b = bytes.Repeat([]byte("["), 20_000)
	case 3:
		b = []byte(`{"a":"` + f.text() + `"}`)
	case 4:
		b = append(b, "{}"...)
	case 5:
		b = []byte{0xff, 0xfe, '{', 0}
	}
	return b, kind
}

// request makes a request to a route, with the ids of others or with nonsense.
func (f *fuzzer) request(t *testing.T, w *web, d *described) *http.Request {
	t.Helper()
	path := pathPart.ReplaceAllStringFunc(d.path, func(part string) string {
		if f.IntN(3) > 0 {
			return f.fill[part]
		}
		if s := url.PathEscape(f.text()); s != "" {
			return s
		}
		return "%20"
	})
	q := url.Values{}
	for _, p := range d.params {
		if p.In == "query" && f.IntN(2) == 0 {
			q.Set(p.Name, f.text())
		}
	}
	var body io.Reader
	kind := ""
	if d.body != nil || f.IntN(10) == 0 {
		var b []byte
		b, kind = f.body(d.body)
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(t.Context(), d.method, w.url+path, body)
	if err != nil {
		t.Fatal(err)
	}
	req.URL.RawQuery = q.Encode()
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	for _, p := range d.params {
		if text := f.text(); p.In == "header" && f.IntN(2) == 0 && !strings.ContainsAny(text, "\x00\r\n") {
			req.Header.Set(p.Name, text)
		}
	}
	if f.IntN(15) == 0 {
		req.Header.Set("Accept", "application/cbor")
	}
	if f.IntN(15) == 0 {
		req.Header.Set("Content-Encoding", "gzip")
	}
	return req
}

// Every route of the description, asked with what a schema allows, nearly
// allows, and does not, by its owner, another owner, another device and nobody:
// no fault of ours, nothing of others, and nothing changed by what is refused.
func TestFuzzEveryRoute(t *testing.T) {
	s := newShop(t, eur("598.00"))
	now := time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	w := newWeb(t, at(s), func(o *Options) { o.Clock = func() time.Time { now = now.Add(time.Second); return now } })
	e := w.estate(t)
	f := &fuzzer{Rand: rand.New(rand.NewPCG(1, 2)), doc: &description{}, fill: e.fill}
	e.key.must(http.StatusOK, http.MethodGet, "/openapi.json", nil, f.doc)
	rival, stranger, op := w.program("rival", access.AllScopes()...), w.visitor(), w.theOperator()
	stranger.arrive("stranger")
	callers := []struct {
		name     string
		v        *visitor
		stranger bool
	}{{"its owner", e.key, false}, {"the operator", op, false}, {"another owner", rival, true}, {"another device", stranger, true}, {"nobody", w.visitor(), true}}
	rounds := 2 // LASTLOOK_FUZZ_ROUNDS=80 takes a minute
	if n, err := strconv.Atoi(os.Getenv("LASTLOOK_FUZZ_ROUNDS")); err == nil {
		rounds = n
	}
	routes := e.device.allRoutes()
	routes = append(routes, route{method: http.MethodPost, path: "/api/v1/devices"}, route{method: http.MethodGet, path: "/api/v1/push"})
	before, accepted := w.world(), 0
	for range rounds {
		for _, r := range routes {
			d := f.doc.of(r)
			for _, c := range callers {
				if !c.stranger && r.method == http.MethodDelete && !strings.Contains(r.path, "subscription") {
					continue // it would take away what the others are to be refused
				}
				if c.v == e.key && r.method == http.MethodPut && strings.Contains(r.path, "/topics/") {
					continue // as well
				}
				req := f.request(t, w, &d)
				sent := req.URL.String()
				if req.GetBody != nil {
					if b, err := req.GetBody(); err == nil {
						text, _ := io.ReadAll(b)
						sent += string(text)
					}
				}
				status, body := c.v.raw(req)
				if status >= http.StatusInternalServerError {
					t.Fatalf("%s %s by %s: HTTP %d: %s", req.Method, req.URL, c.name, status, body)
				}
				for _, mark := range e.marks {
					if c.stranger && strings.Contains(body, mark) && !strings.Contains(sent, mark) {
						t.Errorf("%s %s shows %s to %s: %s", req.Method, req.URL, mark, c.name, body)
					}
				}
				after := w.world()
				if status >= http.StatusBadRequest && after != before {
					t.Fatalf("%s %s by %s: HTTP %d, and it changed\n%s\n%s", req.Method, req.URL, c.name, status, before, after)
				}
				if status < http.StatusMultipleChoices {
					accepted++
				}
				before = after
			}
		}
	}
	if accepted < rounds*len(routes)/4 {
		t.Errorf("only %d requests were accepted: the fuzz does not come far", accepted)
	}
	t.Logf("%d requests were accepted", accepted)
}

// raw sends a request as the visitor, and returns what was answered.
func (v *visitor) raw(req *http.Request) (status int, body string) {
	v.w.t.Helper()
	if v.bearer != "" {
		req.Header.Set("Authorization", "Bearer "+v.bearer)
	}
	resp, err := v.client.Do(req)
	if err != nil {
		v.w.t.Fatal(err)
	}
	defer resp.Body.Close()
	if strings.HasSuffix(req.URL.Path, "/events") && resp.StatusCode == http.StatusOK {
		return resp.StatusCode, ""
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		v.w.t.Fatal(err)
	}
	if ct := resp.Header.Get("Content-Type"); resp.StatusCode >= 400 && ct != "application/problem+json" && len(b) > 0 {
		v.w.t.Errorf("%s %s: HTTP %d as %s: %.200s", req.Method, req.URL, resp.StatusCode, ct, b)
	}
	return resp.StatusCode, string(b)
}
