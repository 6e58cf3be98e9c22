package extractbench

import (
	"fmt"
	"strings"
)

// pageSize is how large the page is at least, in bytes.
const pageSize = 200_000

// What the page states.
const (
	pageURL   = "https://leuchtenhaus.example/p/schreibtischlampe-nord"
	pagePrice = "79.95 EUR"
)

// Page makes a page as shops have them: styles and scripts by the dozen of
// kilobytes, a menu over everything, the product, its description, reviews, other
// products with prices of their own, a footer. What fills it up are reviews and
// other products, as on real pages.
func Page() string {
	var b strings.Builder
	b.WriteString(`<!doctype html><html lang="de"><head><meta charset="utf-8"><title>Schreibtischlampe Nord | Leuchtenhaus</title>
<link rel="canonical" href="` + pageURL + `"><meta property="og:type" content="product"><meta property="og:title" content="Schreibtischlampe Nord">
<meta property="product:price:amount" content="79.95"><meta property="product:price:currency" content="EUR">
<style>`)
	for i := range 220 {
		fmt.Fprintf(&b, ".c-%d__element--variant{display:flex;margin:%dpx auto;color:#%06x;padding:0 1.25rem}\n", i, i%40, i*7919)
	}
	b.WriteString("</style><script>window.dataLayer=window.dataLayer||[];var config={")
	for i := range 260 {
		fmt.Fprintf(&b, "\"feature_%d\":{\"enabled\":%t,\"variant\":\"b%d\",\"threshold\":%d.%02d},", i, i%3 == 0, i%5, i*13, i%100)
	}
	b.WriteString(`};</script><script type="application/ld+json">{"@context":"https://schema.org","@type":"Product","name":"Schreibtischlampe Nord","sku":"LN-812",
"image":["/img/nord.jpg"],"offers":{"@type":"Offer","price":"79.95","priceCurrency":"EUR","availability":"https://schema.org/InStock"}}</script></head><body class="page page--product">
<header class="site-header"><nav class="mega-menu"><ul>`)
	for i := range 160 {
		fmt.Fprintf(&b, "<li class=\"mega-menu__item level-%d\"><a class=\"mega-menu__link\" href=\"/c/kategorie-%d\"><span>Kategorie %d</span></a></li>\n", i%3, i, i)
	}
	b.WriteString(`</ul></nav><a class="minicart" href="/cart"><span class="price">0,00&nbsp;€</span></a></header>
<main id="content"><section class="product-detail"><div class="product-detail__gallery">`)
	for i := range 12 {
		fmt.Fprintf(&b, "<picture><source type=\"image/webp\" srcset=\"/img/nord-%d.webp 1x, /img/nord-%d@2x.webp 2x\"><img class=\"gallery__image\" src=\"/img/nord-%d.jpg\" alt=\"Schreibtischlampe, Ansicht %d\" loading=\"lazy\" width=\"800\" height=\"800\"></picture>\n", i, i, i, i)
	}
	b.WriteString(`</div><div class="product-detail__summary"><h1 class="product-detail__title">Schreibtischlampe Nord</h1>
<div class="product-detail__price"><span class="price price--current">79,95&nbsp;€</span> <del class="price price--old">99,95&nbsp;€</del></div>
<p class="tax-note">inkl. MwSt., zzgl. <a href="/versand">Versand</a></p><p class="availability availability--in">Sofort lieferbar</p>
<form action="/cart"><button type="submit" class="btn btn--primary">In den Warenkorb</button></form></div></section><section class="description">`)
	for i := range 40 {
		fmt.Fprintf(&b, "<p>Absatz %d: Die Leuchte aus gebürstetem Messing gibt ein warmes, blendfreies Licht und lässt sich in <em>drei Achsen</em> verstellen; der Schirm misst %d cm im Durchmesser, das Kabel zwei Meter.</p>\n", i, 12+i)
	}
	b.WriteString(`</section><section class="recommendations"><h2>Das könnte Ihnen auch gefallen</h2><div class="grid">`)
	for i := range 48 {
		fmt.Fprintf(&b, "<article class=\"product-card\"><a class=\"product-card__link\" href=\"/p/leuchte-%d\"><img class=\"product-card__image\" src=\"/img/l%d.jpg\" alt=\"Leuchte %d\" loading=\"lazy\" width=\"300\" height=\"300\"><h3 class=\"product-card__title\">Leuchte %d</h3><div class=\"product-card__price price\"><span class=\"price__value\">%d,95&nbsp;€</span></div></a></article>\n", i, i, i, i, 20+i)
	}
	b.WriteString(`</div></section><section class="reviews">`)
	for i := 0; b.Len() < pageSize-500; i++ {
		fmt.Fprintf(&b, "<article class=\"review\" id=\"review-%d\"><header class=\"review__head\"><span class=\"review__author\">Kundin %d</span><time datetime=\"2026-0%d-1%d\">1%d.0%d.2026</time></header><p class=\"review__text\">Sehr schöne Lampe, die Lieferung kam nach %d Tagen und war gut verpackt. Für den Preis würde ich sie jederzeit wieder kaufen, auch wenn der Schalter etwas schwergängig ist.</p></article>\n", i, i, 1+i%9, i%9, i%9, 1+i%9, 1+i%6)
	}
	b.WriteString(`</section></main><footer class="site-footer"><ul>`)
	for i := range 10 {
		fmt.Fprintf(&b, "<li><a href=\"/seite-%d\">Seite %d</a></li>", i, i)
	}
	b.WriteString(`</ul></footer><script src="/js/main.js" defer></script></body></html>`)
	return b.String()
}
