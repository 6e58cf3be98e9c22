// Package webpush sends messages to browsers by Web Push: it encrypts them so
// that only the browser can read them (RFC 8291), says who is sending (VAPID,
// RFC 8292) and how (RFC 8030), and tells what the push service answered. It
// needs only the standard library, and can be used without the rest of
// lastlook.
//
// Keys are made once and kept; their public half goes to the page, as the
// applicationServerKey of pushManager.subscribe:
//
//	keys, err := webpush.GenerateKeys()
//	os.WriteFile("vapid.pem", keys.PEM(), 0o600)
//	…
//	client, err := webpush.New(webpush.Config{
//		Keys:    keys,
//		Subject: "mailto:push@example.com",
//		Doer:    &http.Client{Timeout: 15 * time.Second},
//	})
//
// The page posts JSON.stringify(subscription), which is decoded and checked
// once; from then on a [Subscription] is a small value to keep and to send to:
//
//	var sub webpush.Subscription
//	err := json.Unmarshal(body, &sub)
//	…
//	receipt, err := client.Send(ctx, sub, webpush.Message{Payload: []byte("470 EUR"), TTL: time.Hour})
//	if failure, ok := errors.AsType[*webpush.Error](err); ok && failure.Kind == webpush.Gone {
//		… // the person has unsubscribed: forget the subscription
//	}
//
// Who sends by other means takes a request from [Client.Prepare]; who only
// wants the encryption, [Encrypt].
//
// # What becomes of a message
//
// A push service answers that it has taken the message (2xx); it shows only
// later, or never, whether the browser gets it. Everything else is an [*Error]
// with a [Kind]:
//
//	404 410                           Gone: the subscription has ended
//	413                               TooLarge: sent once more as Message.Short, if there is one
//	401 403, and 400 about VAPID      Misconfigured: the keys, the subject, the clock; never Gone
//	402 405 407 414 415 426 431 3xx   Misconfigured: what answers there is no push service, or a proxy is in the way
//	408 421 423 425 429 5xx           Retry, after Retry-After (seconds, or a date)
//	504 524, 1xx, no answer           Unknown: the message may have been taken
//	other 4xx                         Rejected: this message is refused for good
//	no connection                     Retry
//
// Redirects are not followed: an [http.Client] is used in a copy that does not,
// and other Doers must not either.
//
// # Sizes
//
// A push service takes 4096 bytes, which leaves [MaxPayload] for the payload;
// more is [ErrTooLong]. So that the length of a message says little about it,
// payloads are padded to the next multiple of [Bucket] bytes less one: 16
// lengths in all, and 358 bytes on the wire for a short message, where
// padding to the limit would send 4096.
//
// # VAPID
//
// One token is signed for each origin of push services, valid for 12 hours,
// and used until an hour before its end, or until the clock is set back to
// before it was made. Tokens of at most 64 origins are kept.
//
// # Secrets
//
// A subscription's endpoint is a capability: whoever knows it can have messages
// refused or, with the VAPID key, sent. Subscriptions, keys and clients print
// without secrets (also with %#v), and errors name only the push service's host.
// Of its answer they show words, not what looks like a token.
//
// Everything here is safe for concurrent use, and neither keeps nor changes the
// caller's memory: one payload may go to many subscriptions at a time.
package webpush
