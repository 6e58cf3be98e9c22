package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/lastlook/lastlook/bench/internal/extractbench"
	"github.com/lastlook/lastlook/bench/internal/sqlitebench"
)

// extractPart is the part that is about reading pages. It has a file and a table
// of its own; -out names the file if it is the only part.
const extractPart = "extract"

func runExtract(ctx context.Context, o options) error {
	if len(o.parts) > 0 && !slices.Contains(o.parts, extractPart) {
		return nil
	}
	b := &extractbench.Bench{
		Quick: o.quick, Summary: map[string]float64{}, Corpus: filepath.Join("..", "watch", "testdata", "corpus", "corpus.jsonl"),
		Say: func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) },
	}
	if err := b.Run(ctx); err != nil {
		return fmt.Errorf("%s: %w", extractPart, err)
	}
	rows := make([]sqlitebench.Row, len(b.Rows))
	for i, r := range b.Rows {
		rows[i] = sqlitebench.Row(r)
	}
	out := o.out
	if out != "" && len(o.parts) != 1 {
		out = filepath.Join(filepath.Dir(out), "extract.json")
	}
	return publish(ctx, out, o.doc, extractTable, b.Summary, rows)
}
