package email

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net"
	"net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/channel/channeltest"
	"github.com/lastlook/lastlook/internal/door"
)

const testPass = "hush & hash/99=="

var clock = time.Date(2026, 3, 29, 0, 59, 30, 0, time.UTC)

// server speaks just enough SMTP; what it answers is the test's.
type server struct {
	addr string
	// answers are by command; DATA-END is what follows the message. One that
	// is empty ends the connection without an answer.
	answers map[string]string
	mu      sync.Mutex
	mails   []string
	rcpts   []string
	hold    chan struct{} // if set, it is waited for before the answer to DATA-END
	got     chan struct{}
}

func newServer(tb channeltest.TB, answers map[string]string) *server {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("%v", err)
	}
	s := &server{addr: l.Addr().String(), answers: answers, got: make(chan struct{}, 1000)}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer func() { _ = c.Close() }()
				s.talk(c)
			})
		}
	})
	tb.Cleanup(func() {
		_ = l.Close()
		wg.Wait()
	})
	return s
}

func (s *server) answer(command, otherwise string) string {
	if a, ok := s.answers[command]; ok {
		return a
	}
	return otherwise
}

func (s *server) talk(c net.Conn) {
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	r := bufio.NewReader(c)
	say := func(line string) bool {
		if line == "" {
			return false
		}
		_, err := io.WriteString(c, line+"\r\n")
		return err == nil
	}
	if !say(s.answer("CONNECT", "220 mail.example ESMTP")) {
		return
	}
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		verb, rest, _ := strings.Cut(strings.TrimRight(line, "\r\n"), " ")
		reply := s.answer(verb, map[string]string{"EHLO": "250-mail.example\r\n250 SIZE 100000", "QUIT": "221 bye", "DATA": "354 go on"}[verb])
		if reply == "" && s.answers[verb] == "" {
			if _, set := s.answers[verb]; !set {
				reply = "250 ok"
			}
		}
		if verb == "RCPT" && strings.HasPrefix(reply, "250") {
			s.mu.Lock()
			s.rcpts = append(s.rcpts, rest)
			s.mu.Unlock()
		}
		if !say(reply) {
			return
		}
		if verb == "DATA" && strings.HasPrefix(reply, "354") && !s.data(r, say) {
			return
		}
	}
}

func (s *server) data(r *bufio.Reader, say func(string) bool) bool {
	var text strings.Builder
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return false
		}
		if line == ".\r\n" {
			break
		}
		text.WriteString(strings.TrimPrefix(line, "."))
	}
	s.mu.Lock()
	s.mails = append(s.mails, text.String())
	s.mu.Unlock()
	s.got <- struct{}{}
	if s.hold != nil {
		<-s.hold
	}
	return say(s.answer("DATA-END", "250 2.0.0 queued as 4711"))
}

func (s *server) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.mails) == 0 {
		return ""
	}
	return s.mails[len(s.mails)-1]
}

func dialer(tb channeltest.TB, via map[string]string) *door.Dialer {
	d, err := door.NewDialer(door.Config{Trust: door.Operator, Ports: []uint16{25, 465, 587}, Via: via})
	if err != nil {
		tb.Fatalf("%v", err)
	}
	return d
}

func (s *server) channel(tb channeltest.TB, change func(*Config)) *Channel {
	c := Config{
		Host: "mail.example", Security: Plain, From: "lastlook <alerts@example.com>", To: "Kim <kim@example.com>",
		Dial: dialer(tb, map[string]string{"mail.example:25": s.addr}).DialContext, Clock: func() time.Time { return clock },
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

func TestChannel(t *testing.T) {
	channeltest.RunPlain(t, func(tb channeltest.TB) lastlook.Channel { return newServer(tb, nil).channel(tb, nil) })
}

func delivery() lastlook.Delivery {
	k := lastlook.Key{Topic: "price", Subject: "shop.example/espresso", Recipient: "kim", Channel: "mail"}
	return lastlook.Delivery{
		ID: 42, Key: k,
		Message:     lastlook.Message{Title: "Espressomaschine für 470,00 €", Body: "Below 500\r\nnow <b>470</b> & falling", URL: "https://shop.example/?a=1&b=2"},
		DeliveryKey: lastlook.DeliveryKey(k, 1), ReplaceKey: lastlook.ReplaceKey(k),
	}
}

// parsed is a mail as a mail program reads it.
type parsed struct {
	header      mail.Header
	plain, html string
}

func parse(t testing.TB, raw string) parsed {
	t.Helper()
	m, err := mail.ReadMessage(strings.NewReader(raw))
	if err != nil {
		t.Fatalf("%v in %q", err, raw)
	}
	out := parsed{header: m.Header}
	kind, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/alternative" {
		t.Fatalf("%s, %v", kind, err)
	}
	parts := multipart.NewReader(m.Body, params["boundary"])
	for {
		p, err := parts.NextPart() // which decodes quoted-printable
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(p)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(string(b), "\r\n", "\n")
		switch kind, _, _ := mime.ParseMediaType(p.Header.Get("Content-Type")); kind {
		case "text/plain":
			out.plain = text
		case "text/html":
			out.html = text
		}
	}
}

func (p parsed) subject(t testing.TB) string {
	t.Helper()
	s, err := new(mime.WordDecoder).DecodeHeader(p.header.Get("Subject"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// checkMail compares what arrived with what was sent.
func checkMail(t testing.TB, raw string) {
	t.Helper()
	d, p := delivery(), parse(t, raw)
	if got := p.subject(t); got != d.Message.Title {
		t.Errorf("subject %q", got)
	}
	if p.plain != "Below 500\nnow <b>470</b> & falling\n\nhttps://shop.example/?a=1&b=2\n" {
		t.Errorf("text %q", p.plain)
	}
	for _, part := range []string{"<h1 style=\"font-size:1.2em\">Espressomaschine für 470,00 €</h1>", "Below 500<br>\nnow &lt;b&gt;470&lt;/b&gt; &amp; falling", `<a href="https://shop.example/?a=1&amp;b=2">`} {
		if !strings.Contains(p.html, part) {
			t.Errorf("no %q in %q", part, p.html)
		}
	}
	for name, want := range map[string]string{
		"From": `"lastlook" <alerts@example.com>`, "To": `"Kim" <kim@example.com>`,
		"Message-Id": "<" + d.DeliveryKey + "@example.com>", "References": "<" + d.ReplaceKey + "@example.com>",
		"Date": clock.Format(time.RFC1123Z), "Auto-Submitted": "auto-generated",
		"List-Unsubscribe": "<https://lastlook.example/u/t0ken?r=3>", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
	} {
		if got := p.header[name]; len(got) != 1 || got[0] != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestMail(t *testing.T) {
	s := newServer(t, nil)
	r, err := s.channel(t, nil).Deliver(t.Context(), delivery())
	if err != nil || !strings.Contains(r.Answer, "queued as 4711") {
		t.Fatalf("%+v, %v", r, err)
	}
	checkMail(t, s.last())
	bare := delivery()
	bare.Message = lastlook.Message{Title: "Only\r\nBcc: eve@example.com\r\n\r\na title", Silent: true}
	if _, err := s.channel(t, func(c *Config) { c.Unsubscribe = nil; c.To = "" }).Deliver(t.Context(), bare); err == nil {
		t.Error("the recipient kim is no address")
	}
	bare.Key.Recipient = "bob@example.com"
	if _, err := s.channel(t, func(c *Config) { c.Unsubscribe = nil; c.To = "" }).Deliver(t.Context(), bare); err != nil {
		t.Fatal(err)
	}
	p := parse(t, s.last())
	if len(p.header["Bcc"]) != 0 || p.subject(t) != "Only Bcc: eve@example.com a title" || p.header.Get("List-Unsubscribe") != "" || p.header.Get("Importance") != "low" {
		t.Errorf("%v", p.header)
	}
	if got := s.rcpts[len(s.rcpts)-1]; got != "TO:<bob@example.com>" {
		t.Errorf("recipients %q", s.rcpts)
	}
}

// TestNothingIsInjected: whatever stands where, the mail has the headers that
// it should have, each once, and one recipient.
func TestNothingIsInjected(t *testing.T) {
	s := newServer(t, nil)
	ch := s.channel(t, nil)
	want := ""
	for _, evil := range []string{
		"plain", "a\r\nBcc: eve@example.com", "a\nX-Injected: 1", "a\r\n\r\nbody", "a\r\n.\r\nMAIL FROM:<x>", "\x00\x1b[2J\u2028", strings.Repeat("ü", 5000),
		"=?utf-8?q?=0D=0ABcc:_eve@example.com?=", `"<script>alert(1)</script>`, "a\rBcc: eve", "\u0085Bcc: eve",
	} {
		d := delivery()
		d.Message = lastlook.Message{Title: evil, Body: evil + "\n.\n..dots", URL: "https://a.example/" + evil}
		d.Key.Subject, d.Key.Recipient, d.Trace = evil, evil, evil
		before := len(s.rcpts)
		if _, err := ch.Deliver(t.Context(), d); err != nil {
			t.Errorf("%q: %v", evil, err)
			continue
		}
		p := parse(t, s.last())
		var names []string
		for name, values := range p.header {
			names = append(names, name)
			if len(values) != 1 || strings.Contains(name, "Bcc") {
				t.Errorf("%q: %s: %q", evil, name, values)
			}
		}
		if got := fmt.Sprint(len(names)); want == "" {
			want = got
		} else if got != want {
			t.Errorf("%q: headers %v", evil, names)
		}
		if len(s.rcpts) != before+1 || strings.Contains(p.html, "<script>") || !strings.Contains(p.plain, "\n.\n..dots") {
			t.Errorf("%q: rcpts %q, %q", evil, s.rcpts[before:], p.plain)
		}
	}
}

func TestAnswers(t *testing.T) {
	const (
		transient, permanent, gone = lastlook.ClassTransient, lastlook.ClassPermanent, lastlook.ClassGone
		misconfigured, unknown     = lastlook.ClassMisconfigured, lastlook.ClassUnknown
	)
	for _, tt := range []struct {
		command, answer string
		want            lastlook.Class
	}{
		{"CONNECT", "421 too busy", transient},
		{"CONNECT", "554 5.7.1 go away", misconfigured},
		{"CONNECT", "", transient},
		{"CONNECT", "nonsense", transient},
		{"MAIL", "451 4.7.1 later", transient},
		{"MAIL", "550 5.7.1 sender refused", misconfigured},
		{"MAIL", "530 5.7.0 authenticate first", misconfigured},
		{"MAIL", "552 5.3.4 too large", permanent},
		{"MAIL", "", transient},
		{"RCPT", "450 4.7.1 greylisted, come back", transient},
		{"RCPT", "451 greylisted", transient},
		{"RCPT", "452 4.2.2 mailbox full", transient},
		{"RCPT", "550 5.1.1 no such user", gone},
		{"RCPT", "550 5.1.10 null MX", gone},
		{"RCPT", "551 5.1.6 moved", gone},
		{"RCPT", "550 no such user", permanent}, // nobody can say what it means
		{"RCPT", "550 5.2.1 disabled", permanent},
		{"RCPT", "550 4.1.1 of two minds", permanent},
		{"RCPT", "550 5.7.1 relaying denied", misconfigured},
		{"RCPT", "", transient},
		{"DATA", "451 later", transient},
		{"DATA", "554 no", permanent},
		{"DATA-END", "452 4.3.1 disk full", transient},
		{"DATA-END", "550 5.7.1 looks like spam", permanent},
		{"DATA-END", "550 5.1.1 not for all", permanent},
		{"DATA-END", "550 5.7.26 DMARC", misconfigured},
		{"DATA-END", "552 5.3.4 too large", permanent},
		{"DATA-END", "", unknown},
		{"DATA-END", "junk", unknown},
		{"DATA-END", "299 what", unknown},
		{"QUIT", "", 255}, {"QUIT", "500 what", 255},
	} {
		s := newServer(t, map[string]string{tt.command: tt.answer})
		r, err := s.channel(t, nil).Deliver(t.Context(), delivery())
		if tt.want == 255 {
			if err != nil || r.Answer == "" {
				t.Errorf("%s %q: %v", tt.command, tt.answer, err)
			}
			continue
		}
		class, _ := lastlook.Classify(err)
		if _, classified := errors.AsType[*lastlook.Error](err); err == nil || !classified || class != tt.want {
			t.Errorf("%s %q: %v (%v), want %v", tt.command, tt.answer, err, class, tt.want)
		}
		if err != nil && (!strings.HasPrefix(err.Error(), "email: mail.example:25: ") || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%q", err)
		}
	}
}

// TestTimeRunsOut: after the message was sent, nobody knows.
func TestTimeRunsOut(t *testing.T) {
	s := newServer(t, nil)
	s.hold = make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	ch := s.channel(t, nil)
	go func() {
		_, err := ch.Deliver(ctx, delivery())
		done <- err
	}()
	<-s.got
	cancel()
	err := <-done
	close(s.hold)
	if class, _ := lastlook.Classify(err); class != lastlook.ClassUnknown || !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestConfig(t *testing.T) {
	good := Config{Host: "smtp.example.com", From: "a@example.com", To: "b@example.com", Username: "kim", Password: testPass, Dial: dialer(t, nil).DialContext}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, v := range []string{"%v", "%+v", "%#v"} {
		ch, _ := New(good)
		if s := fmt.Sprintf(v+v, good, ch); strings.Contains(s, testPass) || !strings.Contains(s, "smtp.example.com:587") {
			t.Errorf("printed: %s", s)
		}
	}
	for name, change := range map[string]func(*Config){
		"no host": func(c *Config) { c.Host = "" }, "url": func(c *Config) { c.Host = "smtp://a" }, "port": func(c *Config) { c.Port = 70000 },
		"no from": func(c *Config) { c.From = "" }, "two lines": func(c *Config) { c.From = "a@b\r\nBcc: c@d" }, "to": func(c *Config) { c.To = "kim" },
		"utf-8": func(c *Config) { c.To = "kim@exämple.com" }, "no user": func(c *Config) { c.Username = "" }, "no password": func(c *Config) { c.Password = "" },
		"clear": func(c *Config) { c.Security = Plain }, "security": func(c *Config) { c.Security = 9 }, "no dialer": func(c *Config) { c.Dial = nil },
		"control": func(c *Config) { c.Password = "a\nb" },
	} {
		c := good
		change(&c)
		if err := c.Validate(); !errors.Is(err, lastlook.ErrInvalid) || strings.Contains(err.Error(), testPass) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTheDoorIsAsked: a private address is refused, by an error that says how
// to allow it.
func TestTheDoorIsAsked(t *testing.T) {
	s := newServer(t, nil)
	ch := s.channel(t, func(c *Config) { c.Host = "127.0.0.1"; c.Port = 587 })
	_, err := ch.Deliver(t.Context(), delivery())
	if class, _ := lastlook.Classify(err); class != lastlook.ClassTransient || !strings.Contains(err.Error(), "allow") {
		t.Errorf("%v", err)
	}
}
