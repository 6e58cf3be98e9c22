package browsertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/lastlook/lastlook/internal/browsertest/proc"
	"github.com/lastlook/lastlook/internal/browsertest/pushservice"
)

// chromium drives a Chromium over the DevTools Protocol.
type chromium struct {
	path, profile, bus, proxy string
	google                    pushservice.Google

	process *proc.Process
	remote  *cdp
	session string // with the page that is driven
}

func (c *chromium) start(ctx context.Context) error {
	active := filepath.Join(c.profile, "DevToolsActivePort")
	if err := os.Remove(active); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	cmd := exec.Command(c.path,
		"--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-component-update", "--disable-sync",
		"--disable-breakpad", "--password-store=basic", "--disable-dev-shm-usage",
		"--proxy-server=http://"+c.proxy, // but for this machine
		"--remote-debugging-port=0", "--user-data-dir="+c.profile,
		"--ignore-certificate-errors", "--gcm-checkin-url="+c.google.CheckIn,
		"--gcm-registration-url="+c.google.Register, "--gcm-mcs-endpoint="+c.google.MCS,
		"about:blank",
	)
	cmd.Env = append(os.Environ(), "DBUS_SESSION_BUS_ADDRESS="+c.bus, "HOME="+c.profile, "TZ=UTC")
	var err error
	if c.process, err = proc.Start(cmd, c.profile); err != nil {
		return err
	}
	err = c.process.Until(ctx, "Chromium's remote control", func() bool {
		b, err := os.ReadFile(active)
		port, path, found := strings.Cut(strings.TrimSpace(string(b)), "\n")
		if err != nil || !found {
			return false
		}
		c.remote, err = dialCDP(ctx, "ws://127.0.0.1:"+port+path)
		return err == nil
	})
	if err != nil {
		return err
	}
	return c.attach(ctx)
}

// attach takes control of a page of its own.
func (c *chromium) attach(ctx context.Context) error {
	var target struct {
		ID string `json:"targetId"`
	}
	if err := c.remote.call(ctx, "", "Target.createTarget", map[string]any{"url": "about:blank"}, &target); err != nil {
		return err
	}
	var session struct {
		ID string `json:"sessionId"`
	}
	if err := c.remote.call(ctx, "", "Target.attachToTarget", map[string]any{"targetId": target.ID, "flatten": true}, &session); err != nil {
		return err
	}
	c.session = session.ID
	return c.call(ctx, "Page.enable", nil, nil)
}

func (c *chromium) call(ctx context.Context, method string, params, result any) error {
	return c.remote.call(ctx, c.session, method, params, result)
}

func (c *chromium) stop(ctx context.Context) error {
	err := c.remote.call(ctx, "", "Browser.close", nil, nil)
	if errors.Is(err, errHungUp) {
		err = nil // it was quicker than its answer
	}
	err = errors.Join(err, c.process.Stop(ctx))
	c.remote.close()
	return err
}

func (c *chromium) kill() error {
	if c.process == nil {
		return nil
	}
	err := c.process.Kill()
	if c.remote != nil {
		c.remote.close()
	}
	return err
}

func (c *chromium) allow(ctx context.Context, origin string) error {
	return c.remote.call(ctx, "", "Browser.grantPermissions", map[string]any{"origin": origin, "permissions": []string{"notifications"}}, nil)
}

// open goes to the address, and waits until its document is complete.
func (c *chromium) open(ctx context.Context, url string) error {
	var gone struct {
		Error string `json:"errorText"`
	}
	if err := c.call(ctx, "Page.navigate", map[string]any{"url": url}, &gone); err != nil {
		return err
	}
	if gone.Error != "" {
		return errors.New("cdp: Page.navigate: " + gone.Error)
	}
	return proc.Until(ctx, url+" to be loaded", func() bool {
		raw, err := c.eval(ctx, `return document.readyState === "complete"`)
		return err == nil && string(raw) == "true"
	})
}

func (c *chromium) eval(ctx context.Context, body string) (json.RawMessage, error) {
	var reply struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
		Exception *struct {
			Text   string `json:"text"`
			Thrown struct {
				Description string `json:"description"`
			} `json:"exception"`
		} `json:"exceptionDetails"`
	}
	err := c.call(ctx, "Runtime.evaluate", map[string]any{
		"expression": "(async () => {" + body + "\n})()", "awaitPromise": true, "returnByValue": true,
	}, &reply)
	if err != nil {
		return nil, err
	}
	if e := reply.Exception; e != nil {
		return nil, fmt.Errorf("cdp: the script failed: %s %s", e.Text, e.Thrown.Description)
	}
	if reply.Result.Value == nil {
		return json.RawMessage("null"), nil
	}
	return reply.Result.Value, nil
}

func (c *chromium) click(ctx context.Context, selector string) error {
	// A page behind another one takes five seconds over each movement.
	if err := c.call(ctx, "Page.bringToFront", nil, nil); err != nil {
		return err
	}
	raw, err := c.eval(ctx, fmt.Sprintf(`const e = document.querySelector(%q); e.scrollIntoView({block: "center"});
		const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]`, selector))
	if err != nil {
		return err
	}
	var at [2]float64
	if err := json.Unmarshal(raw, &at); err != nil {
		return err
	}
	for _, kind := range []string{"mouseMoved", "mousePressed", "mouseReleased"} {
		event := map[string]any{"type": kind, "x": at[0], "y": at[1]}
		if kind != "mouseMoved" {
			event["button"], event["clickCount"] = "left", 1
		}
		if err := c.call(ctx, "Input.dispatchMouseEvent", event, nil); err != nil {
			return err
		}
	}
	return nil
}

func (c *chromium) pages(ctx context.Context) (pages []string, err error) {
	var targets struct {
		Infos []struct {
			Type string `json:"type"`
			URL  string `json:"url"`
		} `json:"targetInfos"`
	}
	if err := c.remote.call(ctx, "", "Target.getTargets", nil, &targets); err != nil {
		return nil, err
	}
	for _, i := range targets.Infos {
		if i.Type == "page" {
			pages = append(pages, i.URL)
		}
	}
	return pages, nil
}
