// Package desktop is the desktop of a browser under test: a private D-Bus
// session bus that carries org.freedesktop.Notifications. It records what is
// shown, and clicks on it as a person would.
package desktop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/lastlook/lastlook/internal/browsertest/proc"
)

const (
	busName    = "org.freedesktop.Notifications"
	objectPath = dbus.ObjectPath("/org/freedesktop/Notifications")
)

// The reasons for which a notification goes, as the specification numbers them.
const (
	closedByUser uint32 = 2
	closedByCall uint32 = 3
)

// seen is how long a notification is shown before somebody sees it: a click must
// not overtake the reply by which the program learns the notification's id.
const seen = 150 * time.Millisecond

// errGone says that a notification is not shown (any more).
var errGone = errors.New("desktop: no such notification is shown")

// Notification is one that a program has shown.
type Notification struct {
	ID uint32
	// Replaces is the notification whose place it took; 0 for none.
	Replaces           uint32
	App, Summary, Body string
	Actions            []Action
	Hints              map[string]any
	Closed, taken      bool

	at time.Time // when it came
}

// Action is what a notification offers: a button, or, with the key "default",
// a click on the notification itself.
type Action struct{ Key, Label string }

// Find returns the action with the label.
func (n Notification) Find(label string) (Action, error) {
	for _, a := range n.Actions {
		if a.Label == label {
			return a, nil
		}
	}
	return Action{}, fmt.Errorf("desktop: the notification %q offers %v, and not %q", n.Summary, n.Actions, label)
}

// Desktop is safe for concurrent use.
type Desktop struct {
	// Address is what programs need as DBUS_SESSION_BUS_ADDRESS.
	Address string

	dir  string
	bus  *proc.Process
	conn *dbus.Conn

	mu   sync.Mutex
	last uint32
	all  []Notification
}

// Start starts a bus and serves notifications on it. Close must be called.
func Start(ctx context.Context) (*Desktop, error) {
	// Not below the test's directory: the path of a socket has at most 107 bytes.
	dir, err := os.MkdirTemp("", "lastlook-bus-")
	if err != nil {
		return nil, err
	}
	d := &Desktop{dir: dir}
	if d.bus, d.Address, d.conn, err = startBus(ctx, dir); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := d.serve(); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// Close ends the bus.
func (d *Desktop) Close() error {
	return errors.Join(d.conn.Close(), d.bus.Kill(), os.RemoveAll(d.dir))
}

func (d *Desktop) serve() error {
	err := d.conn.ExportMethodTable(map[string]any{
		"GetCapabilities":      d.getCapabilities,
		"GetServerInformation": d.getServerInformation,
		"Notify":               d.notify,
		"CloseNotification":    d.closeNotification,
	}, objectPath, busName)
	if err != nil {
		return err
	}
	reply, err := d.conn.RequestName(busName, dbus.NameFlagDoNotQueue)
	if err != nil {
		return err
	}
	if reply != dbus.RequestNameReplyPrimaryOwner {
		return fmt.Errorf("desktop: %s belongs to somebody else on a bus of our own", busName)
	}
	return nil
}

func (d *Desktop) getCapabilities() ([]string, *dbus.Error) {
	return []string{"actions", "body", "persistence"}, nil
}

func (d *Desktop) getServerInformation() (name, vendor, version, spec string, _ *dbus.Error) {
	return "lastlook-test", "lastlook", "1", "1.2", nil
}

func (d *Desktop) notify(app string, replaces uint32, _, summary, body string, actions []string, hints map[string]dbus.Variant, _ int32) (uint32, *dbus.Error) {
	n := Notification{at: time.Now(), App: app, Summary: summary, Body: body, Hints: map[string]any{}}
	for pair := range slices.Chunk(actions, 2) {
		if len(pair) == 2 {
			n.Actions = append(n.Actions, Action{pair[0], pair[1]})
		}
	}
	for name, v := range hints {
		n.Hints[name] = v.Value()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if i := d.shown(replaces); i >= 0 {
		d.all[i].Closed = true
		n.ID, n.Replaces = replaces, replaces
	} else {
		d.last++
		n.ID = d.last
	}
	d.all = append(d.all, n)
	return n.ID, nil
}

func (d *Desktop) closeNotification(id uint32) *dbus.Error {
	if err := d.gone(id, closedByCall); err != nil {
		return dbus.MakeFailedError(err)
	}
	return nil
}

// shown returns the index of the notification shown under the id; -1 if there
// is none.
func (d *Desktop) shown(id uint32) int {
	return slices.IndexFunc(d.all, func(n Notification) bool { return n.ID == id && !n.Closed })
}

// gone closes a notification, and tells everybody.
func (d *Desktop) gone(id, reason uint32) error {
	d.mu.Lock()
	i := d.shown(id)
	if i >= 0 {
		d.all[i].Closed = true
	}
	d.mu.Unlock()
	if i < 0 {
		return fmt.Errorf("%w: %d", errGone, id)
	}
	return d.conn.Emit(objectPath, busName+".NotificationClosed", id, reason)
}

// Click clicks on a notification.
func (d *Desktop) Click(n Notification) error { return d.Act(n, "default") }

// Act chooses one of a notification's actions by its key.
func (d *Desktop) Act(n Notification, key string) error {
	if !slices.ContainsFunc(n.Actions, func(a Action) bool { return a.Key == key }) {
		return fmt.Errorf("desktop: the notification %q offers %v, and not %q", n.Summary, n.Actions, key)
	}
	if !slices.ContainsFunc(d.Shown(), func(s Notification) bool { return s.ID == n.ID }) {
		return fmt.Errorf("desktop: the notification %q is gone", n.Summary)
	}
	if err := d.conn.Emit(objectPath, busName+".ActionInvoked", n.ID, key); err != nil {
		return err
	}
	// The program may be as quick to close it, now that it is told.
	if err := d.gone(n.ID, closedByUser); !errors.Is(err, errGone) {
		return err
	}
	return nil
}

// Dismiss closes a notification as a person does who is not interested.
func (d *Desktop) Dismiss(n Notification) error { return d.gone(n.ID, closedByUser) }

// Wait returns the first notification that matches and that no call before has
// returned.
func (d *Desktop) Wait(ctx context.Context, what string, match func(Notification) bool) (Notification, error) {
	var found Notification
	err := proc.Until(ctx, "a notification: "+what, func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		i := slices.IndexFunc(d.all, func(n Notification) bool { return !n.taken && time.Since(n.at) >= seen && match(n) })
		if i < 0 {
			return false
		}
		d.all[i].taken = true
		found = d.all[i]
		return true
	})
	if err != nil {
		err = fmt.Errorf("%w; so far: %s", err, d)
	}
	return found, err
}

// All returns every notification since the start, in the order of their coming.
func (d *Desktop) All() []Notification {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.all)
}

// Shown returns the notifications that stand on the desktop now.
func (d *Desktop) Shown() []Notification {
	return slices.DeleteFunc(d.All(), func(n Notification) bool { return n.Closed })
}

// String lists what came, for errors.
func (d *Desktop) String() string {
	var out strings.Builder
	for _, n := range d.All() {
		fmt.Fprintf(&out, "\n  %d (replaces %d, closed %v) %s: %q, %q, %v, %v", n.ID, n.Replaces, n.Closed, n.App, n.Summary, n.Body, n.Actions, n.Hints)
	}
	return cmp.Or(out.String(), "none")
}
