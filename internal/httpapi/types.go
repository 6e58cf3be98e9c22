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
	Wishes
	// What follows is for keys and operators.
	Source    string         `json:"source,omitempty" maxLength:"32" doc:"What reads it: page, json, shopify, feed, rakuten, yahoo or browser; page if it is empty. Not for devices"`
	Options   map[string]any `json:"options,omitempty" maxProperties:"20" doc:"How the source reads it, as lastlook watch add --help lists. Not for devices"`
	Every     int            `json:"every_seconds,omitempty" minimum:"10" maximum:"2678400" doc:"How often to look, in seconds; 900 if it is left out. Not for devices"`
	Channels  []string       `json:"channels,omitempty" required:"false" minItems:"1" maxItems:"10" doc:"The channels to tell through; log if it is left out. Not for devices, which are pushed to"`
	Recipient string         `json:"recipient,omitempty" maxLength:"512" doc:"Who is told; me if it is empty. For operators: a key's watches tell its owner"`
}

// Wishes are the less common triggers, as people write them. It is exported, for
// huma passes over embedded types that are not.
type Wishes struct {
	Drop           string   `json:"drop,omitempty" maxLength:"60" doc:"Tell when it is cheaper by \"10%\" or \"20 EUR\" than what since names"`
	Rise           string   `json:"rise,omitempty" maxLength:"60" doc:"Tell when it is dearer by so much"`
	Since          string   `json:"since,omitempty" enum:"last_notified,previous,first" doc:"What drop and rise compare with; last_notified if it is empty"`
	LowestInDays   int      `json:"lowest_in_days,omitempty" minimum:"1" maximum:"3650" doc:"Tell when it is the lowest price in so many days"`
	OrEqual        bool     `json:"or_equal,omitempty" doc:"With lowest_in_days: a price as low counts too"`
	UnitBelow      string   `json:"unit_below,omitempty" maxLength:"60" doc:"Tell when the unit price is below this, such as \"8 EUR/kg\""`
	EffectiveBelow string   `json:"effective_below,omitempty" maxLength:"60" doc:"Tell when the price less points is below this"`
	Points         []string `json:"points,omitempty" required:"false" maxItems:"10" doc:"With effective_below: points such as \"1%\", and \"4%?\" for those that need something of the buyer"`
	AnyChange      bool     `json:"any_change,omitempty" doc:"Tell when anything changes"`
	When           string   `json:"when,omitempty" maxLength:"4096" doc:"Tell when this condition (CEL) on the value holds"`
	Again          string   `json:"again,omitempty" maxLength:"60" doc:"Tell again while it holds, when the price is lower by so many percent"`
	Margin         string   `json:"margin,omitempty" maxLength:"60" doc:"How far above the target a price must go until the trigger can tell again, in percent"`
	Cooldown       int      `json:"cooldown_seconds,omitempty" minimum:"0" maximum:"31536000" doc:"How long to be silent after a telling"`
}

func (w *Wishes) any() bool {
	return w.Drop != "" || w.Rise != "" || w.LowestInDays != 0 || w.UnitBelow != "" || w.EffectiveBelow != "" || w.AnyChange || w.When != ""
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
