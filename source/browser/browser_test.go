package browser_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/lastlook/lastlook/internal/door"
	"github.com/lastlook/lastlook/source/browser"
	"github.com/lastlook/lastlook/watch"
)

// chromium is the real browser, which `make test-chromium` must have in CI.
func chromium(t *testing.T) string {
	t.Helper()
	if os.Getenv("LASTLOOK_TEST_CHROMIUM") == "" {
		t.Skip("make test-chromium: reads pages with a real browser, which takes half a minute (it sets LASTLOOK_TEST_CHROMIUM=1)")
	}
	path, err := exec.LookPath("chromium")
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatal("CI needs Chromium: see tools/debian-packages.txt")
	}
	if err != nil {
		t.Skip("SKIPPED: there is no program chromium here, so nothing of the browser source is tested: install Debian's package chromium")
	}
	return path
}

// shop is a site under test, which stands at the public name shop.example; the
// guard is the real one, for public addresses.
func shop(t *testing.T, h http.HandlerFunc, timeout time.Duration) (*browser.Source, string) {
	t.Helper()
	path := chromium(t)
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	cfg := door.Config{Trust: door.Public, Via: map[string]string{"shop.example:80": srv.Listener.Addr().String()}}
	dialer, err := door.NewDialer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	client, err := door.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	src, err := browser.New(browser.Config{Path: path, Dialer: dialer, Client: client, Timeout: timeout})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = src.Close() })
	return src, srv.Listener.Addr().String()
}

func look(t *testing.T, src *browser.Source, path string) (watch.Observation, error) {
	t.Helper()
	return src.Look(t.Context(), watch.Listing{Source: browser.SourceName, URL: "http://shop.example" + path})
}

const scripted = `<!doctype html><html lang="en"><head><title>Lamp</title></head><body><div id="root"></div><script>
alert("welcome"); confirm("cookies?");
setTimeout(() => { const s = document.createElement("script"); s.type = "application/ld+json";
s.textContent = JSON.stringify({"@context":"https://schema.org","@type":"Product","name":"Lamp","offers":{"@type":"Offer","price":"75.00","priceCurrency":"EUR","availability":"https://schema.org/InStock"}});
document.head.append(s); EXTRA }, 200);
</script></body></html>`

// TestScripted: a price that stands in no answer, only in what a script makes.
// The browser that dies is started anew, and none is left behind.
func TestScripted(t *testing.T) {
	src, _ := shop(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/p":
			_, _ = io.WriteString(w, strings.ReplaceAll(scripted, "EXTRA", ""))
		case "/429":
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusTooManyRequests)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}, time.Minute)
	for range 2 {
		o, err := look(t, src, "/p")
		if err != nil || o.Price.String() != "75.00 EUR" || o.Availability != watch.InStock {
			t.Fatalf("%+v, %v", o, err)
		}
	}
	if _, err := look(t, src, "/gone"); !errors.Is(err, watch.ErrMissing) {
		t.Error(err)
	}
	if _, err := look(t, src, "/429"); err == nil || !strings.Contains(err.Error(), "429") {
		t.Error(err)
	}
	pids := children(t)
	if len(pids) == 0 {
		t.Fatal("no browser runs")
	}
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	if o, err := look(t, src, "/p"); err != nil || o.Price.IsZero() {
		if o, err = look(t, src, "/p"); err != nil || o.Price.IsZero() { // its death may be noticed by a look
			t.Errorf("after the browser died: %+v, %v", o, err)
		}
	}
	if err := src.Close(); err != nil {
		t.Error(err)
	}
	if left := children(t); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if _, err := look(t, src, "/p"); err == nil {
		t.Error("a look after the close")
	}
}

// TestRobotCheck: a check that comes with status 200, or with a 404, says nothing
// about the thing; a 404 without one does.
func TestRobotCheck(t *testing.T) {
	src, _ := shop(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path != "/200" {
			w.WriteHeader(http.StatusNotFound)
		}
		if r.URL.Path != "/plain" {
			_, _ = io.WriteString(w, `<!doctype html><title>shop.example</title><div id="px-captcha"></div><p>Press &amp; Hold to confirm you are a human</p>`)
		}
	}, 15*time.Second)
	for path, blocked := range map[string]bool{"/200": true, "/404": true, "/plain": false} {
		_, err := look(t, src, path)
		e, ok := errors.AsType[*browser.Error](err)
		if !ok || (e.Outcome == "blocked") != blocked || errors.Is(err, watch.ErrMissing) == blocked {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestPrivateIsNotReached: whatever a page tries, it reaches nothing private.
func TestPrivateIsNotReached(t *testing.T) {
	var reached atomic.Int32
	secret := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reached.Add(1)
		w.Header().Set("Access-Control-Allow-Origin", "*")
	}))
	t.Cleanup(secret.Close)
	port := secret.URL[strings.LastIndex(secret.URL, ":")+1:]
	var tries strings.Builder
	for _, host := range []string{"127.0.0.1", "localhost", "foo.localhost", "[::1]", "0.0.0.0", "127.1", "2130706433"} {
		at := "http://" + host + ":" + port + "/secret"
		tries.WriteString(`fetch("` + at + `",{mode:"no-cors"}).catch(()=>{}); new Image().src="` + at + `"; try { new WebSocket("ws` + at[4:] + `") } catch {} ` +
			`{ const f = document.createElement("iframe"); f.src = "` + at + `"; document.body.append(f) } navigator.sendBeacon("` + at + `");`)
	}
	src, _ := shop(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/redirect":
			http.Redirect(w, r, secret.URL+"/secret", http.StatusFound)
		case "/p":
			// The price comes only after the tries, so that they are made.
			_, _ = io.WriteString(w, strings.ReplaceAll(strings.ReplaceAll(scripted, "EXTRA", ""), "setTimeout(", tries.String()+"setTimeout("))
		}
	}, time.Minute)
	if o, err := look(t, src, "/p"); err != nil || o.Price.IsZero() {
		t.Errorf("%+v, %v", o, err)
	}
	for _, path := range []string{"/redirect"} {
		if o, err := look(t, src, path); err == nil {
			t.Errorf("%s: %+v", path, o)
		}
	}
	if o, err := src.Look(t.Context(), watch.Listing{URL: secret.URL}); err == nil {
		t.Errorf("%+v", o)
	}
	if n := reached.Load(); n > 0 {
		t.Errorf("what is private was reached %d times", n)
	}
}

// TestHanging: a page that never ends does not keep a look beyond its limit.
func TestHanging(t *testing.T) {
	src, _ := shop(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/silent":
			<-r.Context().Done()
		case "/loop":
			_, _ = io.WriteString(w, "<p>x</p><script>for(;;);</script>")
		default:
			_, _ = io.WriteString(w, scripted)
		}
	}, 8*time.Second)
	for _, path := range []string{"/silent", "/loop"} {
		began := time.Now()
		o, err := look(t, src, path)
		if err == nil || time.Since(began) > 30*time.Second {
			t.Errorf("%s: %+v, %v after %s", path, o, err, time.Since(began))
		}
	}
}

func TestConfig(t *testing.T) {
	for _, c := range []browser.Config{{}, {Path: "/nowhere/chromium"}, {Path: os.Args[0]}, {Path: os.Args[0], Tabs: -1}} {
		if _, err := browser.New(c); err == nil || !strings.HasPrefix(err.Error(), "browser: ") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// children are the processes below this one that are a browser's, zombies left
// out.
func children(t *testing.T) []int {
	t.Helper()
	parents, names := map[int]int{}, map[int]string{}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range stats {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		text := string(b)
		open, shut := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
		fields := strings.Fields(text[shut+1:])
		pid, _ := strconv.Atoi(strings.TrimSpace(text[:open]))
		parent, _ := strconv.Atoi(fields[1])
		if fields[0] != "Z" {
			parents[pid], names[pid] = parent, text[open+1:shut]
		}
	}
	var out []int
	for pid := range parents {
		for up := parents[pid]; up > 1; up = parents[up] {
			if up == os.Getpid() && strings.Contains(names[pid], "chrom") {
				out = append(out, pid)
			}
		}
	}
	return out
}
