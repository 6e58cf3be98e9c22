package crash

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
)

// t0 is when the cases begin; at is some milliseconds later, in microseconds.
var t0 = time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)

func at(ms int) int64 { return t0.UnixMicro() + int64(ms)*1000 }

func moment(ms int) time.Time { return time.UnixMicro(at(ms)).UTC() }

// held is what is to be seen of the subject in all cases, and holds.
const (
	seed    = 3
	inDay   = "day-1"
	inNews  = "always-1"
	settled = `{"price":430}` // told in the honest case
)

func key(topic, subject string) lastlook.Key {
	return lastlook.Key{Topic: topic, Subject: subject, Recipient: "ann", Channel: "mail"}
}

// honest is a case in which nothing is wrong: call 1 inserts row 1, which is
// delivered in run 1, dies in sending, and is delivered again in run 2, where call
// 2 has left a mark that its look has seen. Call 3, in a transaction, inserts row
// 2 of another topic, which is dropped.
func honest() Evidence {
	day, always := key("day", inDay), key("always", inNews)
	// Whatever the world shows at step 1 is what is told.
	v, err := json.Marshal(sightAt(seed, kindOf("day"), inDay, 1).value)
	if err != nil {
		panic(err)
	}
	window := lastlook.Day(time.UTC).At(t0, 0)
	dkey := lastlook.DeliveryKey(day, 1)
	call := Entry{ID: 1, Key: day, Value: v, Window: window, LookedAt: at(20), DeliveryKey: dkey, Attempt: 1}
	with := func(e Entry, run int, ms int, n int64, k Kind, looked int) Entry {
		e.Run, e.At, e.N, e.Kind, e.LookedAt = run, at(ms), n, k, at(looked)
		return e
	}
	one := func(k lastlook.Key, s lastlook.EnqueueStatus, id lastlook.ID) []EnqueuedOne {
		return []EnqueuedOne{{Key: k, Edge: s == lastlook.Marked, Status: s.String(), ID: id}}
	}
	keyRow := &lastlook.KeyRow{Baseline: v, BaselineAt: moment(2040), Seq: 1, Told: window, ToldBy: 1}
	return Evidence{
		Seed: seed,
		Enqueuer: []Entry{
			{Run: 1, At: at(0), Kind: KindStep, N: 1},
			{Run: 1, At: at(1), Kind: KindIntent, N: 1, Items: one(day, 0, 0)},
			{Run: 1, At: at(3), Kind: KindAck, N: 1, Items: one(day, lastlook.Inserted, 1)},
			{Run: 2, At: at(100), Kind: KindIntent, N: 2, Items: one(day, 0, 0)},
			{Run: 2, At: at(103), Kind: KindAck, N: 2, Items: one(day, lastlook.Marked, 1)},
			{Run: 2, At: at(110), Kind: KindIntent, N: 3, Items: one(always, 0, 0)},
			{Run: 2, At: at(113), Kind: KindAck, N: 3, Items: one(always, lastlook.Inserted, 2)},
			{Run: 2, At: at(120), Kind: KindRolledBack, N: 4},
		},
		Topics: []Entry{
			{Run: 1, At: at(21), Kind: KindJudged, Key: day, LookedAt: at(20), Text: "send"},
			{Run: 2, At: at(2021), Kind: KindJudged, Key: day, LookedAt: at(2020), Text: "send"},
		},
		Channels: []Entry{
			with(call, 1, 30, 1, KindCall, 20), with(call, 1, 31, 1, KindAccept, 20),
			with(call, 2, 2030, 1, KindCall, 2020), with(call, 2, 2031, 1, KindAccept, 2020),
			{Run: 2, At: at(2032), Kind: KindAnswer, N: 1, Text: answerOK},
		},
		Rows: []lastlook.Record{
			{ID: 2, Key: always, State: lastlook.StateDropped, Reason: lastlook.ReasonConditionLost, Trace: txTrace + "3", EndedAt: moment(300), KeyRow: &lastlook.KeyRow{}},
			{ID: 1, Key: day, State: lastlook.StateSent, Trace: "1", Asserted: v, Window: window, Seq: 1, EndedAt: moment(2040), KeyRow: keyRow,
				Story: []lastlook.Step{
					{At: moment(20), Event: lastlook.EventSending, State: lastlook.StateSending, LookedAt: moment(20), Value: v},
					{At: moment(1700), Event: lastlook.EventOutcomeUnknown, State: lastlook.StateRetry, By: "reaper"},
					{At: moment(2022), Event: lastlook.EventSending, State: lastlook.StateSending, LookedAt: moment(2020), Value: v},
					{At: moment(2040), Event: lastlook.EventAccepted, State: lastlook.StateSent},
				}},
		},
		Notes: []Note{{N: 3, IDs: []lastlook.ID{2}}},
	}
}

func TestJudgeFindsNothingInTheHonestCase(t *testing.T) {
	if v := sightAt(seed, kindOf("day"), inDay, 1).value; !v.holds() || v.Trouble != "" {
		t.Fatalf("the case tells %+v: choose another seed", v)
	}
	got := Judge(honest())
	if len(got.Findings) > 0 {
		t.Errorf("findings: %+v", got.Findings)
	}
	if got.Rows != 2 || got.Accepted != 2 || got.Repeats != 1 || got.Ended["sent"] != 1 || got.Ended["dropped condition_lost"] != 1 || got.Enqueued["marked"] != 1 {
		t.Errorf("ruling: %+v", got)
	}
}

func TestJudgeFindsWhatIsWrong(t *testing.T) {
	// Positions in the honest case.
	const firstCall, firstAccept, secondCall, secondAccept, answer = 0, 1, 2, 3, 4
	sent := func(ev *Evidence) *lastlook.Record { return &ev.Rows[1] }
	other := json.RawMessage(`{"price":111}`)
	for _, c := range []struct {
		name  string
		spoil func(ev *Evidence)
		want  Fault
	}{
		{"a row that is not there", func(ev *Evidence) { ev.Rows, ev.Channels = ev.Rows[:1], nil }, FaultLost},
		{"a row that never ended", func(ev *Evidence) { ev.Rows[0].State = lastlook.StatePending }, FaultLost},
		{"marks that are left", func(ev *Evidence) { ev.Marks = 1 }, FaultLost},
		{"a row of another key", func(ev *Evidence) { ev.Enqueuer[2].Items[0].Key.Subject = "x" }, FaultLost},
		{"a row that another call made", func(ev *Evidence) { sent(ev).Trace = "9" }, FaultLost},
		{"a mark without a look", func(ev *Evidence) {
			ev.Topics = ev.Topics[:1]
			sent(ev).Story[2].LookedAt, sent(ev).Story[2].At = moment(20), moment(20)
		}, FaultLost},
		{"told again by another row", func(ev *Evidence) {
			ev.Channels[secondCall].ID, ev.Channels[secondAccept].ID = 2, 2
		}, FaultRepeat},
		{"told again though its outcome was known", func(ev *Evidence) {
			sent(ev).Story = slices.Delete(sent(ev).Story, 1, 2)
		}, FaultRepeat},
		{"told again after the channel had answered", func(ev *Evidence) {
			for i := range ev.Channels {
				ev.Channels[i].Run = 1
			}
			ev.Channels[secondCall].N, ev.Channels[secondAccept].N, ev.Channels[answer].At = 2, 2, at(35)
			sent(ev).Story[1].By = ""
		}, FaultRepeat},
		{"reaped under a living lease", func(ev *Evidence) {
			for i := range ev.Channels {
				ev.Channels[i].Run = 1
			}
			ev.Channels[secondCall].N, ev.Channels[secondAccept].N, ev.Channels[answer].At = 2, 2, at(35)
			sent(ev).Story[1].At = moment(300)
		}, FaultRepeat},
		{"at most once, told twice", func(ev *Evidence) {
			for _, list := range [][]Entry{ev.Channels, ev.Topics} {
				for i := range list {
					list[i].Key.Topic = "at_most_once"
				}
			}
		}, FaultRepeat},
		{"one assertion, two delivery keys", func(ev *Evidence) {
			ev.Channels[firstCall].DeliveryKey, ev.Channels[firstAccept].DeliveryKey = "other", "other"
		}, FaultTwoKeys},
		{"another delivery key than the outcome's", func(ev *Evidence) { sent(ev).Seq = 2 }, FaultTwoKeys},
		{"two assertions, one delivery key", func(ev *Evidence) { ev.Channels[firstAccept].Value = other }, FaultOneKey},
		{"a final row that changed", func(ev *Evidence) { ev.Changed = []string{"row 1"} }, FaultChanged},
		{"a baseline that was not told", func(ev *Evidence) { sent(ev).KeyRow.Baseline = other }, FaultBaseline},
		{"no baseline", func(ev *Evidence) { sent(ev).KeyRow.Baseline = nil }, FaultBaseline},
		{"an outcome that was not told", func(ev *Evidence) { sent(ev).Asserted = other }, FaultBaseline},
		{"no key row", func(ev *Evidence) { sent(ev).KeyRow = nil }, FaultBaseline},
		{"maybe told, and forgotten", func(ev *Evidence) {
			sent(ev).State, sent(ev).Reason, sent(ev).KeyRow.Baseline = lastlook.StateFailed, lastlook.ReasonUnknownOutcome, nil
		}, FaultBaseline},
		{"told in an earlier window", func(ev *Evidence) { ev.Channels[secondAccept].Window.Start-- }, FaultToldBack},
		{"a key row that was told earlier", func(ev *Evidence) { sent(ev).KeyRow.Told.Start-- }, FaultToldBack},
		{"sent, and not delivered", func(ev *Evidence) { ev.Channels = nil }, FaultPhantom},
		{"told what was not to be seen", func(ev *Evidence) {
			ev.Channels[secondAccept].Value = json.RawMessage(`{"price":401}`)
		}, FaultStale},
		{"told what does not hold", func(ev *Evidence) {
			ev.Channels[secondAccept].Value = json.RawMessage(`{"price":510}`)
		}, FaultStale},
		{"told what was seen long ago", func(ev *Evidence) { ev.Channels[secondAccept].LookedAt = at(20) }, FaultStale},
		{"a transaction without its row", func(ev *Evidence) { ev.Rows = ev.Rows[1:] }, FaultTorn},
		{"a row without its transaction", func(ev *Evidence) { ev.Notes = nil }, FaultTorn},
		{"a transaction that was rolled back", func(ev *Evidence) { ev.Notes = append(ev.Notes, Note{N: 4}) }, FaultTorn},
		{"a late write", func(ev *Evidence) {
			ev.Enqueuer = append(ev.Enqueuer, Entry{Kind: KindLate, ID: 1, Text: "transient"})
		}, FaultLate},
	} {
		t.Run(c.name, func(t *testing.T) {
			ev := honest()
			c.spoil(&ev)
			got := Judge(ev)
			if got.Count(c.want) == 0 {
				t.Errorf("no %s among %+v", c.want, got.Findings)
			}
		})
	}
}

// What looks wrong and is not.
func TestJudgeLetsPass(t *testing.T) {
	for _, c := range []struct {
		name  string
		pass  func(ev *Evidence)
		count int // of repeats
	}{
		{"another value was on its way between two of the same", func(ev *Evidence) {
			ev.Channels[0].DeliveryKey, ev.Channels[1].DeliveryKey = "other", "other"
			row := &ev.Rows[1]
			row.Story = slices.Insert(row.Story, 2, lastlook.Step{At: moment(1800), Event: lastlook.EventSending, Value: json.RawMessage(`{"price":420}`)})
		}, 1},
		{"a mark that became a row", func(ev *Evidence) {
			ev.Topics = ev.Topics[:1]
			row := &ev.Rows[1]
			row.Story = row.Story[:2]
			row.State, row.Reason, row.KeyRow.Baseline, row.KeyRow.Maybe = lastlook.StateFailed, lastlook.ReasonUnknownOutcome, nil, row.Asserted
			ev.Channels = ev.Channels[:2]
			ev.Rows = append(ev.Rows, lastlook.Record{ID: 3, Key: row.Key, Trace: "2", State: lastlook.StateDropped, Reason: lastlook.ReasonAlreadyTold, EndedAt: moment(3000), KeyRow: row.KeyRow})
		}, 0},
		{"a mark of a row that expired", func(ev *Evidence) {
			ev.Topics, ev.Channels = nil, nil
			row := &ev.Rows[1]
			row.Story, row.State, row.Reason, row.KeyRow = nil, lastlook.StateDropped, lastlook.ReasonExpired, &lastlook.KeyRow{}
		}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			ev := honest()
			c.pass(&ev)
			if got := Judge(ev); len(got.Findings) > 0 || got.Repeats != c.count {
				t.Errorf("%d repeats, findings %+v", got.Repeats, got.Findings)
			}
		})
	}
}

func TestEndsCompare(t *testing.T) {
	rows := []lastlook.Record{
		{ID: 1, State: lastlook.StateSent, Asserted: json.RawMessage(settled)},
		{ID: 2, State: lastlook.StateDropped, Reason: lastlook.ReasonExpired},
		{ID: 3, State: lastlook.StateRetry},
	}
	was := endsOf(rows)
	if len(was) != 2 {
		t.Fatalf("%d ends, want those of the two final rows: %v", len(was), was)
	}
	now := slices.Clone(rows)
	now[2] = lastlook.Record{ID: 3, State: lastlook.StateSent} // from live to final is no change
	if got := was.Compare(endsOf(now)); len(got) > 0 {
		t.Errorf("nothing changed, and it says %q", got)
	}
	now[0].Asserted = json.RawMessage(`{"price":1}`)
	if got := was.Compare(endsOf(now[:1])); len(got) != 2 {
		t.Errorf("one changed and one vanished, and it says %q", got)
	}
}
