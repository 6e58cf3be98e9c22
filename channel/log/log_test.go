package log

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/channel/channeltest"
)

var now = time.Date(2026, 3, 29, 0, 59, 30, 0, time.UTC)

func clock() time.Time { return now }

func mustNew(t testing.TB, c Config) *Channel {
	t.Helper()
	if c.Clock == nil {
		c.Clock = clock
	}
	ch, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

func delivery() lastlook.Delivery {
	return lastlook.Delivery{
		ID: 42, Key: lastlook.Key{Topic: "price", Subject: "shop.example/espresso", Recipient: "kim", Channel: "log"},
		Message: lastlook.Message{Title: "Espresso\nmachine", Body: "Below\n500", URL: "https://shop.example/"},
		Value:   json.RawMessage(`{"price":"470.00"}`), DeliveryKey: "dk", ReplaceKey: "rk", Attempt: 1,
		LookedAt: now, ExpiresAt: now.Add(time.Hour),
	}
}

func TestChannel(t *testing.T) {
	for name, config := range map[string]Config{
		"text":    {Writer: io.Discard},
		"json":    {Writer: io.Discard, JSON: true},
		"handler": {Handler: slog.NewJSONHandler(io.Discard, nil)},
	} {
		t.Run(name, func(t *testing.T) {
			channeltest.RunPlain(t, func(tb channeltest.TB) lastlook.Channel {
				c, err := New(config)
				if err != nil {
					tb.Fatalf("%v", err)
				}
				return c
			})
		})
	}
}

func TestLine(t *testing.T) {
	var buf bytes.Buffer
	receipt, err := mustNew(t, Config{Writer: &buf}).Deliver(t.Context(), delivery())
	if err != nil || receipt.Answer != "written" {
		t.Fatalf("%+v, %v", receipt, err)
	}
	const want = "2026-03-29T00:59:30Z Espresso machine: Below 500 https://shop.example/\n"
	if buf.String() != want {
		t.Errorf("line\n%s\nwant\n%s", buf.String(), want)
	}

	buf.Reset()
	d := delivery()
	d.Message.Title, d.Trace = "", "00-trace"
	if _, err := mustNew(t, Config{Writer: &buf, JSON: true, Level: slog.LevelWarn}).Deliver(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	var line map[string]any
	if err := json.Unmarshal(buf.Bytes(), &line); err != nil || line["msg"] != "Below 500" || line["level"] != "WARN" || line["id"] != 42.0 || line["trace"] != "00-trace" {
		t.Errorf("%s, %v", buf.String(), err)
	}
}

// lines checks that each Write is one whole line.
type lines struct {
	mu sync.Mutex
	n  int
	t  *testing.T
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n++
	body, end := bytes.CutSuffix(b, []byte("\n"))
	if !end || bytes.ContainsFunc(body, unicode.IsControl) {
		l.t.Errorf("no single line: %.80q", b)
	}
	return len(b), nil
}

// What is invisible, or changes the direction of text, is shown in both forms.
func TestWhatATerminalMayObeyIsEscaped(t *testing.T) {
	d := delivery()
	d.Message.Title, d.Message.Body = "Lamp\u202egpj\u200b", "a\U000e0001b"
	var people, machine bytes.Buffer
	for _, c := range []Config{{Writer: &people}, {Writer: &machine, JSON: true}} {
		if _, err := mustNew(t, c).Deliver(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	const want = `2026-03-29T00:59:30Z Lamp\u202egpj\u200b: a\U000e0001b https://shop.example/` + "\n"
	if people.String() != want {
		t.Errorf("line\n%s\nwant\n%s", people.String(), want)
	}
	if strings.ContainsFunc(strings.TrimSuffix(machine.String(), "\n"), hidden) {
		t.Errorf("%q", machine.String())
	}
	var line map[string]any
	if err := json.Unmarshal(machine.Bytes(), &line); err != nil || line["msg"] != d.Message.Title || line["body"] != d.Message.Body {
		t.Errorf("%s, %v", machine.String(), err)
	}
}

func TestOneLinePerMessage(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		out := &lines{t: t}
		ch := mustNew(t, Config{Writer: out, JSON: asJSON})
		for _, evil := range []string{"a\r\nb", "nul\x00", "\xff\xfe", strings.Repeat("\u2028\x1b[0m", 9000), ""} {
			d := delivery()
			d.Message.Title, d.Message.Body, d.Message.URL = evil, evil, evil
			d.Key.Subject, d.DeliveryKey, d.Trace, d.Value = evil, evil, evil, []byte(evil)
			if _, err := ch.Deliver(t.Context(), d); err != nil {
				t.Errorf("%.20q: %v", evil, err)
			}
		}
		if out.n != 5 {
			t.Errorf("%d lines", out.n)
		}
	}
}

// writer fails after having taken n bytes.
type writer struct {
	n   int
	err error
}

func (w writer) Write(b []byte) (int, error) { return min(w.n, len(b)), w.err }

// handler fails, or panics.
type handler struct {
	slog.Handler
	err error
	say any
}

func (h handler) Handle(context.Context, slog.Record) error {
	if h.say != nil {
		panic(h.say)
	}
	return h.err
}

func (h handler) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelInfo }

func TestErrors(t *testing.T) {
	for name, tt := range map[string]struct {
		config Config
		class  lastlook.Class
		part   string
	}{
		"full disk":     {Config{Writer: writer{0, syscall.ENOSPC}}, lastlook.ClassTransient, "no space"},
		"closed":        {Config{Writer: writer{0, os.ErrClosed}}, lastlook.ClassTransient, "closed"},
		"half":          {Config{Writer: writer{10, syscall.ENOSPC}, JSON: true}, lastlook.ClassUnknown, "no space"},
		"half, silent":  {Config{Writer: writer{10, nil}}, lastlook.ClassUnknown, "short write"},
		"handler":       {Config{Handler: handler{err: errors.New("down")}}, lastlook.ClassUnknown, "down"},
		"handler panic": {Config{Handler: handler{say: "two\nlines"}}, lastlook.ClassUnknown, "panicked: two lines"},
		"level":         {Config{Handler: handler{}, Level: slog.LevelDebug}, lastlook.ClassMisconfigured, "level"},
	} {
		ch := mustNew(t, tt.config)
		for range 2 { // an error blocks nothing
			receipt, err := ch.Deliver(t.Context(), delivery())
			e, ok := errors.AsType[*lastlook.Error](err)
			if !ok || e.Class != tt.class || !strings.Contains(err.Error(), "log: ") || !strings.Contains(err.Error(), tt.part) || receipt != (lastlook.Receipt{}) {
				t.Errorf("%s: %+v, %v", name, receipt, err)
			}
		}
	}
}

// TestBlockedWriter: one call waits for the writer, another one for its turn,
// and neither longer than its context.
func TestBlockedWriter(t *testing.T) {
	r, w := io.Pipe()
	ch := mustNew(t, Config{Writer: w})
	deliver := func(ctx context.Context) <-chan error {
		done := make(chan error, 1)
		go func() {
			_, err := ch.Deliver(ctx, delivery())
			done <- err
		}()
		return done
	}
	first, cancelFirst := context.WithCancel(t.Context())
	one := deliver(first)
	begin := make([]byte, 5)
	if _, err := io.ReadFull(r, begin); err != nil || string(begin) != "2026-" {
		t.Fatalf("%q, %v", begin, err)
	}
	second, cancelSecond := context.WithCancel(t.Context())
	two := deliver(second)
	cancelSecond()
	if class, _ := lastlook.Classify(<-two); class != lastlook.ClassTransient {
		t.Errorf("waiting for its turn: %s", class)
	}
	cancelFirst()
	if class, _ := lastlook.Classify(<-one); class != lastlook.ClassUnknown {
		t.Errorf("half written: %s", class)
	}
	// The writer wakes up: the line is completed, and the next one has its turn.
	go func() { _, _ = io.Copy(io.Discard, r) }()
	if err := <-deliver(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestConfig(t *testing.T) {
	for name, c := range map[string]Config{
		"nothing": {},
		"both":    {Writer: io.Discard, Handler: slog.DiscardHandler},
		"json":    {Handler: slog.DiscardHandler, JSON: true},
	} {
		if err := c.Validate(); !errors.Is(err, lastlook.ErrInvalid) || !strings.Contains(err.Error(), "give") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := (Config{Writer: io.Discard}).Validate(); err != nil {
		t.Error(err)
	}
}

func Example() {
	lines, err := New(Config{Writer: os.Stdout, JSON: true, Clock: clock})
	if err != nil {
		fmt.Println(err)
		return
	}
	// The dispatcher does this, after the last look.
	_, err = lines.Deliver(context.Background(), lastlook.Delivery{
		ID: 7, Key: lastlook.Key{Topic: "price", Subject: "espresso", Recipient: "kim", Channel: "log"},
		Message: lastlook.Message{Title: "Espresso machine: 470.00 EUR"}, Attempt: 1, LookedAt: now, ExpiresAt: now,
	})
	fmt.Println(err)
	// Output:
	// {"time":"2026-03-29T00:59:30Z","level":"INFO","msg":"Espresso machine: 470.00 EUR","id":7,"topic":"price","subject":"espresso","recipient":"kim","channel":"log","attempt":1,"looked_at":"2026-03-29T00:59:30Z","expires_at":"2026-03-29T00:59:30Z"}
	// <nil>
}
