package demo

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/lastlook/lastlook/watch"
)

func TestSimulation(t *testing.T) {
	t.Parallel()
	for _, seed := range []uint64{2} {
		res, plays, err := simulate(t.Context(), Options{Seed: seed, Quiet: true, simulated: 4 * time.Hour}, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		c := res.Policies["lastlook"]
		if c.FalseStale != 0 || c.NeverTold != 0 {
			t.Errorf("seed %d: %+v", seed, c)
		}
		if c.Sent < 20 || c.Withheld == 0 || c.recognizable != c.Duplicates {
			t.Errorf("seed %d: %+v: too quiet a day, or a duplicate that a receiver cannot tell", seed, c)
		}
		if plays["lastlook"].died == 0 {
			t.Errorf("seed %d: no dispatcher was killed", seed)
		}
		if d, o := res.Policies["direct"], res.Policies["original"]; d.FalseStale == 0 || o.NeverTold == 0 {
			t.Errorf("seed %d: direct %+v, original %+v: the world is too kind to show a difference", seed, d, o)
		}
	}
}

func TestSameSeedSameStory(t *testing.T) {
	t.Parallel()
	var a, b bytes.Buffer
	for _, out := range []*bytes.Buffer{&a, &b} {
		if err := Run(t.Context(), Options{Seed: 7, simulated: time.Hour}, out); err != nil {
			t.Fatal(err)
		}
	}
	if a.String() != b.String() {
		t.Error("the same seed gave two stories")
	}
	for _, want := range []string{"looked again", "withheld: ", "killed", "the shop answered", "policy", "lastlook"} {
		if !strings.Contains(a.String(), want) {
			t.Errorf("the story lacks %q", want)
		}
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := Run(t.Context(), Options{Seed: 3, JSON: true, simulated: time.Hour}, &out); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Seed     uint64
		Policies map[string]map[string]int
	}
	dec := json.NewDecoder(&out)
	dec.DisallowUnknownFields()
	if err := dec.Decode(&got); err != nil {
		t.Fatal(err)
	}
	if got.Seed != 3 || len(got.Policies) != 3 || dec.More() {
		t.Errorf("%+v", got)
	}
	for name, c := range got.Policies {
		for _, key := range []string{"sent", "false_stale", "false_in_gap", "duplicates", "never_told", "withheld"} {
			if _, ok := c[key]; !ok || len(c) != 6 {
				t.Errorf("%s: %v", name, c)
			}
		}
	}
}

// scene is a product that is waited for from minute 10 to minute 30.
func scene() (*play, *product) {
	p := &product{id: "p", target: 50000, log: []fact{
		{begin, 60000, watch.InStock}, {begin.Add(10 * time.Minute), 45000, watch.InStock}, {begin.Add(30 * time.Minute), 60000, watch.InStock}}}
	w := &world{end: begin.Add(time.Hour), products: []*product{p}}
	return &play{w: w, channels: []string{"phone"}, looks: map[*product][]lookedAt{}}, p
}

func TestJudge(t *testing.T) {
	minute := func(m float64) time.Time { return begin.Add(time.Duration(m * float64(time.Minute))) }
	sweeps := func(pl *play, p *product, ms ...float64) {
		for _, m := range ms {
			pl.looks[p] = append(pl.looks[p], lookedAt{at: minute(m), holds: p.holds(p.at(minute(m))), sweep: true})
		}
	}
	send := func(pl *play, p *product, key string, looked, at float64) {
		pl.sent = append(pl.sent, accepted{product: p, channel: "phone", looked: minute(looked), at: minute(at), key: key})
	}
	for name, tc := range map[string]struct {
		do   func(*play, *product)
		want Counts
	}{
		"true":           {func(pl *play, p *product) { sweeps(pl, p, 5, 12, 17); send(pl, p, "a", 12, 12.1) }, Counts{Sent: 1}},
		"false at look":  {func(pl *play, p *product) { send(pl, p, "a", 31, 31.1) }, Counts{Sent: 1, FalseStale: 1}},
		"look too old":   {func(pl *play, p *product) { send(pl, p, "a", 29, 31) }, Counts{Sent: 1, FalseStale: 1}},
		"in the gap":     {func(pl *play, p *product) { send(pl, p, "a", 29.95, 30.05) }, Counts{Sent: 1, FalseInGap: 1}},
		"twice":          {func(pl *play, p *product) { send(pl, p, "a", 12, 12); send(pl, p, "b", 13, 13) }, Counts{Sent: 2, Duplicates: 1}},
		"twice, one key": {func(pl *play, p *product) { send(pl, p, "a", 12, 12); send(pl, p, "a", 13, 13) }, Counts{Sent: 2, Duplicates: 1, recognizable: 1}},
		"never told":     {func(pl *play, p *product) { sweeps(pl, p, 12, 17) }, Counts{NeverTold: 1}},
		"seen once":      {func(pl *play, p *product) { sweeps(pl, p, 12, 35) }, Counts{}},
		"receiver down": {func(pl *play, p *product) {
			sweeps(pl, p, 12, 17)
			pl.w.receiver = []trouble{{minute(13), minute(14), 503}}
		}, Counts{}},
		"told elsewhere": {func(pl *play, p *product) {
			sweeps(pl, p, 12, 17)
			pl.sent = append(pl.sent, accepted{product: p, channel: "mail", at: minute(12), looked: minute(12)})
		}, Counts{Sent: 1, NeverTold: 1}},
		"follows an unseen gap": {func(pl *play, p *product) {
			p.log = append(p.log, fact{minute(31), 44000, watch.InStock})
			sweeps(pl, p, 12, 17, 32, 37)
			send(pl, p, "a", 12, 12)
		}, Counts{Sent: 1}},
		"follows a seen gap": {func(pl *play, p *product) {
			p.log = append(p.log, fact{minute(31), 44000, watch.InStock})
			sweeps(pl, p, 12, 17, 30.5, 32, 37)
			send(pl, p, "a", 12, 12)
		}, Counts{Sent: 1, NeverTold: 1}},
		"once a day by design": {func(pl *play, p *product) {
			p.log = append(p.log, fact{minute(31), 44000, watch.InStock})
			sweeps(pl, p, 12, 17, 30.5, 32, 37)
			send(pl, p, "a", 12, 12)
			pl.onceADay = true
		}, Counts{Sent: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			pl, p := scene()
			tc.do(pl, p)
			if got := judge(pl); got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}

func TestFalsehoodFails(t *testing.T) {
	if !errors.Is(verdict(4, Counts{FalseStale: 1}), ErrFalse) || !errors.Is(verdict(4, Counts{NeverTold: 1}), ErrFalse) {
		t.Error("a falsehood of lastlook is no error")
	}
	if err := verdict(4, Counts{Sent: 9, FalseInGap: 1, Duplicates: 3}); err != nil {
		t.Error(err)
	}
}

func TestStockFromTheStartHasNotComeBack(t *testing.T) {
	p := &product{stockWatch: true, log: []fact{{begin, 1, watch.InStock}, {begin.Add(time.Hour), 1, watch.OutOfStock}, {begin.Add(2 * time.Hour), 1, watch.InStock}}}
	if got := stretches(p, begin.Add(3*time.Hour)); len(got) != 1 || !got[0].from.Equal(begin.Add(2*time.Hour)) {
		t.Errorf("%v", got)
	}
}
