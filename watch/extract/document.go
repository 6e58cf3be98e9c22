package extract

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/url"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
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
}

// Document is a parsed page. Make one with [Parse].
type Document struct {
	page Page
	urls pageURLs

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
	blocks    []string // JSON-LD scripts, in the order of the page
}

// ErrTooLarge says that a page is larger than [MaxBody].
var ErrTooLarge = errors.New("the page is too large")

// Parse decodes and parses a page. It ends early when the context does.
func Parse(ctx context.Context, p Page) (*Document, error) {
	if len(p.Body) > MaxBody {
		return nil, fmt.Errorf("%w: %d bytes, of which %d are read", ErrTooLarge, len(p.Body), MaxBody)
	}
	d := &Document{page: p, html: decode(p.Body, p.ContentType)}
	root, err := parseTree(ctx, d.html)
	if err == nil {
		d.readTree(root)
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

// decode returns the body in UTF-8. The character set is found as the [HTML
// standard] says (byte order mark, header, meta element), with two differences,
// since pages are often wrong about it: a page that is valid UTF-8 is read as
// that, whatever one-byte set it claims; and one that claims UTF-8 but is not
// falls to its meta element. A meta element may stand anywhere in the head.
//
// [HTML standard]: https://html.spec.whatwg.org/multipage/parsing.html#determining-the-character-encoding
func decode(body []byte, contentType string) string {
	enc, name, certain := charset.DetermineEncoding(body, contentType)
	valid := utf8.Valid(body)
	switch {
	case name == "utf-8" && valid, valid && strings.HasPrefix(name, "windows-125"), valid && strings.HasPrefix(name, "iso-8859-"):
		return string(bytes.TrimPrefix(body, []byte("\ufeff")))
	case name == "utf-8", !certain:
		if e, n := metaEncoding(body); e != nil && n != "utf-8" {
			enc = e
		}
	}
	if enc == encoding.Nop {
		return strings.ToValidUTF8(string(body), "\ufffd")
	}
	out, err := enc.NewDecoder().Bytes(body)
	if err != nil {
		return strings.ToValidUTF8(string(body), "\ufffd")
	}
	return string(out)
}

// metaEncoding looks for the meta element that names the character set, also
// behind the first 1024 bytes, to which the standard confines it.
func metaEncoding(body []byte) (encoding.Encoding, string) {
	head := body[:min(len(body), 64<<10)]
	for {
		i := bytes.IndexByte(head, '<')
		if i < 0 {
			return nil, ""
		}
		head = head[i:]
		if len(head) > 5 && bytes.EqualFold(head[:5], []byte("<meta")) {
			end := bytes.IndexByte(head, '>')
			if end < 0 {
				return nil, ""
			}
			if bytes.Contains(bytes.ToLower(head[:end]), []byte("charset")) {
				if e, name, _ := charset.DetermineEncoding(head[:end+1], ""); name != "windows-1252" {
					return e, name
				}
			}
			head = head[end:]
			continue
		}
		head = head[1:]
	}
}

// readTree goes through the tree once, in the order of the page.
func (d *Document) readTree(root *html.Node) {
	for n := root; n != nil; {
		if d.enter(n) && n.FirstChild != nil {
			n = n.FirstChild
			continue
		}
		for n != nil && n.NextSibling == nil {
			n = n.Parent
		}
		if n != nil {
			n = n.NextSibling
		}
	}
}

// enter notes what a node says; deeper says whether to go on with its children.
func (d *Document) enter(n *html.Node) (deeper bool) {
	switch n.Type {
	case html.TextNode:
		d.addText(n.Data)
		return false
	case html.ElementNode:
	case html.CommentNode, html.DoctypeNode:
		return false
	default:
		return true
	}
	switch n.Data {
	case "script":
		d.addScript(attr(n, "type"), textOf(n))
		return false
	case "title":
		if d.title == "" && n.Namespace == "" {
			d.title = shortenTo(textOf(n), maxTitle)
		}
		return false
	case "h1":
		if d.h1s++; d.h1 == "" && d.h1s <= maxHeadings {
			d.h1 = shortenTo(textOf(n), maxTitle)
		}
	case "noscript":
		if len(d.noscript) < maxText {
			d.noscript += " " + shortenTo(textOf(n), maxText)
		}
		return false
	case "style", "template", "svg", "iframe":
		return false
	case "meta", "link":
		d.addHead(n.Data, func(key string) string { return attr(n, key) })
	}
	return !hasAttr(n, "hidden")
}

// readTokens is readTree for pages of which no tree can be built.
func (d *Document) readTokens(ctx context.Context) error {
	z := html.NewTokenizer(&ctxReader{ctx: ctx, r: strings.NewReader(d.html)})
	var in string // the element whose raw text comes next
	var scriptType string
	for {
		switch z.Next() {
		case html.ErrorToken:
			if errors.Is(z.Err(), io.EOF) {
				return nil
			}
			return z.Err()
		case html.TextToken:
			raw := string(z.Raw())
			switch in {
			case "script":
				d.addScript(scriptType, raw)
			case "title":
				d.title = shortenTo(html.UnescapeString(raw), maxTitle)
			case "style", "noscript", "iframe":
			default:
				d.addText(html.UnescapeString(raw))
			}
			in = ""
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			in = t.Data
			get := func(key string) string { return attr(&html.Node{Attr: t.Attr}, key) }
			switch in {
			case "script":
				scriptType = get("type")
			case "meta", "link":
				d.addHead(in, get)
			}
		default:
			in = ""
		}
	}
}

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
	switch strings.ToLower(name) {
	case "og:title":
		d.ogTitle = shortenTo(get("content"), maxTitle)
	case "og:image", "og:image:secure_url":
		if d.ogImage == "" {
			d.ogImage = strings.TrimSpace(get("content"))
		}
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
