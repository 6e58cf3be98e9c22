// Package log delivers messages as lines of a log: for the first steps, for
// tests, and for whoever reads logs anyway. It needs no account and no
// network.
//
//	lines, err := log.New(log.Config{Writer: os.Stdout})
//	…
//	dispatcher, err := lastlook.NewDispatcher(outbox, lastlook.Config{
//		Channels: map[string]lastlook.Channel{"log": lines}, …
//
// writes, for each message, one line for people:
//
//	2026-03-29T00:59:30Z Espresso machine: 470.00 EUR, below your 500.00 EUR https://…
//
// or, with [Config.JSON], one JSON object in the form of log/slog that also
// has the notification's number, key, times and value. With [Config.Handler],
// the records go to a handler of one's own instead.
//
// Control characters, and those of Unicode's class Cf, which are invisible or
// change the direction of text, are left out or escaped in both forms.
//
// # Errors
//
// A line of which nothing was written is transient. If a part of it was, if
// the context ends while the writer is busy with it, or if a handler of one's
// own fails, the outcome is unknown: readers may have seen it. Errors carry a
// [lastlook.Class].
//
// # Concurrency
//
// A [Channel] is safe for concurrent use and writes one line at a time, each
// with one call of Write. A writer that blocks holds up the calls behind it
// until their contexts end, and nothing else.
package log

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/channel/internal/text"
)

// Config says where the lines go: to a writer or to a handler.
type Config struct {
	// Writer gets one line per message, in one call of Write.
	Writer io.Writer
	// JSON writes JSON objects with all that is known, instead of lines for
	// people, to Writer.
	JSON bool
	// Handler gets one record per message.
	Handler slog.Handler
	// Level is that of every line; the zero value is [slog.LevelInfo].
	Level slog.Level
	// Clock is the time of the lines; nil means time.Now.
	Clock func() time.Time
}

// Validate reports what is wrong with the configuration, and what to do about
// it; the error wraps [lastlook.ErrInvalid].
func (c Config) Validate() error {
	_, err := New(c)
	return err
}

// Channel writes lines.
type Channel struct {
	handler slog.Handler
	out     *counting // nil with a handler of the caller's
	level   slog.Level
	clock   func() time.Time
	turn    chan struct{} // holds the right to write
}

var _ lastlook.Channel = (*Channel)(nil)

// New makes a channel. It reports what [Config.Validate] does, and writes
// nothing.
func New(c Config) (*Channel, error) {
	ch := &Channel{handler: c.Handler, level: c.Level, clock: c.Clock, turn: make(chan struct{}, 1)}
	if ch.clock == nil {
		ch.clock = time.Now
	}
	switch {
	case c.Handler == nil && c.Writer == nil:
		return nil, fmt.Errorf("%w: the log channel has neither writer nor handler: give one, e.g. os.Stdout", lastlook.ErrInvalid)
	case c.Handler != nil && c.Writer != nil:
		return nil, fmt.Errorf("%w: the log channel has a writer and a handler: give one of them", lastlook.ErrInvalid)
	case c.Handler != nil && c.JSON:
		return nil, fmt.Errorf("%w: the log channel's handler decides on the form: leave JSON out, or give a writer", lastlook.ErrInvalid)
	case c.Writer != nil:
		ch.out = &counting{w: c.Writer}
		if c.JSON {
			ch.handler = slog.NewJSONHandler(escaping{ch.out}, &slog.HandlerOptions{Level: c.Level})
		} else {
			ch.handler = people{ch.out}
		}
	}
	ch.turn <- struct{}{}
	return ch, nil
}

// Deliver implements [lastlook.Channel].
func (c *Channel) Deliver(ctx context.Context, d lastlook.Delivery) (lastlook.Receipt, error) {
	if err := ctx.Err(); err != nil {
		return lastlook.Receipt{}, lastlook.RetryAfter(0, fmt.Errorf("log: not written: %w", err))
	}
	select {
	case <-c.turn:
	case <-ctx.Done():
		return lastlook.Receipt{}, lastlook.RetryAfter(0, fmt.Errorf("log: not written, for the writer is busy: %w", ctx.Err()))
	}
	record := c.record(d)
	done := make(chan error, 1)
	go func() { // it outlives a context that ends while the writer blocks
		defer func() { c.turn <- struct{}{} }()
		done <- c.write(context.WithoutCancel(ctx), record)
	}()
	select {
	case err := <-done:
		if err != nil {
			return lastlook.Receipt{}, err
		}
		return lastlook.Receipt{Answer: "written"}, nil
	case <-ctx.Done():
		return lastlook.Receipt{}, lastlook.Unknown(fmt.Errorf("log: the writer has not taken the whole line: %w", ctx.Err()))
	}
}

// write writes one line, and classifies what goes wrong.
func (c *Channel) write(ctx context.Context, r slog.Record) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = lastlook.Unknown(fmt.Errorf("log: the writer or handler panicked: %s", text.Line(fmt.Sprint(p))))
		}
	}()
	if c.out != nil {
		c.out.n = 0
	}
	if !c.handler.Enabled(ctx, r.Level) {
		return lastlook.Misconfigured(errors.New("log: the handler drops lines of this level: raise the level, or let the handler take it"))
	}
	err = c.handler.Handle(ctx, r)
	if err == nil {
		return nil
	}
	err = fmt.Errorf("log: %w", err)
	if c.out != nil && c.out.n == 0 {
		return lastlook.RetryAfter(0, err)
	}
	return lastlook.Unknown(err)
}

func (c *Channel) record(d lastlook.Delivery) slog.Record {
	title := text.Line(d.Message.Title)
	body := text.Clean(d.Message.Body)
	if title == "" {
		title, body = text.Line(body), ""
	}
	r := slog.NewRecord(c.clock(), c.level, title, 0)
	add := func(key, value string) {
		if value != "" {
			r.AddAttrs(slog.String(key, value))
		}
	}
	add("body", body)
	add("url", text.Line(d.Message.URL))
	r.AddAttrs(slog.Int64("id", int64(d.ID)))
	add("topic", text.Line(d.Key.Topic))
	add("subject", text.Line(d.Key.Subject))
	add("recipient", text.Line(d.Key.Recipient))
	add("channel", text.Line(d.Key.Channel))
	add("delivery_key", text.Line(d.DeliveryKey))
	r.AddAttrs(slog.Int("attempt", d.Attempt), slog.Time("looked_at", d.LookedAt.UTC()), slog.Time("expires_at", d.ExpiresAt.UTC()))
	add("value", text.Line(string(d.Value)))
	add("trace", text.Line(d.Trace))
	return r
}

// counting counts what a writer has taken of a line.
type counting struct {
	w io.Writer
	n int
}

func (c *counting) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += max(n, 0)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	return n, err
}
