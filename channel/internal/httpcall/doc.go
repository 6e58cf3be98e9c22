// Package httpcall is what all channels that speak HTTP have in common: one
// call, one table of what statuses mean, one judgement of what a broken
// connection means, one place where secrets are taken out of what is shown.
// A channel words the request and reads the answer; everything else is here.
//
//	caller, err := httpcall.New(httpcall.Config{Name: "ntfy", Client: cfg.Client, Secrets: secrets})
//	answer, err := caller.Do(ctx, httpcall.Request{URL: u, Header: h, Body: body})
//	if err != nil {
//		return lastlook.Receipt{}, err // classified, and fit to be shown
//	}
//	return answer.Receipt(""), nil
//
// # Statuses
//
// The table asks whose fault a refusal is (RFC 9110, section 15; RFC 6585).
// A channel may name exceptions in [Config.Statuses]: for a push service, 404
// means gone.
//
//	2xx                                      accepted, whatever becomes of the body
//	400–499, but for those below             permanent: this message is refused
//	410                                      gone: the receiver asks to be left alone
//	401 402 403 404 405 407 414 415 426 431  misconfigured: every message would be refused alike
//	408 421 423 425 429                      transient: later, or on another connection
//	500–599, but for those below             transient
//	504 524                                  unknown: a gateway's timeout after it passed the request on
//	3xx                                      misconfigured: redirects are never followed
//	1xx as the last word                     unknown: the request arrived, the answer did not
//	anything else                            transient, as if it were 5xx
//
// Why 404 and 3xx are misconfigured: both are mended by the operator (a typing
// error, a moved or not yet deployed endpoint, http for https, a login page),
// and a parked lane raises an alert and loses nothing, where permanent would
// lose every message until somebody looks. Why 504 is not transient: it is a
// timeout after the request was written, seen by a gateway in our place. Taken
// for "not delivered", the next value would go out under the same delivery
// key, and a deduplicating receiver that had taken the first would drop it.
// 502 stays transient: mostly, the gateway did not reach the receiver at all.
//
// Retry-After is heeded in both forms with transient and unknown answers.
//
// # No answer
//
// Without an answer the question is whether the request can have arrived
// whole. If it certainly has not, the error is transient: the name did not
// resolve, nothing listened, the TLS handshake failed, the context ended or
// the connection broke before the request was written to its end. In all other
// cases it is unknown: time ran out or the connection died while the answer
// was awaited, or what came is no HTTP. A status line that was cut off counts
// as no answer. See progress for how this is known.
//
// # Sent once
//
// A call leads to at most one request that the receiver can have processed.
// Redirects are not followed, whatever the given client does elsewhere. What
// net/http repeats by itself is harmless: with the methods allowed here, only
// requests of which nothing was written, or which the server declared
// unprocessed (HTTP/2 GOAWAY, REFUSED_STREAM). A kept-alive connection that
// dies under a request that was written gives an unknown outcome, not a second
// request; so that this stays true of a request with an Idempotency-Key, that
// header is set under a name which net/http does not recognize.
//
// # Bounds
//
// At most 4 KiB of an answer are read, for at most [Config.AnswerWait] after
// its header; a body that is huge, slow or cut off changes nothing of what the
// status said. Nothing of the caller's memory is kept or changed: once Do
// returns, the transport gets no more of the body.
//
// # Secrets
//
// No error, receipt or answer shown holds more of a URL than its origin, nor
// any of [Secrets], in whatever form the other side repeats them. Errors carry
// nothing in their chain that could: only causes of fixed text, for
// [errors.Is].
package httpcall
