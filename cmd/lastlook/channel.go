package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/lastlook/lastlook/internal/config"
	"github.com/lastlook/lastlook/internal/server"
)

type channelCmd struct {
	Add    channelAddCmd    `cmd:"" help:"Add a way to be told."`
	List   channelListCmd   `cmd:"" help:"List the ways to be told."`
	Test   channelTestCmd   `cmd:"" help:"Send a test through a channel, and show what is answered."`
	Resume channelResumeCmd `cmd:"" help:"Try a channel at once that waits."`
	Unmute channelUnmuteCmd `cmd:"" help:"Tell a recipient again that a channel said is gone."`
	Remove channelRemoveCmd `cmd:"" help:"Remove a way to be told."`
}

type channelAddCmd struct {
	Name        string `arg:"" help:"What to call it; watches name it with --to."`
	Webhook     string `xor:"kind" required:"" placeholder:"URL" help:"Send signed webhooks (Standard Webhooks) to this address."`
	Ntfy        string `xor:"kind" required:"" placeholder:"URL" help:"Send to this ntfy topic, such as https://ntfy.sh/your-secret-topic."`
	AddressFile string `xor:"kind" required:"" placeholder:"FILE" help:"A file with a service's address, such as tgram://token/chat; - for standard input."`
	SecretFile  string `placeholder:"FILE" help:"A file with the webhook's secret (whsec_…), - for standard input; without it a secret is made and shown once."`
	TokenFile   string `placeholder:"FILE" help:"A file with the ntfy server's access token, - for standard input."`
}

// Help implements [kong.HelpProvider].
func (*channelAddCmd) Help() string {
	return `Secrets come from files, never from the command line, where other users could read them. A lastlook that serves takes the new channel up by itself.

The address of a service has its secrets in it, so it comes from a file too; its forms are those of Apprise: tgram://token/chat, discord://id/token, slack://A/B/C, mailtos://user:password@host?to=…, and so on; docs/channels.md has them all.

Example: lastlook channel add phone --ntfy https://ntfy.sh/your-secret-topic`
}

// channelView is the JSON of a channel.
type channelView struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
	// URL is where it leads, without what may be secret in it.
	URL string `json:"url,omitzero"`
	// Authentication is "secret", "token", "address" or nothing.
	Authentication string `json:"authentication,omitzero"`
	// State is how it does, if it does not work: "broken", "parked" or "asked
	// to wait"; Why is the last error.
	State string `json:"state,omitzero"`
	Why   string `json:"why,omitzero"`
	// Secret is shown once, when it has just been made.
	Secret string `json:"secret,omitzero"`
}

func newChannelView(c config.Channel) channelView {
	v := channelView{Name: c.Name, Kind: string(c.Kind), URL: c.Leads()}
	switch {
	case c.Secret != "":
		v.Authentication = "secret"
	case c.Token != "":
		v.Authentication = "token"
	case c.Address != "":
		v.Authentication = "address"
	}
	return v
}

// Run adds a channel.
func (c *channelAddCmd) Run(ctx context.Context, a *app) error {
	ch, made, err := c.build(a)
	if err != nil {
		return err
	}
	if err := server.CheckChannel(a.options(), ch); err != nil {
		return err
	}
	dir, err := a.dir()
	if err != nil {
		return err
	}
	err = dir.UpdateChannels(ctx, func(cs config.Channels) (config.Channels, error) { return cs.Add(ch) })
	if err != nil {
		return err
	}
	if a.out.json {
		v := newChannelView(ch)
		v.Secret = string(made)
		return a.out.value(v)
	}
	a.out.linef("channel %s added: %s to %s", ch.Name, ch.Kind, ch.Leads())
	if made != "" {
		a.out.linef("its secret, which the receiver needs and which is not shown again: %s", string(made))
	}
	return nil
}

// build makes a channel of the flags; made is the secret if it was made here.
func (c *channelAddCmd) build(a *app) (ch config.Channel, made config.Secret, err error) {
	ch = config.Channel{Name: c.Name, Kind: config.KindNtfy, URL: strings.TrimSpace(c.Ntfy)}
	switch {
	case c.AddressFile != "" && c.SecretFile+c.TokenFile != "":
		return ch, "", usagef("a service's address has all that it needs: leave --secret-file and --token-file out")
	case c.AddressFile != "":
		ch.Kind = config.KindService
		if ch.Address, err = a.readSecret(c.AddressFile); err != nil {
			return ch, "", err
		}
	case c.Webhook != "" && c.TokenFile != "":
		return ch, "", usagef("--token-file is for --ntfy; a webhook takes --secret-file")
	case c.Ntfy != "" && c.SecretFile != "":
		return ch, "", usagef("--secret-file is for --webhook; ntfy takes --token-file")
	case c.Webhook != "":
		ch.Kind, ch.URL = config.KindWebhook, strings.TrimSpace(c.Webhook)
		if c.SecretFile == "" {
			made = config.NewWebhookSecret()
			ch.Secret = made
		} else if ch.Secret, err = a.readSecret(c.SecretFile); err != nil {
			return ch, "", err
		}
	case c.TokenFile != "":
		if ch.Token, err = a.readSecret(c.TokenFile); err != nil {
			return ch, "", err
		}
	}
	return ch, made, ch.Validate()
}

// maxSecret bounds a secret, in bytes.
const maxSecret = 4 << 10

// readSecret reads a secret from a file, or from standard input for "-".
func (a *app) readSecret(path string) (config.Secret, error) {
	b, err := a.readAll(path)
	if err != nil {
		return "", err
	}
	return secretFrom(path, b)
}

// readAll reads a small file, or standard input for "-".
func (a *app) readAll(path string) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(io.LimitReader(a.in, maxSecret+1))
	}
	return readLimited(path, maxSecret+1)
}

func readLimited(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	return io.ReadAll(io.LimitReader(f, limit))
}

func secretFrom(name string, b []byte) (config.Secret, error) {
	b = bytes.TrimSpace(b)
	switch {
	case len(b) == 0:
		return "", usagef("%s is empty: put the secret into it, on one line", name)
	case len(b) > maxSecret || bytes.ContainsAny(b, "\r\n\x00"):
		return "", usagef("%s holds more than one line: put only the secret into it", name)
	}
	return config.Secret(b), nil
}

type channelListCmd struct{}

// Run lists the channels.
func (channelListCmd) Run(a *app) error {
	missing, err := a.missing()
	if err != nil {
		return err
	}
	var channels config.Channels
	var broken []server.LaneState
	if !missing {
		dir, err := a.dir()
		if err != nil {
			return err
		}
		if channels, err = dir.Channels(); err != nil {
			return err
		}
		if broken, err = server.Lanes(dir); err != nil {
			return err
		}
	}
	views := []channelView{newChannelView(config.Channel{Name: config.LogChannel, Kind: config.KindLog})}
	for _, c := range channels {
		v := newChannelView(c)
		for _, l := range broken {
			if l.Channel == c.Name {
				v.State, v.Why = string(l.Status), l.Why
			}
		}
		views = append(views, v)
	}
	if a.out.json {
		return a.out.value(views)
	}
	var rows [][]string
	for _, v := range views {
		rows = append(rows, []string{v.Name, v.Kind, v.URL, v.Authentication, v.State})
	}
	a.out.table([]string{"NAME", "KIND", "LEADS TO", "AUTHENTICATION", "STATE"}, rows)
	for _, v := range views {
		if v.State != "" {
			a.out.linef("%s: %s", v.Name, v.Why)
		}
	}
	return nil
}

type channelRemoveCmd struct {
	Name  string `arg:"" help:"The channel's name."`
	Force bool   `help:"Remove it although watches tell through it."`
}

// Run removes a channel.
func (c *channelRemoveCmd) Run(ctx context.Context, a *app) error {
	return a.with(ctx, func(s *server.Server) error {
		using, err := s.Using(ctx, c.Name)
		if err != nil {
			return err
		}
		if len(using) > 0 && !c.Force {
			ids := make([]string, len(using))
			for i := range using {
				ids[i] = using[i].Watch.ID
			}
			return fmt.Errorf("%s through %q: %s: remove them first, or give --force", tells(len(using)), c.Name, strings.Join(ids, ", "))
		}
		dir, err := a.dir()
		if err != nil {
			return err
		}
		err = dir.UpdateChannels(ctx, func(cs config.Channels) (config.Channels, error) { return cs.Remove(c.Name) })
		if err != nil {
			return err
		}
		if a.out.json {
			return a.out.value(changedView{ID: c.Name, Did: "removed"})
		}
		a.out.notef("channel %s removed; what waits for it stays until it expires, or the channel is back", c.Name)
		return nil
	})
}

func tells(n int) string {
	if n == 1 {
		return "a watch tells"
	}
	return fmt.Sprintf("%d watches tell", n)
}

type channelUnmuteCmd struct {
	Name      string `arg:"" help:"The channel's name."`
	Recipient string `default:"me" placeholder:"WHO" help:"Who is told again (default ${default})."`
}

// Help implements [kong.HelpProvider].
func (*channelUnmuteCmd) Help() string {
	return `When a webhook answers 410, the recipient is muted on that channel: nothing more is sent there. This lifts it.`
}

// Run lifts a mute.
func (c *channelUnmuteCmd) Run(ctx context.Context, a *app) error {
	return a.with(ctx, func(s *server.Server) error {
		lifted, err := s.Unmute(ctx, c.Recipient, c.Name)
		if err != nil {
			return err
		}
		if a.out.json {
			did := "unmuted"
			if !lifted {
				did = "not muted"
			}
			return a.out.value(changedView{ID: c.Name, Did: did})
		}
		if !lifted {
			a.out.notef("%s is not muted on %s: nothing is changed", c.Recipient, c.Name)
			return nil
		}
		a.out.notef("%s is told through %s again", c.Recipient, c.Name)
		return nil
	})
}
