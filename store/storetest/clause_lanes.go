package storetest

import (
	"time"

	"github.com/lastlook/lastlook"
)

var laneClauses = []Clause{
	{Name: "lanes/only registered topics and channels", Promise: "G13", run: lanesRegistered},
	{Name: "lanes/strangers wait, are shown, and expire", Promise: "G13, C12", run: lanesStrangers},
	{Name: "lanes/earliest due", Promise: "G9", run: lanesDue},
	{Name: "lanes/living claims do not count", Promise: "G9", run: lanesLiving},
	{Name: "lanes/what makes one", Promise: "G9", run: lanesIdentity},
}

// laneNames lists lanes as "topic channel name priority due", with the due
// time relative to now.
func (f *fixture) laneNames(topics, channels []string) map[string]string {
	f.Helper()
	lanes, err := f.store.Lanes(f.Context(), lastlook.LaneQuery{Now: f.now, Topics: topics, Channels: channels})
	f.ok(err)
	got := map[string]string{}
	for _, l := range lanes {
		name := l.Topic + " " + l.Channel + " " + l.Name
		if l.Priority != 0 {
			name += " " + string('0'+rune(l.Priority))
		}
		if _, ok := got[name]; ok {
			f.Fatalf("lane %q is listed twice", name)
		}
		got[name] = l.Due.Sub(lastlook.Micro(f.now)).String()
	}
	return got
}

func lanesRegistered(f *fixture) {
	for _, topic := range []string{"t", "u"} {
		for _, channel := range []string{"push", "mail"} {
			it := item("a")
			it.Topic, it.Channel = topic, channel
			f.insert(it)
		}
	}
	both := []string{"push", "mail"}
	f.equal("t, both channels", f.laneNames([]string{"t"}, both), map[string]string{"t push push": "0s", "t mail mail": "0s"})
	f.equal("both topics, mail", f.laneNames([]string{"t", "u", "v"}, []string{"mail"}), map[string]string{"t mail mail": "0s", "u mail mail": "0s"})
	f.equal("no topic", f.laneNames(nil, both), map[string]string{})
	f.equal("no channel", f.laneNames([]string{"t", "u"}, nil), map[string]string{})
	f.equal("another topic", f.laneNames([]string{"v", "T", "t "}, both), map[string]string{})
	f.equal("another channel", f.laneNames([]string{"t"}, []string{"fax"}), map[string]string{})
}

func lanesStrangers(f *fixture) {
	topic, channel := item("a"), item("b")
	topic.Topic, channel.Channel = "stranger", "fax"
	ids := f.insert(topic, channel)
	f.claimNone()
	f.equal("rows listed", recIDs(f.list(lastlook.Query{Topic: "stranger"})), ids[:1])
	st := f.stats()
	f.equal("lanes in the counts", []any{st.Live[0].Topic, st.Live[0].Count, st.Live[1].Channel, st.Live[1].Count}, []any{"stranger", 1, "fax", 1})
	f.tick(lastlook.DefaultExpiry)
	f.claimNone()
	f.equal("rows expired", rowIDs(f.sweep(10).Expired), ids)
}

func lanesDue(f *fixture) {
	none := map[string]string{}
	f.equal("an empty store", f.laneNames([]string{"t"}, []string{"push"}), none)
	for i, d := range []time.Duration{30, 10, 20} {
		it := item(string('a' + rune(i)))
		it.Due = f.now.Add(d * time.Second)
		f.insert(it)
	}
	lane := func() map[string]string { return f.laneNames([]string{"t"}, []string{"push"}) }
	f.equal("due later", lane(), map[string]string{"t push push": "10s"})
	f.tick(15 * time.Second)
	f.equal("due", lane(), map[string]string{"t push push": "-5s"})
	r := f.claim(1)[0]
	f.equal("the earliest is claimed", lane(), map[string]string{"t push push": "5s"})
	f.done(r.Postpone(f.now, f.now.Add(time.Second), lastlook.Outcome{}))
	f.equal("it was postponed", lane(), map[string]string{"t push push": "1s"})
}

func lanesLiving(f *fixture) {
	id := f.insert(item("a"))[0]
	lane := func() map[string]string { return f.laneNames([]string{"t"}, []string{"push"}) }
	r := f.claimOne(id)
	f.equal("under a claim", lane(), map[string]string{})
	f.tick(testLease)
	f.equal("the claim died", lane(), map[string]string{"t push push": "-1m0s"})
	r = f.claimOne(id)
	f.assert(&r, lastlook.Always(), `1`)
	f.equal("being sent", lane(), map[string]string{})
	f.tick(testLease) // nobody can claim it before the reaper came
	f.equal("dead while being sent", lane(), map[string]string{})
	f.done(r.Transient(f.now, lastlook.Next{Due: f.now.Add(time.Minute)}, lastlook.Outcome{}))
	f.equal("to be tried again", lane(), map[string]string{"t push push": "1m0s"})
	f.tick(time.Hour)
	r = f.claimOne(id)
	f.done(r.Drop(f.now, lastlook.ReasonConditionLost, lastlook.Outcome{}))
	f.equal("ended", lane(), map[string]string{})
}

func lanesIdentity(f *fixture) {
	vary := []func(it *lastlook.Item){
		func(*lastlook.Item) {},
		func(it *lastlook.Item) { it.Lane = "push" }, // the default, spelt out
		func(it *lastlook.Item) { it.Lane = "host" },
		func(it *lastlook.Item) { it.Priority = lastlook.PriorityHigh },
		func(it *lastlook.Item) { it.Channel, it.Lane = "mail", "push" },
		func(it *lastlook.Item) { it.Topic = "u" },
		func(it *lastlook.Item) { it.Recipient = "bert" }, // no lane of its own
	}
	for i, v := range vary {
		it := item(string('a' + rune(i)))
		v(&it)
		f.insert(it)
	}
	f.equal("lanes", f.laneNames([]string{"t", "u"}, []string{"push", "mail"}), map[string]string{
		"t push push": "0s", "t push host": "0s", "t push push 1": "0s", "t mail push": "0s", "u push push": "0s",
	})
	f.equal("a row of each lane", len(f.claim(1)), 5)
}
