package main

import (
	"context"
	"fmt"

	"github.com/lastlook/lastlook/internal/config"
	"github.com/lastlook/lastlook/internal/server"
)

type sourceCmd struct {
	Set    sourceSetCmd    `cmd:"" help:"Set the key that a source needs."`
	List   sourceListCmd   `cmd:"" help:"List the sources, and what they need."`
	Remove sourceRemoveCmd `cmd:"" help:"Remove a source's key."`
}

type sourceSetCmd struct {
	Name    string `arg:"" help:"The source: rakuten or yahoo."`
	KeyFile string `required:"" placeholder:"FILE" help:"A file with the key, - for standard input."`
	Site    string `placeholder:"URL" help:"For rakuten: the web site that was registered with the keys, if there is one."`
}

// Help implements [kong.HelpProvider].
func (*sourceSetCmd) Help() string {
	return `What belongs into the file: for rakuten the application ID and the access key (webservice.rakuten.co.jp), each on a line of its own; for yahoo the client ID (developer.yahoo.co.jp). It is never taken from the command line, where other users could read it, and never shown again. A lastlook that serves takes it up by itself; setting it again replaces it.

Example: lastlook source set rakuten --key-file rakuten.txt`
}

// sourceView is the JSON of a source.
type sourceView struct {
	Name  string `json:"name"`
	Reads string `json:"reads"`
	// Needs is "key", "browser" or nothing.
	Needs string `json:"needs,omitzero"`
	// Ready says that it has the key; of what needs a browser, serve decides.
	Ready bool `json:"ready"`
}

// Run sets a source's key.
func (c *sourceSetCmd) Run(ctx context.Context, a *app) error {
	b, err := a.readAll(c.KeyFile)
	if err != nil {
		return err
	}
	if len(b) > maxSecret {
		return usagef("%s is too long for a key: put only the key into it", c.KeyFile)
	}
	k, err := config.ReadSourceKey(c.Name, string(b))
	if err != nil {
		return err
	}
	k.Site = c.Site
	if err := k.Validate(); err != nil {
		return err
	}
	if err := server.CheckSourceKey(a.options(), k); err != nil {
		return err
	}
	dir, err := a.dir()
	if err != nil {
		return err
	}
	err = dir.UpdateSourceKeys(ctx, func(s config.SourceKeys) (config.SourceKeys, error) { return s.Set(k) })
	if err != nil {
		return err
	}
	if a.out.json {
		return a.out.value(changedView{ID: k.Source, Did: "set"})
	}
	a.out.linef("the key of the source %s is set: lastlook watch add URL --source %[1]s", k.Source)
	return nil
}

type sourceListCmd struct{}

// Run lists the sources.
func (sourceListCmd) Run(a *app) error {
	missing, err := a.missing()
	if err != nil {
		return err
	}
	var keys config.SourceKeys
	if !missing {
		dir, err := a.dir()
		if err != nil {
			return err
		}
		if keys, err = dir.SourceKeys(); err != nil {
			return err
		}
	}
	var views []sourceView
	var rows [][]string
	for _, s := range server.Sources() {
		v, state := sourceView{Name: s.Name, Reads: s.Reads, Ready: true}, ""
		switch {
		case s.NeedsKey:
			v.Needs = "key"
			_, v.Ready = keys.Of(s.Name)
			state = "a key, which is set"
			if !v.Ready {
				state = "a key: lastlook source set " + s.Name
			}
		case s.NeedsBrowser:
			v.Needs, v.Ready = "browser", false
			state = "Chromium: lastlook serve --browser"
		}
		views = append(views, v)
		rows = append(rows, []string{s.Name, s.Reads, state})
	}
	if a.out.json {
		return a.out.value(views)
	}
	a.out.table([]string{"NAME", "READS", "NEEDS"}, rows)
	return nil
}

type sourceRemoveCmd struct {
	Name  string `arg:"" help:"The source whose key is removed."`
	Force bool   `help:"Remove it although watches are read with it."`
}

// Run removes a source's key.
func (c *sourceRemoveCmd) Run(ctx context.Context, a *app) error {
	return a.with(ctx, func(s *server.Server) error {
		using, err := s.ReadBy(ctx, c.Name)
		if err != nil {
			return err
		}
		dir, err := a.dir()
		if err != nil {
			return err
		}
		err = dir.UpdateSourceKeys(ctx, func(keys config.SourceKeys) (config.SourceKeys, error) {
			out, err := keys.Remove(c.Name)
			if err == nil && len(using) > 0 && !c.Force {
				return nil, fmt.Errorf("%s read with the key of %q: remove what lastlook watch list shows of it first, or give --force", are(len(using)), c.Name)
			}
			return out, err
		})
		if err != nil {
			return err
		}
		if a.out.json {
			return a.out.value(changedView{ID: c.Name, Did: "removed"})
		}
		a.out.notef("the key of the source %s is removed", c.Name)
		return nil
	})
}

func are(n int) string {
	if n == 1 {
		return "a watch is"
	}
	return fmt.Sprintf("%d watches are", n)
}
