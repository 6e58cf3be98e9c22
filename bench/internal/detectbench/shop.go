package detectbench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// ShopCommand is the first argument by which this program is the shop.
const ShopCommand = "serve-shop-pages"

// pageSize is how large a page is, about.
const pageSize = 50_000

// served is what the shop says in the end.
type served struct {
	Pages     int64 `json:"pages"`
	Unchanged int64 `json:"unchanged"` // answered 304
}

// ServeShop serves pages until its input ends. The prices are those of the number
// in the path; a page's ETag is its path's, since nothing ever changes here.
func ServeShop(ctx context.Context, in io.Reader, out io.Writer) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	var pages, unchanged atomic.Int64
	before, after := shopPage()
	srv := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/p/"))
		if err != nil {
			http.NotFound(w, r)
			return
		}
		tag := `"` + strconv.Itoa(n) + `"`
		w.Header().Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			unchanged.Add(1)
			w.WriteHeader(http.StatusNotModified)
			return
		}
		pages.Add(1)
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, before+product(n)+after) // whoever asked may have gone
	})}
	var wg sync.WaitGroup
	wg.Go(func() { _ = srv.Serve(l) }) // ends with Close
	if err := json.NewEncoder(out).Encode(l.Addr().String()); err != nil {
		return errors.Join(err, srv.Close())
	}
	_, err = io.Copy(io.Discard, in)
	err = errors.Join(err, ctx.Err(), srv.Close())
	wg.Wait()
	return errors.Join(err, json.NewEncoder(out).Encode(served{pages.Load(), unchanged.Load()}))
}

// product is what a page says of its product.
func product(n int) string {
	cents := fmt.Sprintf("%02d", n%100)
	return `<script type="application/ld+json">{"@context":"https://schema.org","@type":"Product","name":"Lampe ` + strconv.Itoa(n) + `",
"offers":{"@type":"Offer","price":"79.` + cents + `","priceCurrency":"EUR","availability":"https://schema.org/InStock"}}</script>
<main><h1>Lampe ` + strconv.Itoa(n) + `</h1><p class="price">79,` + cents + `&nbsp;€</p><p>Sofort lieferbar</p><button>In den Warenkorb</button></main>`
}

// shopPage is what stands around the product: styles, scripts, a menu, reviews.
func shopPage() (before, after string) {
	var b strings.Builder
	b.WriteString(`<!doctype html><html lang="de"><head><meta charset="utf-8"><title>Leuchtenhaus</title><style>`)
	for i := range 120 {
		fmt.Fprintf(&b, ".c-%d__element--variant{display:flex;margin:%dpx auto;padding:0 1.25rem}\n", i, i%40)
	}
	b.WriteString(`</style></head><body><nav><ul>`)
	for i := range 80 {
		fmt.Fprintf(&b, "<li class=\"menu__item\"><a class=\"menu__link\" href=\"/c/%d\"><span>Kategorie %d</span></a></li>\n", i, i)
	}
	b.WriteString(`</ul></nav>`)
	before = b.String()
	b.Reset()
	b.WriteString(`<section class="reviews">`)
	for i := 0; len(before)+b.Len() < pageSize; i++ {
		fmt.Fprintf(&b, "<article class=\"review\" id=\"r%d\"><span class=\"review__author\">Kundin %d</span><p class=\"review__text\">Sehr schöne Lampe, die Lieferung kam nach %d Tagen und war gut verpackt, auch wenn der Schalter etwas schwergängig ist.</p></article>\n", i, i, 1+i%6)
	}
	b.WriteString(`</section><footer><a href="/impressum">Impressum</a></footer></body></html>`)
	return before, b.String()
}

// shop is the process that serves.
type shop struct {
	addr  string
	cmd   *exec.Cmd
	stdin io.Closer
	out   *json.Decoder
	ended bool
}

func openShop(ctx context.Context, self func(context.Context, ...string) *exec.Cmd) (*shop, error) {
	s := &shop{cmd: self(ctx, ShopCommand)}
	in, err := s.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.stdin, s.out = in, json.NewDecoder(out)
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("detectbench: start the shop: %w", err)
	}
	if err := s.out.Decode(&s.addr); err != nil {
		return nil, errors.Join(fmt.Errorf("detectbench: the shop does not say where it is: %w", err), s.close())
	}
	return s, nil
}

// end ends the shop, which says what it served.
func (s *shop) end() (got served, err error) {
	s.ended = true
	err = errors.Join(s.stdin.Close(), s.out.Decode(&got), s.cmd.Wait())
	return got, err
}

func (s *shop) close() error {
	if s.ended {
		return nil
	}
	_, err := s.end()
	return err
}
