package storetest

import (
	"time"

	"github.com/lastlook/lastlook"
)

// journal is what the fake world knows: what it was told, and what was
// recorded of it. It forms its own opinion of windows, marks, claims and
// failures, without the core's code, and checks the design's guarantees on
// that.
type journal struct {
	TB
	keys  map[lastlook.Key]*keyJournal
	rows  map[lastlook.ID]*rowJournal
	muted map[[2]string]bool
	// events counts what has happened, so that a run can be asked whether it
	// was worth making.
	events map[string]int
}

// keyJournal is what there is to know of a key.
type keyJournal struct {
	key   lastlook.Key
	topic *topicSpec
	live  lastlook.ID

	// What was recorded.
	baseline  string
	maybe     *assertion
	told      *assertion
	toldAt    time.Time
	toldStart int64           // of the store's own window, which must not move back
	used      map[string]bool // delivery keys
	failures  int
	lastEnd   time.Time
	marks     []markJournal

	// What the receiver got. It shows the last message, and ignores those
	// whose delivery key it knows.
	arrived []assertion
	shown   string
	known   map[string]bool
}

// markJournal is an edge that waits.
type markJournal struct {
	due  time.Time
	read lastlook.Token // by the claim that read it last
}

// assertion is something that was told, or may have been.
type assertion struct {
	row         lastlook.ID
	value       string // canonical
	deliveryKey string
	// window is the journal's own number of the window, from the time of
	// sending.
	window int64
}

// rowJournal is what there is to know of a row.
type rowJournal struct {
	key           *keyJournal
	claims, given int
	episode       int64
	token         lastlook.Token
	lease         time.Time
	sending       *assertion
	ended         bool
	record        string // as it was seen after its end
}

func newJournal(tb TB) *journal {
	return &journal{TB: tb, keys: map[lastlook.Key]*keyJournal{}, rows: map[lastlook.ID]*rowJournal{}, muted: map[[2]string]bool{}, events: map[string]int{}}
}

func (j *journal) key(k lastlook.Key, t *topicSpec) *keyJournal {
	kj := j.keys[k]
	if kj == nil {
		kj = &keyJournal{key: k, topic: t, used: map[string]bool{}, known: map[string]bool{}}
		j.keys[k] = kj
	}
	return kj
}

// born notes a new row.
func (j *journal) born(kj *keyJournal, id lastlook.ID, episode int64) {
	j.Helper()
	if kj.live != 0 {
		j.Fatalf("G1: key %s got row %d while row %d is live", kj.key, id, kj.live)
	}
	kj.live = id
	j.rows[id] = &rowJournal{key: kj, episode: episode}
}

// toldIn reports whether the key counts as told in a window.
func (kj *keyJournal) toldIn(window int64) bool {
	return kj.told != nil && !kj.topic.always && kj.told.window >= window
}

// enqueued checks what became of an item.
func (j *journal) enqueued(kj *keyJournal, now time.Time, it *lastlook.Item, res lastlook.EnqueueResult, rec *lastlook.Record) {
	j.Helper()
	told := kj.toldIn(kj.topic.index(now, it.Episode))
	if kj.topic.episodes && it.Windows.IsZero() {
		told = false // without the policy, the episode's number means nothing
	}
	muted := j.muted[[2]string{it.Recipient, it.Channel}]
	want := lastlook.Inserted
	switch {
	case kj.live != 0 && !it.Edge:
		want = lastlook.Duplicate
	case muted:
		want = lastlook.Muted
	case told && !it.MayRepeat:
		want = lastlook.AlreadyTold
	case kj.live != 0:
		want = lastlook.Marked
	}
	if res.Status != want {
		j.Fatalf("G1: an item of %s is %s, want %s (live row %d, told %+v)", kj.key, res.Status, want, kj.live, kj.told)
	}
	j.events["item "+want.String()]++
	switch want {
	case lastlook.Duplicate, lastlook.Marked:
		if res.ID != kj.live {
			j.Fatalf("an item of %s met row %d, the live one is %d", kj.key, res.ID, kj.live)
		}
	case lastlook.AlreadyTold:
		if res.ID != kj.told.row {
			j.Fatalf("an item of %s: told by row %d, by the journal row %d", kj.key, res.ID, kj.told.row)
		}
	case lastlook.Inserted:
		j.born(kj, res.ID, it.Episode)
		if it.MayRepeat {
			j.events["told cleared"] += b2i(kj.told != nil)
			kj.told, kj.toldAt, kj.arrived, kj.toldStart = nil, time.Time{}, nil, 0
		}
		j.delayed(kj, now, it.Due, rec, it.RetryOf != 0)
	case lastlook.Muted:
	}
	if want == lastlook.Marked {
		kj.marks = append(kj.marks, markJournal{due: it.Due})
	}
}

// delayed checks when a new row becomes due: the key's failures hold it back,
// but not what an operator tries again.
func (j *journal) delayed(kj *keyJournal, now, wanted time.Time, rec *lastlook.Record, retry bool) {
	j.Helper()
	want, due := lastlook.Micro(wanted), rec.Due
	if kj.failures > 0 && !retry {
		j.events["delayed"]++
		wait := kj.lastEnd.Add(backoff(kj.failures - 1))
		// But no longer than half of the row's life.
		if half := lastlook.Micro(now.Add(rec.ExpiresAt.Sub(now) / 2)); half.Before(wait) {
			wait = half
		}
		if wait.After(want) {
			want = wait
		}
	}
	if !due.Equal(want) {
		j.Fatalf("G10: after %d failures of key %s, the last at %s, a row wanted at %s is due at %s, want %s", kj.failures, kj.key, kj.lastEnd, wanted, due, want)
	}
}

// claimed checks a claim's rows.
func (j *journal) claimed(c *claimer, req lastlook.ClaimRequest, rows []lastlook.Row) {
	j.Helper()
	room := map[lastlook.Lane]int{}
	for _, l := range req.Lanes {
		room[l.Lane] = l.N
	}
	for i := range rows {
		r := &rows[i]
		rj := j.rows[r.ID]
		if rj == nil || rj.ended || rj.key.key != r.Key {
			j.Fatalf("claim got row %d of key %s, which is not live", r.ID, r.Key)
		}
		if !c.registered(r.Key) {
			j.Fatalf("G13: %s claimed row %d of %s", c.name, r.ID, r.Key)
		}
		if rj.lease.After(req.Now) || rj.sending != nil {
			j.Fatalf("G2: row %d was claimed at %s under a claim until %s (sending %+v)", r.ID, req.Now, rj.lease, rj.sending)
		}
		if room[r.Lane]--; room[r.Lane] < 0 {
			j.Fatalf("G9: claim got too many rows of lane %+v", r.Lane)
		}
		if r.State != lastlook.StatePending || r.Token != req.Token || r.Due.After(req.Now) {
			j.Fatalf("claimed at %s: row %s", req.Now, asJSON(r))
		}
		rj.claims++
		j.events["claimed"]++
		if limit := rj.key.topic.cap + rj.given; rj.claims > limit {
			j.Fatalf("G6: row %d was claimed %d times; the cap is %d, %d were given back", r.ID, rj.claims, rj.key.topic.cap, rj.given)
		}
		rj.token, rj.lease = req.Token, r.Lease
		for i := range rj.key.marks {
			rj.key.marks[i].read = req.Token
		}
		j.sawKey(rj.key, r.KeyRow)
		if r.Muted != j.muted[[2]string{r.Key.Recipient, r.Key.Channel}] {
			j.Fatalf("row %d of %s: muted is %t", r.ID, r.Key, r.Muted)
		}
	}
}

// sawKey checks a key row that was read.
func (j *journal) sawKey(kj *keyJournal, k lastlook.KeyRow) {
	j.Helper()
	if got := canonical(k.Baseline); got != kj.baseline {
		j.Fatalf("G5: the baseline of %s is %s, the last delivery asserted %s", kj.key, got, kj.baseline)
	}
	maybe := ""
	if kj.maybe != nil {
		maybe = kj.maybe.value
	}
	if got := canonical(k.Maybe); got != maybe {
		j.Fatalf("C2: maybe of %s is %s, want %s", kj.key, got, maybe)
	}
	if (kj.told != nil) != !k.Told.IsZero() || kj.told != nil && k.ToldBy != kj.told.row {
		j.Fatalf("G1: %s was told in %s by row %d; by the journal: %+v", kj.key, k.Told, k.ToldBy, kj.told)
	}
	if k.Told.Start < kj.toldStart && kj.told != nil {
		j.Fatalf("C11: told of %s moved back to %s, from %d", kj.key, k.Told, kj.toldStart)
	}
	kj.toldStart = k.Told.Start
	if k.Failures != kj.failures {
		j.Fatalf("G10: %s has %d failures, want %d", kj.key, k.Failures, kj.failures)
	}
}

// sawRecord checks a row that was read by Get.
func (j *journal) sawRecord(rec *lastlook.Record) {
	j.Helper()
	rj := j.rows[rec.ID]
	j.sawKey(rj.key, *rec.KeyRow)
	if rj.ended == rec.State.Live() {
		j.Fatalf("row %d is %s, by the journal ended is %t", rec.ID, rec.State, rj.ended)
	}
	if !rj.ended {
		return
	}
	final := *rec
	final.KeyRow = nil
	if text := asJSON(final); rj.record == "" {
		rj.record = text
	} else if rj.record != text {
		j.Fatalf("an ended row changed:\n from %s\n   to %s", rj.record, text)
	}
}

// canonical is for comparing; absent is "".
func canonical(v []byte) string {
	if len(v) == 0 {
		return ""
	}
	c, err := lastlook.Canonical(v)
	if err != nil {
		return "not JSON: " + string(v)
	}
	return string(c)
}
