package lastlook_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
)

func item(mod func(*lastlook.Item)) lastlook.Item {
	it := lastlook.Item{Key: lastlook.Key{Topic: "price", Subject: "s", Recipient: "r", Channel: "push"}, Detection: json.RawMessage(`{"n":1}`)}
	if mod != nil {
		mod(&it)
	}
	return it
}

func TestPrepareFillsIn(t *testing.T) {
	got, err := lastlook.Prepare(t0, []lastlook.Item{item(func(it *lastlook.Item) { it.Subject = "z" }), item(nil)})
	if err != nil {
		t.Fatal(err)
	}
	if got[0].Subject != "s" || got[0].Index != 1 || got[1].Index != 0 {
		t.Errorf("not sorted by key: %+v", got)
	}
	it := got[0].Item
	if it.Lane != "push" || !it.Due.Equal(t0) || !it.ExpiresAt.Equal(t0.Add(24*time.Hour)) {
		t.Errorf("defaults: %+v", it)
	}
}

func TestPrepareRefuses(t *testing.T) {
	big := json.RawMessage(`"` + strings.Repeat("x", lastlook.MaxPayload) + `"`)
	for name, tc := range map[string]struct {
		now  time.Time
		item lastlook.Item
		want error
	}{
		"empty topic":        {t0, item(func(it *lastlook.Item) { it.Topic = "" }), lastlook.ErrInvalid},
		"empty subject":      {t0, item(func(it *lastlook.Item) { it.Subject = "" }), lastlook.ErrInvalid},
		"empty recipient":    {t0, item(func(it *lastlook.Item) { it.Recipient = "" }), lastlook.ErrInvalid},
		"empty channel":      {t0, item(func(it *lastlook.Item) { it.Channel = "" }), lastlook.ErrInvalid},
		"long key":           {t0, item(func(it *lastlook.Item) { it.Subject = strings.Repeat("s", 513) }), lastlook.ErrInvalid},
		"NUL in key":         {t0, item(func(it *lastlook.Item) { it.Subject = "a\x00b" }), lastlook.ErrInvalid},
		"bad UTF-8 in key":   {t0, item(func(it *lastlook.Item) { it.Subject = "a\xff" }), lastlook.ErrInvalid},
		"bad UTF-8 in lane":  {t0, item(func(it *lastlook.Item) { it.Lane = "a\xff" }), lastlook.ErrInvalid},
		"long trace":         {t0, item(func(it *lastlook.Item) { it.Trace = strings.Repeat("s", 513) }), lastlook.ErrInvalid},
		"no detection":       {t0, item(func(it *lastlook.Item) { it.Detection = nil }), lastlook.ErrInvalid},
		"broken detection":   {t0, item(func(it *lastlook.Item) { it.Detection = json.RawMessage(`{`) }), lastlook.ErrInvalid},
		"payload too large":  {t0, item(func(it *lastlook.Item) { it.Detection = big }), lastlook.ErrPayloadTooLarge},
		"priority":           {t0, item(func(it *lastlook.Item) { it.Priority = 9 }), lastlook.ErrInvalid},
		"episode":            {t0, item(func(it *lastlook.Item) { it.Episode = lastlook.MaxEpisode + 1 }), lastlook.ErrInvalid},
		"expires before due": {t0, item(func(it *lastlook.Item) { it.Due, it.ExpiresAt = t0.Add(48*time.Hour), t0.Add(time.Hour) }), lastlook.ErrInvalid},
		"retry of nothing":   {t0, item(func(it *lastlook.Item) { it.RetryOf = -1 }), lastlook.ErrInvalid},
		"expired":            {t0, item(func(it *lastlook.Item) { it.ExpiresAt = t0 }), lastlook.ErrInvalid},
		"negative TTL":       {t0, item(func(it *lastlook.Item) { it.TTL = -time.Hour }), lastlook.ErrInvalid},
		"due at year 0":      {t0, item(func(it *lastlook.Item) { it.Due = time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC) }), lastlook.ErrClock},
		"day without a zone": {t0, item(func(it *lastlook.Item) { it.Windows = lastlook.Day(nil) }), lastlook.ErrInvalid},
		"clock at year 0":    {time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC), item(nil), lastlook.ErrClock},
		"zero clock":         {time.Time{}, item(nil), lastlook.ErrClock},
		"clock at year 10000": {
			time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), item(nil), lastlook.ErrClock},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := lastlook.Prepare(tc.now, []lastlook.Item{item(nil), tc.item})
			if !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
			if err != nil && strings.Contains(err.Error(), strings.Repeat("x", 100)) {
				t.Error("the error repeats the payload")
			}
		})
	}
}

func TestAdmit(t *testing.T) {
	day := lastlook.Day(time.UTC)
	today, yesterday := day.At(t0, 0), day.At(t0.AddDate(0, 0, -1), 0)
	live := lastlook.Standing{LiveID: 5, LiveState: lastlook.StateSending}
	told := lastlook.Standing{Key: lastlook.KeyRow{Told: today, ToldBy: 3}}
	toldAndLive := lastlook.Standing{Key: lastlook.KeyRow{Told: today, ToldBy: 5}, LiveID: 5, LiveState: lastlook.StateRetry}
	byDay := func(it *lastlook.Item) { it.Windows = day }
	edge := func(it *lastlook.Item) { it.Windows, it.Edge = day, true }
	for name, tc := range map[string]struct {
		item func(*lastlook.Item)
		s    lastlook.Standing
		want lastlook.EnqueueStatus
		id   lastlook.ID
	}{
		"new":                              {byDay, lastlook.Standing{}, lastlook.Inserted, 0},
		"live row":                         {byDay, live, lastlook.Duplicate, 5},
		"live row, edge":                   {edge, live, lastlook.Marked, 5},
		"told today":                       {byDay, told, lastlook.AlreadyTold, 3},
		"told today, edge":                 {edge, told, lastlook.AlreadyTold, 3},
		"told yesterday":                   {byDay, lastlook.Standing{Key: lastlook.KeyRow{Told: yesterday, ToldBy: 3}}, lastlook.Inserted, 0},
		"told, by the policy last used":    {nil, told, lastlook.AlreadyTold, 3},
		"told in an episode, by a handle":  {nil, lastlook.Standing{Key: lastlook.KeyRow{Told: lastlook.Episodes().At(t0, 3), ToldBy: 3}}, lastlook.Inserted, 0},
		"told by an unknown policy":        {nil, lastlook.Standing{Key: lastlook.KeyRow{Told: lastlook.Window{Policy: "lunar", Start: 1}}}, lastlook.Inserted, 0},
		"maybe told by the live row":       {byDay, toldAndLive, lastlook.Duplicate, 5},
		"maybe told by the live row, edge": {edge, toldAndLive, lastlook.AlreadyTold, 5},
		"muted":                            {byDay, lastlook.Standing{Muted: true}, lastlook.Muted, 0},
		"muted, with a live row":           {byDay, lastlook.Standing{Muted: true, LiveID: 5}, lastlook.Duplicate, 5},
		"told, may repeat":                 {func(it *lastlook.Item) { it.Windows, it.MayRepeat = day, true }, told, lastlook.Inserted, 0},
		"dropped in this window":           {byDay, lastlook.Standing{Key: lastlook.KeyRow{Last: lastlook.End{State: lastlook.StateDropped, At: t0}}}, lastlook.Inserted, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := lastlook.Prepare(t0, []lastlook.Item{item(tc.item)})
			if err != nil {
				t.Fatal(err)
			}
			got, err := lastlook.Admit(t0, &p[0].Item, tc.s)
			if err != nil {
				t.Fatal(err)
			}
			if got.Status != tc.want || got.ID != tc.id {
				t.Errorf("got %v of %d, want %v of %d", got.Status, got.ID, tc.want, tc.id)
			}
		})
	}
}

func TestAdmitRefusesAnOlderEpisode(t *testing.T) {
	s := lastlook.Standing{Key: lastlook.KeyRow{Told: lastlook.Episodes().At(t0, 4), ToldBy: 3}}
	for episode, want := range map[int64]error{3: lastlook.ErrWindowBackwards, 4: nil, 5: nil} {
		it := item(func(it *lastlook.Item) { it.Windows, it.Episode = lastlook.Episodes(), episode })
		if _, err := lastlook.Admit(t0, &it, s); !errors.Is(err, want) {
			t.Errorf("episode %d: %v, want %v", episode, err, want)
		}
	}
}

func TestDueGrowsWithFailures(t *testing.T) {
	for failures, want := range map[int]time.Duration{0: 0, 1: 30 * time.Second, 2: time.Minute, 7: 30 * time.Minute, 1000: 30 * time.Minute} {
		s := lastlook.Standing{Key: lastlook.KeyRow{Failures: failures, Last: lastlook.End{At: t0}}}
		it := item(func(it *lastlook.Item) { it.Due, it.ExpiresAt = t0, t0.Add(24*time.Hour) })
		got, err := lastlook.Admit(t0, &it, s)
		if err != nil {
			t.Fatal(err)
		}
		if !got.Due.Equal(t0.Add(want)) {
			t.Errorf("%d failures: due after %v, want %v", failures, got.Due.Sub(t0), want)
		}
	}
	// A row must not expire before it is due: that would only add a failure.
	short := item(func(it *lastlook.Item) { it.Due, it.ExpiresAt = t0, t0.Add(5*time.Minute) })
	got, err := lastlook.Admit(t0, &short, lastlook.Standing{Key: lastlook.KeyRow{Failures: 9, Last: lastlook.End{At: t0}}})
	if err != nil || !got.Due.Equal(t0.Add(150*time.Second)) {
		t.Errorf("with a life of 5 minutes: due after %v, %v", got.Due.Sub(t0), err)
	}
	// The wait is counted from the last end: an old failure delays nothing.
	old := lastlook.KeyRow{Failures: 3, Last: lastlook.End{At: t0.Add(-time.Hour)}}
	if got := lastlook.ReviveDue(t0, t0.Add(-time.Minute), t0.Add(time.Hour), old); !got.Equal(t0) {
		t.Errorf("revived due at %v, want now", got)
	}
}

func TestKeysAreDistinct(t *testing.T) {
	k := lastlook.Key{Topic: "t", Subject: "ab", Recipient: "c", Channel: "d"}
	shifted := lastlook.Key{Topic: "t", Subject: "a", Recipient: "bc", Channel: "d"}
	keys := map[string]string{}
	for name, v := range map[string]string{
		"seq 1": lastlook.DeliveryKey(k, 1), "seq 2": lastlook.DeliveryKey(k, 2), "shifted": lastlook.DeliveryKey(shifted, 1),
		"replace": lastlook.ReplaceKey(k), "replace shifted": lastlook.ReplaceKey(shifted),
	} {
		if other, dup := keys[v]; dup {
			t.Errorf("%s and %s are the same", name, other)
		}
		keys[v] = name
		if len(v) > 32 || strings.ContainsAny(v, "+/=") {
			t.Errorf("%s is %q: not at most 32 base64url characters", name, v)
		}
	}
	other := k
	other.Topic = "u"
	if lastlook.ReplaceKey(k) != lastlook.ReplaceKey(other) {
		t.Error("the replace key depends on the topic")
	}
}

func TestCanonical(t *testing.T) {
	for in, want := range map[string]string{
		`{"b":1, "a": {"d":[1, 2],"c":"<é>"}}`: `{"a":{"c":"<é>","d":[1,2]},"b":1}`,
		` 12.50 `:                              `12.50`,
		`"x"`:                                  `"x"`,
		`[1,2]`:                                `[1,2]`,
		`12345678901234567890.123`:             `12345678901234567890.123`,
		`{"n":12345678901234567890}`:           `{"n":12345678901234567890}`,
	} {
		got, err := lastlook.Canonical(json.RawMessage(in))
		if err != nil || string(got) != want {
			t.Errorf("%s: got %s, %v", in, got, err)
		}
	}
	for _, in := range []string{``, `{`, `{} {}`, `{"a":1}}`, `nope`} {
		if _, err := lastlook.Canonical(json.RawMessage(in)); !errors.Is(err, lastlook.ErrInvalid) {
			t.Errorf("%q: %v", in, err)
		}
	}
}

func TestClassify(t *testing.T) {
	cause := errors.New("cause")
	for want, err := range map[lastlook.Class]error{
		lastlook.ClassTransient: cause, lastlook.ClassPermanent: lastlook.Permanent(cause), lastlook.ClassGone: lastlook.Gone(cause),
		lastlook.ClassMisconfigured: lastlook.Misconfigured(cause), lastlook.ClassUnknown: lastlook.Unknown(cause),
	} {
		if got, _ := lastlook.Classify(err); got != want || !errors.Is(err, cause) || err.Error() != "cause" {
			t.Errorf("%v: classified %v, want %v", err, got, want)
		}
	}
	if class, after := lastlook.Classify(lastlook.RetryAfter(time.Minute, cause)); class != lastlook.ClassTransient || after != time.Minute {
		t.Errorf("retry after: %v, %v", class, after)
	}
}
