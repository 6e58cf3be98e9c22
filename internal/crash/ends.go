package crash

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lastlook/lastlook"
)

// Ends is how notifications ended, as seen at one time.
type Ends map[lastlook.ID]string

// endsOf tells how those of the records ended that have.
func endsOf(records []lastlook.Record) Ends {
	out := Ends{}
	for i := range records {
		r := &records[i]
		if !r.State.Live() {
			out[r.ID] = fmt.Sprintf("%s %q at %d, attempt %d, asserted %s in %q (%d), seen %s",
				r.State, r.Reason, r.EndedAt.UnixMicro(), r.Attempt, r.Asserted, r.Window, r.Seq, r.Seen)
		}
	}
	return out
}

// Compare tells what of e is otherwise later on: nothing may be.
func (e Ends) Compare(later Ends) []string {
	var out []string
	for id, was := range e {
		switch is, ok := later[id]; {
		case !ok:
			out = append(out, fmt.Sprintf("row %d was %s, and is not final any more", id, was))
		case is != was:
			out = append(out, fmt.Sprintf("row %d was %s, and is %s", id, was, is))
		}
	}
	slices.Sort(out)
	return out
}

const listPage = 1000

// list reads all notifications.
func list(ctx context.Context, s lastlook.Store) ([]lastlook.Record, error) {
	var out []lastlook.Record
	q := lastlook.Query{Limit: listPage}
	for {
		page, err := s.List(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("list notifications: %w", err)
		}
		out = append(out, page...)
		if len(page) < listPage {
			return out, nil
		}
		q.Before = page[len(page)-1].ID
	}
}

// watcher compares final rows from time to time.
type watcher struct {
	seen    Ends
	changed []string
}

func (w *watcher) look(records []lastlook.Record) {
	now := endsOf(records)
	w.changed = append(w.changed, w.seen.Compare(now)...)
	w.seen = now
}

// gather reads the evidence, and with it takes a last look at final rows.
func gather(ctx context.Context, b Backend, dir string, seed uint64, w *watcher) (ev Evidence, err error) {
	ev.Seed = seed
	for name, to := range map[string]*[]Entry{enqueuerJournal: &ev.Enqueuer, topicJournal: &ev.Topics, channelJournal: &ev.Channels} {
		if *to, err = readJournals(dir, name); err != nil {
			return ev, err
		}
	}
	err = with(ctx, b, dir, func(db Database) error {
		records, err := list(ctx, db.Store())
		if err != nil {
			return err
		}
		w.look(records)
		for i := range records {
			r, err := db.Store().Get(ctx, records[i].ID)
			if err != nil {
				return err
			}
			ev.Rows = append(ev.Rows, r)
		}
		st, err := db.Store().Stats(ctx, time.Now(), time.Now())
		if err != nil {
			return err
		}
		ev.Marks = st.Marks
		if ev.Notes, err = db.Notes(ctx); err != nil {
			return err
		}
		return db.Check(ctx)
	})
	ev.Changed = w.changed
	return ev, err
}
