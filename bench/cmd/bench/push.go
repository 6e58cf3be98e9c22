package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/lastlook/lastlook/bench/internal/pushbench"
	"github.com/lastlook/lastlook/bench/internal/sqlitebench"
)

// pushPart is the part that is about Web Push. It has a file and a table of its
// own; -out names the file if it is the only part.
const pushPart = "push"

func runPush(ctx context.Context, o options) error {
	if len(o.parts) > 0 && !slices.Contains(o.parts, pushPart) {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	b := &pushbench.Bench{
		Quick: o.quick, Summary: map[string]float64{},
		Say:  func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) },
		Self: func(ctx context.Context, args ...string) *exec.Cmd { return exec.CommandContext(ctx, self, args...) },
	}
	if err := b.Run(ctx); err != nil {
		return fmt.Errorf("%s: %w", pushPart, err)
	}
	rows := make([]sqlitebench.Row, len(b.Rows))
	for i, r := range b.Rows {
		rows[i] = sqlitebench.Row(r)
	}
	out := o.out
	if out != "" && len(o.parts) != 1 {
		out = filepath.Join(filepath.Dir(out), "push.json")
	}
	return publish(ctx, out, o.doc, pushTable, b.Summary, rows)
}
