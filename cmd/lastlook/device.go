package main

import (
	"context"
	"fmt"
	"time"

	"github.com/lastlook/lastlook/internal/config"
	"github.com/lastlook/lastlook/internal/server"
)

type deviceCmd struct {
	List  deviceListCmd `cmd:"" help:"List the devices that are told by push."`
	Vapid vapidCmd      `cmd:"" help:"The keys by which push services recognize this server."`
}

type deviceListCmd struct{}

// deviceView is the JSON of a device, without what is its own secret.
type deviceView struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Recipient string    `json:"recipient"`
	CreatedAt time.Time `json:"created_at"`
	SeenAt    time.Time `json:"seen_at"`
	// Push is none, active or gone; Service the push service's host.
	Push    string `json:"push"`
	Service string `json:"service,omitzero"`
}

// Run lists the devices.
func (deviceListCmd) Run(ctx context.Context, a *app) error {
	return a.reading(ctx, func(s *server.Server) error {
		all, err := s.Devices(ctx)
		if err != nil {
			return err
		}
		views, rows := []deviceView{}, [][]string{}
		for i := range all {
			d := &all[i]
			v := deviceView{ID: d.ID, Name: d.Name, Recipient: server.DeviceRecipient(d.ID), CreatedAt: d.CreatedAt, SeenAt: d.SeenAt, Push: "none", Service: d.Push.Subscription.Host()}
			switch {
			case d.Push.Active():
				v.Push = "active"
			case !d.Push.GoneAt.IsZero():
				v.Push = "gone"
			}
			views = append(views, v)
			rows = append(rows, []string{v.ID, short(v.Name, 40), v.Push, v.Service, a.out.ago(v.SeenAt)})
		}
		if a.out.json {
			return a.out.value(views)
		}
		if len(rows) == 0 {
			a.out.notef("no device yet: open the page that lastlook serve shows, and allow notifications")
			return nil
		}
		a.out.table([]string{"ID", "NAME", "PUSH", "SERVICE", "SEEN"}, rows)
		return nil
	})
}

type vapidCmd struct {
	ShowPublic vapidShowCmd   `cmd:"" help:"Print the public key that browsers subscribe with."`
	Import     vapidImportCmd `cmd:"" help:"Take keys that were used before, such as another server's."`
	Rotate     vapidRotateCmd `cmd:"" help:"Make new keys; devices move to them when their page is opened."`
}

// vapidView is the JSON of the keys.
type vapidView struct {
	Public string `json:"public"`
	// Older are kept until no device needs them.
	Older []string `json:"older"`
}

func (a *app) printVAPID(v config.VAPID) error {
	out := vapidView{Public: v.Current().Public(), Older: []string{}}
	for _, k := range v[1:] {
		out.Older = append(out.Older, k.Public())
	}
	if a.out.json {
		return a.out.value(out)
	}
	a.out.linef("%s", out.Public)
	if n := len(out.Older); n > 0 {
		a.out.notef("%s kept until no device needs them", plural(n, "older key"))
	}
	return nil
}

type vapidShowCmd struct{}

// Run prints the public key.
func (vapidShowCmd) Run(_ context.Context, a *app) error {
	dir, err := a.dir()
	if err != nil {
		return err
	}
	v, err := dir.VAPID()
	if err != nil {
		return err
	}
	if len(v) == 0 {
		return fmt.Errorf("%w: there are no keys yet: lastlook serve makes them, or lastlook device vapid import takes some", config.ErrInvalid)
	}
	return a.printVAPID(v)
}

type vapidImportCmd struct {
	File string `arg:"" help:"A file with the private key, as PEM or in base64url; - for standard input."`
}

// Help implements [kong.HelpProvider].
func (vapidImportCmd) Help() string {
	return `Browsers subscribe with the key that is imported; those that subscribed with the one before are told with that one until their page is opened. A lastlook that serves takes the change up by itself.

Example: lastlook device vapid import old-server.pem`
}

// Run imports keys.
func (c *vapidImportCmd) Run(ctx context.Context, a *app) error {
	text, err := a.readAll(c.File)
	if err != nil {
		return err
	}
	return a.changeVAPID(func(dir config.Dir) (config.VAPID, error) { return dir.ImportVAPID(ctx, text) })
}

type vapidRotateCmd struct{}

// Help implements [kong.HelpProvider].
func (vapidRotateCmd) Help() string {
	return `A subscription is bound to the key that it was made with, so nothing changes for a device until its page is opened: then it subscribes anew. Until then it is told with the old key, which is kept as long as any device needs it.`
}

// Run makes new keys.
func (vapidRotateCmd) Run(ctx context.Context, a *app) error {
	return a.changeVAPID(func(dir config.Dir) (config.VAPID, error) { return dir.RotateVAPID(ctx) })
}

func (a *app) changeVAPID(change func(config.Dir) (config.VAPID, error)) error {
	dir, err := a.dir()
	if err != nil {
		return err
	}
	v, err := change(dir)
	if err != nil {
		return err
	}
	return a.printVAPID(v)
}
