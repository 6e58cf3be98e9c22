package main

import (
	"context"
	"fmt"

	"github.com/lastlook/lastlook/internal/config"
)

type recipientCmd struct {
	Set    recipientSetCmd    `cmd:"" help:"Set when, and how often, a recipient is told."`
	List   recipientListCmd   `cmd:"" help:"List what is set for recipients."`
	Remove recipientRemoveCmd `cmd:"" help:"Tell a recipient at any time again."`
}

type recipientSetCmd struct {
	Name       string `arg:"" help:"The recipient, as watches name it with --recipient."`
	Zone       string `placeholder:"ZONE" help:"The recipient's IANA time zone, such as Europe/Berlin (default UTC)."`
	QuietHours string `placeholder:"HOURS" help:"Hours in which they are not told, such as 22:00-07:00."`
	PerDay     int    `placeholder:"N" help:"How many messages a day they get at most; 0 for any number."`
}

// Help implements [kong.HelpProvider].
func (*recipientSetCmd) Help() string {
	return `What comes in quiet hours, or beyond the day's number, waits, and is looked at when it may be told: only what is still true then is. Takes the place of what was set before.

Example: lastlook recipient set me --zone Europe/Berlin --quiet-hours 22:00-07:00 --per-day 20`
}

// recipientView is the JSON of a recipient.
type recipientView struct {
	Name   string `json:"name"`
	Zone   string `json:"zone"`
	Quiet  string `json:"quiet,omitzero"`
	PerDay int    `json:"per_day,omitzero"`
}

func newRecipientView(p config.Person) recipientView {
	return recipientView{Name: p.Name, Zone: firstOf(p.Zone, "UTC"), Quiet: p.Quiet, PerDay: p.PerDay}
}

// Run sets what a recipient asks for.
func (c *recipientSetCmd) Run(ctx context.Context, a *app) error {
	p := config.Person{Name: c.Name, Zone: c.Zone, Quiet: c.QuietHours, PerDay: c.PerDay}
	if c.QuietHours == "" && c.PerDay == 0 {
		return usagef("give --quiet-hours or --per-day; lastlook recipient remove %s tells them at any time", plain(c.Name))
	}
	dir, err := a.dir()
	if err != nil {
		return err
	}
	if err := dir.UpdatePeople(ctx, func(all config.People) (config.People, error) { return all.Set(p) }); err != nil {
		return err
	}
	if a.out.json {
		return a.out.value(newRecipientView(p))
	}
	a.out.linef("recipient %s is set", p.Name)
	return nil
}

type recipientListCmd struct{}

// Run lists what is set.
func (recipientListCmd) Run(a *app) error {
	missing, err := a.missing()
	if err != nil {
		return err
	}
	var people config.People
	if !missing {
		dir, err := a.dir()
		if err != nil {
			return err
		}
		if people, err = dir.People(); err != nil {
			return err
		}
	}
	views, rows := []recipientView{}, [][]string{}
	for _, p := range people {
		v := newRecipientView(p)
		perDay := ""
		if v.PerDay > 0 {
			perDay = fmt.Sprint(v.PerDay)
		}
		views = append(views, v)
		rows = append(rows, []string{v.Name, v.Zone, v.Quiet, perDay})
	}
	if a.out.json {
		return a.out.value(views)
	}
	a.out.table([]string{"NAME", "ZONE", "QUIET", "PER DAY"}, rows)
	return nil
}

type recipientRemoveCmd struct {
	Name string `arg:"" help:"The recipient."`
}

// Run forgets what is set for a recipient.
func (c *recipientRemoveCmd) Run(ctx context.Context, a *app) error {
	dir, err := a.dir()
	if err != nil {
		return err
	}
	if err := dir.UpdatePeople(ctx, func(all config.People) (config.People, error) { return all.Remove(c.Name) }); err != nil {
		return err
	}
	if a.out.json {
		return a.out.value(changedView{ID: c.Name, Did: "removed"})
	}
	a.out.notef("recipient %s is told at any time", c.Name)
	return nil
}
