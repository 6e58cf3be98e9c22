package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/lastlook/lastlook/internal/server"
)

type importCmd struct {
	File        string        `arg:"" help:"The file, - for standard input."`
	Format      string        `enum:"auto,json,csv,urls,changedetection" default:"auto" placeholder:"FORMAT" help:"auto (default), json or csv of lastlook export, urls (a list of addresses), or changedetection: a backup of changedetection.io, or its url-watches.json."`
	DryRun      bool          `help:"Say what would become of each watch, and add none."`
	Currency    string        `placeholder:"CODE" help:"The currency of amounts that name none. Without it such watches are refused: none is guessed."`
	When        whenFlags     `embed:""`
	IgnoreStock bool          `help:"Tell by the price alone, where the file does not say when to tell."`
	Every       time.Duration `default:"15m" placeholder:"DURATION" help:"How often to look where the file does not say (default ${default})."`
	To          []string      `default:"log" placeholder:"CHANNEL" help:"The channels to tell through where the file names none, separated by commas or given several times (default ${default})."`
	Recipient   string        `default:"me" placeholder:"WHO" help:"Who is told where the file names nobody (default ${default})."`
	Zone        string        `placeholder:"ZONE" help:"The time zone where the file names none, such as Europe/Berlin; the default is UTC."`
}

// Help implements [kong.HelpProvider].
func (*importCmd) Help() string {
	return `Says of each watch what became of it: imported, there already, or refused, and why. One that asks the same of the same page for the same recipient through the same channels is there already, so an import that was interrupted can simply be repeated. Nothing is looked at now: serve does.

What the file does not say is taken from the flags. A list of addresses says nothing of when to tell, so it needs a trigger. The exit code is 1 if a watch was refused.

Example: lastlook import wishlist.txt --below "500 EUR" --to phone`
}

// importView is the JSON of an import.
type importView struct {
	Format   string         `json:"format"`
	DryRun   bool           `json:"dry_run"`
	Imported int            `json:"imported"`
	Existing int            `json:"existing"`
	Refused  int            `json:"refused"`
	Notes    []string       `json:"notes"`
	Lines    []importedView `json:"lines"`
}

type importedView struct {
	Where string   `json:"where"`
	URL   string   `json:"url,omitzero"`
	Did   string   `json:"did"`
	ID    string   `json:"id,omitzero"`
	Why   string   `json:"why,omitzero"`
	Notes []string `json:"notes"`
}

// Run imports.
func (c *importCmd) Run(ctx context.Context, a *app) error {
	if c.Every == 0 {
		return server.CheckInterval(c.Every)
	}
	i, err := c.read(a)
	if err != nil {
		return err
	}
	open := a.with
	if c.DryRun {
		open = a.reading
	}
	v := importView{Format: i.Format, DryRun: c.DryRun, Notes: append([]string{}, i.Notes...), Lines: []importedView{}}
	bar := newBar(a.err, i.Len())
	err = open(ctx, func(s *server.Server) error {
		if !a.out.json {
			for _, n := range i.Notes {
				a.out.linef("note: %s", n)
			}
		}
		defer bar.clear()
		return s.Import(ctx, &i, c.DryRun, func(line server.Imported) error {
			bar.clear()
			v.take(a, line)
			bar.step()
			return a.out.err
		})
	})
	switch {
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("interrupted after %d of %d; the same command goes on where it stopped", v.Imported+v.Existing+v.Refused, i.Len())
	case err != nil:
		return err
	}
	if a.out.json {
		err = a.out.value(v)
	} else {
		would := ""
		if c.DryRun {
			would = "would be "
		}
		a.out.linef("%s: %d %simported, %d there already, %d refused", v.Format, v.Imported, would, v.Existing, v.Refused)
	}
	if err == nil && v.Refused > 0 {
		err = exit(exitFailed)
	}
	return err
}

// read reads the file.
func (c *importCmd) read(a *app) (server.Import, error) {
	from := a.in
	if c.File != "-" {
		f, err := os.Open(c.File)
		if err != nil {
			return server.Import{}, fmt.Errorf("read the file: %w", err)
		}
		defer func() { _ = f.Close() }() // it was only read
		from = f
	}
	return server.ReadImport(from, c.Format, c.Currency, server.NewWatch{
		Below: c.When.Below, BackInStock: c.When.BackInStock, IgnoreStock: c.IgnoreStock, More: c.When.wishes(),
		Every: c.Every, Channels: c.To, Recipient: c.Recipient, Zone: c.Zone,
	})
}

// take counts a line, and prints or keeps it.
func (v *importView) take(a *app, line server.Imported) {
	switch line.Did {
	case server.ImportDone:
		v.Imported++
	case server.ImportExists:
		v.Existing++
	case server.ImportRefused:
		v.Refused++
	}
	why := line.Why
	if why != "" {
		why = explain(errors.New(why))
	}
	if a.out.json {
		v.Lines = append(v.Lines, importedView{Where: line.Where, URL: line.URL, Did: line.Did, ID: line.ID, Why: why, Notes: append([]string{}, line.Notes...)})
		return
	}
	text := line.Did
	if line.Did == server.ImportExists {
		text = "exists already"
	}
	for _, more := range []string{line.ID, line.URL} {
		if more != "" {
			text += " " + more
		}
	}
	if why != "" {
		text += ": " + why
	}
	a.out.linef("%s: %s", line.Where, text)
	for _, n := range line.Notes {
		a.out.linef("  note: %s", n)
	}
}

// bar shows on a terminal how far something has come; elsewhere it shows nothing.
type bar struct {
	w           io.Writer // nil where there is no terminal
	done, total int
}

func newBar(w io.Writer, total int) *bar {
	b := &bar{total: total}
	if f, ok := w.(*os.File); ok && total > 0 {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			b.w = w
		}
	}
	return b
}

// step counts one more, and draws.
func (b *bar) step() {
	if b.done++; b.w == nil {
		return
	}
	const width = 30
	full := width * b.done / b.total
	_, _ = fmt.Fprintf(b.w, "[%s%s] %d/%d", strings.Repeat("#", full), strings.Repeat(".", width-full), b.done, b.total)
}

// clear takes the bar away, so that a line can be printed.
func (b *bar) clear() {
	if b.w != nil && b.done > 0 {
		_, _ = io.WriteString(b.w, "\r\x1b[K")
	}
}
