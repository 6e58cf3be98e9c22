package storetest

import (
	"slices"
	"time"

	"github.com/lastlook/lastlook"
)

// applied notes a change that the store says it made, and checks that it was
// allowed to. It takes what the change is from its event alone.
func (j *journal) applied(c *lastlook.Change) {
	j.Helper()
	rj := j.rows[c.ID]
	if rj == nil || rj.ended {
		j.Fatalf("G2: %q was made of row %d, which is not live", c.Event, c.ID)
	}
	reaped := c.Fence == lastlook.FenceTokenDead
	switch {
	case c.Event != lastlook.EventWithdrawn && rj.token != c.Token:
		j.Fatalf("G2: %q was made of row %d under a stale token", c.Event, c.ID)
	case c.Event == lastlook.EventSending && !rj.lease.After(c.At):
		j.Fatalf("G2: row %d went to sending at %s, its lease had passed at %s", c.ID, c.At, rj.lease)
	case reaped && rj.lease.After(c.At):
		j.Fatalf("G6: row %d was reaped at %s, its lease passes at %s", c.ID, c.At, rj.lease)
	case c.Event == lastlook.EventWithdrawn && rj.sending != nil:
		j.Fatalf("rule 17: row %d was withdrawn while being sent", c.ID)
	}
	j.events[string(c.Event)+" "+string(c.Reason)]++
	if reaped {
		j.events["reaped"]++
	}
	read := rj.token
	switch c.Event {
	case lastlook.EventSending:
		j.asserted(rj, c)
		rj.lease = c.Lease
		return
	case lastlook.EventPostponed, lastlook.EventNotCalled, lastlook.EventMisconfigured:
		rj.given++
	case lastlook.EventAccepted:
		j.told(rj, c.At)
		rj.key.baseline, rj.key.maybe, rj.key.failures = rj.sending.value, nil, 0
	case lastlook.EventOutcomeUnknown, lastlook.EventGaveUpUnknown:
		j.told(rj, c.At)
		rj.key.maybe = rj.sending
	case lastlook.EventRecipientGone:
		j.muted[[2]string{rj.key.key.Recipient, rj.key.key.Channel}] = true
	default:
	}
	rj.token, rj.lease, rj.sending = lastlook.Token{}, time.Time{}, nil
	if c.Ends() {
		j.ended(rj, c, read)
	}
}

// asserted notes that a row went to sending.
func (j *journal) asserted(rj *rowJournal, c *lastlook.Change) {
	j.Helper()
	kj := rj.key
	a := &assertion{row: c.ID, value: canonical(c.Assertion.Value), window: kj.topic.index(c.At, rj.episode),
		deliveryKey: lastlook.DeliveryKey(kj.key, c.Assertion.Seq)}
	if kj.told != nil {
		if kj.toldIn(a.window) && kj.told.row != c.ID {
			j.Fatalf("G1: row %d goes to sending, but %s was told by row %d in the same window", c.ID, kj.key, kj.told.row)
		}
		a.window = max(a.window, kj.told.window)
	}
	switch {
	case kj.maybe != nil && kj.maybe.value == a.value:
		j.events["same assertion again"]++
		if a.deliveryKey != kj.maybe.deliveryKey {
			j.Fatalf("G7: %s may have been told %s; told again, it has another delivery key", kj.key, a.value)
		}
	case kj.used[a.deliveryKey]:
		j.Fatalf("G7: %s is told %s under a delivery key that stood for something else", kj.key, a.value)
	}
	rj.sending = a
}

// told notes that the key was told, or may have been, by this row.
func (j *journal) told(rj *rowJournal, at time.Time) {
	rj.key.told, rj.key.toldAt = rj.sending, at
	rj.key.used[rj.sending.deliveryKey] = true
}

// arrived notes that a row's message reached the receiver.
func (j *journal) arrived(id lastlook.ID) {
	j.Helper()
	rj := j.rows[id]
	kj, a := rj.key, *rj.sending
	for _, earlier := range kj.arrived {
		if earlier.row != a.row && earlier.window == a.window && !kj.topic.always {
			j.Fatalf("G1: %s was told twice in window %d: by row %d and by row %d", kj.key, a.window, earlier.row, a.row)
		}
	}
	kj.arrived = append(kj.arrived, a)
	j.events["arrived"]++
	j.events["arrived again"] += b2i(kj.known[a.deliveryKey])
	switch {
	case !kj.known[a.deliveryKey]:
		kj.shown = a.value
	case kj.shown != a.value:
		j.Fatalf("G7: the receiver of %s ignores a message by its delivery key; it shows %s, the message says %s", kj.key, kj.shown, a.value)
	}
	kj.known[a.deliveryKey], kj.used[a.deliveryKey] = true, true
}

// ended notes the end of a row: its marks go, or become a row.
func (j *journal) ended(rj *rowJournal, c *lastlook.Change, read lastlook.Token) {
	kj := rj.key
	rj.ended, kj.live = true, 0
	kj.lastEnd = c.At
	switch c.Reason {
	case "", lastlook.ReasonConditionLost, lastlook.ReasonOutOfStock, lastlook.ReasonGone, lastlook.ReasonCancelled, lastlook.ReasonRecipientGone:
	default:
		kj.failures++
	}
	switch {
	case c.Reason == lastlook.ReasonWatchRemoved:
		kj.marks = nil
	case !read.IsZero():
		j.events["ended with marks"] += b2i(len(kj.marks) > 0)
		kj.marks = slices.DeleteFunc(kj.marks, func(m markJournal) bool { return m.read == read })
	}
}

// revived notes a row that came by itself. There must be a mark that it comes
// from.
func (j *journal) revived(kj *keyJournal, now time.Time, rec *lastlook.Record) {
	j.Helper()
	if len(kj.marks) == 0 {
		j.Fatalf("G8: key %s got row %d out of nothing", kj.key, rec.ID)
	}
	j.events["revived"]++
	due := kj.marks[len(kj.marks)-1].due
	if due.Before(now) {
		due = now
	}
	kj.marks = nil
	j.born(kj, rec.ID, rec.Episode)
	j.delayed(kj, now, due, rec, false)
}

// awake demands that no mark waits without a live row.
func (j *journal) awake(kj *keyJournal) {
	j.Helper()
	if len(kj.marks) > 0 && kj.live == 0 {
		j.Fatalf("G8: %d marks of %s were left, and no row was made of them", len(kj.marks), kj.key)
	}
}

// forget notes that a key's row may be pruned: nothing is known of it then.
func (j *journal) forget(kj *keyJournal, before time.Time, rows int) {
	if rows > 0 || kj.live != 0 || kj.told != nil && kj.topic.endless || !kj.lastEnd.Before(before) || !kj.toldAt.Before(before) || kj.lastEnd.IsZero() {
		return
	}
	j.events["forgotten"]++
	*kj = keyJournal{key: kj.key, topic: kj.topic, used: map[string]bool{}, known: map[string]bool{}}
}
