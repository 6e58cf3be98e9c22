// Package page is the source of listings that are web pages: it fetches one
// over HTTP and has watch/extract read it.
//
//	src, err := page.New(page.Config{Client: public, Private: operator})
//	o, err := src.Look(ctx, listing)
//	switch page.OutcomeOf(err) {
//	case page.OK:           // o is what the page says
//	case page.Blocked:      // a robot check: nobody knows
//	…
//	}
//
// # What an answer means
//
// Only a page that states a product is an observation. Two answers are
// definite: 410 wraps [lastlook.Gone], and 404 wraps [watch.ErrMissing], which
// counts once it is seen twice. Everything else (robot checks, with whatever
// status, 429 and 5xx, time-outs, answers that are cut off, too large or no
// pages, pages that no longer parse) means that nobody knows: such errors never
// end a watch and never make one fire. A wait that the site asks for
// (Retry-After, RFC 9110, section 10.2.3) wraps [lastlook.RetryAfter].
//
// Observation.At is when the look began; for a copy from a cache, when the
// cache got it (RFC 9111, section 4.2.3), so that an old copy is never taken
// for what is true now.
//
// # What has not changed
//
// A site that gave its page an ETag or a date is asked for it again only if it has
// changed. Its word that it has not (304) is an observation: the known one, as of
// now, or, if a cache gave the word, as of when the cache got it; the evidence says
// so. That is honest as far as the site is: all requests carry Cache-Control:
// no-cache, so that caches on the way ask the origin, and after six hours the whole
// page is asked for again. It is not enough for a message: a last look
// ([watch.AsLastLook]) is never conditional. What is kept is bounded
// (Config.Remember), in memory, and forgotten at a restart.
//
// # Limits
//
// A look has a time limit that includes reading the answer, an answer has a
// size limit that counts after decompression, and at most five redirects are
// followed: never from https to http, and away from the host of a private
// listing only through the client for public addresses.
//
// The source makes no HTTP client of its own, keeps no cookies and sends
// nothing that says who watches. Its errors carry no address beyond host and
// path. It is safe for concurrent use.
package page
