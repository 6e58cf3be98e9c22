package watchdb

import (
	"context"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/watch"
)

// readGroups gives the watches that are in a group their siblings: a fixed
// number of statements for any number of watches, none if none is in a group.
func (s *session) readGroups(ctx context.Context, list []*stored) error {
	type group [2]string // recipient, name
	of := func(e *stored) group { return group{e.Watch.Recipient, e.Watch.Group} }
	asked := map[group]bool{}
	var groups []group
	for _, e := range list {
		if g := of(e); e.Watch.Group != "" && !asked[g] {
			asked[g] = true
			groups = append(groups, g)
		}
	}
	if len(groups) == 0 {
		return nil
	}
	arg, err := jsonText(groups)
	if err != nil {
		return err
	}
	members, err := s.entries(ctx, "watches_by_group", arg)
	if err != nil {
		return err
	}
	var keys []lastlook.Key
	for _, m := range members {
		for _, channel := range m.Watch.Channels {
			keys = append(keys, watch.Key(&m.Watch, channel))
		}
	}
	rows, err := s.tx.KeyRows(ctx, keys)
	if err != nil {
		return err
	}
	byGroup := map[group][]watch.Sibling{}
	for _, m := range members {
		n := len(m.Watch.Channels)
		byGroup[of(m)] = append(byGroup[of(m)], watch.Sibling{Entry: m.Entry, Keys: rows[:n]})
		rows = rows[n:]
	}
	for _, e := range list {
		for _, sibling := range byGroup[of(e)] {
			if sibling.Entry.Watch.ID != e.Watch.ID {
				e.Group = append(e.Group, sibling)
			}
		}
	}
	return nil
}
