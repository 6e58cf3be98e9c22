package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lastlook/lastlook/access"
)

// Listing is a thing that is looked at for one or more watches.
type Listing struct {
	ID       string    `json:"id"`
	URL      string    `json:"url"`
	Source   string    `json:"source"`
	Every    int       `json:"every_seconds" doc:"How often it is looked at"`
	NextLook time.Time `json:"next_look,omitzero" required:"false"`
	Problem  string    `json:"problem,omitempty" doc:"Why it could not be looked at lately"`
	Watches  []string  `json:"watches" doc:"The caller's watches of it"`
}

// Observation is what a look saw.
type Observation struct {
	At           time.Time       `json:"at"`
	Price        *Money          `json:"price,omitempty" required:"false"`
	Availability string          `json:"availability,omitempty"`
	Title        string          `json:"title,omitempty"`
	Value        json.RawMessage `json:"value,omitempty" required:"false"`
	Text         string          `json:"text" doc:"Price and availability, for people"`
	Rule         string          `json:"rule,omitempty" doc:"Where the price was read"`
}

// DryRun is what triggers would have told of a watch's history.
type DryRun struct {
	Triggers []string  `json:"triggers" doc:"Those that were asked, for people"`
	Looks    int       `json:"looks" doc:"How many looks they were asked about"`
	From     time.Time `json:"from,omitzero" required:"false"`
	To       time.Time `json:"to,omitzero" required:"false"`
	Told     int       `json:"told"`
	Withheld int       `json:"withheld" doc:"What was noticed and not true any more at its last look"`
	Turns    []Turn    `json:"turns" doc:"When what is said of a trigger became another"`
}

// Turn is a moment of a [DryRun].
type Turn struct {
	At      time.Time `json:"at"`
	Trigger string    `json:"trigger"`
	Answer  string    `json:"answer" enum:"holds,does_not_hold,cannot_tell"`
	Said    string    `json:"said,omitempty" doc:"told, withheld, or nothing"`
	Why     string    `json:"why,omitempty" doc:"Why nothing was told"`
	Seen    string    `json:"seen" doc:"What was seen, for people"`
}

// ListingPath names a listing.
type ListingPath struct {
	Listing string `path:"listing" maxLength:"64" doc:"The listing's id"`
}

// Latest bounds a list of the latest.
type Latest struct {
	Limit int `query:"limit" minimum:"1" maximum:"1000" default:"100"`
}

type (
	observationsOfWatch struct {
		WatchPath
		Latest
	}
	observationsOfListing struct {
		ListingPath
		Latest
	}
	observationsOutput struct {
		Body struct {
			Observations []Observation `json:"observations" doc:"Newest first"`
		}
	}
	listingsOutput struct {
		Body struct {
			Listings []Listing `json:"listings"`
		}
	}
	listingOutput struct{ Body Listing }
	dryRunInput   struct {
		Body struct {
			Watch       string `json:"watch" maxLength:"64" doc:"The watch whose history is replayed"`
			Below       string `json:"below,omitempty" maxLength:"60"`
			BackInStock bool   `json:"back_in_stock,omitempty"`
			IgnoreStock bool   `json:"ignore_stock,omitempty"`
			Zone        string `json:"zone,omitempty" maxLength:"64"`
			Wishes
		}
	}
	dryRunOutput struct{ Body DryRun }
)

// Listings is what the API shows of listings.
type Listings interface {
	Watch(ctx context.Context, who Who, id string) (Watch, error)
	PauseFor(ctx context.Context, who Who, id string, paused bool) (Watch, error)
	ListingsOf(ctx context.Context, who Who) ([]Listing, error)
	ObservationsOf(ctx context.Context, who Who, listing string, limit int) ([]Observation, error)
	ObservationsFor(ctx context.Context, who Who, watch string, limit int) ([]Observation, error)
	TryTriggers(ctx context.Context, who Who, watch string, n NewWatch) (DryRun, error)
}

func (a *API) registerListings(api huma.API) {
	const watch, path = "/api/v1/watches/{watch}", "/api/v1/listings"
	get := a.allow(api, operation("get-watch", http.MethodGet, watch, "Show a watch"), reading)
	huma.Register(api, get, func(ctx context.Context, in *WatchPath) (*watchOutput, error) {
		w, err := a.cfg.Backend.Watch(ctx, whoOf(ctx), in.Watch)
		return &watchOutput{w}, a.problem(ctx, err)
	})
	for name, paused := range map[string]bool{"pause": true, "resume": false} {
		op := a.allow(api, operation(name+"-watch", http.MethodPost, watch+"/"+name, map[bool]string{true: "Look no more, until it is resumed", false: "Look again"}[paused]), changing)
		huma.Register(api, op, func(ctx context.Context, in *WatchPath) (*watchOutput, error) {
			w, err := a.cfg.Backend.PauseFor(ctx, whoOf(ctx), in.Watch, paused)
			return &watchOutput{w}, a.problem(ctx, err)
		})
	}
	seen := a.allow(api, operation("list-watch-observations", http.MethodGet, watch+"/observations", "What was seen of what is watched, newest first"), reading)
	huma.Register(api, seen, func(ctx context.Context, in *observationsOfWatch) (*observationsOutput, error) {
		out := &observationsOutput{}
		var err error
		out.Body.Observations, err = a.cfg.Backend.ObservationsFor(ctx, whoOf(ctx), in.Watch, in.Limit)
		return out, a.problem(ctx, err)
	})
	list := a.allow(api, operation("list-listings", http.MethodGet, path, "List what is looked at for one's watches"), reading)
	huma.Register(api, list, func(ctx context.Context, _ *struct{}) (*listingsOutput, error) {
		out := &listingsOutput{}
		var err error
		out.Body.Listings, err = a.cfg.Backend.ListingsOf(ctx, whoOf(ctx))
		return out, a.problem(ctx, err)
	})
	one := a.allow(api, operation("get-listing", http.MethodGet, path+"/{listing}", "Show what is looked at"), reading)
	huma.Register(api, one, func(ctx context.Context, in *ListingPath) (*listingOutput, error) {
		all, err := a.cfg.Backend.ListingsOf(ctx, whoOf(ctx))
		if err != nil {
			return nil, a.problem(ctx, err)
		}
		for _, l := range all {
			if l.ID == in.Listing {
				return &listingOutput{l}, nil
			}
		}
		return nil, huma.Error404NotFound("there is no such listing of yours")
	})
	all := a.allow(api, operation("list-observations", http.MethodGet, path+"/{listing}/observations", "What was seen of a listing, newest first"), reading)
	huma.Register(api, all, func(ctx context.Context, in *observationsOfListing) (*observationsOutput, error) {
		out := &observationsOutput{}
		var err error
		out.Body.Observations, err = a.cfg.Backend.ObservationsOf(ctx, whoOf(ctx), in.Listing, in.Limit)
		return out, a.problem(ctx, err)
	})
	try := a.allow(api, operation("try-triggers", http.MethodPost, "/api/v1/triggers/dry-run", "Replay a watch's history through its triggers, or others: what would have been told, and why not otherwise"), need{devices: true, scope: access.ScopeRead})
	huma.Register(api, try, func(ctx context.Context, in *dryRunInput) (*dryRunOutput, error) {
		b := in.Body
		r, err := a.cfg.Backend.TryTriggers(ctx, whoOf(ctx), b.Watch, NewWatch{Below: b.Below, BackInStock: b.BackInStock, IgnoreStock: b.IgnoreStock, Zone: b.Zone, Wishes: b.Wishes})
		return &dryRunOutput{r}, a.problem(ctx, err)
	})
}
