// Package extract reads what a web page states of the product that it sells:
// price, currency, availability, title, image, SKU. It is pure: a page comes as
// bytes, and goes out as a [watch.Observation] with its evidence.
//
//	o, err := extract.Observe(ctx, extract.Page{URL: url, ContentType: ct, Body: body})
//
// # What is read
//
// JSON-LD (https://www.w3.org/TR/json-ld11/) with the types of schema.org:
// Product, ProductGroup, Offer, AggregateOffer
// (https://schema.org/Product, https://schema.org/Offer). It is read as shops
// write it: in several blocks, in lists and @graphs, joined by @id, broken in
// the ways that templates break it ([readJSON] lists them).
//
// # What comes out
//
// Nothing is guessed. The currency is the one that is stated beside the amount,
// or there is no price. An amount that can be read in two ways is no price. A
// product with several prices, none of which belongs to the variant that the
// page's address or the watch names, has none: the evidence lists them, so that
// the user can be asked once. An AggregateOffer states one answer, its low end.
// Prices of related, recommended, listed and reviewed products, list prices,
// instalments, member, unit and quantity prices are never the price. An
// availability that is not stated, or contradicted, is unknown.
//
// A page that states no product, or several and none as its own, is a
// [NotProductError], one that states a product without an offer a [NoOfferError].
//
// # Limits
//
// A page of more than [MaxBody] bytes is refused. The work grows with the size
// of the page, and ends with the context. A [Document] is not safe for
// concurrent use while it is read.
package extract
