package main

import (
	"context"
	"time"

	"github.com/lastlook/lastlook/internal/server"
)

type channelTestCmd struct {
	Name      string `arg:"" help:"The channel's name."`
	Recipient string `default:"me" placeholder:"WHO" help:"Who is told (default ${default})."`
}

// Help implements [kong.HelpProvider].
func (*channelTestCmd) Help() string {
	return `Sends a message that says that it is a test, at once and past the outbox, and shows what the service answered, without secrets. Exit code 1 if it was not accepted.

Example: lastlook channel test phone`
}

// testView is the JSON of a test.
type testView struct {
	Channel  string `json:"channel"`
	Accepted bool   `json:"accepted"`
	// Class is what a refusal means: transient, permanent, gone, misconfigured
	// or unknown.
	Class  string `json:"class,omitzero"`
	Answer string `json:"answer"`
	TookMS int64  `json:"took_ms"`
}

// Run tests a channel.
func (c *channelTestCmd) Run(ctx context.Context, a *app) error {
	return a.with(ctx, func(s *server.Server) error {
		got, err := s.AskChannel(ctx, c.Name, c.Recipient)
		if err != nil {
			return err
		}
		if a.out.json {
			err = a.out.value(testView{Channel: c.Name, Accepted: got.Class == "", Class: got.Class, Answer: got.Answer, TookMS: got.Took.Milliseconds()})
		} else if got.Class == "" {
			a.out.linef("%s: accepted (%s), %s", c.Name, got.Took.Round(time.Millisecond), got.Answer)
		} else {
			a.out.linef("%s: not accepted (%s): %s", c.Name, got.Class, got.Answer)
		}
		if err == nil && got.Class != "" {
			return exit(exitFailed)
		}
		return err
	})
}

type channelResumeCmd struct {
	Name string `arg:"" help:"The channel's name."`
}

// Help implements [kong.HelpProvider].
func (*channelResumeCmd) Help() string {
	return `After its settings were mended: a lastlook that serves tries the channel at once instead of waiting. Rows that were themselves refused come back within half an hour at most.`
}

// Run resumes a channel.
func (c *channelResumeCmd) Run(a *app) error {
	dir, err := a.dir()
	if err != nil {
		return err
	}
	if err := server.ResumeChannel(dir, c.Name, a.now()); err != nil {
		return err
	}
	if a.out.json {
		return a.out.value(changedView{ID: c.Name, Did: "resumed"})
	}
	a.out.notef("channel %s is tried at once by the lastlook that serves, if one does", c.Name)
	return nil
}
