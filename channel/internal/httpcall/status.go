package httpcall

import "github.com/lastlook/lastlook"

// Meaning is what a status says of the request that it answers.
type Meaning struct {
	// Accepted says that the message was taken; Class is then of no meaning.
	Accepted bool
	Class    lastlook.Class
	// Why says to people what the status means and what to do about it.
	Why string
}

// rule gives statuses from through to a meaning.
type rule struct {
	from, to int
	Meaning
}

func accepted(from, to int) rule { return rule{from, to, Meaning{Accepted: true}} }

func refused(code int, class lastlook.Class, why string) rule {
	return rule{code, code, Meaning{Class: class, Why: why}}
}

func all(from, to int, class lastlook.Class, why string) rule {
	return rule{from, to, Meaning{Class: class, Why: why}}
}

const (
	transient     = lastlook.ClassTransient
	permanent     = lastlook.ClassPermanent
	gone          = lastlook.ClassGone
	misconfigured = lastlook.ClassMisconfigured
	unknown       = lastlook.ClassUnknown
)

// rules is the status table: the first rule that covers a status decides. It
// asks whose fault it is. This message's: permanent. The moment's: transient.
// Our settings', so that every message would be refused alike: misconfigured.
// Nobody can say whether it was taken: unknown.
var rules = [...]rule{
	accepted(200, 299),

	refused(401, misconfigured, "the credentials are missing or refused: check them"),
	refused(402, misconfigured, "the account is not paid for: settle that with the service"),
	refused(403, misconfigured, "not allowed: check the credentials and what they may do"),
	refused(404, misconfigured, "there is nothing at this address: check the URL"),
	refused(405, misconfigured, "the address does not take this method: check the URL"),
	refused(407, misconfigured, "a proxy on the way wants credentials: check the URL and the network"),
	refused(408, transient, "the server did not get the whole request in time"),
	refused(410, gone, "the receiver says that it is gone for good: register it again if it should be told"),
	refused(413, permanent, "the message is too large for the receiver"),
	refused(414, misconfigured, "the URL is too long: check it"),
	refused(415, misconfigured, "the address does not take this kind of content: check that the URL belongs to this kind of channel"),
	refused(421, transient, "the server does not answer for this host on this connection"),
	refused(423, transient, "the receiver is locked"),
	refused(425, transient, "the server will not yet take requests on this connection"),
	refused(426, misconfigured, "the server wants another protocol: try https"),
	refused(429, transient, "too many requests: the receiver asks to slow down"),
	refused(431, misconfigured, "the headers are too large: shorten the configured ones"),
	// A gateway's timeout is ours, one hop on: the request was passed along,
	// and what became of it nobody can say. 524 is Cloudflare's 504.
	refused(504, unknown, "a gateway passed the request on and got no answer in time"),
	refused(524, unknown, "a gateway passed the request on and got no answer in time"),

	all(100, 199, unknown, "only an interim answer came"),
	all(300, 399, misconfigured, "redirects are not followed: enter the final URL"),
	all(400, 499, permanent, "the receiver refuses this message"),
	all(500, 599, transient, "the receiver has a problem of its own"),
}

// MeaningOf returns what a status means, for every status there can be. One
// outside 100–599 is no status of HTTP's, and treated as if it were of class
// 5xx (RFC 9110, section 15).
func MeaningOf(status int) Meaning {
	for i := range rules {
		if r := &rules[i]; r.from <= status && status <= r.to {
			return r.Meaning
		}
	}
	return Meaning{Class: transient, Why: "that is no HTTP status: check that the URL leads to the right service"}
}
