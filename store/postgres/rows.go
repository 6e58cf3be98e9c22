package postgres

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/lastlook/lastlook"
)

// keyScan receives key_columns, or those of them that enqueue_standing has.
type keyScan struct {
	id, seq, toldStart, toldBy, toldAt, lastID, lastState, lastAt, failures, baselineAt int64
	toldPolicy, lastReason                                                              string
	baseline, maybe                                                                     []byte
}

// short are the destinations of the columns up to failures.
func (k *keyScan) short() []any {
	return []any{&k.id, &k.seq, &k.toldPolicy, &k.toldStart, &k.toldBy, &k.toldAt, &k.lastID, &k.lastState, &k.lastReason, &k.lastAt, &k.failures}
}

func (k *keyScan) all() []any { return append(k.short(), &k.baselineAt, &k.baseline, &k.maybe) }

func (k *keyScan) row() lastlook.KeyRow {
	return lastlook.KeyRow{
		ID: k.id, Seq: k.seq,
		Told: lastlook.Window{Policy: k.toldPolicy, Start: k.toldStart}, ToldBy: lastlook.ID(k.toldBy), ToldAt: timeOf(k.toldAt),
		Last:     lastlook.End{ID: lastlook.ID(k.lastID), State: lastlook.State(k.lastState), Reason: lastlook.Reason(k.lastReason), At: timeOf(k.lastAt)},
		Failures: int(k.failures), BaselineAt: timeOf(k.baselineAt), Baseline: jsonOf(k.baseline), Maybe: jsonOf(k.maybe),
	}
}

// notificationScan receives notification_columns. Its destinations are made
// once for a whole result.
type notificationScan struct {
	created, expires, episode, retryOf int64
	trace                              string
	detection                          []byte
	key                                lastlook.Key
	muted                              bool
	keyRow                             keyScan
}

func (n *notificationScan) all() []any {
	return append([]any{&n.created, &n.expires, &n.episode, &n.retryOf, &n.trace, &n.detection,
		&n.key.Topic, &n.key.Subject, &n.key.Recipient, &n.key.Channel, &n.muted}, n.keyRow.all()...)
}

// fill sets what a row knows of its notification.
func (n *notificationScan) fill(r *lastlook.Row) {
	r.CreatedAt, r.ExpiresAt, r.Episode, r.RetryOf = timeOf(n.created), timeOf(n.expires), n.episode, lastlook.ID(n.retryOf)
	r.Trace, r.Detection, r.Key, r.Muted, r.KeyRow = n.trace, jsonOf(n.detection), n.key, n.muted, n.keyRow.row()
}

// liveScan receives live_columns and notification_columns.
type liveScan struct {
	id, due, attempt, state, lease, lookedAt, windowStart, seq, guarantee, lane, priority int64
	story, asserted                                                                       []byte
	token                                                                                 pgtype.UUID
	windowPolicy, laneName                                                                string
	n                                                                                     notificationScan
}

func (l *liveScan) all() []any {
	return append([]any{&l.id, &l.due, &l.attempt, &l.story, &l.state, &l.token, &l.lease,
		&l.asserted, &l.lookedAt, &l.windowPolicy, &l.windowStart, &l.seq, &l.guarantee, &l.lane, &l.laneName, &l.priority}, l.n.all()...)
}

func (l *liveScan) row() lastlook.Row {
	r := lastlook.Row{ID: lastlook.ID(l.id), Due: timeOf(l.due), Attempt: int(l.attempt),
		State: lastlook.State(l.state), Token: lastlook.Token(l.token.Bytes), Lease: timeOf(l.lease)}
	l.n.fill(&r)
	r.Lane = lastlook.Lane{ID: l.lane, Topic: r.Key.Topic, Channel: r.Key.Channel, Name: l.laneName, Priority: lastlook.Priority(l.priority)}
	if r.State == lastlook.StateSending {
		r.Assertion = lastlook.Assertion{Value: jsonOf(l.asserted), LookedAt: timeOf(l.lookedAt),
			Window: lastlook.Window{Policy: l.windowPolicy, Start: l.windowStart}, Seq: l.seq, Guarantee: lastlook.Guarantee(l.guarantee)}
	}
	r.Story = lastlook.StoryOf(l.story, r.State, r.Attempt, r.Assertion)
	return r
}

// recordScan receives record_columns.
type recordScan struct {
	id, priority, state, created, expires, episode, retryOf, due, lease, marks, attempt, lookedAt, windowStart, seq, endedAt int64
	key                                                                                                                      lastlook.Key
	lane, reason, trace, windowPolicy                                                                                        string
	detection, asserted, seen                                                                                                []byte
	mayRepeat                                                                                                                bool
}

func (r *recordScan) all() []any {
	return []any{&r.id, &r.key.Topic, &r.key.Subject, &r.key.Recipient, &r.key.Channel, &r.lane, &r.priority,
		&r.state, &r.reason, &r.detection, &r.created, &r.expires, &r.trace, &r.episode, &r.retryOf,
		&r.due, &r.lease, &r.marks, &r.attempt, &r.asserted, &r.lookedAt, &r.seen,
		&r.windowPolicy, &r.windowStart, &r.seq, &r.endedAt, &r.mayRepeat}
}

func (r *recordScan) record() lastlook.Record {
	return lastlook.Record{
		ID: lastlook.ID(r.id), Key: r.key, Lane: r.lane, Priority: lastlook.Priority(r.priority),
		State: lastlook.State(r.state), Reason: lastlook.Reason(r.reason), Detection: jsonOf(r.detection),
		CreatedAt: timeOf(r.created), ExpiresAt: timeOf(r.expires), Trace: r.trace, Episode: r.episode, RetryOf: lastlook.ID(r.retryOf),
		Due: timeOf(r.due), Leased: timeOf(r.lease), Marks: int(r.marks), Attempt: int(r.attempt),
		Asserted: jsonOf(r.asserted), LookedAt: timeOf(r.lookedAt), Seen: jsonOf(r.seen),
		Window: lastlook.Window{Policy: r.windowPolicy, Start: r.windowStart}, Seq: r.seq, EndedAt: timeOf(r.endedAt), MayRepeat: r.mayRepeat,
	}
}

// complete adds a record's story and key row.
func complete(rec *lastlook.Record, story []byte, k *keyScan) {
	rec.Story = lastlook.StoryOf(story, rec.State, rec.Attempt,
		lastlook.Assertion{Value: rec.Asserted, LookedAt: rec.LookedAt, Window: rec.Window, Seq: rec.Seq})
	rec.KeyRow = new(k.row())
}

// timeOf is the time of stored microseconds; statements give -1 for none.
func timeOf(n int64) time.Time {
	if n < 0 {
		return time.Time{}
	}
	return time.UnixMicro(n).UTC()
}

// jsonOf takes over a scanned value, which the next row does not touch; empty is
// none.
func jsonOf(b []byte) json.RawMessage {
	if len(b) == 0 {
		return nil
	}
	return b
}

// textOf is JSON as the server takes it: valid UTF-8. JSON has to be that, but
// nobody has checked; one value that is not must not fail the batch it is in.
func textOf[T ~[]byte](b T) string { return strings.ToValidUTF8(string(b), "\uFFFD") }

// micros is a time as it is stored; NULL for none.
func micros(t time.Time) pgtype.Int8 { return pgtype.Int8{Int64: t.UnixMicro(), Valid: !t.IsZero()} }

func uuidOf(t lastlook.Token) pgtype.UUID { return pgtype.UUID{Bytes: t, Valid: true} }
