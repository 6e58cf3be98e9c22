package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/alecthomas/kong"
	"github.com/lastlook/lastlook/internal/config"
	"github.com/lastlook/lastlook/internal/server"
)

// cli is the command line: flags of all commands, and the commands.
type cli struct {
	Data         string    `env:"LASTLOOK_DATA" placeholder:"DIR" help:"Data directory; the default is lastlook in the platform's place for user data."`
	Database     string    `env:"LASTLOOK_DATABASE" placeholder:"URL" help:"A PostgreSQL database, postgres://user@host/name, instead of the file in the data directory. Its password may stand in PGPASSWORD or ~/.pgpass."`
	Schema       string    `env:"LASTLOOK_SCHEMA" placeholder:"NAME" help:"Where the tables are in that database (default public)."`
	JSON         bool      `name:"json" help:"Print one JSON value on standard output, for scripts."`
	LogLevel     string    `enum:"debug,info,warn,error" default:"info" placeholder:"LEVEL" help:"What to log on standard error: debug, info, warn or error."`
	LogFormat    string    `enum:"text,json" default:"text" placeholder:"FORMAT" help:"How to log: text or json."`
	AllowPrivate []string  `env:"LASTLOOK_ALLOW_PRIVATE" placeholder:"WHERE" help:"What your own addresses may lead to besides public ones: an address, a prefix or a name, separated by commas or given several times. Lines in allow-private.txt of the data directory count too."`
	About        aboutFlag `name:"version" help:"Print the version."`
	Quiet        bool      `short:"q" help:"Print only results and errors, and log only warnings and errors."`

	Serve      serveCmd      `cmd:"" help:"Look at what is watched and send what is true, until stopped."`
	Tick       tickCmd       `cmd:"" help:"Look once and send once, for cron; prints counts."`
	Check      checkCmd      `cmd:"" help:"Look at a page now, and show what is seen and where it stands."`
	Watch      watchCmd      `cmd:"" help:"Add, list, pause and remove watches."`
	Explain    explainCmd    `cmd:"" help:"Replay what was seen through a watch's triggers, or others: when it would have told, and why not otherwise."`
	Export     exportCmd     `cmd:"" help:"Write all watches into a file."`
	Import     importCmd     `cmd:"" help:"Add the watches of a file: of lastlook export, CSV, a list of addresses, a backup of changedetection.io."`
	Channel    channelCmd    `cmd:"" help:"Add, list and remove the ways to be told."`
	Recipient  recipientCmd  `cmd:"" help:"Set when, and how often, somebody is told."`
	Source     sourceCmd     `cmd:"" help:"List what pages are read by, and set the keys that some services need."`
	Device     deviceCmd     `cmd:"" help:"See the devices that are told by push, and change the keys."`
	Key        keyCmd        `cmd:"" help:"Make, list and revoke the keys with which programs use the HTTP API."`
	Token      tokenCmd      `cmd:"" help:"Change the operator's token, with which the HTTP API shows and changes all."`
	Outbox     outboxCmd     `cmd:"" help:"See what was sent, withheld and failed, and why."`
	Prune      pruneCmd      `cmd:"" help:"Delete what is older than it is to be kept; serve does so by itself."`
	Migrate    migrateCmd    `cmd:"" help:"Bring the tables up to date, or print the SQL that does."`
	Demo       demoCmd       `cmd:"" help:"Play a simulated day in a shop under three ways to notify, and count what each told that was not true."`
	Version    versionCmd    `cmd:"" help:"Print the version."`
	Completion completionCmd `cmd:"" help:"Print a completion script for a shell."`
}

// Help implements [kong.HelpProvider].
func (*cli) Help() string {
	return `Exit codes: 0 done; 1 it failed; 2 the command line is wrong. For check also: 3 could not look, so nobody knows; 4 looked, and the page shows no product; 5 looked, and the page gives several answers.

Start with: lastlook check URL; lastlook watch add URL --below "500 EUR"; lastlook serve.`
}

// The exit codes.
const (
	exitOK        = 0
	exitFailed    = 1
	exitUsage     = 2
	exitCannotSee = 3
	exitNoProduct = 4
	exitAmbiguous = 5
	// exitInterrupted is that of a second signal, which ends the process at
	// once.
	exitInterrupted = 130
)

// streams is what the process has of the outside.
type streams struct {
	in       io.Reader
	out, err io.Writer
	getenv   func(string) string
}

// app is what commands work with.
type app struct {
	streams
	flags *cli
	out   *printer
	log   *slog.Logger
	now   func() time.Time
	// given says whether a flag is on the command line.
	given func(flag string) bool
	// messages gets what is told through the log channel.
	messages io.Writer
	// http says where the page is served, contact who answers for it.
	http    server.HTTPOptions
	contact string
	// browser says whether pages can be looked at with a browser.
	browser server.BrowserOptions
	// retention says how long what is over is kept.
	retention server.Retention
}

// aboutFlag is --version, which needs no command and no other flag.
type aboutFlag bool

var errAbout = errors.New("the version is asked for")

// BeforeReset implements kong's hook of that name.
func (aboutFlag) BeforeReset() error { return errAbout }

func newParser(c *cli, std streams) (*kong.Kong, error) {
	return kong.New(c,
		kong.Name("lastlook"),
		kong.Description("Notifications that are still true when they are sent."),
		kong.Writers(std.out, std.err),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
	)
}

// run is the whole program but for the process around it. It returns the exit
// code.
func run(ctx context.Context, args []string, std streams) int {
	var c cli
	parser, err := newParser(&c, std)
	if err != nil {
		return report(std.err, err)
	}
	if len(args) > 0 && args[0] == completeWord {
		return complete(ctx, parser.Model, args[1:], std)
	}
	if len(args) > 0 && args[0] == "help" {
		args = append(slices.Clone(args[1:]), "--help")
	}
	parsed, err := parser.Parse(args)
	if errors.Is(err, errAbout) {
		about := []string{"version"}
		if slices.Contains(args, "--json") {
			about = append(about, "--json")
		}
		c = cli{}
		parsed, err = parser.Parse(about)
	}
	if err != nil {
		return report(std.err, err)
	}
	a := &app{streams: std, flags: &c, now: time.Now, log: newLogger(std.err, &c), messages: std.out}
	a.given = func(flag string) bool {
		return slices.ContainsFunc(parsed.Path, func(p *kong.Path) bool { return p.Flag != nil && p.Flag.Name == flag && !p.Resolved })
	}
	a.out = &printer{w: std.out, hints: std.err, json: c.JSON, quiet: c.Quiet, now: a.now}
	parsed.BindTo(ctx, (*context.Context)(nil))
	err = parsed.Run(a)
	if err == nil {
		err = a.out.err
	}
	return report(std.err, err)
}

func newLogger(w io.Writer, c *cli) *slog.Logger {
	level := slog.LevelInfo
	// Kong has checked the name.
	_ = level.UnmarshalText([]byte(c.LogLevel))
	if c.Quiet {
		level = max(level, slog.LevelWarn)
	}
	opt := &slog.HandlerOptions{Level: level}
	if c.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, opt))
	}
	return slog.New(slog.NewTextHandler(w, opt))
}

// path returns where the data directory is, or would be.
func (a *app) path() (string, error) {
	if a.flags.Data != "" {
		return a.flags.Data, nil
	}
	return config.DefaultPath(a.getenv)
}

// place returns the data directory's path for people, or the database's address.
func (a *app) place() string {
	if place := a.database().Place(); place != "" {
		return place
	}
	path, err := a.path()
	if err != nil {
		return "the data directory"
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return path
}

// missing says whether the data directory is not there yet.
func (a *app) missing() (bool, error) {
	path, err := a.path()
	if err != nil {
		return false, err
	}
	_, err = os.Stat(path)
	return errors.Is(err, fs.ErrNotExist), nil
}

// dir opens the data directory.
func (a *app) dir() (config.Dir, error) {
	path, err := a.path()
	if err != nil {
		return config.Dir{}, err
	}
	return config.Open(path)
}

// reading is [app.with] for commands that only read: they do not make the
// data directory. One that is missing is read as an empty one, which is
// elsewhere and does not last.
func (a *app) reading(ctx context.Context, f func(s *server.Server) error) (err error) {
	missing, err := a.missing()
	if err != nil {
		return err
	}
	if !missing {
		return a.with(ctx, f)
	}
	empty, err := os.MkdirTemp("", "lastlook-empty-*")
	if err != nil {
		return fmt.Errorf("there is no data directory %s yet, nor a place for an empty one: %w", a.place(), err)
	}
	defer func() {
		if rerr := os.RemoveAll(empty); err == nil {
			err = rerr
		}
	}()
	return a.withPath(ctx, empty, f)
}

// database returns where all but the configuration is kept.
func (a *app) database() server.Database {
	return server.Database{URL: a.flags.Database, Schema: a.flags.Schema}
}

func (a *app) options() server.Options {
	d := a.database()
	if _, has := d.Password(); has && a.given != nil && a.given("database") {
		a.log.Warn("others on this machine can read the database's password on the command line: give it in PGPASSWORD, ~/.pgpass or LASTLOOK_DATABASE")
	}
	return server.Options{Logger: a.log, Version: buildInfo().Version, Database: d,
		HTTP: a.http, Push: server.PushOptions{Contact: a.contact}, Browser: a.browser, Retention: a.retention,
		AllowPrivate: a.flags.AllowPrivate, Messages: a.messages, MessagesJSON: a.flags.JSON || a.flags.LogFormat == "json"}
}

// with opens the data directory, runs f, and closes it.
func (a *app) with(ctx context.Context, f func(s *server.Server) error) error {
	path, err := a.path()
	if err != nil {
		return err
	}
	return a.withPath(ctx, path, f)
}

func (a *app) withPath(ctx context.Context, path string, f func(s *server.Server) error) (err error) {
	opt := a.options()
	if opt.Dir, err = config.Open(path); err != nil {
		return err
	}
	s, err := server.Open(ctx, opt)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := s.Close(); err == nil {
			err = cerr
		}
	}()
	return f(s)
}

// operator names whoever runs the command, for the story of rows.
func (a *app) operator() string {
	for _, name := range []string{"SUDO_USER", "USER", "LOGNAME", "USERNAME"} {
		if v := a.getenv(name); v != "" {
			return "operator " + plain(v)
		}
	}
	return "operator"
}
