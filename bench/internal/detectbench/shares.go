package detectbench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// bucket is whose work a sample of the profile is: that of the first function,
// from the innermost out, which belongs to one.
type bucket struct {
	key, name string
	prefixes  []string
}

// buckets are looked through in this order.
var buckets = []bucket{
	{"parse", "x/net/html: parsing", []string{"golang.org/x/net/html."}},
	{"sqlite", "SQLite and database/sql", []string{"modernc.org/", "database/sql."}},
	{"http", "net/http and below", []string{"net/http.", "net/http/", "net.", "internal/poll.", "golang.org/x/net/http", "compress/"}},
	{"ours", "our code", []string{"github.com/lastlook/lastlook"}},
}

// shares says what the processor did, by a profile. What the runtime does for
// itself (collecting garbage, scheduling) belongs to nobody.
func (b *Bench) shares(ctx context.Context, profile []byte) error {
	dir, err := os.MkdirTemp(b.Dir, "bench-")
	if err != nil {
		return fmt.Errorf("detectbench: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // a copy, in a temporary folder
	path := filepath.Join(dir, "cpu.pprof")
	if err := os.WriteFile(path, profile, 0o600); err != nil {
		return fmt.Errorf("detectbench: %w", err)
	}
	out, err := exec.CommandContext(ctx, "go", "tool", "pprof", "-traces", path).Output()
	if err != nil {
		return fmt.Errorf("detectbench: read the profile by go tool pprof: %w", err)
	}
	by, total := sharesOf(string(out))
	if total == 0 {
		return fmt.Errorf("detectbench: the profile of %d bytes has no samples", len(profile))
	}
	rest := total
	for _, k := range buckets {
		rest -= by[k.key]
		b.Summary["share_"+k.key] = b.add("processor time: "+k.name, "×", "", by[k.key].Seconds()/total.Seconds())
	}
	b.Summary["share_runtime"] = b.add("processor time: the Go runtime for itself", "×", "garbage collection, scheduling", rest.Seconds()/total.Seconds())
	return nil
}

// sharesOf reads stacks as pprof writes them: each begins with its time, the
// innermost function first.
func sharesOf(traces string) (by map[string]time.Duration, total time.Duration) {
	by = map[string]time.Duration{}
	for stack := range strings.SplitSeq(traces, "-----------+-------------------------------------------------------") {
		lines := strings.Split(strings.Trim(stack, "\n"), "\n")
		took, innermost, ok := strings.Cut(strings.TrimSpace(lines[0]), " ")
		d, err := time.ParseDuration(took)
		if !ok || err != nil {
			continue
		}
		total += d
		lines[0] = innermost
		if key := whose(lines); key != "" {
			by[key] += d
		}
	}
	return by, total
}

func whose(stack []string) string {
	for _, line := range stack {
		f := strings.TrimSpace(line)
		for _, k := range buckets {
			for _, p := range k.prefixes {
				if strings.HasPrefix(f, p) {
					return k.key
				}
			}
		}
	}
	return ""
}
