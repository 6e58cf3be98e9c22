package extract

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/url"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"

	"github.com/lastlook/lastlook/watch"
)

// MaxBody is how large a page may be. A larger one is refused, never cut: the
// part that is missing could be the one that matters.
const MaxBody = 5 << 20

const (
	// maxText bounds what [Document.Text] keeps.
	maxText = 4 << 10
	// maxHeadings is how many h1 elements are tried until one has text.
	maxHeadings = 5
)

// Page is what was fetched.
type Page struct {
	// URL is the address that was asked for, as the listing has it.
	URL string
	// Final is where the redirects ended; empty means URL.
	Final string
	// ContentType is the header of that name, for its charset.
	ContentType string
	// Body is the page as it came, in whatever character set.
	Body []byte
	// Hint is what the watch already knows.
	Hint Hint
}

// Hint is what is known of a listing besides its address. It chooses among what
// a page states; nothing is read into a page that it does not state.
type Hint struct {
	// Currency is the ISO 4217 code that counts where offers are stated in
	// several.
	Currency string
	// SKU is the one that counts where offers of several are stated.
	SKU string
	// Variant names the one that counts: "Blue / M", or the number that the shop
	// has for it.
	Variant string
	// Locale (BCP 47) says how to read what the page leaves open, "1.299", before
	// what the page says of its own language.
	Locale string
	// PriceSelector and StockSelector point at the element that counts; see
	// [ValidateSelector].
	PriceSelector string
	StockSelector string
}

// HintOf is what a listing's options say.
func HintOf(o watch.Options) Hint {
	return Hint{
		Currency: o.Currency, SKU: o.SKU, Variant: o.Variant, Locale: o.Locale, PriceSelector: o.PriceSelector, StockSelector: o.StockSelector,
	}
}

// Document is a parsed page. Make one with [Parse].
type Document struct {
	page Page
	urls pageURLs
	host string

	html      string
	title     string
	h1        string
	h1s       int
	ogTitle   string
	ogImage   string
	canonical string
	noscript  string
	text      strings.Builder
	scripts   int
	lang      string
	ogType    string
	blocks    []string // JSON-LD scripts, in the order of the page
	metas     []metaFact
	root      *html.Node // nil if the page makes no tree
	seen      scanned
}

// ErrTooLarge says that a page is larger than [MaxBody].
var ErrTooLarge = errors.New("the page is too large")

// Parse decodes and parses a page. It ends early when the context does.
func Parse(ctx context.Context, p Page) (*Document, error) {
	if len(p.Body) > MaxBody {
		return nil, fmt.Errorf("%w: %d bytes, of which %d are read", ErrTooLarge, len(p.Body), MaxBody)
	}
	d := &Document{page: p, html: decode(p.Body, p.ContentType), host: hostOf(p.URL)}
	root, err := parseTree(ctx, d.html)
	if err == nil {
		d.root = root
		d.scan(root)
	} else if err = d.readTokens(ctx); err != nil {
		return nil, fmt.Errorf("parse the page: %w", err)
	}
	d.urls = newPageURLs(p.URL, p.Final, d.canonical)
	return d, nil
}

var errNoTree = errors.New("the page makes no tree")

// parseTree makes the page's tree. It fails for the few pages whose tokens have
// to do, and they are enough for all that is read here: those nested deeper than
// the parser goes (browsers cut such trees flat), and those that open their body
// over and over, on which it spends quadratic time.
func parseTree(ctx context.Context, source string) (*html.Node, error) {
	const most = 100
	for rest, n := source, 0; ; {
		i := strings.IndexByte(rest, '<')
		if i < 0 {
			break
		}
		rest = rest[i+1:]
		if len(rest) >= 4 && (strings.EqualFold(rest[:4], "body") || strings.EqualFold(rest[:4], "html")) {
			if n++; n > most {
				return nil, errNoTree
			}
		}
	}
	return html.Parse(&ctxReader{ctx: ctx, r: strings.NewReader(source)})
}

// ctxReader ends the reading when the context ends.
type ctxReader struct {
	ctx context.Context
	r   io.Reader
}

func (c *ctxReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

// Title returns the text of the title element.
func (d *Document) Title() string { return d.title }

// Heading returns the text of the first h1 element.
func (d *Document) Heading() string { return d.h1 }

// Text returns the beginning of what a reader sees: no scripts, styles,
// templates or hidden elements; white space collapsed.
func (d *Document) Text() string { return d.text.String() }

// Noscript returns what the page shows to those without JavaScript only.
func (d *Document) Noscript() string { return d.noscript }

// Scripts returns how many scripts the page has that are no JSON-LD.
func (d *Document) Scripts() int { return d.scripts }

// HTML returns the page's source, in UTF-8.
func (d *Document) HTML() string { return d.html }

func (d *Document) addScript(scriptType, body string) {
	media, _, err := mime.ParseMediaType(scriptType)
	if err != nil {
		media, _, _ = strings.Cut(scriptType, ";")
	}
	if strings.EqualFold(strings.TrimSpace(media), "application/ld+json") {
		d.blocks = append(d.blocks, body)
		return
	}
	d.scripts++
}

func (d *Document) addHead(element string, get func(string) string) {
	if element == "link" {
		if d.canonical == "" && strings.EqualFold(get("rel"), "canonical") {
			d.canonical = strings.TrimSpace(get("href"))
		}
		return
	}
	name := get("property")
	if name == "" {
		name = get("name")
	}
	switch name = strings.ToLower(strings.TrimSpace(name)); name {
	case "og:title":
		d.ogTitle = shortenTo(get("content"), maxTitle)
	case "og:image", "og:image:secure_url":
		if d.ogImage == "" {
			d.ogImage = strings.TrimSpace(get("content"))
		}
	case "og:type":
		d.ogType = strings.ToLower(strings.TrimSpace(get("content")))
	case "og:locale":
		if d.lang == "" {
			d.lang = strings.TrimSpace(get("content"))
		}
	default:
		d.addMeta(name, get("content"))
	}
}

// addText collapses white space and keeps the beginning.
func (d *Document) addText(s string) {
	for word := range strings.FieldsSeq(s) {
		if d.text.Len()+len(word) > maxText {
			return
		}
		if d.text.Len() > 0 {
			d.text.WriteByte(' ')
		}
		d.text.WriteString(word)
	}
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key && a.Namespace == "" {
			return a.Val
		}
	}
	return ""
}

func hasAttr(n *html.Node, key string) bool {
	for _, a := range n.Attr {
		if a.Key == key {
			return true
		}
	}
	return false
}

func textOf(n *html.Node) string {
	if c := n.FirstChild; c != nil && c.NextSibling == nil && c.Type == html.TextNode {
		return c.Data
	}
	var b strings.Builder
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			b.WriteString(c.Data)
		}
	}
	return b.String()
}

func collapse(s string) string { return strings.Join(strings.Fields(s), " ") }

const (
	maxShown = 80
	maxWhere = 160
	maxTitle = 300
)

// shorten makes one line of a text, short enough to be shown.
func shorten(s string) string { return shortenTo(s, maxShown) }

func shortenTo(s string, limit int) string {
	if len(s) > 8*limit {
		s = s[:8*limit]
	}
	s = strings.ToValidUTF8(collapse(s), "")
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return string([]rune(s)[:limit-1]) + "…"
}

// absolute resolves an address of the page; "" unless it leads to http(s).
func absolute(base *url.URL, ref string) string {
	u, err := url.Parse(strings.TrimSpace(ref))
	if err != nil || ref == "" {
		return ""
	}
	if base != nil {
		u = base.ResolveReference(u)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return ""
	}
	return u.String()
}
