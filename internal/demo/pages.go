package demo

import (
	"context"
	"fmt"
	"html"
	"strings"

	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/extract"
	"github.com/lastlook/lastlook/watch/price"
)

// market is a country's shop: what its pages look like, and how they write prices.
// Each states the price in another way, among other prices that are not the
// product's.
type market struct {
	host, currency string
	// digits are the currency's decimals; factor is what a product costs here, in
	// the currency's smallest units, for each of a fact's cents.
	digits, factor int
	group, point   string
	indian         bool // 1,50,000
	sign           string
	in, out        string // what the page says of the stock
	page           string
}

// markets, in the order in which the products are given to them.
var markets = []market{
	{host: "de.shop.example", currency: "EUR", digits: 2, factor: 1, group: ".", point: ",", sign: "%s\u00a0€", in: "Sofort lieferbar", out: "Ausverkauft", page: germanPage},
	{host: "us.shop.example", currency: "USD", digits: 2, factor: 1, group: ",", point: ".", sign: "$%s", in: "In stock", out: "Sold out", page: americanPage},
	{host: "jp.shop.example", currency: "JPY", digits: 0, factor: 1, group: ",", sign: "%s円", in: "在庫あり", out: "在庫切れ", page: japanesePage},
	{host: "fr.shop.example", currency: "EUR", digits: 2, factor: 3, group: "\u202f", point: ",", sign: "%s\u00a0€", in: "En stock", out: "Rupture de stock", page: frenchPage},
	{host: "br.shop.example", currency: "BRL", digits: 2, factor: 5, group: ".", point: ",", sign: "R$\u00a0%s", in: "Em estoque", out: "Esgotado", page: brazilianPage},
	{host: "in.shop.example", currency: "INR", digits: 2, factor: 300, group: ",", point: ".", indian: true, sign: "₹%s", in: "In stock", out: "Currently unavailable", page: indianPage},
}

// minor is a fact's price in the currency's smallest units.
func (m *market) minor(cents int) int { return cents * m.factor }

// plain writes an amount for machines: 1299.00.
func (m *market) plain(minor int) string {
	s := fmt.Sprintf("%0*d", m.digits+1, minor)
	if m.digits == 0 {
		return s
	}
	return s[:len(s)-m.digits] + "." + s[len(s)-m.digits:]
}

// money is what a fact's price is.
func (m *market) money(cents int) price.Money {
	v, err := price.New(m.plain(m.minor(cents)), m.currency)
	if err != nil {
		panic(err) // a whole number of the smallest unit is always money
	}
	return v
}

// local writes an amount for people: 1.299,00 €.
func (m *market) local(minor int) string {
	whole, fraction, _ := strings.Cut(m.plain(minor), ".")
	for i, size := len(whole)-3, 3; i > 0; i -= size {
		whole = whole[:i] + m.group + whole[i:]
		if m.indian {
			size = 2
		}
	}
	if fraction != "" {
		whole += m.point + fraction
	}
	return fmt.Sprintf(m.sign, whole)
}

// pageOf is the page of a product, as it is.
func (p *product) pageOf(f fact) string {
	m := p.market
	minor := m.minor(f.cents)
	stock, state := m.out, "OutOfStock"
	if f.stock == watch.InStock {
		stock, state = m.in, "InStock"
	}
	return strings.NewReplacer("{title}", html.EscapeString(p.title), "{id}", p.id, "{stock}", stock, "{state}", state,
		"{price}", m.local(minor), "{amount}", m.plain(minor), "{was}", m.local(minor/4*5), "{rate}", m.local(minor/10),
		"{low}", m.local(m.minor(2900)), "{other}", m.local(m.minor(31900)), "{otheramount}", m.plain(m.minor(31900)),
	).Replace(m.page)
}

// address is where the page of a product is, in the simulation.
func (p *product) address() string { return "https://" + p.market.host + "/" + p.id }

// read reads a product's page as the real page source does.
func (p *product) read(ctx context.Context, f fact) (watch.Observation, error) {
	return extract.Observe(ctx, extract.Page{URL: p.address(), ContentType: "text/html; charset=utf-8", Body: []byte(p.pageOf(f))})
}

// JSON-LD in a graph, with the comma that templates leave behind; a related
// product's price stands before the product's.
const germanPage = `<!doctype html><html lang="de"><head><meta charset="utf-8"><title>{title} kaufen | Beispielshop</title>
<script type="application/ld+json">{"@context":"https://schema.org","@graph":[{"@type":"BreadcrumbList","itemListElement":[]},
{"@type":"Product","name":"{title}","sku":"{id}","offers":{"@type":"Offer","price":"{amount}","priceCurrency":"EUR","availability":"https://schema.org/{state}",}},]}</script></head>
<body><header><p>Versandkostenfrei ab {low}</p><a href="/cart">Warenkorb 0,00 €</a></header>
<aside class="related"><h2>Passt dazu</h2><a href="/zubehoer">Zubehör</a> <span class="price">{other}</span></aside>
<main><h1>{title}</h1><p><del class="uvp">UVP {was}</del> <strong class="price">{price}</strong></p><p>inkl. MwSt.</p><p class="stock">{stock}</p>
<p>oder 10 Raten zu je {rate}</p></main></body></html>`

// JSON-LD whose offers are a list, the price a number.
const americanPage = `<!doctype html><html lang="en-US"><head><meta charset="utf-8"><title>{title} - Example Store</title>
<script type="application/ld+json">[{"@context":"https://schema.org/","@type":"Product","name":"{title}","productID":"{id}",
"offers":[{"@type":"Offer","price":{amount},"priceCurrency":"USD","availability":"{state}"}]}]</script></head>
<body><nav>Free shipping on orders over {low}</nav><main><h1>{title}</h1>
<div>List price: <s>{was}</s></div><div class="price">{price}</div><div>Pay {rate}/mo with financing</div><div>{stock}</div></main>
<section><h2>Customers also bought</h2><span class="price">{other}</span></section></body></html>`

// Nothing for machines: the price stands in the page, and so do points.
const japanesePage = `<!doctype html><html lang="ja"><head><meta charset="utf-8"><title>{title}｜サンプルストア</title></head>
<body><header>{low}以上で送料無料</header><main><h1>{title}</h1><div class="item-price"><span class="price">{price}</span>(税込)</div>
<div class="point">100ポイント還元</div><div class="stock">{stock}</div><button>カートに入れる</button></main></body></html>`

// Microdata, and the instalment inside of it.
const frenchPage = `<!doctype html><html lang="fr"><head><meta charset="utf-8"><title>{title} | Boutique Exemple</title></head>
<body><p>Livraison offerte dès {low} d’achat</p><main itemscope itemtype="https://schema.org/Product"><h1 itemprop="name">{title}</h1>
<div itemprop="offers" itemscope itemtype="https://schema.org/Offer"><span class="price" itemprop="price" content="{amount}">{price}</span>
<meta itemprop="priceCurrency" content="EUR"><link itemprop="availability" href="http://schema.org/{state}"><span>ou 10 × {rate}</span></div>
<p>{stock}</p></main></body></html>`

// Meta tags, and the price in instalments beside the one at once.
const brazilianPage = `<!doctype html><html lang="pt-BR"><head><meta charset="utf-8"><title>{title} | Loja Exemplo</title>
<meta property="og:type" content="product"><meta property="og:title" content="{title}"><meta property="product:price:amount" content="{amount}">
<meta property="product:price:currency" content="BRL"><meta property="product:availability" content="{state}"></head>
<body><p>Frete grátis acima de {low}</p><main><h1>{title}</h1><p class="price">{price}</p><p>em até 10x de {rate} sem juros</p><p>{stock}</p></main></body></html>`

// JSON-LD as an AggregateOffer's only offer; lakhs in what people read.
const indianPage = `<!doctype html><html lang="en-IN"><head><meta charset="utf-8"><title>{title} : Example Bazaar</title>
<script type="application/ld+json">{"@context":"https://schema.org","@type":"Product","name":"{title}","offers":{"@type":"AggregateOffer","offerCount":1,
"lowPrice":"{amount}","highPrice":"{amount}","priceCurrency":"INR","availability":"https://schema.org/{state}"}}</script></head>
<body><main><h1>{title}</h1><p>M.R.P.: <s>{was}</s></p><p class="price">{price}</p><p>EMI from {rate}/month</p><p>{stock}</p></main></body></html>`
