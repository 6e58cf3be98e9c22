package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/lastlook/lastlook/bench/internal/peersbench"
	"github.com/lastlook/lastlook/bench/internal/sqlitebench"
	"github.com/lastlook/lastlook/internal/pgtest"
)

// peersPart is the part that is about other queues: on PostgreSQL, and on SQLite.
// It has a file, a table and a chart of its own, and is measured if it is asked
// for, or quickly.
const peersPart = "peers"

func runPeers(ctx context.Context, o options) error {
	if asked := slices.Contains(o.parts, peersPart); !asked && (len(o.parts) > 0 || !o.quick) {
		return nil
	}
	say := func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
	b := &peersbench.Bench{Quick: o.quick, Only: o.peers, Held: o.held, History: o.history, Say: say, Summary: map[string]float64{}}
	if err := b.Run(ctx); errors.Is(err, pgtest.ErrMissing) && os.Getenv("CI") != "true" {
		say("NOT MEASURED: %v", err)
	} else if err != nil {
		return fmt.Errorf("%s: %w", peersPart, err)
	} else if missing := b.Missing(); len(o.peers) == 0 && len(missing) > 0 {
		return fmt.Errorf("%s: no figure for %v", peersPart, missing)
	}
	rows := make([]sqlitebench.Row, len(b.Rows))
	for i, r := range b.Rows {
		rows[i] = sqlitebench.Row(r)
	}
	if len(o.peers) == 0 || slices.Contains(o.peers, "sqlite") {
		s := &sqlitebench.Bench{Dir: o.dir, Quick: o.quick, Say: say, Summary: map[string]float64{}}
		if err := s.Peers(ctx); err != nil {
			return fmt.Errorf("%s: sqlite: %w", peersPart, err)
		}
		rows = append(rows, s.Rows...)
		maps.Copy(b.Summary, s.Summary)
	}
	if o.out != "" && o.doc != "" {
		chart := peersbench.Chart("Drain on PostgreSQL: rows or jobs per second", "rows/s", peersbench.DrainBars(b.Rows))
		if err := os.WriteFile(filepath.Join(filepath.Dir(o.doc), "peers.svg"), []byte(chart), 0o644); err != nil {
			return err
		}
	}
	out := o.out
	if out != "" && len(o.parts) != 1 {
		out = filepath.Join(filepath.Dir(out), "peers.json")
	}
	return publish(ctx, out, o.doc, peersTable, b.Summary, rows)
}
