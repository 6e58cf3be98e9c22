package page_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/lastlook/lastlook/source/page"
	"github.com/lastlook/lastlook/watch/extract"
)

// TestClassify goes through what sites answer instead of a product page, all but
// the stated ones with status 200.
func TestClassify(t *testing.T) {
	long := strings.Repeat("A paragraph of an article about lamps. ", 100)
	body := func(s string) string {
		return "<!doctype html><html><head><title>Shop</title></head><body>" + s + "</body></html>"
	}
	withProduct := func(s string) string { return strings.Replace(product, "</body>", s+"</body>", 1) }
	for _, c := range []struct {
		name, status, headers, body string
		want                        page.Outcome
		says                        string
	}{
		{"Cloudflare, by header", "403", "Cf-Mitigated: challenge", "", page.Blocked, "Cloudflare challenge"},
		{"Cloudflare, by header, 200", "200", "Cf-Mitigated: challenge", product, page.Blocked, "Cloudflare challenge"},
		{"Cloudflare, by header, 429", "429", "Cf-Mitigated: challenge", "", page.Blocked, "(HTTP 429): a Cloudflare challenge"},
		{"Cloudflare, by script", "200", "", body(`<script>window._cf_chl_opt={cType:'managed'}</script>`), page.Blocked, "Cloudflare"},
		{"Cloudflare, by title", "200", "", "<title>Just a moment...</title>", page.Blocked, "Cloudflare"},
		{"Cloudflare, 503", "503", "", body(`<div id="cf-browser-verification">`), page.Blocked, "(HTTP 503)"},
		{"Cloudflare, origin down", "522", "", body(`<div class="cf-error-details">Connection timed out</div>`), page.Failed, "HTTP 522: it will be asked again"},
		{"AWS WAF challenge", "202", "X-Amzn-Waf-Action: challenge", "", page.Blocked, "AWS WAF"},
		{"AWS WAF captcha", "405", "X-Amzn-Waf-Action: captcha", "", page.Blocked, "AWS WAF"},
		{"Akamai", "200", "", body(`<h1>Access Denied</h1>You don't have permission to access "/p" on this server.<p>Reference #18.2 <p>https://errors.edgesuite.net/18.2`), page.Blocked, "Akamai"},
		{"DataDome", "200", "", body(`<script>var dd={'rt':'c','host':'geo.captcha-delivery.com'}</script><script src="https://ct.captcha-delivery.com/c.js"></script>`), page.Blocked, "DataDome"},
		{"PerimeterX", "200", "", body(`<div id="px-captcha"></div><p>Press &amp; Hold to confirm you are a human</p>`), page.Blocked, "PerimeterX"},
		{"Imperva", "200", "", `<html><iframe src="/_Incapsula_Resource?SWUDNSAI=31">Request unsuccessful. Incapsula incident ID: 1</iframe></html>`, page.Blocked, "Imperva"},
		{"Amazon", "200", "", body(`<form action="/errors/validateCaptcha"><h4>Enter the characters you see below</h4></form>`), page.Blocked, "Amazon"},
		{"Kasada", "200", "", `<html><script>window.KPSDK={};</script><script src="/149e9513/ips.js"></script></html>`, page.Blocked, "Kasada"},
		{"a captcha alone", "200", "", body(`<form><div class="h-captcha"></div></form>`), page.Blocked, "captcha"},
		{"are you human", "200", "", body(`<h1>Are you human?</h1>`), page.Blocked, "robot check"},
		{"curly apostrophe", "200", "", body(`Confirm you’re human`), page.Blocked, "robot check"},
		{"Japanese", "200", "", body(`<p>私はロボットではありません</p>`), page.Blocked, "robot check"},
		{"soft 403", "200", "", "403 Forbidden", page.Blocked, "block page"},
		{"a queue", "200", "", body(`You are now in line. Your estimated wait time is 3 minutes.`), page.Blocked, "queue"},
		{"403 and nothing else", "403", "", "", page.Blocked, "refuses to answer us (HTTP 403)"},
		{"401", "401", "", body("log in"), page.Blocked, "refuses"},
		{"400 with a robot check", "400", "", body(`Robot or human?`), page.Blocked, "(HTTP 400): a robot check"},
		{"404 with a vendor's mark", "404", "", body(`<div id="px-captcha">`), page.Blocked, "PerimeterX"},
		{"404 with a captcha in a form", "404", "", body(`Not found <form class="g-recaptcha">`), page.Gone, "HTTP 404"},

		{"too often, soft", "200", "", body("Error: Too Many Requests"), page.RateLimited, "too often"},
		{"out of order, soft", "200", "", body("<h1>We are down for maintenance</h1>"), page.Failed, `"We are down for maintenance"`},
		{"203", "203", "", product, page.OK, ""},
		{"204", "204", "", "", page.Failed, "no content"},
		{"206", "206", "", product, page.Failed, "HTTP 206"},
		{"a status of its own", "599", "", "", page.Failed, "HTTP 599: "},

		{"shell", "200", "", `<html><body><div id="root"></div><script src="/main.js"></script></body></html>`, page.NeedsBrowser, "needs a browser"},
		{"shell with a notice", "200", "", body(`<noscript>You need to enable JavaScript to run this app.</noscript><p>` + long[:100] + `</p><script src=a></script>`), page.NeedsBrowser, "needs a browser"},
		{"shell with a frame", "200", "", body(`<div id=__next><header>` + long[:100] + `</header></div><script>1</script>`), page.NeedsBrowser, "needs a browser"},
		{"shell with a product", "200", "", body(`<script type="application/ld+json">{"@type":"Product","name":"Lamp"}</script><app-root></app-root><script src=a></script>`), page.NeedsBrowser, "without an offer"},
		{"no offer", "200", "", body(`<script type="application/ld+json">{"@type":"Product","name":"Lamp"}</script><p>` + long), page.Failed, `the product "Lamp"`},

		{"article", "200", "", body("<p>" + long + "</p>"), page.NotProduct, "looked for a JSON-LD Product"},
		{"article with a captcha below", "200", "", body("<p>" + long[:1000] + `</p><div class="g-recaptcha"></div>`), page.NotProduct, "not a product page"},
		{"article about robot checks", "200", "", body("<p>Are you human? captcha-delivery.com " + long + "</p>"), page.NotProduct, "not a product page"},
		{"robots for sale", "200", "", body("<h1>A robot vacuum</h1><p>A robot that cleans, with a maintenance kit.</p>"), page.NotProduct, "not a product page"},
		{"soft 404", "200", "", body("<h1>Page not found</h1>"), page.NotProduct, "not a product page"},

		{"product with a captcha", "200", "", withProduct(`<div class="g-recaptcha"></div>`), page.OK, ""},
		{"product with a vendor's script", "200", "", withProduct(`<script src="/_Incapsula_Resource?x"></script>`), page.OK, ""},
		{"product that says access denied", "200", "", withProduct(`<p>The board game "Access denied"</p>`), page.OK, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			src := raw(t, func(w io.Writer, _ string) {
				answer(w, strings.TrimSuffix("HTTP/1.1 "+c.status+" x\nContent-Type: text/html\n"+c.headers, "\n")+"\n\n"+c.body)
			})
			_, err := look(t, src, "http://shop.example/p")
			if got := page.OutcomeOf(err); got != c.want || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %v, want %s, %q", got, err, c.want, c.says)
			}
			if strings.ContainsAny(fmt.Sprint(err), "\n\r") {
				t.Errorf("several lines: %q", err)
			}
		})
	}
	// Why a page is no product's can be asked of the error.
	src := raw(t, func(w io.Writer, _ string) { answer(w, "HTTP/1.1 200 OK\nContent-Type: text/html\n\n"+body(long)) })
	_, err := look(t, src, "http://shop.example/p")
	if n, ok := errors.AsType[*extract.NotProductError](err); !ok || n.Reason != extract.NoProduct {
		t.Error(err)
	}
}
