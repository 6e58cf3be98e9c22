package email

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/channel/channeltest"
)

// exim is Debian's mail server, with a configuration of the test's: it wants
// TLS and a password, and keeps what it gets in files.
type exim struct {
	dir   string
	roots *x509.CertPool
	via   map[string]string
}

const eximConfig = `
spool_directory = DIR/spool
log_file_path = DIR/log/%s
pid_file_path = DIR/exim.pid
primary_hostname = mail.example
local_interfaces = 127.0.0.1
daemon_smtp_ports = P587 : P465 : P25
tls_on_connect_ports = P465
tls_advertise_hosts = ${if eq{$received_port}{P25}{}{*}}
tls_certificate = DIR/cert.pem
tls_privatekey = DIR/key.pem
auth_advertise_hosts = ${if eq{$tls_in_cipher}{}{}{*}}
keep_environment =
host_lookup =
rfc1413_query_timeout = 0s
never_users =
exim_user = USER
exim_group = GROUP
acl_smtp_rcpt = rcpt
acl_smtp_data = data
message_size_limit = 1M
smtp_accept_max = 100
smtp_accept_queue = 8

begin acl
rcpt:
  deny !authenticated = *
       message = 550 5.7.1 relaying denied
  deny local_parts = nobody
       message = 550 5.1.1 no such user here
  deny local_parts = strict
       message = 550 no comment
  defer local_parts = locked
       message = 450 4.2.2 the mailbox is locked
  defer local_parts = grey
       !seen = 1h / key=$sender_address-$local_part@$domain
       message = 451 4.7.1 greylisted, come back later
  accept
data:
  deny condition = ${if match{$rh_subject:}{SPAM}}
       message = 554 5.7.1 this looks like spam
  accept

begin routers
local:
  driver = accept
  transport = file

begin transports
file:
  driver = appendfile
  file = DIR/mail/${lookup{$local_part}lsearch,ret=key{DIR/boxes}}
  user = USER
  group = GROUP
  delivery_date_add
  return_path_add
  message_prefix =
  message_suffix =
  check_string =
  escape_string =
  create_file = anywhere

begin authenticators
plain:
  driver = plaintext
  public_name = PLAIN
  server_condition = ${if and{{eq{$auth2}{kim}}{eq{$auth3}{PASSWORD}}}}
  server_set_id = $auth2
login:
  driver = plaintext
  public_name = LOGIN
  server_prompts = Username:: : Password::
  server_condition = ${if and{{eq{$auth1}{kim}}{eq{$auth2}{PASSWORD}}}}
  server_set_id = $auth1
`

const eximProgram = "/usr/sbin/exim4"

func startExim(t *testing.T) *exim {
	t.Helper()
	if os.Getenv("LASTLOOK_TEST_PEERS") == "" {
		t.Skip("make test-peers: this test needs exim4, a mail server, of its own")
	}
	if _, err := os.Stat(eximProgram); err != nil {
		t.Fatalf("%s is missing: apt install exim4-daemon-light", eximProgram)
	}
	dir, err := os.MkdirTemp("/tmp", "lastlook-exim-*") // its user must reach it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	x := &exim{dir: dir, via: map[string]string{}}
	conf := strings.NewReplacer("DIR", dir, "PASSWORD", testPass)
	who, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		if who, err = user.Lookup("Debian-exim"); err != nil {
			t.Fatal(err)
		}
	}
	text := conf.Replace(eximConfig)
	for _, usual := range []string{"587", "465", "25"} {
		port := freePort(t)
		text = strings.ReplaceAll(text, "P"+usual, port)
		x.via["mail.example:"+usual] = "127.0.0.1:" + port
	}
	text = strings.NewReplacer("USER", who.Uid, "GROUP", who.Gid).Replace(text)
	x.files(t, text, who)
	x.run(t)
	return x
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// files writes the configuration and a certificate.
func (x *exim) files(t *testing.T, config string, who *user.User) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "mail.example"}, DNSNames: []string{"mail.example"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	x.roots = x509.NewCertPool()
	x.roots.AddCert(cert)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{
		"exim.conf": []byte(config),
		"boxes":     []byte("kim:\nkim0:\nkim1:\ngrey:\n"), // what exim may take as a file's name
		"cert.pem":  pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		"key.pem":   pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}),
	} {
		if err := os.WriteFile(filepath.Join(x.dir, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	uid, _ := strconv.Atoi(who.Uid)
	gid, _ := strconv.Atoi(who.Gid)
	for _, name := range []string{"spool", "log", "mail"} {
		if err := os.Mkdir(filepath.Join(x.dir, name), 0o750); err != nil {
			t.Fatal(err)
		}
	}
	err = filepath.WalkDir(x.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() == "exim.conf" { // which must be root's
			return err
		}
		return os.Chown(path, uid, gid)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (x *exim) run(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, eximProgram, "-C", filepath.Join(x.dir, "exim.conf"), "-bdf", "-q1m")
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait()
		if t.Failed() {
			logs, _ := filepath.Glob(filepath.Join(x.dir, "log", "*"))
			for _, name := range logs {
				b, _ := os.ReadFile(name)
				t.Logf("%s:\n%.600s", name, b)
			}
			t.Logf("%.600s", out.String())
		}
	})
	x.eventually(t, "exim answers", func() bool {
		c, err := net.Dial("tcp", x.via["mail.example:587"])
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
}

func (x *exim) eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(10 * time.Second)
	for !f() {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("%s: not within 10 s", what)
		}
	}
}

func (x *exim) channel(tb channeltest.TB, to string, change func(*Config)) *Channel {
	c := Config{
		Host: "mail.example", From: "lastlook <alerts@example.com>", To: to, Username: "kim", Password: testPass, TLS: x.roots,
		Dial: dialer(tb, x.via).DialContext, Clock: func() time.Time { return clock },
		Unsubscribe: func(k lastlook.Key) string {
			return "https://lastlook.example/u/t0ken?r=" + fmt.Sprint(len(k.Recipient))
		},
	}
	if change != nil {
		change(&c)
	}
	ch, err := New(c)
	if err != nil {
		tb.Fatalf("%v", err)
	}
	return ch
}

// received waits for the mail in a mailbox.
func (x *exim) received(t *testing.T, box string) string {
	t.Helper()
	var raw []byte
	x.eventually(t, "mail arrives", func() bool {
		var err error
		raw, err = os.ReadFile(filepath.Join(x.dir, "mail", box))
		return err == nil && len(raw) > 0
	})
	return string(raw)
}

// TestExim: a real server, TLS in both ways, a password, refusals of each kind;
// what arrives is what was sent.
func TestExim(t *testing.T) {
	x := startExim(t)
	for i, security := range []Security{STARTTLS, TLS} {
		box := fmt.Sprint("kim", i)
		ch := x.channel(t, "Kim <"+box+"@example.com>", func(c *Config) { c.Security = security })
		r, err := ch.Deliver(t.Context(), delivery())
		if err != nil || !strings.HasPrefix(r.Answer, "accepted: ") {
			t.Fatalf("%+v, %v", r, err)
		}
		raw := x.received(t, box)
		checkMail(t, strings.ReplaceAll(raw, box+"@", "kim@"))
		if auth := parse(t, raw).header["Received"]; len(auth) != 1 || !strings.Contains(auth[0], "esmtpsa") || !strings.Contains(auth[0], "TLS1.3") {
			t.Errorf("received %q", auth)
		}
	}
	for _, tt := range []struct {
		box    string
		change func(*Config)
		spam   bool
		want   lastlook.Class
		part   string
	}{
		{box: "nobody", want: lastlook.ClassGone, part: "no such user here"},
		{box: "strict", want: lastlook.ClassPermanent, part: "550 no comment"},
		{box: "locked", want: lastlook.ClassTransient, part: "450 4.2.2"},
		{box: "kim", spam: true, want: lastlook.ClassPermanent, part: "looks like spam"},
		{box: "kim", change: func(c *Config) { c.Password = "wrong-password" }, want: lastlook.ClassMisconfigured, part: "535"},
		{box: "kim", change: func(c *Config) { c.Username, c.Password = "", "" }, want: lastlook.ClassMisconfigured, part: "relaying denied"},
		{box: "kim", change: func(c *Config) { c.TLS = nil }, want: lastlook.ClassMisconfigured, part: "certificate"},
		{box: "kim", change: func(c *Config) { c.Security = STARTTLS; c.Port = 25 }, want: lastlook.ClassMisconfigured, part: "STARTTLS"},
		{box: "kim", change: func(c *Config) { c.Security = TLS; c.Port = 587 }, want: lastlook.ClassMisconfigured, part: "TLS"},
	} {
		d := delivery()
		if tt.spam {
			d.Message.Title = "SPAM"
		}
		r, err := x.channel(t, tt.box+"@example.com", tt.change).Deliver(t.Context(), d)
		class, _ := lastlook.Classify(err)
		if err == nil || class != tt.want || !strings.Contains(err.Error(), tt.part) || strings.Contains(err.Error(), testPass) || strings.Contains(err.Error(), "wrong-password") {
			t.Errorf("%s: %+v, %v (%v), want %v with %q", tt.box, r, err, class, tt.want, tt.part)
		}
	}
	if _, err := os.Stat(filepath.Join(x.dir, "mail", "kim")); err == nil {
		t.Error("something arrived that was refused")
	}
	// Greylisting: the first attempt is put off, the resend is taken, and has
	// the same Message-ID.
	ch := x.channel(t, "grey@example.com", nil)
	_, err := ch.Deliver(t.Context(), delivery())
	if class, _ := lastlook.Classify(err); err == nil || class != lastlook.ClassTransient || !strings.Contains(err.Error(), "greylisted") {
		t.Errorf("the first attempt: %v", err)
	}
	if _, err := ch.Deliver(t.Context(), delivery()); err != nil {
		t.Errorf("the second: %v", err)
	}
	checkMail(t, strings.NewReplacer("grey@example.com", "kim@example.com", "To: <", "To: \"Kim\" <").Replace(x.received(t, "grey")))
}

// TestEximPlain: the promises of all channels, through a real server.
func TestEximPlain(t *testing.T) {
	x := startExim(t)
	channeltest.RunPlain(t, func(tb channeltest.TB) lastlook.Channel { return x.channel(tb, "kim@example.com", nil) })
}
