package shopify_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/lastlook/lastlook/source/shopify"
	"github.com/lastlook/lastlook/watch"
)

func TestDataURL(t *testing.T) {
	for page, want := range map[string]string{
		"https://shop.example/products/mug":                     "https://shop.example/products/mug.js",
		"https://shop.example/products/mug?variant=1#x":         "https://shop.example/products/mug.js",
		"https://shop.example/collections/all/products/mug/":    "https://shop.example/products/mug.js",
		"https://shop.example/en-gb/collections/a/products/mug": "https://shop.example/en-gb/products/mug.js",
		"https://shop.example/products/mug.json":                "https://shop.example/products/mug.json",
		"https://shop.example/products/mug.js":                  "https://shop.example/products/mug.js",
		"https://shop.example/products/%E8%8C%B6":               "https://shop.example/products/%E8%8C%B6.js",
		"https://shop.example/products/":                        "",
		"https://shop.example/products/.js":                     "",
		"https://shop.example/pages/about":                      "",
		"::":                                                    "",
	} {
		got, err := shopify.DataURL(page)
		if got != want || (err != nil) != (want == "") || err != nil && !errors.Is(err, watch.ErrInvalid) {
			t.Errorf("%s: %q, %v, want %q", page, got, err, want)
		}
	}
}

type doer func(*http.Request) (*http.Response, error)

func (d doer) Do(r *http.Request) (*http.Response, error) { return d(r) }

// TestCart: where neither the product nor the options name the currency, the
// shop's cart does; where it does not, there is no price.
func TestCart(t *testing.T) {
	const product = `{"id":1,"title":"Mug","price":198000,"available":true,"variants":[{"id":11,"title":"Default Title","sku":"M","price":198000,"available":true}],"featured_image":"//cdn.example/m.png"}`
	for cart, want := range map[string]string{`{"currency":"JPY"}`: "1980 JPY", `{"currency":"points"}`: "", `<html>`: "", `{}`: ""} {
		var asked []string
		src, err := shopify.New(shopify.Config{Client: doer(func(r *http.Request) (*http.Response, error) {
			asked = append(asked, r.URL.Path)
			body := product
			if r.URL.Path == "/cart.js" {
				body = cart
			}
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: -1}, nil
		})})
		if err != nil {
			t.Fatal(err)
		}
		o, err := src.Look(t.Context(), watch.Listing{URL: "https://shop.example/products/mug"})
		if o.Price.String() != want || (err == nil) != (want != "") || fmt.Sprint(asked) != "[/products/mug.js /cart.js]" {
			t.Errorf("%s: %s, %v, asked %v", cart, o.Price, err, asked)
		}
		if err == nil && (o.SKU != "M" || o.Title != "Mug" || o.Image != "https://cdn.example/m.png" || o.Availability != watch.InStock) {
			t.Errorf("%+v", o)
		}
	}
}
