package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/lastlook/lastlook/internal/server"
)

type exportCmd struct {
	File   string `arg:"" optional:"" default:"-" help:"The file to write, - for standard output (default)."`
	Format string `enum:"json,csv,urls" default:"json" placeholder:"FORMAT" help:"json (default), which keeps all of a watch; csv; or urls, the addresses alone."`
}

// Help implements [kong.HelpProvider].
func (*exportCmd) Help() string {
	return `What was seen and told is not written, and neither are channels, whose secrets stay where they are. lastlook import reads all three formats.

Example: lastlook export watches.json`
}

// exportedView is the JSON of an export into a file.
type exportedView struct {
	File       string   `json:"file"`
	Format     string   `json:"format"`
	Watches    int      `json:"watches"`
	Unreadable []string `json:"unreadable"`
}

// Run exports.
func (c *exportCmd) Run(ctx context.Context, a *app) error {
	return a.reading(ctx, func(s *server.Server) error {
		var b bytes.Buffer
		n, unreadable, err := s.ExportWatches(ctx, &b, c.Format)
		if err != nil {
			return err
		}
		v := exportedView{File: c.File, Format: c.Format, Watches: n, Unreadable: []string{}}
		for i := range unreadable {
			v.Unreadable = append(v.Unreadable, unreadable[i].Watch.ID)
			_, _ = fmt.Fprintf(a.err, "lastlook: watch %s is left out: %s\n", unreadable[i].Watch.ID, explain(unreadable[i].Err))
		}
		switch {
		case c.File != "-":
			if err := writeWhole(c.File, b.Bytes()); err != nil {
				return err
			}
			if a.out.json {
				err = a.out.value(v)
			} else {
				a.out.notef("%s written to %s", watches(n), c.File)
			}
		case c.Format == "json":
			a.out.write(escapeJSON(b.String())) // the same JSON, safe for a terminal
		default:
			a.out.write(b.String())
		}
		if err == nil && len(unreadable) > 0 {
			err = exit(exitFailed)
		}
		return err
	})
}

func watches(n int) string {
	if n == 1 {
		return "1 watch"
	}
	return fmt.Sprintf("%d watches", n)
}

// writeWhole writes a file for its owner alone, in one step: what was there before
// stays until all of the new one is.
func writeWhole(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".lastlook-export-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = f.Write(content)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
