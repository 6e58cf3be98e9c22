package main

import (
	"context"

	"github.com/lastlook/lastlook/internal/demo"
)

type demoCmd struct {
	Seed uint64 `default:"1" placeholder:"N" help:"What the day is made from: the same seed gives the same day (default ${default})."`
	Live bool   `help:"For a minute in real time, through a real shop and a real receiver on this machine."`
}

// Help implements [kong.HelpProvider].
func (*demoCmd) Help() string {
	return `Needs no network, no set-up and no data directory. With --json it prints only the counts, with --quiet only the table. The exit code is 1 if lastlook told anything stale, or never told what was true.

With --live, lastlook alone plays a minute against a real shop and a real receiver on loopback: four products, one of which is put back before it can be told, and one whose shop stumbles. The three ways to notify are compared in the simulation only, where each meets the same events.

Example: lastlook demo --seed 7`
}

// Run plays the day.
func (c *demoCmd) Run(ctx context.Context, a *app) error {
	opt := demo.Options{Seed: c.Seed, JSON: a.out.json, Quiet: a.out.quiet}
	if c.Live {
		return demo.RunLive(ctx, opt, a.streams.out)
	}
	return demo.Run(ctx, opt, a.streams.out)
}
