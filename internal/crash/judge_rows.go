package crash

import (
	"slices"
	"strconv"
	"strings"

	"github.com/lastlook/lastlook"
)

// lost finds acknowledged rows that are not there, and rows that did not end.
func (c *court) lost() {
	for i := range c.Rows {
		if r := &c.Rows[i]; r.State.Live() {
			c.find(FaultLost, r, "it never ended: %s, attempt %d, due %s, lease %s", r.State, r.Attempt, r.Due, r.Leased)
		}
	}
	if c.Marks > 0 {
		c.find(FaultLost, nil, "%d marks are left", c.Marks)
	}
	for i := range c.Enqueuer {
		if e := &c.Enqueuer[i]; e.Kind == KindAck {
			for _, one := range e.Items {
				c.acknowledged(e, one)
			}
		}
	}
}

// acknowledged looks for the row that an answer named.
func (c *court) acknowledged(e *Entry, one EnqueuedOne) {
	c.ruling.Enqueued[one.Status]++
	if one.Status == lastlook.Muted.String() {
		return
	}
	row := c.rows[one.ID]
	switch {
	case row == nil:
		c.find(FaultLost, nil, "call %d was answered %s, row %d, which is not there", e.N, one.Status, one.ID)
	case row.Key != one.Key:
		c.find(FaultLost, row, "call %d was answered %s, row %d, which is of another key than %s", e.N, one.Status, one.ID, one.Key)
	case one.Status == lastlook.Inserted.String() && strings.TrimPrefix(row.Trace, txTrace) != strconv.FormatInt(e.N, 10):
		c.find(FaultLost, row, "call %d was answered inserted, row %d, which call %s has made", e.N, row.ID, row.Trace)
	}
}

// marks finds edges that met a live row and led to no look: that row was not
// looked at after them, and the key's next row was not made from its marks.
func (c *court) marks() {
	intents, inserted := map[int64]int64{}, map[lastlook.ID]bool{}
	for i := range c.Enqueuer {
		e := &c.Enqueuer[i]
		switch e.Kind {
		case KindIntent:
			intents[e.N] = e.At
		case KindAck:
			for _, one := range e.Items {
				inserted[one.ID] = inserted[one.ID] || one.Status == lastlook.Inserted.String()
			}
		default: // of no interest here
		}
	}
	looks := map[lastlook.Key][]int64{} // ascending
	for i := range c.Topics {
		if e := &c.Topics[i]; e.Kind == KindJudged {
			looks[e.Key] = append(looks[e.Key], e.LookedAt)
		}
	}
	for _, l := range looks {
		slices.Sort(l)
	}
	for i := range c.Enqueuer {
		e := &c.Enqueuer[i]
		if e.Kind != KindAck {
			continue
		}
		for _, one := range e.Items {
			row := c.rows[one.ID]
			if one.Status != lastlook.Marked.String() || row == nil || row.State.Live() {
				continue // no mark, or lost in other ways
			}
			since := intents[e.N]
			if !lookedAt(row, since, looks[one.Key]) && !c.followed(row, inserted) && !c.absorbed(row, since, looks[one.Key]) {
				c.find(FaultLost, row, "the mark that call %d left at %s led to no look", e.N, clock(since))
			}
		}
	}
}

// lookedAt reports whether a row was looked at from a moment on, before its end,
// or ended in a way that needs no look. looks are those at its key.
func lookedAt(r *lastlook.Record, since int64, looks []int64) bool {
	switch r.Reason {
	case lastlook.ReasonAlreadyTold, lastlook.ReasonMuted, lastlook.ReasonExpired, lastlook.ReasonAttemptsExhausted:
		return true
	default:
	}
	if i, _ := slices.BinarySearch(looks, since); i < len(looks) && looks[i] <= r.EndedAt.UnixMicro() {
		return true
	}
	return slices.ContainsFunc(r.Story, func(s lastlook.Step) bool {
		return !s.LookedAt.IsZero() && s.LookedAt.UnixMicro() >= since
	})
}

// followed reports whether the key's next row was made from marks, as far as is
// known: no call was answered that it inserted it.
func (c *court) followed(r *lastlook.Record, inserted map[lastlook.ID]bool) bool {
	rows := c.byKey[r.Key]
	i := slices.Index(rows, r)
	return i+1 < len(rows) && !inserted[rows[i+1].ID]
}

// torn finds transactions of the application of which only a part is there.
func (c *court) torn() {
	notes := map[int64]*Note{}
	for i := range c.Notes {
		n := &c.Notes[i]
		notes[n.N] = n
		for _, id := range n.IDs {
			if c.rows[id] == nil {
				c.find(FaultTorn, nil, "the application's row %d is there, the outbox's row %d is not", n.N, id)
			}
		}
	}
	for i := range c.Rows {
		r := &c.Rows[i]
		text, tx := strings.CutPrefix(r.Trace, txTrace)
		if !tx {
			continue
		}
		if n, err := strconv.ParseInt(text, 10, 64); err != nil || notes[n] == nil {
			c.find(FaultTorn, r, "it was enqueued together with the application's row %s, which is not there", text)
		}
	}
	for i := range c.Enqueuer {
		if e := &c.Enqueuer[i]; e.Kind == KindRolledBack && notes[e.N] != nil {
			c.find(FaultTorn, nil, "the application's row %d was rolled back, and is there", e.N)
		}
	}
}

// outcomes compares what ended as sent with what the channels accepted.
func (c *court) outcomes() {
	byRow := acceptsBy(c.accepts, func(a *acceptance) lastlook.ID { return a.ID })
	for _, key := range c.keys() {
		rows := c.byKey[key]
		var told *lastlook.Record // the last that was sent
		for _, r := range rows {
			if r.State == lastlook.StateSent {
				told = r
				c.sent(r, byRow[r.ID])
			}
		}
		c.baseline(rows[len(rows)-1], told, byRow)
	}
}

// sent compares a sent row with its last acceptance.
func (c *court) sent(r *lastlook.Record, accepts []*acceptance) {
	if len(accepts) == 0 {
		c.find(FaultPhantom, r, "it is sent, and no channel has accepted it")
		return
	}
	last := accepts[len(accepts)-1]
	switch {
	case string(last.Value) != string(r.Asserted):
		c.find(FaultBaseline, r, "it is sent with %s, accepted was %s", r.Asserted, last.Value)
	case last.DeliveryKey != lastlook.DeliveryKey(r.Key, r.Seq):
		c.find(FaultTwoKeys, r, "it is sent with sequence %d, accepted was the delivery key %s", r.Seq, last.DeliveryKey)
	case last.Window != r.Window:
		c.find(FaultToldBack, r, "it is sent in %s, accepted was %s", r.Window, last.Window)
	}
}

// baseline compares the key row, as last's record has it, with what was told.
func (c *court) baseline(last, told *lastlook.Record, byRow map[lastlook.ID][]*acceptance) {
	k := last.KeyRow
	if k == nil {
		c.find(FaultBaseline, last, "its key row is not there")
		return
	}
	want := ""
	if told != nil && len(byRow[told.ID]) > 0 {
		accepts := byRow[told.ID]
		want = string(accepts[len(accepts)-1].Value)
	}
	if string(k.Baseline) != want {
		c.find(FaultBaseline, last, "the baseline is %q, last accepted and known to be was %q", k.Baseline, want)
	}
	// What was accepted after that, nobody knows: it must stand as maybe told.
	for _, r := range c.byKey[last.Key] {
		if (told == nil || r.ID > told.ID) && len(byRow[r.ID]) > 0 && k.Maybe == nil {
			c.find(FaultBaseline, r, "a channel accepted it, it is %s, and its key row does not say that it may have been told", r.State)
		}
	}
}
