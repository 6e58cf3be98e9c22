package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/lastlook/lastlook/internal/server"
)

type tokenCmd struct {
	Rotate tokenRotateCmd `cmd:"" help:"Make a new operator's token and print it; the one before ends."`
}

type tokenRotateCmd struct{}

// Help implements [kong.HelpProvider].
func (tokenRotateCmd) Help() string {
	return `Whoever shows the operator's token to the HTTP API may see and change everything. lastlook serve makes it at its first start and prints it once; only its hash is kept, so that a lost one is not found again but replaced by this command. A lastlook that serves takes the new one at once.

Example: lastlook token rotate`
}

// tokenView is the JSON of a token that is shown once.
type tokenView struct {
	Token string `json:"token"`
}

// Run makes a new token.
func (tokenRotateCmd) Run(ctx context.Context, a *app) error {
	return a.with(ctx, func(s *server.Server) error {
		token, err := s.RotateOperator(ctx)
		if err != nil {
			return err
		}
		if a.out.json {
			return a.out.value(tokenView{token})
		}
		a.out.linef("%s", token)
		return nil
	})
}

type keyCmd struct {
	Add    keyAddCmd    `cmd:"" help:"Make an API key and print its token, this once."`
	List   keyListCmd   `cmd:"" help:"List the API keys, without their tokens."`
	Revoke keyRevokeCmd `cmd:"" help:"End API keys for good."`
}

// keyView is the JSON of a key.
type keyView struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Owner     string    `json:"owner"`
	Scopes    []string  `json:"scopes"`
	PerMinute int       `json:"per_minute"`
	CreatedAt time.Time `json:"created_at"`
	UsedAt    time.Time `json:"used_at,omitzero"`
	RevokedAt time.Time `json:"revoked_at,omitzero"`
	Token     string    `json:"token,omitzero"`
}

func newKeyView(k server.Key) keyView {
	v := keyView{ID: k.ID, Name: k.Name, Owner: k.Owner, Scopes: []string{}, PerMinute: k.PerMinute, CreatedAt: k.CreatedAt, UsedAt: k.UsedAt, RevokedAt: k.RevokedAt}
	for _, s := range k.Scopes {
		v.Scopes = append(v.Scopes, string(s))
	}
	return v
}

type keyAddCmd struct {
	Name      string `arg:"" help:"What it is for, such as \"shop backend\"."`
	Owner     string `required:"" placeholder:"OWNER" help:"Whose topics, notifications and watches it sees and changes: a short name, such as shop."`
	Scope     string `default:"enqueue,read" placeholder:"SCOPES" help:"What it allows: enqueue, read and operate, separated by commas (default ${default})."`
	PerMinute int    `default:"60000" placeholder:"N" help:"How many notifications it may enqueue in a minute (default ${default})."`
}

// Help implements [kong.HelpProvider].
func (keyAddCmd) Help() string {
	return `A program shows the token as "Authorization: Bearer …" to the HTTP API that lastlook serve serves; docs/api.md describes it. Only the token's hash is kept: a lost one is replaced by another key.

Example: lastlook key add "shop backend" --owner shop --scope enqueue,read,operate`
}

// Run makes a key.
func (c *keyAddCmd) Run(ctx context.Context, a *app) error {
	scopes, err := server.ParseScopes(c.Scope)
	if err != nil {
		return usage{err}
	}
	if c.PerMinute < 1 {
		return usagef("--per-minute %d: use 1 or more", c.PerMinute)
	}
	return a.with(ctx, func(s *server.Server) error {
		k, token, err := s.AddKey(ctx, server.NewKey{Name: c.Name, Owner: c.Owner, Scopes: scopes, PerMinute: c.PerMinute})
		if err != nil {
			return err
		}
		if a.out.json {
			v := newKeyView(k)
			v.Token = token
			return a.out.value(v)
		}
		a.out.linef("%s", token)
		a.out.notef("this is the token of %s, shown this once", k.ID)
		return nil
	})
}

type keyListCmd struct{}

// Run lists the keys.
func (keyListCmd) Run(ctx context.Context, a *app) error {
	return a.reading(ctx, func(s *server.Server) error {
		all, err := s.Keys(ctx)
		if err != nil {
			return err
		}
		views, rows := []keyView{}, [][]string{}
		for _, k := range all {
			v := newKeyView(k)
			views = append(views, v)
			state := "never used"
			switch {
			case !k.RevokedAt.IsZero():
				state = "revoked " + a.out.ago(k.RevokedAt)
			case !k.UsedAt.IsZero():
				state = "used " + a.out.ago(k.UsedAt)
			}
			rows = append(rows, []string{v.ID, short(v.Name, 30), v.Owner, joined(v.Scopes), state})
		}
		if a.out.json {
			return a.out.value(views)
		}
		if len(rows) == 0 {
			a.out.notef("no key yet: make one with lastlook key add NAME --owner OWNER")
			return nil
		}
		a.out.table([]string{"ID", "NAME", "OWNER", "SCOPES", "STATE"}, rows)
		return nil
	})
}

type keyRevokeCmd struct {
	IDs []string `arg:"" name:"id" help:"Which: ids as lastlook key list shows them."`
}

// Run revokes keys.
func (c *keyRevokeCmd) Run(ctx context.Context, a *app) error {
	return a.with(ctx, func(s *server.Server) error {
		views := []keyView{}
		var errs []error
		for _, id := range c.IDs {
			k, err := s.RevokeKey(ctx, id)
			if err != nil {
				errs = append(errs, keyError(id, err))
				continue
			}
			views = append(views, newKeyView(k))
			a.out.notef("revoked %s (%s)", k.ID, k.Name)
		}
		if a.out.json {
			errs = append(errs, a.out.value(views))
		}
		return errors.Join(errs...)
	})
}

func keyError(id string, err error) error {
	if server.IsUnknownKey(err) {
		return usagef("there is no key %q: lastlook key list shows them all", id)
	}
	return err
}

func joined(list []string) string { return strings.Join(list, ",") }
