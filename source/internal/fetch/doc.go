// Package fetch is what the sources that ask for one document have in common:
// one request, its limits, its redirects, and what the answer means.
//
// An outcome other than [OK] is an [*Error]. Two answers are definite: 410 wraps
// [lastlook.Gone], and 404 wraps [watch.ErrMissing], which counts once it is seen
// twice. All others mean that nobody knows. A wait that the other side asks for
// wraps [lastlook.RetryAfter].
//
// No error's text holds an address's query, or a secret of the request.
//
// # Concurrency
//
// A [Fetcher] is safe for concurrent use. Waiting for a body, and for a redirect,
// ends with the context.
package fetch
