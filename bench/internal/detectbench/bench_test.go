package detectbench

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"
)

// TestMain lets the test's program be the shop.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == ShopCommand {
		if err := ServeShop(context.Background(), os.Stdin, os.Stdout); err != nil {
			_, _ = os.Stderr.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// TestQuick: all is measured, and the summary has what others ask for by name.
func TestQuick(t *testing.T) {
	b := &Bench{Quick: true, Dir: t.TempDir(), Summary: map[string]float64{}, Say: t.Logf,
		Self: func(ctx context.Context, args ...string) *exec.Cmd {
			cmd := exec.CommandContext(ctx, os.Args[0], args...)
			cmd.Stderr = os.Stderr
			return cmd
		}}
	if err := b.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"pages_per_s", "pages_per_cpu_s", "share_ours", "share_parse", "share_sqlite", "share_http", "memory_last_vs_first"} {
		if b.Summary[name] <= 0 {
			t.Errorf("%s is %v", name, b.Summary[name])
		}
	}
	if got := b.Summary["fetches_of_one_listing"]; got != 1 {
		t.Errorf("%v fetches for one listing", got)
	}
}

func TestSharesOf(t *testing.T) {
	const line = "-----------+-------------------------------------------------------\n"
	by, total := sharesOf("File: bench\nType: cpu\n" + line +
		"      20ms   runtime.mallocgc\n             golang.org/x/net/html.(*Tokenizer).Next\n             github.com/lastlook/lastlook/watch/extract.Observe\n" + line +
		"      30ms   strings.Cut\n             github.com/lastlook/lastlook/watch/extract.Observe\n" + line +
		"      1.5s   runtime.gcBgMarkWorker\n" + line +
		"      40ms   syscall.write\n             internal/poll.(*FD).Write\n             net/http.(*persistConn).writeLoop\n" + line +
		"      10ms   modernc.org/sqlite/lib.step\n             database/sql.(*Tx).Exec\n             github.com/lastlook/lastlook/store/sqlite.f\n")
	want := map[string]time.Duration{"parse": 20 * time.Millisecond, "ours": 30 * time.Millisecond, "http": 40 * time.Millisecond, "sqlite": 10 * time.Millisecond}
	if total != 1600*time.Millisecond {
		t.Errorf("total %s", total)
	}
	for k, d := range want {
		if by[k] != d {
			t.Errorf("%s: %s, want %s", k, by[k], d)
		}
	}
}
