package browsertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/lastlook/lastlook/internal/browsertest/proc"
)

// firefox drives a Firefox ESR over Marionette.
type firefox struct {
	path, profile, bus, push, proxy string

	process *proc.Process
	remote  *marionette
}

// preferences are Firefox's settings: those for push, those that keep it from
// calling home, where nobody answers, and those that spare processes: a third
// less CPU, of which none goes to what is tested.
func (f *firefox) preferences() map[string]any {
	proxy, port, _ := strings.Cut(f.proxy, ":")
	portNumber, _ := strconv.Atoi(port) // the listener's own
	return map[string]any{
		"marionette.port":                          0,
		"dom.push.serverURL":                       f.push,
		"dom.push.testing.allowInsecureServerURL":  true,
		"dom.push.retryBaseInterval":               200,
		"dom.webnotifications.actions.enabled":     true,
		"permissions.default.desktop-notification": 1,

		"network.proxy.type":                         1,
		"network.proxy.http":                         proxy,
		"network.proxy.http_port":                    portNumber,
		"network.proxy.ssl":                          proxy,
		"network.proxy.ssl_port":                     portNumber,
		"network.proxy.no_proxies_on":                "localhost, 127.0.0.1",
		"network.captive-portal-service.enabled":     false,
		"network.connectivity-service.enabled":       false,
		"app.normandy.enabled":                       false,
		"app.update.auto":                            false,
		"browser.aboutwelcome.enabled":               false,
		"browser.newtabpage.enabled":                 false,
		"browser.safebrowsing.malware.enabled":       false,
		"browser.safebrowsing.phishing.enabled":      false,
		"browser.shell.checkDefaultBrowser":          false,
		"browser.startup.homepage":                   "about:blank",
		"browser.startup.page":                       0,
		"browser.tabs.firefox-view":                  false,
		"datareporting.policy.dataSubmissionEnabled": false,
		"datareporting.healthreport.uploadEnabled":   false,
		"extensions.update.enabled":                  false,
		"extensions.systemAddon.update.enabled":      false,
		"media.gmp-manager.updateEnabled":            false,
		"services.settings.server":                   "http://127.0.0.1:9/",
		"toolkit.telemetry.enabled":                  false,
		"trailhead.firstrun.branches":                "nofirstrun-empty",

		"browser.translations.enable":      false,
		"dom.ipc.processCount":             1,
		"dom.ipc.processPrelaunch.enabled": false,
		"extensions.webextensions.remote":  false,
		"fission.autostart":                false,
		"gfx.webrender.software":           true,
		"media.rdd-process.enabled":        false,
	}
}

func (f *firefox) start(ctx context.Context) error {
	prefs := f.preferences()
	var user strings.Builder
	for _, name := range slices.Sorted(maps.Keys(prefs)) {
		v, err := json.Marshal(prefs[name])
		if err != nil {
			return err
		}
		fmt.Fprintf(&user, "user_pref(%q, %s);\n", name, v)
	}
	if err := os.WriteFile(filepath.Join(f.profile, "user.js"), []byte(user.String()), 0o600); err != nil {
		return err
	}
	port := filepath.Join(f.profile, "MarionetteActivePort")
	if err := os.Remove(port); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	cmd := exec.Command(f.path, "--marionette", "--headless", "--no-remote", "--profile", f.profile, "--remote-allow-system-access")
	cmd.Env = append(os.Environ(), "DBUS_SESSION_BUS_ADDRESS="+f.bus, "HOME="+f.profile, "TZ=UTC", "MOZ_CRASHREPORTER_DISABLE=1")
	var err error
	if f.process, err = proc.Start(cmd, f.profile); err != nil {
		return err
	}
	err = f.process.Until(ctx, "Firefox's remote control", func() bool {
		b, err := os.ReadFile(port)
		if err != nil || len(b) == 0 {
			return false
		}
		f.remote, err = dialMarionette(ctx, "127.0.0.1:"+strings.TrimSpace(string(b)))
		return err == nil
	})
	if err != nil {
		return err
	}
	return f.session(ctx)
}

// session takes control. Doing so switches push off, whatever the profile says,
// so it is switched on again.
func (f *firefox) session(ctx context.Context) error {
	limits := map[string]any{
		"script":   EventLimit.Milliseconds(),
		"pageLoad": EventLimit.Milliseconds(),
	}
	err := f.remote.call(ctx, "WebDriver:NewSession", map[string]any{"capabilities": map[string]any{
		"alwaysMatch": map[string]any{"timeouts": limits},
	}}, nil)
	if err != nil {
		return err
	}
	_, err = f.remote.chrome(ctx, `Services.prefs.setBoolPref("dom.push.connection.enabled", true)`)
	return err
}

func (f *firefox) stop(ctx context.Context) error {
	err := f.remote.call(ctx, "Marionette:Quit", map[string]any{"flags": []string{"eAttemptQuit"}}, nil)
	return errors.Join(err, f.process.Stop(ctx), f.remote.close())
}

func (f *firefox) kill() error {
	if f.process == nil {
		return nil
	}
	return f.process.Kill()
}

// allow has nothing to do: the profile says yes to all.
func (f *firefox) allow(context.Context, string) error { return nil }

func (f *firefox) open(ctx context.Context, url string) error {
	return f.remote.call(ctx, "WebDriver:Navigate", map[string]any{"url": url}, nil)
}

func (f *firefox) eval(ctx context.Context, body string) (json.RawMessage, error) {
	return f.remote.script(ctx, "return (async () => {"+body+"\n})()")
}

func (f *firefox) click(ctx context.Context, selector string) error {
	var found struct {
		Value map[string]string `json:"value"`
	}
	err := f.remote.call(ctx, "WebDriver:FindElement", map[string]any{"using": "css selector", "value": selector}, &found)
	if err != nil {
		return err
	}
	for _, id := range found.Value {
		return f.remote.call(ctx, "WebDriver:ElementClick", map[string]any{"id": id}, nil)
	}
	return fmt.Errorf("marionette: no element %s", selector)
}

// pages asks the browser itself: a page opened by a worker is no window of the
// session's.
func (f *firefox) pages(ctx context.Context) (pages []string, err error) {
	raw, err := f.remote.chrome(ctx, `return [...Services.wm.getEnumerator("navigator:browser")]
		.flatMap(w => w.gBrowser.browsers.map(b => b.currentURI.spec))`)
	if err != nil {
		return nil, err
	}
	return pages, json.Unmarshal(raw, &pages)
}
