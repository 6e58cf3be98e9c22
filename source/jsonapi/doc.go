// Package jsonapi is the source of listings that are JSON documents, such as the
// answers of a shop's API: jq filters point at the price, the stock and any other
// value in it.
//
//	src, err := jsonapi.New(jsonapi.Config{Client: public, Private: operator})
//	o, err := src.Look(ctx, watch.Listing{URL: url, Options: watch.Options{PricePath: ".offer.price", Currency: "EUR"}})
//
// # Paths
//
// A path is a jq filter without the parts of the language that could run for
// long, fill the memory, or look at the machine: see [ValidateOptions], which
// says so when a listing is saved. A run ends with the context and after a
// second; at most 16 values are taken.
//
// # What comes out
//
// A price is a number, a text such as "12,50 €" (read by the options' locale), or
// an object with an amount and its currency. The currency is the one in the text;
// else the nearest one that the document states beside the price or around it;
// else the options'. Several distinct prices are ambiguous, and none is taken.
// Stock is yes or no, a count, a word, or an address of schema.org's. A path that
// finds nothing leaves its fact unknown; if nothing at all is found, that is an
// error. Nothing ever becomes a price of 0 that isn't stated, and a price of 0 of
// something that is sold out is none.
//
// Outcomes, errors and limits are those of package fetch below source/internal.
package jsonapi
