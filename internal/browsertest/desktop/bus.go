package desktop

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/godbus/dbus/v5"

	"github.com/lastlook/lastlook/internal/browsertest/proc"
)

// busConfig is a session bus that starts no services, so that whatever desktop
// this machine has cannot answer in our place.
const busConfig = `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:path=%s</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*"/>
    <allow receive_sender="*"/>
    <allow own="*"/>
  </policy>
</busconfig>
`

// startBus starts a bus of our own, and returns its address and a connection.
func startBus(ctx context.Context, dir string) (*proc.Process, string, *dbus.Conn, error) {
	path, err := exec.LookPath("dbus-daemon")
	if err != nil {
		return nil, "", nil, fmt.Errorf("desktop: %w (Debian: dbus-daemon)", err)
	}
	socket, config := filepath.Join(dir, "bus"), filepath.Join(dir, "bus.conf")
	if err := os.WriteFile(config, fmt.Appendf(nil, busConfig, socket), 0o600); err != nil {
		return nil, "", nil, err
	}
	p, err := proc.Start(exec.Command(path, "--nofork", "--nopidfile", "--config-file="+config), dir)
	if err != nil {
		return nil, "", nil, err
	}
	address := "unix:path=" + socket
	var conn *dbus.Conn
	err = p.Until(ctx, "a connection to the bus", func() bool {
		conn, err = dbus.Connect(address)
		return err == nil
	})
	if err != nil {
		_ = p.Kill()
		return nil, "", nil, err
	}
	return p, address, conn, nil
}
