package yahoo_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/lastlook/lastlook/source/yahoo"
	"github.com/lastlook/lastlook/watch"
)

// service answers as the item search API does.
func service(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case q.Get("appid") != "app":
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"Error":{"Message":"Your Request was Forbidden"}}`)
	case q.Get("query") == "":
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"Error":{"Message":"Bad Request"}}`)
	case q.Get("seller_id") == "seller":
		_, _ = io.WriteString(w, `{"totalResultsAvailable":2,"totalResultsReturned":2,"hits":[{"code":"seller_cup-2","name":"x","price":1,"inStock":true},
			{"index":1,"code":"seller_cup","name":"Cup","inStock":false,"price":2980,"premiumPrice":2800,"premiumPriceStatus":true,"image":{"medium":"https://i.example/c"},
			"priceLabel":{"taxable":true,"defaultPrice":2980,"discountedPrice":null,"fixedPrice":3980,"periodEnd":null},
			"point":{"amount":27,"times":1,"bonusAmount":81,"bonusTimes":3,"premiumAmount":0}}]}`)
	default:
		_, _ = io.WriteString(w, `{"totalResultsAvailable":0,"totalResultsReturned":0,"hits":[]}`)
	}
}

func TestService(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(service))
	t.Cleanup(srv.Close)
	newSource := func(id string) *yahoo.Source {
		s, err := yahoo.New(yahoo.Config{Client: srv.Client(), AppID: id, Endpoint: srv.URL})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for _, l := range []watch.Listing{
		{URL: "https://store.shopping.yahoo.co.jp/seller/cup.html"}, {URL: "https://store.shopping.yahoo.co.jp/", Options: watch.Options{SKU: "seller_cup"}},
	} {
		o, err := newSource("app").Look(t.Context(), l)
		if err != nil || o.Price.String() != "2980 JPY" || o.List.String() != "3980 JPY" || o.Availability != watch.OutOfStock || len(o.Points) != 2 ||
			o.Points[0].Conditional || o.Points[0].Amount.String() != "27 JPY" || !o.Points[1].Conditional {
			t.Errorf("%s: %+v, %v", l.URL, o, err)
		}
		member := false
		for _, e := range o.Evidence {
			member = member || e.Fact == "member_price" && e.Text == "2800 JPY"
		}
		if !member {
			t.Errorf("the members' price is not shown: %+v", o.Evidence)
		}
	}
	if _, err := newSource("app").Look(t.Context(), watch.Listing{URL: "https://store.shopping.yahoo.co.jp/other/cup.html"}); err == nil || errors.Is(err, watch.ErrMissing) {
		t.Errorf("an item that is not listed: %v", err)
	}
	if _, err := newSource("app").Look(t.Context(), watch.Listing{URL: "https://store.shopping.yahoo.co.jp/"}); !errors.Is(err, watch.ErrInvalid) {
		t.Errorf("no item: %v", err)
	}
	if _, err := newSource("wrong-id").Look(t.Context(), watch.Listing{Options: watch.Options{SKU: "seller_cup"}}); err == nil || !strings.Contains(err.Error(), "Forbidden") || strings.Contains(err.Error(), "wrong-id") {
		t.Errorf("a wrong ID: %v", err)
	}
}

func TestConfig(t *testing.T) {
	client := &http.Client{Timeout: time.Second}
	for _, c := range []yahoo.Config{{}, {AppID: "a"}, {Client: client}, {Client: client, AppID: "a", Endpoint: "x"}} {
		if _, err := yahoo.New(c); err == nil || !strings.HasPrefix(err.Error(), "yahoo: ") {
			t.Errorf("%v", err)
		}
	}
}
