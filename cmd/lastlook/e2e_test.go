package main

import (
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/internal/config"
	"github.com/lastlook/lastlook/internal/server"
)

// A price that falls while lastlook serves is told, by a signed webhook that
// the official module verifies, within the interval.
func TestServeTellsWithinTheInterval(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	serve := h.start("serve")
	serve.await(`msg=serving`)
	h.run("watch", "add", h.shop.url(), "--below", "500 EUR", "--every", "10s", "--to", "work")
	h.shop.set(func(s *shop) { s.prices = []string{"498.00"} })
	moved := time.Now()
	e, err := h.receiver.next(h.context())
	if err != nil {
		t.Fatal(err)
	}
	// The interval, its jitter of a tenth, and what a busy machine takes.
	if took := time.Since(moved); took > 11*time.Second+5*time.Second {
		t.Errorf("told after %s", took)
	}
	if e.Type != "lastlook.alert" || e.Data.Title != "Camera X100" || !strings.HasPrefix(e.Data.Body, "498.00 EUR: below your target of 500.00 EUR") {
		t.Errorf("the webhook says %s", e.Body)
	}
	serve.await(`msg=sent`)
	serve.stop()
	if out := h.run("outbox", "show", "1"); !strings.Contains(out, "notification 1 was sent") {
		t.Errorf("its story is\n%s", out)
	}
}

// A notification that waits behind a lane which does not go on says so, and
// why, while something serves; and nobody is told to start what runs.
func TestAParkedLaneIsExplained(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.receiver.set(func(r *receiver) { r.status = 401 })
	h.shop.set(func(s *shop) { s.prices = []string{"480.00"} })
	h.run("watch", "add", h.shop.url(), "--below", "500 EUR", "--to", "work")
	serve := h.start("serve")
	serve.await(`our settings are refused`)
	if out := h.run("watch", "list"); strings.Contains(out, "no lastlook serve") {
		t.Errorf("something serves, and yet\n%s", out)
	}
	h.run("watch", "add", h.shop.url()+"?2", "--below", "500 EUR", "--to", "work")
	ctx := h.context()
	ticker := time.NewTicker(tailEvery)
	defer ticker.Stop()
	for {
		out := h.run("outbox", "show", "2")
		if strings.Contains(out, "start one") {
			t.Fatalf("something serves, and yet\n%s", out)
		}
		if strings.Contains(out, "parked or held back, which serve's log says; the last trouble through work: ") && strings.Contains(out, "401") {
			break
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("nothing explains it:\n%s", out)
		}
	}
	serve.stop()
}

// What is put back before it is told is withheld; a restart changes nothing.
func TestServeWithholdsWhatIsNoLongerTrue(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	serve := h.start("serve")
	serve.await(`msg=serving`)
	h.shop.set(func(s *shop) { s.prices = []string{"498.00", "598.00"} }) // detection's look, the last look
	h.run("watch", "add", h.shop.url(), "--below", "500 EUR", "--no-check", "--to", "work")
	serve.await(`msg="rightly withheld" id=1 .*reason=condition_lost`)
	serve.stop()

	// Noticed while nobody dispatches, put back before somebody does.
	h.shop.set(func(s *shop) { s.prices = []string{"498.00", "598.00"} })
	h.run("watch", "add", h.shop.url()+"?2", "--below", "500 EUR", "--to", "work")
	serve = h.start("serve", "--log-format", "json")
	line := serve.await(`"rightly withheld"`)
	var logged struct {
		ID     int
		Reason string
	}
	if err := json.Unmarshal([]byte(line), &logged); err != nil || logged.ID != 2 || logged.Reason != "condition_lost" {
		t.Errorf("logged %s, %v", line, err)
	}
	// And one that stays true is told by the same process.
	h.shop.set(func(s *shop) { s.prices = []string{"470.00"} })
	h.run("watch", "add", h.shop.url()+"?3", "--below", "500 EUR", "--to", "work")
	e, err := h.receiver.next(h.context())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(e.Data.Body, "470.00 EUR") {
		t.Errorf("told %s", e.Body)
	}
	serve.await(`"msg":"sent"`)
	serve.stop()
	if n := len(h.receiver.events); n != 0 {
		t.Errorf("%d more webhooks came", n)
	}
	if out := h.run("outbox", "stats"); !strings.Contains(out, "rightly withheld   2 (condition_lost 2)") || !strings.Contains(out, "sent               1") {
		t.Errorf("counted\n%s", out)
	}
}

// Only one lastlook dispatches in a data directory.
func TestASecondServeFailsWithOneLine(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	serve := h.start("serve")
	serve.await(`msg=serving`)
	for _, command := range []string{"serve", "tick"} {
		_, errOut, code := h.try(command)
		if code != exitFailed || strings.Count(errOut, "\n") != 1 ||
			!strings.HasPrefix(errOut, "lastlook: another lastlook is already dispatching in this data directory: ") || !strings.Contains(errOut, "stop that one") {
			t.Errorf("%s: exit code %d, %q", command, code, errOut)
		}
	}
	serve.stop()
	h.run("tick")
}

// A channel that is added while lastlook serves is taken up, and a file that
// cannot be used leaves what is there.
func TestServeTakesUpChannels(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	serve := h.start("serve")
	serve.await(`msg=serving`)
	h.run("channel", "add", "phone", "--ntfy", "http://127.0.0.1:1/topic")
	serve.await(`msg="the channels have changed" channels="\[log phone push work\]"`)
	if err := os.WriteFile(h.dir+"/channels.json", []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	serve.await(`level=ERROR .*going on with what was there before`)
	serve.stop()
}

// Kill -9 in the middle of a delivery loses nothing: what was being delivered
// is delivered again, under the same id, and what waited is told at once.
func TestKillLosesNothing(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	hold := make(chan struct{})
	t.Cleanup(func() { close(hold) })
	h.receiver.set(func(r *receiver) { r.hold = hold })
	h.shop.set(func(s *shop) { s.prices = []string{"480.00"} })
	h.run("watch", "add", h.shop.url(), "--below", "500 EUR", "--to", "work")
	serve := h.start("serve")
	first, err := h.receiver.next(h.context())
	if err != nil {
		t.Fatal(err)
	}
	serve.kill()
	if out := h.run("outbox", "show", "1"); !strings.Contains(out, "is being delivered") || !strings.Contains(out, "counts as perhaps delivered and is tried again in ") {
		t.Errorf("after the kill its story is\n%s", out)
	}

	// Another one is told as soon as somebody serves again.
	h.receiver.set(func(r *receiver) { r.hold = nil })
	h.run("watch", "add", h.shop.url()+"?2", "--below", "500 EUR", "--to", "work")
	serve = h.start("serve")
	second, err := h.receiver.next(h.context())
	if err != nil {
		t.Fatal(err)
	}
	serve.await(`msg=sent id=2`)
	serve.stop()

	// The first is tried again when its claim has ended. Its time is passed by
	// the clock.
	h.tickLater(2 * time.Minute)
	h.tickLater(4 * time.Minute)
	again, err := h.receiver.next(h.context())
	if err != nil {
		t.Fatal(err)
	}
	if again.ID != first.ID || again.ID == second.ID || again.Data.Body != first.Data.Body {
		t.Errorf("first %s, then %s, the other %s", first.ID, again.ID, second.ID)
	}
	if out := h.run("outbox", "show", "1"); !strings.Contains(out, "was sent") || !strings.Contains(out, "nobody knows whether it was delivered") {
		t.Errorf("in the end its story is\n%s", out)
	}
}

// tickLater makes one pass at a later time.
func (h *home) tickLater(by time.Duration) lastlook.TickResult {
	h.t.Helper()
	dir, err := config.Open(h.dir)
	if err != nil {
		h.t.Fatal(err)
	}
	s, err := server.Open(h.context(), server.Options{Dir: dir, AllowPrivate: []string{"127.0.0.1"}, Logger: slog.New(slog.DiscardHandler), Clock: func() time.Time { return time.Now().Add(by) }})
	if err != nil {
		h.t.Fatal(err)
	}
	res, err := s.Tick(h.context())
	if err != nil {
		h.t.Error(err)
	}
	if err := s.Close(); err != nil {
		h.t.Error(err)
	}
	return res.Dispatch
}

// A second signal ends a stop that takes long.
func TestASecondSignalStopsAtOnce(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	hold := make(chan struct{})
	t.Cleanup(func() { close(hold) })
	h.receiver.set(func(r *receiver) { r.hold = hold })
	h.shop.set(func(s *shop) { s.prices = []string{"480.00"} })
	h.run("watch", "add", h.shop.url(), "--below", "500 EUR", "--to", "work")
	serve := h.start("serve", "--log-level", "debug")
	if _, err := h.receiver.next(h.context()); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := serve.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	serve.await(`msg="stopping`)
	if err := serve.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if failed, ok := errors.AsType[*exec.ExitError](serve.wait()); !ok || failed.ExitCode() != exitInterrupted {
		t.Errorf("it ended with %v", failed)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
}

// tail follows what happens, as it happens.
func TestTail(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.shop.set(func(s *shop) { s.prices = []string{"498.00", "598.00"} })
	h.run("watch", "add", h.shop.url(), "--below", "500 EUR", "--no-check", "--to", "work")
	h.run("tick")
	people, scripts := h.start("outbox", "tail"), h.start("outbox", "tail", "--json", "-n", "0", "--state", "sent")
	people.await(`UTC  1  dropped  watch w_\w+ through work  attempt 1: looked, \S+ before: 598.00 EUR, in stock; not told, condition_lost`)

	h.shop.set(func(s *shop) { s.prices = []string{"480.00"} })
	h.run("watch", "add", h.shop.url()+"?2", "--below", "500 EUR", "--to", "work")
	people.await(`UTC  2  pending  watch w_\w+ through work  noticed: 480.00 EUR, in stock`)
	h.run("tick")
	people.await(`UTC  2  sending  .* still true, so the channel is called`)
	people.await(`UTC  2  sent  .* delivered: the channel accepted`)
	var step struct {
		ID    int
		Key   lastlook.Key
		Event string
		State string
	}
	line := scripts.await(`^\{`)
	if err := json.Unmarshal([]byte(line), &step); err != nil || step.ID != 2 || step.State != "sent" || step.Event != "accepted" || step.Key.Channel != "work" {
		t.Errorf("got %s, %v", line, err)
	}
	people.stop()
	scripts.stop()
}
