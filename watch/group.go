package watch

import (
	"fmt"
	"slices"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/watch/price"
)

// Sibling is another watch of the same recipient and group, as it stands.
type Sibling struct {
	Entry Entry
	// Keys are the key rows of its channels, in their order.
	Keys []lastlook.KeyRow
}

// told returns what was told of the sibling through a channel; ok is false if it
// is not told through that.
func (s *Sibling) told(channel string) (t Telling, ok bool) {
	i := slices.Index(s.Entry.Watch.Channels, channel)
	if i < 0 || i >= len(s.Keys) {
		return t, false
	}
	t, err := TellingOf(s.Keys[i])
	return t, err == nil
}

// readable reports whether the price that is known of the sibling's listing was
// there when it was last looked at.
func (s *Sibling) readable() bool {
	return s.Entry.Err == nil && s.Entry.Last != nil && s.Entry.Listing.Failures == 0 && s.Entry.Listing.Standing.Pending.Doubt == ""
}

// Cheapest is what a finding knows of the other shops of a group.
type Cheapest struct {
	// Shops is how many there are, this one included, Known at how many of them
	// the price could be read.
	Shops int `json:"shops"`
	Known int `json:"known"`
}

// amongGroup compares a finding that is news with the other shops of the
// watch's group: only the cheapest of those at which it holds is told of, and
// nothing while what was told of another one still holds.
func (q *question) amongGroup(f *Finding) {
	channel := q.b.Told.Channel
	if q.t.Kind != Below || len(q.b.Group) == 0 || channel == "" {
		return
	}
	f.Group = &Cheapest{Shops: 1, Known: 1}
	for i := range q.b.Group {
		s := &q.b.Group[i]
		w := &s.Entry.Watch
		told, reached := s.told(channel)
		at := slices.IndexFunc(w.Triggers, func(t Trigger) bool { return t.asksAs(*q.t) })
		if at < 0 || !reached || w.Paused || w.SnoozedUntil.After(q.now) {
			continue
		}
		f.Group.Shops++
		state, was := s.Entry.States[w.Triggers[at].ID], told.Triggers[w.Triggers[at].ID]
		if s.readable() {
			f.Group.Known++
		}
		if !f.News || !state.Holding {
			continue
		}
		if was.Episode >= state.Episode && !q.againThan(was.Price) {
			f.News, f.Why, f.beaten = false, "told of "+hostOf(s.Entry.Listing.URL)+" at "+was.Price.String(), true
		} else if there := s.Entry.Listing.Standing.Price; s.readable() && q.dearerThan(there, w.ID) {
			f.News, f.Why, f.beaten = false, hostOf(s.Entry.Listing.URL)+" is cheaper: "+there.String(), true
		}
	}
}

// againThan reports whether the price is so much lower than one told of another
// shop that the trigger asks to tell it again.
func (q *question) againThan(told price.Money) bool {
	if q.t.Again.IsZero() {
		return false
	}
	lower, known := moved(Drop, q.t.Again, price.Money{}, told, q.o.Price)
	return lower && known
}

// dearerThan reports whether another shop is to be told of instead; of two equal
// ones it is the one that was watched first by its id.
func (q *question) dearerThan(there price.Money, id string) bool {
	c, ok := q.o.Price.Cmp(there)
	return ok && (c > 0 || c == 0 && q.w.ID > id)
}

// String says how a shop compares, for people.
func (c *Cheapest) String() string {
	if c.Known < c.Shops {
		return fmt.Sprintf("the cheapest of the %d of %d shops that could be read", c.Known, c.Shops)
	}
	return fmt.Sprintf("the cheapest of %d shops", c.Shops)
}

// groupListings returns the listings of the watches' siblings that are to be
// looked at as well, so that what is told of all the shops is as fresh as what is
// told of one.
func groupListings(entries []Entry, known func(listingID string) bool) (out []Listing) {
	seen := map[string]bool{}
	for i := range entries {
		for j := range entries[i].Group {
			l := entries[i].Group[j].Entry.Listing
			if !known(l.ID) && !seen[l.ID] {
				seen[l.ID] = true
				out = append(out, l)
			}
		}
	}
	return out
}
