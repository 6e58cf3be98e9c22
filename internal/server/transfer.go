package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/lastlook/lastlook/device"
	"github.com/lastlook/lastlook/internal/transfer"
	"github.com/lastlook/lastlook/watch"
)

// ExportWatches writes all watches in a format: "json", "csv" or "urls". It returns
// how many, and those that this version cannot read, which are left out.
func (s *Server) ExportWatches(ctx context.Context, w io.Writer, format string) (written int, unreadable []Entry, err error) {
	all, err := s.watches.List(ctx)
	if err != nil {
		return 0, nil, err
	}
	var entries []transfer.Entry
	for i := range all {
		e := &all[i]
		if e.Err != nil {
			unreadable = append(unreadable, *e)
			continue
		}
		l := e.Listing
		if e.Interval != 0 {
			l.Interval = e.Interval // the listing has the shortest of all who watch it
		}
		entries = append(entries, transfer.Entry{Listing: l, Watch: e.Watch})
	}
	return len(entries), unreadable, transfer.Write(w, transfer.Format(format), s.opt.Clock(), entries)
}

// Import is a file that was read, to be imported.
type Import struct {
	// Format is how it is written; Notes are about the whole of it.
	Format string
	Notes  []string
	items  []transfer.Item
}

// Len returns how many watches the file holds.
func (i *Import) Len() int { return len(i.items) }

// ReadImport reads a file. format is "auto", "json", "csv", "urls" or
// "changedetection". n says what counts where the file says nothing; currency is
// that of amounts that name none.
func ReadImport(r io.Reader, format, currency string, n NewWatch) (Import, error) {
	d, err := n.defaults(currency)
	if err != nil {
		return Import{}, err
	}
	f, err := transfer.Read(r, transfer.Format(format), d)
	if err != nil {
		return Import{}, err
	}
	return Import{Format: string(f.Format), Notes: f.Notes, items: f.Items}, nil
}

// defaults makes what counts where a file says nothing.
func (n *NewWatch) defaults(currency string) (transfer.Defaults, error) {
	d := transfer.Defaults{Currency: strings.ToUpper(currency)}
	l := watch.Listing{Source: pageSource, Options: n.Options, Interval: n.Every}
	if l.Interval == 0 {
		l.Interval = watch.DefaultInterval
	}
	if err := CheckInterval(l.Interval); err != nil {
		return d, err
	}
	w := watch.Watch{Recipient: n.Recipient, Channels: n.Channels, IgnoreStock: n.IgnoreStock, Zone: n.Zone, Cooldown: n.More.Cooldown, Rearm: n.More.Rearm,
		MaxInterval: n.More.Slowest, Group: n.More.Group}
	var err error
	if w.Triggers, err = n.triggers(); err != nil {
		return d, err
	}
	if w.Points, err = readPoints(n.More.Points); err != nil {
		return d, err
	}
	probe := w
	if len(probe.Triggers) == 0 {
		probe.Triggers = []watch.Trigger{{ID: "any", Kind: watch.AnyChange}}
	}
	if err := probe.Validate(); err != nil {
		return d, err
	}
	d.Entry = transfer.Entry{Listing: l, Watch: w}
	return d, nil
}

// Imported is what became of one watch of a file.
type Imported struct {
	// Where is its place in the file, URL its address; "" if that is none.
	Where, URL string
	// Did is "imported", "exists" or "refused".
	Did string
	// ID is the watch's; "" if there is none, as after a dry run.
	ID string
	// Why says why it was refused; Notes what was not taken over.
	Why   string
	Notes []string
}

// The words of [Imported].
const (
	ImportDone    = "imported"
	ImportExists  = "exists"
	ImportRefused = "refused"
)

// Import adds the watches of a file that are not there yet, and says of each, as soon
// as it is known, what became of it. One that asks the same of the same page for the
// same recipient is there: so an import that was interrupted can be repeated. With
// dryRun nothing is added. Nothing is looked at: serve does, as politely as ever.
func (s *Server) Import(ctx context.Context, i *Import, dryRun bool, each func(Imported) error) error {
	all, err := s.watches.List(ctx)
	if err != nil {
		return err
	}
	known := make(map[string]string, len(all))
	for j := range all {
		if all[j].Err == nil {
			known[identity(&all[j].Listing, &all[j].Watch)] = all[j].Watch.ID
		}
	}
	devices := map[string]bool{}
	list, err := s.devices.List(ctx)
	if err != nil {
		return err
	}
	for j := range list {
		devices[list[j].ID] = true
	}
	for j := range i.items {
		if err := ctx.Err(); err != nil {
			return err
		}
		out, err := s.importOne(ctx, i.items[j], known, devices, dryRun)
		if err != nil {
			return err
		}
		if err := each(out); err != nil {
			return err
		}
	}
	return nil
}

// importOne adds one watch. The error is one of the store's: whatever is wrong with
// the watch itself is in what it returns.
func (s *Server) importOne(ctx context.Context, it transfer.Item, known map[string]string, devices map[string]bool, dryRun bool) (Imported, error) {
	out := Imported{Where: it.Where, Notes: it.Notes, Did: ImportRefused}
	if u, err := watch.ParseURL(it.Listing.URL); err == nil {
		out.URL = u // any other may hold a password
	}
	if it.Err == nil {
		it.Err = s.checkImport(&it, devices)
	}
	if it.Err != nil {
		out.Why = it.Err.Error()
		return out, nil
	}
	key := identity(&it.Listing, &it.Watch)
	id, exists := known[key]
	if exists {
		out.Did, out.ID = ImportExists, id
		return out, nil
	}
	out.Did = ImportDone
	if !dryRun {
		e, err := s.watches.Add(ctx, s.opt.Clock(), it.Listing, it.Watch)
		switch {
		case errors.Is(err, ErrInvalid):
			out.Did, out.Why = ImportRefused, err.Error()
			return out, nil
		case err != nil:
			return out, fmt.Errorf("add the watch of %s: %w", it.Where, err)
		}
		out.ID = e.Watch.ID
	}
	known[key] = out.ID
	return out, nil
}

// checkImport says why a watch cannot be added.
func (s *Server) checkImport(it *transfer.Item, devices map[string]bool) error {
	l, w := &it.Listing, &it.Watch
	w.Triggers = slices.Clone(w.Triggers)
	watch.RenewIDs(nil, w)
	if id, ok := device.IDOf(w.Recipient); ok && !devices[id] {
		return fmt.Errorf("%w: it is told to a device that is not known here: watch it from there", ErrInvalid)
	}
	if err := CheckInterval(l.Interval); err != nil {
		return err
	}
	if err := readBy(l, l.Source); err != nil {
		return err
	}
	if err := w.Validate(); err != nil {
		return err
	}
	return s.channels.Load().check(w)
}

// identity is the same for watches that ask the same of the same page for the same
// recipient through the same channels, whatever they are called and however often
// they look and tell.
func identity(l *watch.Listing, w *watch.Watch) string {
	var asks []string
	for i := range w.Triggers {
		t := &w.Triggers[i]
		since := t.Since
		if since == "" {
			since = watch.LastNotified
		}
		asks = append(asks, fmt.Sprintf("%s|%s|%s|%s|%s|%s|%d|%t|%q", t.Kind, t.Target, t.Per, t.Percent.Trim(0), t.Amount, since, t.Days, t.MatchEqual, t.When))
	}
	slices.Sort(asks)
	channels := slices.Sorted(slices.Values(w.Channels))
	return fmt.Sprintf("%q %q %+v %t %q %q %t %q", l.Source, l.URL, l.Options, l.Private, w.Recipient, channels, w.IgnoreStock, asks)
}
