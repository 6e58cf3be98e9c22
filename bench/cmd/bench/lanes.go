package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/lastlook/lastlook/bench/internal/lanesbench"
	"github.com/lastlook/lastlook/bench/internal/sqlitebench"
)

// lanesPart is the part that is about lanes that are slow or dead. It has a file and a
// table of its own; -out names the file if it is the only part.
const lanesPart = "lanes"

func runLanes(ctx context.Context, o options) error {
	if len(o.parts) > 0 && !slices.Contains(o.parts, lanesPart) {
		return nil
	}
	b := &lanesbench.Bench{
		Quick: o.quick, Dir: o.dir, Summary: map[string]float64{},
		Say: func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) },
	}
	if err := b.Run(ctx); err != nil {
		return fmt.Errorf("%s: %w", lanesPart, err)
	}
	rows := make([]sqlitebench.Row, len(b.Rows))
	for i, r := range b.Rows {
		rows[i] = sqlitebench.Row(r)
	}
	out := o.out
	if out != "" && len(o.parts) != 1 {
		out = filepath.Join(filepath.Dir(out), "lanes.json")
	}
	return publish(ctx, out, o.doc, lanesTable, b.Summary, rows)
}
