package server

import (
	"context"
	"log/slog"
	"time"

	"github.com/lastlook/lastlook"
)

// observer logs what becomes of rows. Keys and errors carry no secrets, by
// the contract of channels and sources.
type observer struct{ log *slog.Logger }

// Observe implements [lastlook.Observer].
func (o observer) Observe(t lastlook.Transition) {
	ctx := context.Background()
	level, text := levelOf(t)
	if !o.log.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{
		slog.Int64("id", int64(t.ID)), slog.String("topic", t.Key.Topic), slog.String("subject", t.Key.Subject),
		slog.String("recipient", t.Key.Recipient), slog.String("channel", t.Key.Channel), slog.String("event", string(t.Event)),
	}
	if t.Reason != "" {
		attrs = append(attrs, slog.String("reason", string(t.Reason)))
	}
	if t.Attempt > 0 {
		attrs = append(attrs, slog.Int("attempt", t.Attempt))
	}
	if !t.Answered.IsZero() {
		attrs = append(attrs, slog.Duration("took", t.Answered.Sub(t.Called).Round(time.Microsecond)))
		if t.Event == lastlook.EventAccepted && !t.LookedAt.IsZero() {
			attrs = append(attrs, slog.Duration("look_to_accept", t.Answered.Sub(t.LookedAt).Round(time.Microsecond)))
		}
	}
	if t.Trace != "" {
		attrs = append(attrs, slog.String("trace", t.Trace))
	}
	if t.Err != nil {
		attrs = append(attrs, slog.Any("error", t.Err))
	}
	o.log.LogAttrs(ctx, level, text, attrs...)
}

// levelOf says how loud a transition is: what was told or rightly withheld is
// information, what will be tried again a warning, what needs an operator an
// error.
func levelOf(t lastlook.Transition) (slog.Level, string) {
	if t.Lost {
		return slog.LevelWarn, "overtaken"
	}
	switch t.To {
	case lastlook.StateSent:
		return slog.LevelInfo, "sent"
	case lastlook.StateFailed:
		return slog.LevelError, "failed"
	case lastlook.StateDropped:
		if info, ok := t.Reason.Info(); ok && info.Verdict {
			return slog.LevelInfo, "rightly withheld"
		}
		if t.Reason == lastlook.ReasonRecipientGone || t.Reason == lastlook.ReasonExpired {
			return slog.LevelWarn, "dropped"
		}
		return slog.LevelInfo, "dropped"
	case lastlook.StateRetry:
		switch t.Event {
		case lastlook.EventMisconfigured:
			// The dispatcher raises the alert, once per lane.
			return slog.LevelWarn, "our settings are refused; waiting"
		case lastlook.EventNotCalled:
			return slog.LevelDebug, "not called; looking again"
		case lastlook.EventLookUnknown:
			return slog.LevelWarn, "could not look; trying again"
		case lastlook.EventOutcomeUnknown:
			return slog.LevelWarn, "nobody knows whether it was delivered; trying again"
		default:
			return slog.LevelWarn, "not delivered; trying again"
		}
	case lastlook.StateNone, lastlook.StatePending, lastlook.StateSending:
	}
	return slog.LevelDebug, "moved"
}
