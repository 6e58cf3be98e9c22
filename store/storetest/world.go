package storetest

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/lastlook/lastlook"
)

// chooser makes the choices of a randomized run: an integer from 0 to n-1.
type chooser interface {
	choose(label string, n int) int
}

// topicSpec is a topic of the randomized run.
type topicSpec struct {
	name    string
	windows lastlook.Windows
	// index numbers windows, by other means than the core's.
	index     func(at time.Time, episode int64) int64
	always    bool // no two tellings share a window
	endless   bool // a window ends only by another's beginning
	episodes  bool
	guarantee lastlook.Guarantee
	cap       int
}

func zone(name string) *time.Location {
	loc, err := time.LoadLocation(name)
	if err != nil {
		panic("storetest: " + err.Error()) // Go's own zone database is missing
	}
	return loc
}

func day(name, zoneName string, g lastlook.Guarantee, attempts int) *topicSpec {
	loc := zone(zoneName)
	return &topicSpec{name: name, windows: lastlook.Day(loc), guarantee: g, cap: attempts, index: func(at time.Time, _ int64) int64 {
		y, m, d := at.In(loc).Date()
		n, err := strconv.ParseInt(time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Format("20060102"), 10, 64)
		if err != nil {
			panic("storetest: " + err.Error())
		}
		return n
	}}
}

func every(name string, hours int, g lastlook.Guarantee, attempts int) *topicSpec {
	return &topicSpec{name: name, windows: lastlook.Every(time.Duration(hours) * time.Hour), guarantee: g, cap: attempts,
		index: func(at time.Time, _ int64) int64 { return at.Unix() / int64(hours*3600) }}
}

func runTopics() []*topicSpec {
	return []*topicSpec{
		{name: "always", windows: lastlook.Always(), always: true, cap: 4, index: func(at time.Time, _ int64) int64 { return at.UnixMicro() }},
		day("tokyo", "Asia/Tokyo", lastlook.AtLeastOnce, 3),
		{name: "once", windows: lastlook.Once(), endless: true, cap: 3, index: func(time.Time, int64) int64 { return 0 }},
		day("new_york", "America/New_York", lastlook.AtMostOnce, 3),
		{name: "episodes", windows: lastlook.Episodes(), endless: true, episodes: true, cap: 4, index: func(_ time.Time, e int64) int64 { return e }},
		every("every", 6, lastlook.AtLeastOnce, 2),
		day("cairo", "Africa/Cairo", lastlook.AtLeastOnce, 5),
		every("only_b", 1, lastlook.AtMostOnce, 2),
		{name: "stranger", windows: lastlook.Always(), always: true, cap: 3, index: func(at time.Time, _ int64) int64 { return at.UnixMicro() }},
	}
}

// starts are the moments at which runs begin: ordinary ones, and the eves of
// days with a change of the clocks.
var starts = []time.Time{
	time.Date(2026, 6, 10, 9, 0, 0, 0, time.UTC),
	time.Date(2026, 3, 8, 3, 59, 0, 0, time.UTC),
	time.Date(2026, 11, 1, 3, 59, 0, 0, time.UTC),
	time.Date(2026, 4, 23, 21, 0, 0, 0, time.UTC),
	time.Date(2026, 12, 31, 14, 58, 0, 0, time.UTC),
}

// claimer is one of the dispatchers.
type claimer struct {
	name     string
	skew     time.Duration // of its clock
	topics   []string
	channels []string
	held     []*held
}

func (c *claimer) registered(k lastlook.Key) bool {
	return slices.Contains(c.topics, k.Topic) && slices.Contains(c.channels, k.Channel)
}

// held is a row under a claim, as its holder sees it.
type held struct {
	row   lastlook.Row
	topic *topicSpec
	// next is a change that has been decided on, and not been written yet.
	next *lastlook.Change
	// sentAt is when the row's move to sending was written; zero before.
	sentAt time.Time
}

// place is a key of the run, and its lane.
type place struct {
	key   lastlook.Key
	topic *topicSpec
	lane  string
}

// world is a randomized run.
type world struct {
	*pair
	c        chooser
	h        Harness
	now      time.Time
	topics   map[string]*topicSpec
	places   []place
	claimers []*claimer
	journal  *journal
	// values is what there is to see, by subject.
	values  map[string]int
	episode int64
	// late are decided changes that nobody holds a row for: a sweep's, an
	// operator's.
	late []lastlook.Change
	// past are changes that were written, or lost.
	past   []lastlook.Change
	tokens uint64
	dues   int
}

// observed are the values that a look can see; the first are below the target.
var observed = []string{`{"price":480,"in":true}`, `{"price":470,"in":true}`, `{"in":true, "price":480}`, `{"price":520,"in":true}`, "gone", "unknown"}

func newWorld(tb TB, c chooser, h Harness, oracle lastlook.Store) *world {
	w := &world{c: c, h: h, topics: map[string]*topicSpec{}, values: map[string]int{}, journal: newJournal(tb)}
	w.pair = newPair(tb, h.Open(tb), oracle)
	w.now = starts[c.choose("start", len(starts))]
	topics := runTopics()
	for _, t := range topics {
		w.topics[t.name] = t
	}
	pool := append(topics[:len(topics)-1:len(topics)-1], topics...) // fewer strangers
	channels := []string{"push", "mail", "fax"}
	for range 6 {
		t := pool[c.choose("topic", len(pool))]
		k := lastlook.Key{Topic: t.name, Subject: pick(c, "subject", "a", "b"), Recipient: pick(c, "recipient", "anna", "bert"),
			Channel: channels[max(c.choose("channel", 10)-7, 0)]}
		lane := pick(c, "lane", "", "host")
		if !slices.ContainsFunc(w.places, func(p place) bool { return p.key == k }) {
			w.places = append(w.places, place{key: k, topic: t, lane: lane})
			w.journal.key(k, t)
		}
	}
	a := &claimer{name: "A", channels: []string{"push", "mail"}, topics: []string{"always", "tokyo", "once", "new_york", "episodes", "every", "cairo"}}
	b := &claimer{name: "B", channels: []string{"push"}, topics: append(slices.Clone(a.topics), "only_b"),
		skew: []time.Duration{0, -20 * time.Second, 20 * time.Second}[c.choose("skew", 3)]}
	w.claimers = []*claimer{a, b}
	w.pair.born = func(k lastlook.Key, rec lastlook.Record) { w.journal.revived(w.journal.keys[k], w.now, &rec) }
	return w
}

func pick(c chooser, label string, names ...string) string { return names[c.choose(label, len(names))] }

// chance is true once in n times.
func (w *world) chance(label string, n int) bool { return w.c.choose(label, n) == n-1 }

func (w *world) token() lastlook.Token {
	w.tokens++
	return tokenOf(w.tokens)
}

// item makes an item of a place. No two are due at the same microsecond.
func (w *world) item(p place) lastlook.Item {
	w.dues++
	it := lastlook.Item{Key: p.key, Lane: p.lane, Windows: p.topic.windows, Detection: json.RawMessage(strconv.Itoa(w.dues)),
		Due: w.now.Add(-time.Duration(w.dues) * time.Microsecond)}
	switch w.c.choose("due", 12) {
	case 10:
		it.Due = it.Due.Add(40 * time.Second)
	case 11:
		it.Due = it.Due.Add(2 * time.Hour)
	}
	if e := w.c.choose("expiry", 12); e >= 9 {
		it.ExpiresAt = w.now.Add([]time.Duration{10 * time.Minute, 3 * time.Hour, 50 * time.Hour}[e-9])
	}
	if !it.ExpiresAt.IsZero() && !it.ExpiresAt.After(it.Due) {
		it.ExpiresAt = it.Due.Add(time.Hour)
	}
	it.Priority = []lastlook.Priority{0, 0, 0, lastlook.PriorityHigh, lastlook.PriorityLow}[w.c.choose("priority", 5)]
	it.Edge = w.chance("edge", 2)
	if p.topic.episodes {
		it.Episode = w.episode
	}
	if w.chance("no policy", 6) {
		it.Windows = lastlook.Windows{}
	}
	return it
}

// admit enqueues items and lets the journal judge what becomes of them.
func (w *world) admit(items ...lastlook.Item) []lastlook.EnqueueResult {
	w.Helper()
	res, err := w.pair.enqueue(w.now, items)
	if err != nil {
		w.Fatalf("enqueue: %v", err)
	}
	// In the order of keys, as stores do; of one key, in that of the call.
	order := make([]int, len(items))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return items[a].Compare(items[b].Key) })
	for _, i := range order {
		var rec lastlook.Record
		if res[i].Status == lastlook.Inserted {
			var ok bool
			if rec, ok = w.get(res[i].ID); !ok {
				w.Fatalf("row %d was inserted and is not there", res[i].ID)
			}
		}
		w.journal.enqueued(w.journal.keys[items[i].Key], w.now, &items[i], res[i], &rec)
	}
	return res
}

// write applies changes and tells the journal of those that were made. At most
// one row that ends in a call has marks: of several new rows it would be open
// which comes first.
func (w *world) write(changes []lastlook.Change) []bool {
	w.Helper()
	var done []bool
	for len(changes) > 0 {
		n, marked := 0, 0
		for n < len(changes) {
			if c := &changes[n]; c.Ends() && w.journal.rows[c.ID] != nil && len(w.journal.rows[c.ID].key.marks) > 0 {
				if marked++; marked > 1 {
					break
				}
			}
			n++
		}
		done = append(done, w.writeBatch(changes[:n])...)
		changes = changes[n:]
	}
	return done
}

func (w *world) writeBatch(changes []lastlook.Change) []bool {
	w.Helper()
	done := w.pair.apply(w.now, changes)
	for i := range changes {
		if done[i] {
			w.journal.applied(&changes[i])
		}
	}
	for i := range changes {
		w.past = append(w.past, changes[i])
		if _, known := w.journal.rows[changes[i].ID]; !known {
			continue
		}
		if kj := w.journal.rows[changes[i].ID].key; done[i] && changes[i].Ends() {
			w.discover(kj.key)
			w.journal.awake(kj)
		}
		if done[i] {
			w.look(changes[i].ID)
		}
	}
	if len(w.past) > 40 {
		w.past = w.past[len(w.past)-40:]
	}
	return done
}

// look reads a row and lets the journal see it.
func (w *world) look(id lastlook.ID) {
	w.Helper()
	if rec, ok := w.get(id); ok {
		w.journal.sawRecord(&rec)
	}
}

// compareAll compares the whole visible state.
func (w *world) compareAll() {
	w.Helper()
	all := w.list(lastlook.Query{Full: true, Limit: 1000})
	for i := range all {
		w.journal.sawRecord(&all[i])
	}
	if len(all) > 0 {
		w.look(all[w.c.choose("row", len(all))].ID)
	}
	w.list(lastlook.Query{Limit: 7})
	p := w.places[w.c.choose("filter", len(w.places))]
	w.list(lastlook.Query{Topic: p.key.Topic, Recipient: p.key.Recipient, Full: true})
	w.list(lastlook.Query{States: []lastlook.State{lastlook.StateFailed, lastlook.StateRetry, lastlook.StateSending}})
	st := w.stats(w.now, w.now.Add(-time.Duration(w.c.choose("since", 30))*time.Hour-333*time.Microsecond))
	live, marks := 0, 0
	for _, kj := range w.journal.keys {
		marks += len(kj.marks)
		live += min(int(kj.live), 1)
	}
	for _, l := range st.Live {
		live -= l.Count
	}
	if live != 0 || st.Marks != marks || st.Muted != len(w.journal.muted) {
		w.Fatalf("counts %s; by the journal %d marks, %d mutes, and %d live rows more", asJSON(st), marks, len(w.journal.muted), live)
	}
}
