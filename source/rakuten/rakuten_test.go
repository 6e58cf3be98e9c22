package rakuten_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/lastlook/lastlook/source/rakuten"
	"github.com/lastlook/lastlook/watch"
)

// service answers as the item search API does: it checks keys and parameters, and
// finds by item code or by shop and keyword.
func service(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	fail := func(status int, code, text string) {
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"error":%q,"error_description":%q}`, code, text)
	}
	w.Header().Set("Content-Type", "application/json")
	switch {
	case q.Get("applicationId") != "app" || r.Header.Get("accessKey") != "key":
		fail(http.StatusForbidden, "forbidden", "applicationId "+q.Get("applicationId"))
	case q.Get("format") != "json" || q.Get("itemCode") == "" && (q.Get("keyword") == "" || q.Get("shopCode") == ""):
		fail(http.StatusBadRequest, "wrong_parameter", "keyword is not valid")
	case q.Get("itemCode") == "shop:404":
		fail(http.StatusNotFound, "not_found", "not found")
	case q.Get("itemCode") == "shop:1" || q.Get("shopCode") == "shop":
		_, _ = io.WriteString(w, `{"count":2,"Items":[{"itemName":"Other","itemCode":"shop:2","itemPrice":1,"availability":1,"itemUrl":"https://item.rakuten.co.jp/shop/cups/"},
			{"itemName":"Cup","itemCode":"shop:1","itemPrice":"2980","availability":"1","taxFlag":"0","postageFlag":"1","pointRate":"2","itemUrl":"https://hb.afl.rakuten.co.jp/x/?pc=`+url.QueryEscape("https://item.rakuten.co.jp/shop/cup/")+`","mediumImageUrls":[{"imageUrl":"https://t.example/c.jpg"}]}]}`)
	default:
		_, _ = io.WriteString(w, `{"count":0,"Items":[]}`)
	}
}

func TestService(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(service))
	t.Cleanup(srv.Close)
	newSource := func(key string) *rakuten.Source {
		s, err := rakuten.New(rakuten.Config{Client: srv.Client(), ApplicationID: "app", AccessKey: key, Endpoint: srv.URL, Site: "https://me.example/"})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	src := newSource("key")
	for _, l := range []watch.Listing{
		{URL: "https://item.rakuten.co.jp/", Options: watch.Options{SKU: "shop:1"}}, {URL: "https://item.rakuten.co.jp/shop/cup/"},
	} {
		o, err := src.Look(t.Context(), l)
		if err != nil || o.Price.String() != "2980 JPY" || o.Availability != watch.InStock || len(o.Points) != 1 || o.Points[0].Rate.String() != "0.02" || o.Image != "https://t.example/c.jpg" {
			t.Errorf("%s: %+v, %v", l.URL, o, err)
		}
	}
	for _, sku := range []string{"shop:404", "shop:9"} {
		if _, err := src.Look(t.Context(), watch.Listing{Options: watch.Options{SKU: sku}}); !errors.Is(err, watch.ErrMissing) {
			t.Errorf("%s: %v", sku, err)
		}
	}
	if _, err := src.Look(t.Context(), watch.Listing{URL: "https://item.rakuten.co.jp/shop/gone/"}); err == nil || errors.Is(err, watch.ErrMissing) {
		t.Errorf("an item that the search does not list: %v", err)
	}
	if _, err := src.Look(t.Context(), watch.Listing{URL: "https://item.rakuten.co.jp/"}); !errors.Is(err, watch.ErrInvalid) {
		t.Errorf("no item: %v", err)
	}
	_, err := newSource("secret-key").Look(t.Context(), watch.Listing{Options: watch.Options{SKU: "shop:1"}})
	if err == nil || !strings.Contains(err.Error(), "HTTP 403") || strings.Contains(err.Error(), "secret-key") {
		t.Errorf("a wrong key: %v", err)
	}
}

func TestConfig(t *testing.T) {
	client := &http.Client{Timeout: time.Second}
	for _, c := range []rakuten.Config{
		{}, {Client: client}, {ApplicationID: "a", AccessKey: "b"}, {Client: client, ApplicationID: "a", AccessKey: "b\n"},
		{Client: client, ApplicationID: "a", AccessKey: "b", Endpoint: "x"},
	} {
		if _, err := rakuten.New(c); err == nil || !strings.HasPrefix(err.Error(), "rakuten: ") {
			t.Errorf("%v", err)
		}
	}
}
