package main

import (
	"context"
	"time"

	"github.com/lastlook/lastlook/internal/server"
)

// keepFlags say how long what is over is kept.
type keepFlags struct {
	KeepTold     time.Duration `default:"2160h" env:"LASTLOOK_KEEP_TOLD" placeholder:"DURATION" help:"Keep notifications that were sent or failed this long; 0 for ever (default ${default}, 90 days)."`
	KeepWithheld time.Duration `default:"720h" env:"LASTLOOK_KEEP_WITHHELD" placeholder:"DURATION" help:"Keep notifications that were dropped this long; 0 for ever (default ${default}, 30 days)."`
	KeepKeys     time.Duration `default:"17520h" env:"LASTLOOK_KEEP_KEYS" placeholder:"DURATION" help:"Remember what was told this long after the last notification of it is gone; 0 for ever (default ${default}, two years, which is the least)."`
	KeepLooks    time.Duration `default:"720h" env:"LASTLOOK_KEEP_LOOKS" placeholder:"DURATION" help:"Keep every look this long, and then each day's lowest price and last look; 0 for ever (default ${default}, 30 days)."`
}

func (k *keepFlags) retention() server.Retention {
	return server.Retention{Told: k.KeepTold, Withheld: k.KeepWithheld, Keys: k.KeepKeys, Looks: k.KeepLooks}
}

type pruneCmd struct{ keepFlags }

// Help implements [kong.HelpProvider].
func (*pruneCmd) Help() string {
	return `lastlook serve does this by itself, a little at a time. This is for those who run lastlook tick, and for once after the numbers have changed. It may run beside any other lastlook.

Example: lastlook prune --keep-told 720h`
}

// Run deletes what is old.
func (c *pruneCmd) Run(ctx context.Context, a *app) error {
	a.retention = c.retention()
	if err := a.retention.Check(); err != nil {
		return err
	}
	return a.with(ctx, func(s *server.Server) error {
		n, err := s.Prune(ctx)
		if err != nil {
			return err
		}
		if a.out.json {
			return a.out.value(n)
		}
		a.out.linef("deleted: %s that were told or failed, %d withheld; %s; %s", plural(n.Told, "notification"), n.Withheld, plural(n.Keys, "key"), plural(n.Looks, "look"))
		return nil
	})
}
