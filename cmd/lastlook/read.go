package main

import "github.com/lastlook/lastlook/internal/server"

// readFlags say how a listing is read.
type readFlags struct {
	PricePath     string `placeholder:"JQ" help:"With --source json: the jq filter that leads to the price, such as .offers[0].price."`
	StockPath     string `placeholder:"JQ" help:"The same for whether it is in stock."`
	ValuePath     string `placeholder:"JQ" help:"The same for any other value."`
	PriceSelector string `placeholder:"CSS" help:"The element of the page that has the price: CSS, or XPath if it begins with / or (."`
	StockSelector string `placeholder:"CSS" help:"The same for whether it is in stock."`
	Variant       string `placeholder:"TEXT" help:"The variant that is meant, such as \"Blue / M\"; in a feed, the words in the entry's title."`
	SKU           string `name:"sku" placeholder:"CODE" help:"The article number that is meant; in a feed, the entry's id."`
	Locale        string `placeholder:"TAG" help:"How to read what the listing leaves open, such as de-AT."`
	Currency      string `placeholder:"CODE" help:"The currency, such as EUR, where the listing does not state it."`
}

func (f *readFlags) options() server.ReadOptions {
	return server.ReadOptions{
		Variant: f.Variant, SKU: f.SKU, Locale: f.Locale, Currency: f.Currency, PriceSelector: f.PriceSelector, StockSelector: f.StockSelector,
		PricePath: f.PricePath, StockPath: f.StockPath, ValuePath: f.ValuePath,
	}
}
