package pushservice_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"

	"github.com/lastlook/lastlook/internal/browsertest/pushservice"
	"github.com/lastlook/lastlook/internal/door"
)

// side is the little of a browser that one side of the service needs: these
// tests run where no browser is.
type side interface {
	connect(t *testing.T)
	subscribe(t *testing.T, key []byte) (endpoint string)
	unsubscribe(t *testing.T)
	// receive returns the next message's body.
	receive(t *testing.T) []byte
	// disconnect hangs up, and waits until the service has noticed.
	disconnect(t *testing.T)
}

func away(t *testing.T, s *pushservice.Service) {
	t.Helper()
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for limit := time.After(20 * time.Second); s.Connected() > 0; {
		select {
		case <-ticker.C:
		case <-limit:
			t.Fatal("the service does not notice that nobody is connected")
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// fox speaks autopush's protocol.
type fox struct {
	service *pushservice.Service
	url     string

	conn    *websocket.Conn
	uaid    string
	channel string
	changed bool // the service has given it another name
}

type reply struct {
	Type     string            `json:"messageType"`
	UAID     string            `json:"uaid"`
	Status   int               `json:"status"`
	Endpoint string            `json:"pushEndpoint"`
	Channel  string            `json:"channelID"`
	Version  string            `json:"version"`
	Data     string            `json:"data"`
	Headers  map[string]string `json:"headers"`
}

func (f *fox) write(t *testing.T, m map[string]any) {
	t.Helper()
	must(t, wsjson.Write(soon(t), f.conn, m))
}

func (f *fox) read(t *testing.T, kind string) (r reply) {
	t.Helper()
	must(t, wsjson.Read(soon(t), f.conn, &r))
	if r.Type != kind || kind != "notification" && r.Status != 200 {
		t.Fatalf("%+v instead of %s", r, kind)
	}
	return r
}

func (f *fox) connect(t *testing.T) {
	t.Helper()
	//lint:ignore bodyclose the answer is the connection, which is closed below
	conn, _, err := websocket.Dial(soon(t), f.url, &websocket.DialOptions{Subprotocols: []string{"push-notification"}})
	must(t, err)
	t.Cleanup(func() { conn.CloseNow() })
	f.conn = conn
	f.write(t, map[string]any{"messageType": "hello", "uaid": f.uaid, "use_webpush": true})
	r := f.read(t, "hello")
	f.changed, f.uaid = f.uaid != "" && f.uaid != r.UAID, r.UAID
}

func (f *fox) subscribe(t *testing.T, key []byte) string {
	t.Helper()
	f.channel = rand.Text()
	f.write(t, map[string]any{"messageType": "register", "channelID": f.channel, "key": base64.URLEncoding.EncodeToString(key)})
	return f.read(t, "register").Endpoint
}

func (f *fox) unsubscribe(t *testing.T) {
	t.Helper()
	f.write(t, map[string]any{"messageType": "unregister", "channelID": f.channel, "code": 200})
	f.read(t, "unregister")
}

func (f *fox) receive(t *testing.T) []byte {
	t.Helper()
	r := f.read(t, "notification")
	if r.Channel != f.channel || r.Headers["encoding"] != "aes128gcm" {
		t.Errorf("received %+v", r)
	}
	b, err := base64.RawURLEncoding.DecodeString(r.Data)
	must(t, err)
	f.write(t, map[string]any{"messageType": "ack", "updates": []any{map[string]any{"channelID": r.Channel, "version": r.Version, "code": 100}}})
	return b
}

func (f *fox) disconnect(t *testing.T) {
	t.Helper()
	f.conn.CloseNow()
	away(t, f.service)
}

// chrome speaks with Google's side.
type chrome struct {
	service *pushservice.Service
	at      pushservice.Google

	client     *http.Client
	id, secret uint64
	conn       *tls.Conn
	in         *bufio.Reader
}

func (c *chrome) post(t *testing.T, address, kind string, body io.Reader, auth string) []byte {
	t.Helper()
	if c.client == nil {
		var err error
		c.client, err = door.New(door.Config{Trust: door.Operator, Allow: door.Loopback()})
		must(t, err)
		t.Cleanup(c.client.CloseIdleConnections)
	}
	r, err := http.NewRequestWithContext(soon(t), http.MethodPost, address, body)
	must(t, err)
	r.Header.Set("Content-Type", kind)
	if auth != "" {
		r.Header.Set("Authorization", auth)
	}
	resp, err := c.client.Do(r)
	must(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	must(t, err)
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s: %s", address, resp.Status, b)
	}
	return b
}

// checkIn reads the two numbers behind their keys: fields 7 and 8, 64 bits each.
func (c *chrome) checkIn(t *testing.T) {
	t.Helper()
	var request []byte
	if c.id != 0 {
		request = binary.AppendUvarint([]byte{2 << 3}, c.id)
		request = binary.LittleEndian.AppendUint64(append(request, 13<<3|1), c.secret)
	}
	b := c.post(t, c.at.CheckIn, "application/x-protobuffer", bytes.NewReader(request), "")
	at := bytes.IndexByte(b[8:], 7<<3|1) + 8 // behind the time
	if len(b) < at+18 || b[at+9] != 8<<3|1 {
		t.Fatalf("checked in as %x", b)
	}
	id, secret := binary.LittleEndian.Uint64(b[at+1:]), binary.LittleEndian.Uint64(b[at+10:])
	if c.id != 0 && (c.id != id || c.secret != secret) {
		t.Error("checked in again as somebody else")
	}
	c.id, c.secret = id, secret
}

func (c *chrome) connect(t *testing.T) {
	t.Helper()
	c.checkIn(t)
	var err error
	// The browser is told to ignore certificates, too.
	c.conn, err = tls.Dial("tcp", strings.TrimPrefix(c.at.MCS, "https://"), &tls.Config{InsecureSkipVerify: true})
	must(t, err)
	t.Cleanup(func() { _ = c.conn.Close() })
	must(t, c.conn.SetDeadline(time.Now().Add(time.Minute)))
	user := fmt.Sprint(c.id)
	login := append([]byte{1<<3 | 2, 1, 'x', 3<<3 | 2, byte(len(user))}, user...)
	_, err = c.conn.Write(append([]byte{41, 2, byte(len(login))}, login...))
	must(t, err)
	c.in = bufio.NewReader(c.conn)
	if version, err := c.in.ReadByte(); err != nil || version != 41 {
		t.Fatalf("version %d, %v", version, err)
	}
	c.frame(t, 3)
}

func (c *chrome) frame(t *testing.T, want byte) []byte {
	t.Helper()
	tag, err := c.in.ReadByte()
	must(t, err)
	size, err := binary.ReadUvarint(c.in)
	must(t, err)
	b := make([]byte, size)
	_, err = io.ReadFull(c.in, b)
	must(t, err)
	if tag != want {
		t.Fatalf("frame %d instead of %d", tag, want)
	}
	return b
}

func (c *chrome) register(t *testing.T, form url.Values) string {
	t.Helper()
	form.Set("app", "org.chromium.linux")
	form.Set("X-subtype", "wp:http://localhost/#1")
	form.Set("device", fmt.Sprint(c.id))
	b := c.post(t, c.at.Register, "application/x-www-form-urlencoded", strings.NewReader(form.Encode()), fmt.Sprintf("AidLogin %d:%d", c.id, c.secret))
	token, ok := strings.CutPrefix(string(b), "token=")
	if !ok {
		t.Fatalf("registered as %q", b)
	}
	return token
}

func (c *chrome) subscribe(t *testing.T, key []byte) string {
	t.Helper()
	_, err := c.conn.Write([]byte{0, 0}) // a ping: the connection lives
	must(t, err)
	c.frame(t, 1)
	return "https://jmt17.google.com/fcm/send/" + c.register(t, url.Values{"sender": {base64.RawURLEncoding.EncodeToString(key)}})
}

func (c *chrome) unsubscribe(t *testing.T) {
	t.Helper()
	c.register(t, url.Values{"delete": {"true"}})
}

// receive takes the body, which is the last field, 21.
func (c *chrome) receive(t *testing.T) []byte {
	t.Helper()
	b := c.frame(t, 8)
	for _, want := range []string{"content-encoding", "aes128gcm", "wp:http://localhost/#1", "org.chromium.linux"} {
		if !bytes.Contains(b, []byte(want)) {
			t.Errorf("%q is not in %q", want, b)
		}
	}
	for i := range b {
		key, n := binary.Uvarint(b[i:])
		if n <= 0 || key != 21<<3|2 {
			continue
		}
		if size, m := binary.Uvarint(b[i+n:]); m > 0 && i+n+m+int(size) == len(b) {
			return b[i+n+m:]
		}
	}
	t.Fatalf("no body in %q", b)
	return nil
}

func (c *chrome) disconnect(t *testing.T) {
	t.Helper()
	must(t, c.conn.Close())
	away(t, c.service)
}
