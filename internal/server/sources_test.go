package server

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lastlook/lastlook/internal/config"
	"github.com/lastlook/lastlook/source/jsonapi"
	"github.com/lastlook/lastlook/watch"
)

// TestReadBy: a listing is checked by the source that will read it, and each one
// that can be named is there.
func TestReadBy(t *testing.T) {
	made, err := newSources(Options{}.withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	if len(made.by) != len(SourceNames()) {
		t.Errorf("%d sources are made, and %d are named", len(made.by), len(SourceNames()))
	}
	for _, s := range Sources() {
		if made.by[s.Name] == nil {
			t.Errorf("the source %q is not made", s.Name)
		}
		if err := made.ready(s.Name); (err != nil) != (s.NeedsKey || s.NeedsBrowser) || err != nil && !errors.Is(err, ErrInvalid) && !errors.Is(err, config.ErrInvalid) {
			t.Errorf("the source %q needs something: %v", s.Name, err)
		}
	}
	for _, c := range []struct {
		source, url string
		opt         watch.Options
		ok          bool
	}{
		{"", "https://shop.example/p", watch.Options{}, true},
		{"page", "https://shop.example/p", watch.Options{PriceSelector: "#price"}, true},
		{"page", "https://shop.example/p", watch.Options{PriceSelector: "p["}, false},
		{"browser", "https://shop.example/p", watch.Options{PriceSelector: "#price"}, true},
		{"browser", "https://shop.example/p", watch.Options{PriceSelector: "p["}, false},
		{"json", "https://shop.example/p", watch.Options{PricePath: ".price"}, true},
		{"json", "https://shop.example/p", watch.Options{}, false},
		{"json", "https://shop.example/p", watch.Options{PricePath: "env"}, false},
		{"shopify", "https://shop.example/products/mug", watch.Options{}, true},
		{"shopify", "https://shop.example/mug", watch.Options{}, false},
		{"feed", "https://shop.example/rss", watch.Options{}, true},
		{"rakuten", "https://item.rakuten.co.jp/shop/cup/", watch.Options{}, true},
		{"rakuten", "https://item.rakuten.co.jp/", watch.Options{SKU: "shop:1"}, true},
		{"rakuten", "https://item.rakuten.co.jp/shop/", watch.Options{}, false},
		{"yahoo", "https://store.shopping.yahoo.co.jp/seller/cup.html", watch.Options{}, true},
		{"yahoo", "https://store.shopping.yahoo.co.jp/seller/", watch.Options{}, false},
		{"telepathy", "https://shop.example/", watch.Options{}, false},
	} {
		l := watch.Listing{URL: c.url, Options: c.opt}
		if err := readBy(&l, c.source); (err == nil) != c.ok || err != nil && !errors.Is(err, ErrInvalid) {
			t.Errorf("%q, %s, %+v: %v", c.source, c.url, c.opt, err)
		}
		if want := c.source; c.ok && want != "" && l.Source != want {
			t.Errorf("%q is read by %q", want, l.Source)
		}
	}
	if got := outcomeOf(&jsonapi.Error{Outcome: "rate_limited"}); got != OutcomeRateLimited {
		t.Errorf("an outcome of another source than that of pages is %s", got)
	}
}

// TestKeyed: a key that is set, replaced or removed while a lastlook serves
// counts at the next look, and stands in no error.
func TestKeyed(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	service := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, r.Host+" "+r.URL.Query().Get("appid")+r.URL.Query().Get("applicationId")+" "+r.Header.Get("Accesskey")+" "+r.Header.Get("Referer"))
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"error":"who is `+r.URL.RawQuery+r.Header.Get("Accesskey")+`?"}`)
	}))
	cert, roots := certify(t, "openapi.rakuten.co.jp", "shopping.yahooapis.jp")
	service.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	service.StartTLS()
	t.Cleanup(service.Close)
	dir, err := config.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := service.Listener.Addr().String()
	made, err := newSources(Options{Dir: dir, RootCAs: roots, Via: map[string]string{"openapi.rakuten.co.jp:443": at, "shopping.yahooapis.jp:443": at}}.withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	set := func(k config.SourceKey) {
		t.Helper()
		if err := dir.UpdateSourceKeys(t.Context(), func(s config.SourceKeys) (config.SourceKeys, error) { return s.Set(k) }); err != nil {
			t.Fatal(err)
		}
	}
	look := func(source, url string) error {
		t.Helper()
		_, err := made.by[source].Look(t.Context(), watch.Listing{Source: source, URL: url})
		if err == nil || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v", source, err)
		}
		return err
	}
	const cup, mug = "https://item.rakuten.co.jp/shop/cup/", "https://store.shopping.yahoo.co.jp/seller/mug.html"
	if err := look("rakuten", cup); !errors.Is(err, config.ErrInvalid) || !strings.Contains(err.Error(), "lastlook source set rakuten") {
		t.Error(err)
	}
	set(config.SourceKey{Source: "rakuten", ID: "hush1", Key: "hush2", Site: "https://me.example/"})
	set(config.SourceKey{Source: "yahoo", ID: "hush3"})
	if err := errors.Join(made.ready("rakuten"), made.ready("yahoo")); err != nil {
		t.Error(err)
	}
	if err := look("rakuten", cup); outcomeOf(err) != OutcomeBlocked {
		t.Error(err)
	}
	look("yahoo", mug)
	set(config.SourceKey{Source: "yahoo", ID: "hush4"})
	look("yahoo", mug)
	if err := dir.UpdateSourceKeys(t.Context(), func(s config.SourceKeys) (config.SourceKeys, error) { return s.Remove("yahoo") }); err != nil {
		t.Fatal(err)
	}
	look("yahoo", mug)
	want := "openapi.rakuten.co.jp hush1 hush2 https://me.example/; shopping.yahooapis.jp hush3  ; shopping.yahooapis.jp hush4  "
	mu.Lock()
	defer mu.Unlock()
	if got := strings.Join(asked, "; "); got != want {
		t.Errorf("asked\n%s, not\n%s", got, want)
	}
}

// certify makes a certificate for the names, and the pool that trusts it.
func certify(t *testing.T, names ...string) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour), DNSNames: names, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	if c, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(c)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, roots
}

// TestBrowserOff: a listing that needs the browser waits until it is on, and
// nobody adds one before; what is missing is said.
func TestBrowserOff(t *testing.T) {
	made, err := newSources(Options{}.withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := made.by["browser"].Look(t.Context(), watch.Listing{}); err == nil || !strings.Contains(err.Error(), "--browser") || outcomeOf(err) != OutcomeError {
		t.Error(err)
	}
	for _, b := range []BrowserOptions{{On: true, Path: filepath.Join(t.TempDir(), "chromium")}, {On: true}} {
		t.Setenv("PATH", t.TempDir())
		if _, err := newSources(Options{Browser: b}.withDefaults()); err == nil || !strings.Contains(err.Error(), "install") {
			t.Errorf("%+v: %v", b, err)
		}
	}
}

// TestBrowserOn: a watch of the source "browser" is read by the real one, which
// ends with the server.
func TestBrowserOn(t *testing.T) {
	if os.Getenv("LASTLOOK_TEST_CHROMIUM") == "" {
		t.Skip("make test-chromium: the server runs a real browser (it sets LASTLOOK_TEST_CHROMIUM=1)")
	}
	if _, err := (BrowserOptions{}).find(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("CI needs Chromium: see tools/debian-packages.txt")
		}
		t.Skip("SKIPPED: there is no Chromium here, so that the server runs one is not tested: install Debian's package chromium")
	}
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, `<!doctype html><title>Lamp</title><div id="root"></div><script>
const s = document.createElement("script"); s.type = "application/ld+json";
s.textContent = JSON.stringify({"@type":"Product","name":"Lamp","offers":{"@type":"Offer","price":"75.00","priceCurrency":"EUR","availability":"InStock"}});
document.head.append(s);</script>`)
	}))
	t.Cleanup(shop.Close)
	dir, err := config.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	opt := Options{Dir: dir, Browser: BrowserOptions{On: true, Patient: true}, Via: map[string]string{"shop.example:80": shop.Listener.Addr().String()}}
	look, err := Check(t.Context(), opt, "http://shop.example/lamp")
	if err != nil || look.Observation == nil || look.Observation.Price.String() != "75.00 EUR" || len(look.Candidates) == 0 {
		t.Errorf("%+v, %v", look, err)
	}
	s, err := Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	added, err := s.AddWatch(t.Context(), NewWatch{URL: "http://shop.example/lamp", Source: "browser", Below: "80 EUR", Recipient: "me", Channels: []string{"log"}})
	if err != nil || added.Look.Observation == nil || len(added.Holding) != 1 {
		t.Errorf("%+v, %v", added, err)
	}
	if by, err := s.ReadBy(t.Context(), "browser"); err != nil || len(by) != 1 {
		t.Errorf("%d watches, %v", len(by), err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := s.sources.browser.Look(context.WithoutCancel(t.Context()), watch.Listing{URL: "http://shop.example/lamp"}); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("the browser outlives the server: %v", err)
	}
}
