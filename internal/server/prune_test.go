package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/internal/config"
	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/price"
)

func TestPrune(t *testing.T) { testPrune(t, Database{}) }

func TestPrunePostgres(t *testing.T) {
	cluster.DSN(t)
	testPrune(t, Database{URL: cluster.DSN(t), Schema: cluster.NewRaw(t).Schema})
}

// What is older than it is to be kept goes, by what it was; the rest stays, and
// nothing that waits is touched.
func testPrune(t *testing.T, d Database) {
	dir, err := config.Open(filepath.Join(t.TempDir(), "data"))
	if err != nil {
		t.Fatal(err)
	}
	start := time.Date(2024, 1, 1, 9, 0, 0, 0, time.UTC)
	now := start
	s, err := Open(t.Context(), Options{Dir: dir, Database: d, Clock: func() time.Time { return now }, Retention: DefaultRetention()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	p := &pruning{T: t, s: s, now: &now}
	waits := p.enqueue("waits", 40*365*day)
	p.end(p.enqueue("sent", day), "sent")
	p.end(p.enqueue("dropped", day), "dropped")
	looks := p.looks()

	p.want("at once", Pruned{}, 3)
	now = start.Add(29 * day)
	p.want("after 29 days", Pruned{}, 3)
	now = start.Add(32 * day)
	p.want("after 32 days", Pruned{Withheld: 1, Looks: looks - 2}, 2)
	now = start.Add(91 * day)
	p.want("after 91 days", Pruned{Told: 1}, 1)
	now = start.Add(700 * day)
	p.want("before two years", Pruned{}, 1)
	now = start.Add(731 * day)
	p.want("after two years", Pruned{Keys: 2}, 1)
	if rec, err := s.outbox.Get(t.Context(), waits); err != nil || rec.State != lastlook.StatePending {
		t.Errorf("what waits: %+v, %v", rec, err)
	}
	for _, r := range []Retention{{Told: time.Minute}, {Withheld: -day}, {Keys: 30 * day}, {Looks: time.Second}} {
		if err := r.Check(); !errors.Is(err, config.ErrInvalid) {
			t.Errorf("%+v: %v", r, err)
		}
	}
	if err := errors.Join(Retention{}.Check(), DefaultRetention().Check()); err != nil {
		t.Error(err)
	}
}

type pruning struct {
	*testing.T
	s   *Server
	now *time.Time
}

func (p *pruning) enqueue(subject string, expires time.Duration) lastlook.ID {
	p.Helper()
	res, err := p.s.store.Enqueue(p.Context(), *p.now, []lastlook.Item{{Key: lastlook.Key{Topic: "order", Subject: subject, Recipient: "ann", Channel: "mail"},
		Detection: json.RawMessage(`1`), Windows: lastlook.Always(), ExpiresAt: p.now.Add(expires)}})
	if err != nil || res[0].Status != lastlook.Inserted {
		p.Fatal(res, err)
	}
	return res[0].ID
}

// end sends or drops a row.
func (p *pruning) end(id lastlook.ID, how string) {
	p.Helper()
	lanes, err := p.s.store.Lanes(p.Context(), lastlook.LaneQuery{Now: *p.now, Topics: []string{"order"}, Channels: []string{"mail"}})
	if err != nil {
		p.Fatal(err)
	}
	rows, err := p.s.store.Claim(p.Context(), lastlook.ClaimRequest{Now: *p.now, Token: lastlook.NewToken(), Lanes: []lastlook.LaneClaim{{Lane: lanes[0].Lane, N: 10, MaxAttempts: 9, Lease: time.Minute}}})
	if err != nil {
		p.Fatal(err)
	}
	var changes []lastlook.Change
	for i := range rows {
		r := &rows[i]
		var c lastlook.Change
		switch {
		case r.ID != id:
			c, err = r.Postpone(*p.now, *p.now, lastlook.Outcome{})
		case how == "sent":
			sending, serr := r.Sending(*p.now, lastlook.Assertion{Value: json.RawMessage(`1`), LookedAt: *p.now, Window: lastlook.Always().At(*p.now, 0), Seq: 1}, p.now.Add(time.Minute))
			if serr != nil {
				p.Fatal(serr)
			}
			if done, err := p.s.store.Apply(p.Context(), *p.now, []lastlook.Change{sending}); err != nil || !done[0] {
				p.Fatal(done, err)
			}
			c, err = r.Accepted(*p.now, lastlook.Outcome{})
		default:
			c, err = r.Drop(*p.now, lastlook.ReasonConditionLost, lastlook.Outcome{})
		}
		if err != nil {
			p.Fatal(err)
		}
		changes = append(changes, c)
	}
	if _, err := p.s.store.Apply(p.Context(), *p.now, changes); err != nil {
		p.Fatal(err)
	}
}

// looks records some of one day, of which two are to stay.
func (p *pruning) looks() (n int) {
	p.Helper()
	e, err := p.s.watches.Add(p.Context(), *p.now, watch.Listing{Source: pageSource, URL: "https://shop.example/lamp"}, watch.Watch{
		Recipient: "ann", Channels: []string{"log"}, Triggers: []watch.Trigger{{Kind: watch.AnyChange}}})
	if err != nil {
		p.Fatal(err)
	}
	for i, text := range []string{"50 EUR", "40 EUR", "45 EUR", "47 EUR"} {
		at := p.now.Add(time.Duration(i) * time.Hour)
		o := watch.Observation{At: at, Price: mustPrice(p.T, text), Availability: watch.InStock}
		if _, err := p.s.watches.Record(p.Context(), at, watch.Recording{ListingID: e.Listing.ID, Observation: o,
			Detect: func(watch.Entry, []lastlook.KeyRow) (watch.Detected, error) { return watch.Detected{}, nil }}); err != nil {
			p.Fatal(err)
		}
		n++
	}
	return n
}

// want prunes, and says what must have gone and how many notifications are left.
func (p *pruning) want(when string, want Pruned, left int) {
	p.Helper()
	got, err := p.s.Prune(p.Context())
	if err != nil {
		p.Fatal(err)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		p.Errorf("%s: %+v, want %+v", when, got, want)
	}
	if recs, err := p.s.outbox.List(p.Context(), lastlook.Query{}); err != nil || len(recs) != left {
		p.Errorf("%s: %d notifications are left, want %d (%v)", when, len(recs), left, err)
	}
}

func mustPrice(t *testing.T, text string) price.Money {
	t.Helper()
	m, err := price.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
