package httpapi

import "time"

// Device is a device as it sees itself.
type Device struct {
	ID        string    `json:"id" doc:"The device's id"`
	Name      string    `json:"name"`
	CreatedAt time.Time `json:"created_at"`
	Push      Push      `json:"push"`
	Test      *Test     `json:"test,omitempty" doc:"What became of the last test notification"`
}

// Push says whether a device is pushed to.
type Push struct {
	State string `json:"state" enum:"none,active,gone" doc:"none: not subscribed; active: pushed to; gone: the push service has ended the subscription, subscribe anew"`
	// Key is the application server key that the subscription was made with; if
	// it is not the current one, subscribe anew.
	Key     string    `json:"application_server_key,omitempty" doc:"The key that the subscription was made with: if it is not the server's, subscribe anew"`
	Service string    `json:"service,omitempty" doc:"The push service's host"`
	Since   time.Time `json:"since,omitzero"`
	GoneAt  time.Time `json:"gone_at,omitzero"`
	LostAt  time.Time `json:"lost_at,omitzero" doc:"When push was last lost"`
	BackAt  time.Time `json:"back_at,omitzero" doc:"When push came back after that"`
	Note    string    `json:"note,omitempty" doc:"What happened to push, for people"`
}

// Subscription is a push subscription, as browsers' toJSON gives it.
type Subscription struct {
	_              struct{} `additionalProperties:"true"`
	Endpoint       string   `json:"endpoint" maxLength:"2048"`
	ExpirationTime *float64 `json:"expirationTime,omitempty" required:"false"`
	Keys           Keys     `json:"keys"`
}

// Keys are a subscription's keys, in base64url.
type Keys struct {
	P256dh string `json:"p256dh" maxLength:"200"`
	Auth   string `json:"auth" maxLength:"200"`
}

// Test is a test notification.
type Test struct {
	ID     int64     `json:"id" doc:"The notification's id"`
	State  string    `json:"state" doc:"pending, sending, retry, sent, dropped or failed"`
	Reason string    `json:"reason,omitempty" doc:"Why it was dropped or failed"`
	Error  string    `json:"error,omitempty" doc:"The latest trouble"`
	At     time.Time `json:"at"`
}

// Money is an amount in its shortest form, and its ISO 4217 currency.
type Money struct {
	Amount   string `json:"amount"`
	Currency string `json:"currency"`
}

// NewWatch is a watch to be added.
type NewWatch struct {
	URL         string `json:"url" maxLength:"8192" doc:"The product page's address"`
	Name        string `json:"name,omitempty" maxLength:"200" doc:"What to call it; the page's title if it is empty"`
	Below       string `json:"below,omitempty" maxLength:"60" doc:"Tell when the price is below this amount and currency, such as \"500 EUR\""`
	BackInStock bool   `json:"back_in_stock,omitempty" doc:"Tell when it can be had again"`
	IgnoreStock bool   `json:"ignore_stock,omitempty" doc:"Tell by the price alone"`
	Zone        string `json:"zone,omitempty" maxLength:"64" doc:"The IANA time zone in which days are counted"`
}

// Watch is a watch and what was last seen.
type Watch struct {
	ID           string    `json:"id"`
	Name         string    `json:"name"`
	URL          string    `json:"url"`
	Triggers     []string  `json:"triggers" doc:"When it tells, for people"`
	CreatedAt    time.Time `json:"created_at"`
	SnoozedUntil time.Time `json:"snoozed_until,omitzero"`
	Paused       bool      `json:"paused,omitempty"`
	Price        *Money    `json:"price,omitempty" doc:"The price last seen"`
	Availability string    `json:"availability,omitempty"`
	Seen         string    `json:"seen,omitempty" doc:"What was last seen, for people"`
	SeenAt       time.Time `json:"seen_at,omitzero"`
	Problem      string    `json:"problem,omitempty" doc:"Why it could not be looked at lately"`
}

// Added is a watch that was added.
type Added struct {
	Watch
	Warnings []string `json:"warnings" doc:"What keeps a trigger from ever holding"`
	Holding  []string `json:"holding" doc:"What holds already, and will be told"`
}

// Now is what is true of a watch now.
type Now struct {
	// Known is false if nobody knows, for example since the site did not answer
	// in time and nothing was seen before.
	Known        bool      `json:"known" doc:"Whether it is known; if not, believe what you were told"`
	Holds        bool      `json:"holds" doc:"Whether any trigger of the watch holds"`
	Title        string    `json:"title"`
	Body         string    `json:"body" doc:"What is true now, for people"`
	URL          string    `json:"url"`
	Price        *Money    `json:"price,omitempty"`
	Availability string    `json:"availability,omitempty"`
	At           time.Time `json:"at,omitzero" doc:"When it was looked at"`
	SnoozedUntil time.Time `json:"snoozed_until,omitzero"`
}
