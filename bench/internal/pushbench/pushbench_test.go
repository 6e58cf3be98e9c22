package pushbench

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/lastlook/lastlook/webpush"
)

// TestMain lets the test's program be the push service.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == ServeCommand {
		if err := Serve(context.Background(), os.Stdin, os.Stdout); err != nil {
			panic(err)
		}
		return
	}
	os.Exit(m.Run())
}

// TestCrossCheck: what either library encrypts, the same browser reads. The
// browser is code of its own, held to RFC 8291, Appendix A.
func TestCrossCheck(t *testing.T) {
	p, err := newPair()
	if err != nil {
		t.Fatal(err)
	}
	p.http.last = []byte{}
	for _, size := range []int{0, 1, 200, 255, 256, 3000, webpush.MaxPayload} {
		payload := bytes.Repeat([]byte("p"), size)
		for name, send := range map[string]func(context.Context, []byte) error{"ours": p.ours, "webpush-go's": p.theirs} {
			if err := send(t.Context(), bytes.Clone(payload)); err != nil {
				t.Errorf("%s of %d bytes: %v", name, size, err)
				continue
			}
			got, err := p.browser.Decrypt(p.http.last)
			if err != nil || !bytes.Equal(got, payload) {
				t.Errorf("%s of %d bytes: read %d bytes, %v", name, size, len(got), err)
			}
			if name == "ours" && size <= 255 && len(p.http.last) != 358 {
				t.Errorf("a short message has %d bytes on the wire", len(p.http.last))
			}
		}
	}
}

// TestQuick runs all of it, in small, with the service in another process.
func TestQuick(t *testing.T) {
	b := &Bench{Quick: true, Say: t.Logf, Summary: map[string]float64{}, Self: func(ctx context.Context, args ...string) *exec.Cmd {
		return exec.CommandContext(ctx, os.Args[0], args...)
	}}
	if err := b.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ns_vs_webpush_go", "bytes_vs_webpush_go", "push_vs_floor_processor"} {
		if b.Summary[name] <= 0 {
			t.Errorf("%s is missing: %v", name, b.Summary)
		}
	}
	// What is allocated does not depend on the machine.
	if b.Summary["bytes_vs_webpush_go"] > 0.3 {
		t.Errorf("a message allocates %.2f of webpush-go's, aim: 0.3", b.Summary["bytes_vs_webpush_go"])
	}
}

// TestServiceChecks: a service that would take anything proves nothing.
func TestServiceChecks(t *testing.T) {
	for name, request := range map[string]string{
		"nobody":  "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx",
		"no body": "POST /x HTTP/1.1\r\nHost: h\r\n\r\n",
	} {
		if n := whole([]byte(request + "more")); n != len(request) {
			t.Errorf("%s: a request of %d bytes, want %d", name, n, len(request))
		}
		for i := range len(request) {
			if n := whole([]byte(request[:i])); n != 0 {
				t.Errorf("%s: half a request of %d bytes was taken for %d", name, i, n)
			}
		}
		if err := (&service{}).check([]byte(request)); err == nil || !strings.Contains(err.Error(), "nobody") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
