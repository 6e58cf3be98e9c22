package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/lastlook/lastlook/bench/internal/detectbench"
	"github.com/lastlook/lastlook/bench/internal/sqlitebench"
)

// detectPart is the part that is about sweeping due listings. It has a file and a
// table of its own; -out names the file if it is the only part.
const detectPart = "detect"

func runDetect(ctx context.Context, o options) error {
	if len(o.parts) > 0 && !slices.Contains(o.parts, detectPart) {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	b := &detectbench.Bench{
		Quick: o.quick, Dir: o.dir, Summary: map[string]float64{},
		Say: func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) },
		Self: func(ctx context.Context, args ...string) *exec.Cmd {
			cmd := exec.CommandContext(ctx, self, args...)
			cmd.Stderr = os.Stderr
			return cmd
		},
	}
	if err := b.Run(ctx); err != nil {
		return fmt.Errorf("%s: %w", detectPart, err)
	}
	rows := make([]sqlitebench.Row, len(b.Rows))
	for i, r := range b.Rows {
		rows[i] = sqlitebench.Row(r)
	}
	out := o.out
	if out != "" && len(o.parts) != 1 {
		out = filepath.Join(filepath.Dir(out), "detect.json")
	}
	return publish(ctx, out, o.doc, detectTable, b.Summary, rows)
}
