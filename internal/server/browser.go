package server

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/lastlook/lastlook/internal/door"
	"github.com/lastlook/lastlook/source/browser"
)

// BrowserOptions say whether pages can be looked at with a browser. It is
// costly, so it is off unless it is asked for.
type BrowserOptions struct {
	On bool
	// Path is Chromium's program; empty means the one that is found.
	Path string
	// Patient says that somebody waits for a single look, which the browser has
	// to be started for.
	Patient bool
}

// patience is how long a look may take that starts the browser first.
const patience = lookLimit - 5*time.Second

// chromiums are the names of its program, by system.
var chromiums = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"}

// find returns the path of Chromium's program.
func (b BrowserOptions) find() (string, error) {
	if b.Path != "" {
		return b.Path, nil
	}
	for _, name := range chromiums {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("no Chromium is found (%s): install it (Debian: apt install chromium), or name its program with --browser=PATH", strings.Join(chromiums, ", "))
}

// newBrowser makes the source that renders pages. Its way out is the door for
// public addresses, whoever typed the page's: scripts come from anybody.
func newBrowser(opt Options) (*browser.Source, error) {
	path, err := opt.Browser.find()
	if err != nil {
		return nil, err
	}
	dialer, err := door.NewDialer(opt.door(door.Public))
	if err != nil {
		return nil, err
	}
	client, err := newClient(opt, door.Public)
	if err != nil {
		return nil, err
	}
	c := browser.Config{Path: path, Dialer: dialer, Client: client, Clock: opt.Clock}
	if opt.Browser.Patient {
		c.Timeout = patience
	}
	src, err := browser.New(c)
	if err == nil && os.Geteuid() == 0 {
		opt.Logger.Warn("the browser runs without its sandbox, which does not work for root: run lastlook as another user", "source", browser.SourceName)
	}
	return src, err
}
