// Package extract reads what a web page states of the product that it sells:
// price, list price, unit price, currency, availability, title, image, SKU. It is
// pure: a page comes as bytes, and goes out as a [watch.Observation] with its
// evidence.
//
//	o, err := extract.Observe(ctx, extract.Page{URL: url, ContentType: ct, Body: body, Hint: extract.HintOf(options)})
//
// # What is read
//
// Five rules read the page, in this order; the first that states one price
// decides, and is named in Observation.Rule:
//
//   - where the user points, by CSS or XPath ([ValidateSelector]);
//   - JSON-LD (https://www.w3.org/TR/json-ld11/) with the types of schema.org, as
//     shops write it: in several blocks, in lists and @graphs, joined by @id, broken
//     in the ways that templates break it ([readJSON] lists them);
//   - microdata, with itemref and values in any attribute, and RDFa Lite: both are
//     made into the values that JSON-LD has, and read by the same code;
//   - meta elements (product:, og:, Twitter's cards);
//   - what people see: elements that call themselves a price by class, id or test
//     attribute, the likelier the nearer to the heading and the box where one buys;
//     on pages without any, the amount between heading and button.
//
// Of the offers, those of the variant that the watch names, by SKU or words, or
// that the page's address names count. Another rule that states the same price
// makes it Observation.Agreed; one that states another leaves its evidence as a
// contradiction. Only two things that people see overrule what machines are told:
// a lower price beside the machines' one crossed out, and a notice that nothing is
// there, as long as no button says otherwise.
//
// # What comes out
//
// Nothing is guessed. The currency stands beside the amount, or beside the same
// amount elsewhere in the page, or is the watch's; else there is no price. An
// amount that can be read in two ways is no price. A product with several prices,
// none of which belongs to the variant that is meant, is Observation.Ambiguous: the
// evidence lists them, so that the user can be asked once. An AggregateOffer states
// one answer, its low end. Prices of related, recommended, listed and reviewed
// products, list prices, instalments, member, unit and quantity prices are never
// the price. An availability that is not stated, or contradicted, is unknown.
//
// A page that states no product, or several and none as its own, is a
// [NotProductError], one that states a product without an offer a [NoOfferError].
// Where the user points and nothing stands any more, the error wraps
// [ErrSelector]: another rule's price is not what was asked for.
//
// # Limits
//
// A page of more than [MaxBody] bytes is refused. The work grows with the size
// of the page, and ends with the context; one walk through the tree finds what all
// rules need. A [Document] is not safe for concurrent use while it is read.
package extract
