package lastlook_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lastlook/lastlook"
)

var update = flag.Bool("update", false, "write generated documents instead of comparing them")

// TestStateMachineDocument keeps docs/state-machine.md what the table says.
func TestStateMachineDocument(t *testing.T) {
	file := filepath.Join("docs", "state-machine.md")
	want := stateMachineDocument()
	if *update {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is stale: run `go test -run TestStateMachineDocument -update .`", file)
	}
}

func stateName(s lastlook.State) string {
	if s == lastlook.StateNone {
		return "(none)"
	}
	return s.String()
}

func stateMachineDocument() []byte {
	var b bytes.Buffer
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	p("<!-- Generated from state.go by `go test -run TestStateMachineDocument -update .`; do not edit. -->")
	p("# The state machine\n")
	p("A notification moves by these transitions and no others. `sent`, `dropped` and `failed` are final.")
	p("The table is data in `state.go`; each transition has one constructor, a method of `Row` in `change.go`;")
	p("stores only compare and swap.\n")
	p("```mermaid\nstateDiagram-v2")
	for _, r := range lastlook.Rules() {
		for _, from := range r.From {
			f := "[*]"
			if from != lastlook.StateNone {
				f = from.String()
			}
			p("    %s --> %s: %d %s", f, r.To, r.Number, r.Event)
		}
	}
	for _, s := range lastlook.States() {
		if s != lastlook.StateNone && !s.Live() {
			p("    %s --> [*]", s)
		}
	}
	p("```\n")
	p("| # | from → to | event | when | in the same transaction | fence | attempt | reasons |")
	p("|---|---|---|---|---|---|---|---|")
	fences := map[lastlook.Fence]string{
		lastlook.FenceNone: "state", lastlook.FenceToken: "state, token",
		lastlook.FenceTokenAlive: "state, token, lease alive", lastlook.FenceTokenDead: "state, token, lease dead",
	}
	for _, r := range lastlook.Rules() {
		var from, reasons []string
		for _, s := range r.From {
			from = append(from, stateName(s))
		}
		for _, s := range r.Reasons {
			reasons = append(reasons, "`"+string(s)+"`")
		}
		fence := fences[r.Fence]
		if r.ReaperFence != lastlook.FenceNone {
			fence += "; by a sweep: " + fences[r.ReaperFence]
		}
		attempt := "counted"
		switch {
		case r.Attempt == lastlook.AttemptGiveBack:
			attempt = "given back"
		case r.Number == 1:
			attempt = "0"
		case r.Number == 14:
			attempt = "+ 1"
		}
		p("| %d | %s → %s | `%s` | %s | %s | %s | %s | %s |", r.Number, strings.Join(from, ", "), r.To, r.Event,
			r.When, r.Effect, fence, attempt, strings.Join(reasons, ", "))
	}
	p("\n## Reasons\n")
	p("The list is closed. *Delays* marks the ends after which the key's next row waits a growing backoff.\n")
	p("| reason | state | delays | meaning | what to do |")
	p("|---|---|---|---|---|")
	for _, r := range lastlook.Reasons() {
		delays := ""
		if r.Delays {
			delays = "yes"
		}
		p("| `%s` | %s | %s | %s | %s |", r.Reason, r.State, delays, r.Meaning, r.Do)
	}
	return b.Bytes()
}
