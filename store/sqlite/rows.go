package sqlite

import (
	"github.com/lastlook/lastlook"
)

// The widths of the shared column lists in queries/fragments.sql.
const (
	keyWidth    = 14 // key_columns; without the last three in enqueue_standing
	rowWidth    = 15 + keyWidth
	recordWidth = 27
)

// readKey reads key_columns from position i on.
func readKey(r *row, i int) lastlook.KeyRow {
	if r.null(i) {
		return lastlook.KeyRow{}
	}
	k := lastlook.KeyRow{
		ID: r.int(i), Seq: r.int(i + 1),
		Told: r.window(i+2, i+3), ToldBy: lastlook.ID(r.int(i + 4)), ToldAt: r.time(i + 5),
		Last:     lastlook.End{ID: lastlook.ID(r.int(i + 6)), State: lastlook.State(r.int(i + 7)), Reason: lastlook.Reason(r.text(i + 8)), At: r.time(i + 9)},
		Failures: int(r.int(i + 10)),
	}
	if r.columns() >= i+keyWidth {
		k.BaselineAt, k.Baseline, k.Maybe = r.time(i+11), r.json(i+12), r.json(i+13)
	}
	return k
}

// readRow reads row_columns. What a claim sets is the caller's to fill in.
func readRow(r *row, lane lastlook.Lane) lastlook.Row {
	return lastlook.Row{
		ID: lastlook.ID(r.int(0)), Due: r.time(1), Attempt: int(r.int(2)),
		CreatedAt: r.time(4), ExpiresAt: r.time(5), Episode: r.int(6), RetryOf: lastlook.ID(r.int(7)),
		Trace: r.text(8), Detection: r.json(9),
		Key:   lastlook.Key{Topic: r.text(10), Subject: r.text(11), Recipient: r.text(12), Channel: r.text(13)},
		Lane:  lane,
		Muted: r.bool(14), KeyRow: readKey(r, 15),
	}
}

// readSwept reads row_columns and claim_columns.
func readSwept(r *row) lastlook.Row {
	const c = rowWidth
	row := readRow(r, lastlook.Lane{ID: r.int(c + 9), Topic: r.text(10), Channel: r.text(13), Name: r.text(c + 10), Priority: lastlook.Priority(r.int(c + 11))})
	row.State, row.Token, row.Lease = lastlook.State(r.int(c)), r.token(c+1), r.time(c+2)
	if row.State == lastlook.StateSending {
		row.Assertion = lastlook.Assertion{
			Value: r.json(c + 3), LookedAt: r.time(c + 4), Window: r.window(c+5, c+6),
			Seq: r.int(c + 7), Guarantee: lastlook.Guarantee(r.int(c + 8)),
		}
	}
	row.Story = lastlook.StoryOf(r.bytes(3), row.State, row.Attempt, row.Assertion)
	return row
}

// readRecord reads record_columns.
func readRecord(r *row) lastlook.Record {
	return lastlook.Record{
		ID:   lastlook.ID(r.int(0)),
		Key:  lastlook.Key{Topic: r.text(1), Subject: r.text(2), Recipient: r.text(3), Channel: r.text(4)},
		Lane: r.text(5), Priority: lastlook.Priority(r.int(6)),
		State: lastlook.State(r.int(7)), Reason: lastlook.Reason(r.text(8)), Detection: r.json(9),
		CreatedAt: r.time(10), ExpiresAt: r.time(11), Trace: r.text(12), Episode: r.int(13), RetryOf: lastlook.ID(r.int(14)),
		Due: r.time(15), Leased: r.time(16), Marks: int(r.int(17)),
		Attempt: int(r.int(18)), Asserted: r.json(19), LookedAt: r.time(20), Seen: r.json(21),
		Window: r.window(22, 23), Seq: r.int(24), EndedAt: r.time(25), MayRepeat: r.bool(26),
	}
}

// readFull completes a record with its story and key row, from position i on.
func readFull(r *row, i int, rec *lastlook.Record) {
	rec.Story = lastlook.StoryOf(r.bytes(i), rec.State, rec.Attempt,
		lastlook.Assertion{Value: rec.Asserted, LookedAt: rec.LookedAt, Window: rec.Window, Seq: rec.Seq})
	rec.KeyRow = new(readKey(r, i+1))
}
