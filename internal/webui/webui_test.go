package webui

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/lastlook/lastlook/internal/httpapi"
)

var at = time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)

func serve(t *testing.T, st State, err error) *httptest.Server {
	t.Helper()
	p, newErr := New(Config{State: func(http.ResponseWriter, *http.Request) (State, error) { return st, err }, Clock: func() time.Time { return at }})
	if newErr != nil {
		t.Fatal(newErr)
	}
	mux := http.NewServeMux()
	p.Register(mux)
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return srv
}

// answered is what a request was answered, its body read.
type answered struct {
	StatusCode int
	Header     http.Header
}

func get(t *testing.T, url string, header ...string) (answered, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	client := &http.Client{Timeout: time.Minute}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answered{resp.StatusCode, resp.Header}, string(b)
}

// full is a state in which everything is drawn.
var full = State{
	Key: "KEY", Version: "v1", Device: &httpapi.Device{ID: "d_1", Name: `<b>"Ann's" phone</b>`, Push: httpapi.Push{State: "active", Service: "push.example", Note: "Push came back"},
		Test: &httpapi.Test{ID: 7, State: "failed", Reason: "rejected", Error: "<i>no</i>", At: at}},
	Watches: []httpapi.Watch{
		{ID: "w_1", Name: "</script><script>alert(1)</script>", URL: "https://shop.example/?a=1&b=\"2", Triggers: []string{"below 500.00 EUR", "back in stock"}, Seen: "480.00 EUR, in stock", SeenAt: at, SnoozedUntil: at.Add(time.Hour)},
		{ID: "w_2", Name: "x", URL: "javascript:alert(1)", Triggers: []string{}, Problem: "<u>HTTP 503</u>"},
	},
}

// walk calls f for each element of a page.
func walk(n *html.Node, f func(*html.Node)) {
	if n.Type == html.ElementNode {
		f(n)
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		walk(c, f)
	}
}

func attr(n *html.Node, name string) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val, true
		}
	}
	return "", false
}

// The page runs and loads nothing but its own files, whatever pages and people
// have put into it.
func TestThePageIsItsOwn(t *testing.T) {
	srv := serve(t, full, nil)
	resp, body := get(t, srv.URL+"/")
	csp := resp.Header.Get("Content-Security-Policy")
	if !strings.HasPrefix(csp, "default-src 'none'; script-src 'self'; ") || strings.Contains(csp, "unsafe") || strings.Contains(csp, "data:") || !strings.Contains(csp, "frame-ancestors 'none'") {
		t.Errorf("the policy is %q", csp)
	}
	if resp.Header.Get("Cache-Control") != "no-store" {
		t.Error("the page of one device may be kept and shown to another")
	}
	doc, err := html.Parse(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	walk(doc, func(n *html.Node) {
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") || a.Key == "style" {
				t.Errorf("<%s %s=%q> is inline", n.Data, a.Key, a.Val)
			}
		}
		switch n.Data {
		case "script":
			if src, _ := attr(n, "src"); src == "" || n.FirstChild != nil {
				t.Errorf("an inline script: %v", n.FirstChild)
			}
		case "style", "iframe", "object", "b", "i", "u":
			t.Errorf("<%s> is on the page", n.Data)
		}
		for _, name := range []string{"src", "href"} {
			link, ok := attr(n, name)
			if !ok {
				continue
			}
			if n.Data == "a" {
				if !strings.HasPrefix(link, "https://shop.example/") && !strings.HasPrefix(link, "/") && !strings.HasPrefix(link, "#") {
					t.Errorf("a link leads to %q", link)
				}
				continue
			}
			if resp, _ := get(t, srv.URL+link); !strings.HasPrefix(link, "/") || resp.StatusCode != http.StatusOK {
				t.Errorf("<%s %s=%q>: HTTP %d", n.Data, name, link, resp.StatusCode)
			}
		}
	})
}

// What scripts and tests hold on to.
func TestThePageKeepsItsNames(t *testing.T) {
	srv := serve(t, full, nil)
	_, body := get(t, srv.URL+"/")
	for _, want := range []string{
		`data-state="active"`, `data-action="allow-push"`, `data-action="test-push"`, `data-action="stop-push"`, `data-action="delete-device"`, `data-action="unsnooze"`,
		`data-action="snooze"`, `data-action="stop-watch"`, `id="watch-w_1"`, `data-watch="w_2"`, `id="add-watch"`, `id="rename-device"`, `id="url"`, `id="amount"`, `id="currency"`,
		`id="back-in-stock"`, `id="message"`, `data-test="7"`, `data-test-state="failed"`, "below 500.00 EUR; back in stock", "Push came back", "Could not be read",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	for state, st := range map[string]State{
		"unavailable": {}, "new": {Key: "KEY"}, "none": {Key: "KEY", Device: &httpapi.Device{Push: httpapi.Push{State: "none"}}}, "gone": {Key: "KEY", Device: &httpapi.Device{Push: httpapi.Push{State: "gone"}}},
	} {
		srv := serve(t, st, nil)
		_, body := get(t, srv.URL+"/")
		if !strings.Contains(body, `data-state="`+state+`"`) || strings.Contains(body, `id="rename-device"`) != (st.Device != nil) || !strings.Contains(body, "Nothing yet.") {
			t.Errorf("%s: %s", state, body)
		}
	}
}

// Whoever cannot see the page can use it: every field has a label, every section
// a heading, every button a text, and no id stands twice.
func TestThePageIsAccessible(t *testing.T) {
	srv := serve(t, full, nil)
	_, body := get(t, srv.URL+"/")
	doc, err := html.Parse(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	ids, labelled := map[string]int{}, map[string]bool{}
	walk(doc, func(n *html.Node) {
		if id, ok := attr(n, "id"); ok {
			ids[id]++
		}
		if id, ok := attr(n, "for"); ok && n.Data == "label" {
			labelled[id] = true
		}
		if n.Data == "label" && n.FirstChild != nil && n.FirstChild.Data == "input" {
			id, _ := attr(n.FirstChild, "id")
			labelled[id] = true
		}
	})
	for id, n := range ids {
		if n > 1 {
			t.Errorf("the id %q stands %d times", id, n)
		}
	}
	walk(doc, func(n *html.Node) {
		id, _ := attr(n, "id")
		switch n.Data {
		case "html":
			if lang, _ := attr(n, "lang"); lang == "" {
				t.Error("the page has no language")
			}
		case "input":
			if !labelled[id] {
				t.Errorf("the field %q has no label", id)
			}
		case "section":
			if by, _ := attr(n, "aria-labelledby"); ids[by] != 1 {
				t.Errorf("the section %q has no heading", id)
			}
		case "button":
			if n.FirstChild == nil || strings.TrimSpace(n.FirstChild.Data) == "" {
				t.Error("a button has no text")
			}
		}
	})
}

func TestAssets(t *testing.T) {
	srv := serve(t, State{}, nil)
	for path, kind := range map[string]string{
		"/app.js": "text/javascript; charset=utf-8", "/sw.js": "text/javascript; charset=utf-8", "/style.css": "text/css; charset=utf-8",
	} {
		resp, body := get(t, srv.URL+path)
		if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != kind || body == "" || resp.Header.Get("Cache-Control") != "no-cache" {
			t.Errorf("%s: HTTP %d, %v", path, resp.StatusCode, resp.Header)
		}
		if again, _ := get(t, srv.URL+path, "If-None-Match", resp.Header.Get("ETag")); again.StatusCode != http.StatusNotModified {
			t.Errorf("%s is sent again: HTTP %d", path, again.StatusCode)
		}
		for line := range strings.SplitSeq(body, "\n") {
			if kind[:4] == "text" && regexp.MustCompile(`https?://`).MatchString(line) {
				t.Errorf("%s names another site: %s", path, line)
			}
		}
	}
	for _, path := range []string{"/page.html", "/assets/app.js", "/none.js", "/..%2fwebui.go"} {
		if resp, _ := get(t, srv.URL+path); resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s: HTTP %d", path, resp.StatusCode)
		}
	}
}

func TestTrouble(t *testing.T) {
	srv := serve(t, State{}, errors.New("secret trouble"))
	if resp, body := get(t, srv.URL+"/"); resp.StatusCode != http.StatusInternalServerError || strings.Contains(body, "secret") {
		t.Errorf("HTTP %d: %s", resp.StatusCode, body)
	}
	if _, err := New(Config{}); err == nil {
		t.Error("a page that shows nothing")
	}
}

// The module and the worker ask for addresses that the API has.
func TestScriptsAskForWhatThereIs(t *testing.T) {
	mux := http.NewServeMux()
	httpapi.New(mux, httpapi.Config{})
	known := []string{"devices", "push", "devices/self", "devices/self/test", "devices/self/subscription", "devices/self/subscription/change", "watches", "watches/"}
	for _, file := range []string{"assets/app.js", "assets/sw.js"} {
		b, err := files.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		asked := regexp.MustCompile(`api\('([A-Z]+)', '([^']*)'`).FindAllStringSubmatch(string(b), -1)
		if len(asked) < 3 {
			t.Errorf("%s asks only for %v", file, asked)
		}
		for _, a := range asked {
			if !slices.Contains(known, a[2]) {
				t.Errorf("%s asks for %s %s", file, a[1], a[2])
				continue
			}
			path := "/api/v1/" + a[2]
			if strings.HasSuffix(path, "/") {
				continue
			}
			req := httptest.NewRequest(a[1], path, nil)
			if _, pattern := mux.Handler(req); pattern == "" || pattern == "/api/" {
				t.Errorf("%s asks for %s %s, which is not there", file, a[1], path)
			}
		}
	}
}
