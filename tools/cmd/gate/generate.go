package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

func runGenerate(ctx context.Context, dirs []string, out io.Writer) error {
	if len(dirs) == 0 {
		return errors.New("gate generate: name the modules' directories")
	}
	before, err := hashTree(".")
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		cmd := exec.CommandContext(ctx, "go", "generate", "./...")
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s in %s: %w", cmd, dir, err)
		}
	}
	after, err := hashTree(".")
	if err != nil {
		return err
	}
	stale := changed(before, after)
	for _, name := range stale {
		fmt.Fprintf(out, "stale: %s\n", name)
	}
	if len(stale) > 0 {
		fmt.Fprintln(out, "They have been made anew just now: look at the change and commit it.")
		return errFailed
	}
	fmt.Fprintln(out, "Generated files are up to date.")
	return nil
}

type hash [sha256.Size]byte

// hashTree hashes the files under dir that belong to the project.
func hashTree(dir string) (map[string]hash, error) {
	files := map[string]hash{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			switch d.Name() {
			case ".git", ".cache", "bin", "dist", "node_modules":
				return fs.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() {
			return nil
		}
		b, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // an editor's passing file
		}
		files[name] = sha256.Sum256(b)
		return err
	})
	return files, err
}

// changed names what differs between two trees, also what is in one alone.
func changed(before, after map[string]hash) []string {
	names := map[string]bool{}
	for name, h := range before {
		if got, ok := after[name]; !ok || got != h {
			names[name] = true
		}
	}
	for name := range after {
		if _, ok := before[name]; !ok {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}
