package desktop_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/lastlook/lastlook/internal/browsertest/desktop"
)

func start(t *testing.T) (*desktop.Desktop, dbus.BusObject, chan *dbus.Signal) {
	t.Helper()
	if _, err := exec.LookPath("dbus-daemon"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("NOT TESTED: no dbus-daemon: install dbus-daemon (Debian's name)")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	d, err := desktop.Start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	conn, err := dbus.Connect(d.Address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.AddMatchSignal(dbus.WithMatchInterface("org.freedesktop.Notifications")); err != nil {
		t.Fatal(err)
	}
	signals := make(chan *dbus.Signal, 16)
	conn.Signal(signals)
	return d, conn.Object("org.freedesktop.Notifications", "/org/freedesktop/Notifications"), signals
}

func show(t *testing.T, o dbus.BusObject, replaces uint32, summary string) (id uint32) {
	t.Helper()
	err := o.CallWithContext(t.Context(), "org.freedesktop.Notifications.Notify", 0, "test", replaces, "", summary, "body",
		[]string{"default", "Open", "0", "Later"}, map[string]dbus.Variant{"urgency": dbus.MakeVariant(byte(1))}, int32(-1)).Store(&id)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func expect(t *testing.T, signals chan *dbus.Signal, name string, id uint32, second any) {
	t.Helper()
	select {
	case s := <-signals:
		if s.Name != "org.freedesktop.Notifications."+name || s.Body[0] != id || s.Body[1] != second {
			t.Errorf("signal %s %v, want %s of %d with %v", s.Name, s.Body, name, id, second)
		}
	case <-time.After(20 * time.Second):
		t.Fatalf("no signal %s", name)
	}
}

func TestDesktop(t *testing.T) {
	d, o, signals := start(t)
	one := show(t, o, 0, "one")
	if again := show(t, o, one, "one, better"); again != one {
		t.Errorf("replaced %d by %d", one, again)
	}
	two := show(t, o, 0, "two")
	if one == two || len(d.All()) != 3 || len(d.Shown()) != 2 {
		t.Errorf("ids %d and %d, %s", one, two, d)
	}

	any := func(desktop.Notification) bool { return true }
	for _, want := range []string{"one", "one, better", "two"} {
		n, err := d.Wait(t.Context(), want, any)
		if err != nil || n.Summary != want || n.App != "test" || n.Body != "body" || n.Hints["urgency"] != byte(1) {
			t.Errorf("%+v, %v; want %q", n, err, want)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if n, err := d.Wait(ctx, "nothing", any); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("returned twice: %+v, %v", n, err)
	}

	shown := d.Shown()
	later, err := shown[0].Find("Later")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := shown[0].Find("Never"); err == nil {
		t.Error("found what is not offered")
	}
	if err := d.Act(shown[0], "nix"); err == nil {
		t.Error("chose what is not offered")
	}
	if err := d.Act(shown[0], later.Key); err != nil {
		t.Fatal(err)
	}
	expect(t, signals, "ActionInvoked", one, "0")
	expect(t, signals, "NotificationClosed", one, uint32(2))
	if err := d.Click(shown[0]); err == nil {
		t.Error("clicked on what is not there any more")
	}
	if err := o.CallWithContext(t.Context(), "org.freedesktop.Notifications.CloseNotification", 0, two).Err; err != nil {
		t.Error(err)
	}
	expect(t, signals, "NotificationClosed", two, uint32(3))
	if len(d.Shown()) != 0 {
		t.Errorf("still shown: %s", d)
	}
}
