package extract

import (
	"net/url"
	"strings"
)

// place is what an address leads to, as far as products are concerned: neither
// the scheme, nor "www.", nor what advertisers append makes a difference.
type place struct {
	host, path string
	query      url.Values
	fragment   string
}

// tracking are query parameters that say where a visitor came from.
var tracking = map[string]bool{
	"gclid": true, "gbraid": true, "wbraid": true, "fbclid": true, "msclkid": true, "yclid": true, "dclid": true, "ttclid": true,
	"srsltid": true, "gad_source": true, "gad_campaignid": true, "mc_cid": true, "mc_eid": true, "_ga": true, "_gl": true, "igshid": true,
}

func placeOf(u *url.URL) place {
	query := u.Query()
	for name := range query {
		if tracking[name] || strings.HasPrefix(name, "utm_") {
			query.Del(name)
		}
	}
	return place{strings.TrimPrefix(strings.ToLower(u.Host), "www."), strings.TrimRight(u.Path, "/"), query, u.Fragment}
}

// pageURLs are the addresses that a page goes by: the one asked for, the one
// where redirects ended, and the canonical one.
type pageURLs struct {
	base   *url.URL // against which the page's links are read
	asked  place
	places []place
	// sentHome says that the redirects ended at the site's home page, callsHome
	// that the canonical link leads there, though another page was asked for.
	sentHome, callsHome bool
}

func newPageURLs(asked, final, canonical string) pageURLs {
	var p pageURLs
	a, err := url.Parse(asked)
	if err != nil || a.Host == "" {
		return p
	}
	p.base, p.asked = a, placeOf(a)
	p.add(p.asked)
	if f, err := url.Parse(final); err == nil && f.Host != "" {
		p.base = f
		p.sentHome = p.add(placeOf(f))
	}
	if ref, err := url.Parse(canonical); err == nil && canonical != "" {
		c := placeOf(p.base.ResolveReference(ref))
		p.callsHome = p.add(c)
		// A canonical address leaves out which variant was asked for.
		if len(c.query) == 0 && len(p.asked.query) > 0 {
			p.add(place{c.host, c.path, p.asked.query, p.asked.fragment})
		}
	}
	return p
}

// add adds a place, but a home page where another page was asked for: that is
// no address of what was asked for.
func (p *pageURLs) add(pl place) (home bool) {
	if pl.isHome() && !p.asked.isHome() {
		return true
	}
	p.places = append(p.places, pl)
	return false
}

// isHome reports whether it is a site's home page, also that of one language:
// "/", "/de", "/en-gb", "/index.html".
func (p place) isHome() bool {
	if len(p.query) > 0 {
		return false
	}
	name := strings.ToLower(strings.TrimPrefix(p.path, "/"))
	switch {
	case name == "", name == "home", name == "index.html", name == "index.php":
		return true
	case len(name) == 5 && (name[2] == '-' || name[2] == '_'):
		return isLetters(name[:2]) && isLetters(name[3:])
	}
	return len(name) == 2 && isLetters(name)
}

func isLetters(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < 'a' || r > 'z' }) < 0
}

// match compares an address stated in the page with the page's own. The score
// is 0 if it leads elsewhere, else higher the more exactly it names the page;
// other says that it names another variant of it: the same page with another
// value of a parameter that was asked for.
func (p *pageURLs) match(ref string) (score int, other bool) {
	if ref == "" || p.base == nil {
		return 0, false
	}
	u, err := url.Parse(strings.TrimSpace(ref))
	if err != nil {
		return 0, false
	}
	stated := placeOf(p.base.ResolveReference(u))
	for _, page := range p.places {
		if stated.host != page.host || stated.path != page.path {
			continue
		}
		fits := true
		if stated.fragment != "" && page.fragment != "" && stated.fragment != page.fragment {
			fits, other = false, true
		}
		for name := range stated.query {
			same := page.query.Get(name) == stated.query.Get(name)
			fits = fits && page.query.Has(name) && same
			other = other || page.query.Has(name) && !same
		}
		if fits {
			exact := 1 + len(stated.query)
			if stated.fragment != "" && stated.fragment == page.fragment {
				exact++
			}
			score = max(score, exact)
		}
	}
	return score, other && score == 0
}

// key is the address in one form, to recognize one product by; "" if there is none.
func (p *pageURLs) key(ref string) string {
	u, err := url.Parse(strings.TrimSpace(ref))
	if err != nil || ref == "" {
		return ""
	}
	if p.base != nil {
		u = p.base.ResolveReference(u)
	}
	pl := placeOf(u)
	return pl.host + pl.path + "?" + pl.query.Encode()
}
