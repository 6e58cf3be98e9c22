package server

import (
	"context"
	"fmt"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/internal/config"
)

// testWait bounds a test of a channel.
const testWait = 20 * time.Second

// Answered is what a channel's test came to.
type Answered struct {
	// Answer is what the service said, without secrets.
	Answer string
	// Class is what its refusal means; empty if it accepted.
	Class string
	Took  time.Duration
}

// AskChannel sends a message that says that it is a test, past the outbox:
// there is nothing to be looked at, and whoever asks waits for the answer. It
// reports, with what the service answered, that it was refused.
func (s *Server) AskChannel(ctx context.Context, name, recipient string) (Answered, error) {
	channels := s.channels.Load().Channels
	if err := channels.Check(name); err != nil {
		return Answered{}, err
	}
	built, err := newChannels(s.opt, channels)
	if err != nil {
		return Answered{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, testWait)
	defer cancel()
	now := lastlook.Micro(s.opt.Clock())
	k := lastlook.Key{Topic: "channel_test", Subject: name, Recipient: recipient, Channel: name}
	began := time.Now()
	receipt, err := built[name].Deliver(ctx, lastlook.Delivery{
		Key:         k,
		Message:     lastlook.Message{Title: "lastlook reaches you", Body: "This is a test of the channel " + name + ".", Silent: false},
		DeliveryKey: lastlook.DeliveryKey(k, now.UnixMicro()), ReplaceKey: lastlook.ReplaceKey(k),
		Attempt: 1, LookedAt: now, ExpiresAt: now.Add(testExpiry),
	})
	out := Answered{Answer: receipt.Answer, Took: time.Since(began)}
	if err != nil {
		class, _ := lastlook.Classify(err)
		out.Class, out.Answer = class.String(), err.Error()
	}
	return out, nil
}

// ResumeChannel makes a dispatcher that runs try all lanes at once.
func ResumeChannel(dir config.Dir, name string, now time.Time) error {
	channels, err := dir.Channels()
	if err != nil {
		return err
	}
	if name != config.PushChannel {
		if err := channels.Check(name); err != nil {
			return err
		}
	}
	if err := dir.Resume(now); err != nil {
		return fmt.Errorf("resume: %w", err)
	}
	return nil
}
