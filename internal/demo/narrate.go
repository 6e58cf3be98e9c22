package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/watch"
)

// narrate tells what became of rows, from the outbox's own record of them.
func (o *ours) narrate(ctx context.Context, p *process, seen []lastlook.Transition) {
	for _, t := range seen {
		if t.Lost || t.Event == lastlook.EventSending {
			continue
		}
		rec, err := o.outbox.Get(ctx, t.ID)
		if err != nil {
			p.tell("%s  cannot read row %d: %v", clock(t.At), t.ID, err)
			continue
		}
		p.tell("%s", line(o.byWatch[t.Key.Subject].title, rec, t.At, t.Event, t.Reason))
	}
}

// line tells one transition of a row.
func line(title string, rec lastlook.Record, at time.Time, ev lastlook.Event, reason lastlook.Reason) string {
	s := fmt.Sprintf("%s  %-14s %-6s noticed at %s", clock(at), title, rec.Key.Channel, said(rec.Detection))
	switch ev {
	case lastlook.EventAccepted:
		s += " → looked again: " + said(rec.Asserted) + " → sent"
		if rec.Attempt > 1 {
			s += fmt.Sprintf(" (attempt %d)", rec.Attempt)
		}
	case lastlook.EventDropped:
		s += " → looked again: " + said(rec.Seen) + " → withheld: " + strings.ReplaceAll(string(reason), "_", " ")
	case lastlook.EventWithdrawn:
		s += " → withheld: " + strings.ReplaceAll(string(reason), "_", " ")
	case lastlook.EventOutcomeUnknown:
		s += " → sent perhaps: " + lastError(rec, ev) + "; if it goes again, it has the same key"
	default:
		s += " → " + lastError(rec, ev) + "; will look again"
	}
	return s
}

func lastError(rec lastlook.Record, ev lastlook.Event) string {
	for i := len(rec.Story) - 1; i >= 0; i-- {
		if s := rec.Story[i]; s.Event == ev && s.Error != "" {
			return s.Error
		}
	}
	return string(ev)
}

// said is a stored value in a few words.
func said(b json.RawMessage) string {
	var v watch.Value
	if len(b) == 0 || json.Unmarshal(b, &v) != nil {
		return "nothing"
	}
	s := v.Observation.Price.String()
	if v.Observation.Availability != watch.InStock {
		s += ", " + strings.ReplaceAll(string(v.Observation.Availability), "_", " ")
	}
	return s
}
