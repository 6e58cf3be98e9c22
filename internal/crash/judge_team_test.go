package crash

import (
	"testing"

	"github.com/lastlook/lastlook"
)

// Several children share the honest case's database: run 1 was killed, so that run
// 2 could tell again.
func shared() Evidence {
	ev := honest()
	ev.Faults = []Disturbance{{Kind: disturbKill, Run: 1, From: at(32), Until: at(33)}}
	return ev
}

func TestJudgeOfSeveralChildren(t *testing.T) {
	answered := Entry{Run: 1, At: at(32), Kind: KindAnswer, N: 1, Text: answerOK}
	old := Entry{Run: 2, At: at(5000), Kind: KindWrote, ID: 1, Text: "accepted", LookedAt: at(2000)}
	stop := Disturbance{Kind: DisturbStop, Run: 2, From: at(2025), Until: at(4900)}
	mark := EnqueuedOne{Key: key("always", inNews), Edge: true, Status: lastlook.Marked.String(), ID: 2}
	absorbing := func(ms int, ev *Evidence) {
		ev.Enqueuer = append(ev.Enqueuer, Entry{Run: 2, At: at(299), Kind: KindIntent, N: 5}, Entry{Run: 2, At: at(301), Kind: KindAck, N: 5, Items: []EnqueuedOne{mark}},
			Entry{Run: 2, At: at(ms), Kind: KindAck, N: 6, Items: []EnqueuedOne{{Key: mark.Key, Status: lastlook.Inserted.String(), ID: 3}}})
		ev.Topics = append(ev.Topics, Entry{Run: 2, At: at(ms + 20), Kind: KindJudged, Key: mark.Key, LookedAt: at(ms + 10), Text: "drop"})
		ev.Rows = append(ev.Rows, lastlook.Record{ID: 3, Key: mark.Key, State: lastlook.StateDropped, Reason: lastlook.ReasonConditionLost, Trace: "6",
			CreatedAt: moment(ms), EndedAt: moment(ms + 30), KeyRow: &lastlook.KeyRow{}})
	}
	for name, c := range map[string]struct {
		change func(ev *Evidence)
		want   Fault
	}{
		"a child that was killed could not write that it was answered": {func(ev *Evidence) { ev.Channels = append(ev.Channels, answered) }, ""},
		"a child that lived could": {func(ev *Evidence) {
			ev.Channels, ev.Faults[0].Run = append(ev.Channels, answered), 7
			ev.Rows[1].Story[1].At = moment(1000)
		}, FaultRepeat},
		"nobody could while the database was away": {func(ev *Evidence) {
			ev.Channels, ev.Faults[0].Run = append(ev.Channels, answered), 0
			ev.Rows[1].Story[1].At = moment(1000)
		}, ""},
		"a child that had been stopped wrote": {func(ev *Evidence) {
			ev.Faults, ev.Enqueuer = append(ev.Faults, stop), append(ev.Enqueuer, old)
		}, FaultZombie},
		"it wrote by a claim of after": {func(ev *Evidence) {
			old := old
			old.LookedAt = at(4950)
			ev.Faults, ev.Enqueuer = append(ev.Faults, stop), append(ev.Enqueuer, old)
		}, ""},
		"a mark that came with the end is absorbed by the next row": {func(ev *Evidence) { absorbing(340, ev) }, ""},
		"not by one that comes much later":                          {func(ev *Evidence) { absorbing(9000, ev) }, FaultLost},
	} {
		t.Run(name, func(t *testing.T) {
			ev := shared()
			c.change(&ev)
			got := Judge(ev)
			if c.want == "" && len(got.Findings) > 0 || c.want != "" && got.Count(c.want) == 0 {
				t.Errorf("want %q, got %+v", c.want, got.Findings)
			}
		})
	}
}

func TestJudgeCountsWhatWasRefusedAndHowSoonItWentOn(t *testing.T) {
	ev := shared()
	ev.Faults = append(ev.Faults, Disturbance{Kind: disturbRestart, From: at(1000), Until: at(1500)},
		Disturbance{Kind: DisturbStop, Run: 2, From: at(2100), Until: at(5000)})
	ev.Enqueuer = append(ev.Enqueuer, Entry{Run: 2, At: at(5010), Kind: KindRefused, ID: 1, LookedAt: at(2050)})
	got := Judge(ev)
	if len(got.Findings) > 0 || got.Refused != 1 {
		t.Errorf("%d refused, findings %+v", got.Refused, got.Findings)
	}
	if r := got.Resumed[disturbRestart]; len(r) != 1 || r[0] != 1.031 {
		t.Errorf("resumed %v, want after 1.031 s: the acceptance whose look came after the restart", got.Resumed)
	}
}
