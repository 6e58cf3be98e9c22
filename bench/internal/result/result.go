// Package result writes the files in bench/results, which all have one form.
package result

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// File is the form.
type File struct {
	// Commit is what the measured tree was built from; "-dirty" behind it says
	// that the tree was not committed.
	Commit  string `json:"commit"`
	Machine string `json:"machine"`
	// Summary holds the figures that others may ask for by name.
	Summary map[string]float64 `json:"summary"`
	// Rows are whatever the run has to tell in detail.
	Rows any `json:"rows"`
}

// New returns a file about this tree and machine.
func New(ctx context.Context, summary map[string]float64, rows any) File {
	return File{Commit: commit(ctx), Machine: Machine(), Summary: summary, Rows: rows}
}

// Write writes the file, making its folder.
func (f File) Write(path string) error {
	b, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return fmt.Errorf("results: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("results: %w", err)
	}
	if err := os.WriteFile(path, append(b, '\n'), 0o644); err != nil {
		return fmt.Errorf("results: %w", err)
	}
	return nil
}

// commit asks git, which may be absent.
func commit(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

// Machine says what it ran on: processor, memory and Go, no names.
func Machine() string {
	parts := []string{fmt.Sprintf("%d × %s", runtime.NumCPU(), field("/proc/cpuinfo", "model name", "unknown processor"))}
	if mem := field("/proc/meminfo", "MemTotal", ""); mem != "" {
		var kb int64
		if _, err := fmt.Sscan(mem, &kb); err == nil {
			parts = append(parts, fmt.Sprintf("%d GiB", (kb+1<<19)>>20))
		}
	}
	return strings.Join(append(parts, runtime.GOOS+"/"+runtime.GOARCH, runtime.Version()), ", ")
}

// field reads the first value of a name in a file of "name: value" lines.
func field(path, name, otherwise string) string {
	f, err := os.Open(path)
	if err != nil {
		return otherwise
	}
	defer func() { _ = f.Close() }()
	for s := bufio.NewScanner(f); s.Scan(); {
		if k, v, ok := strings.Cut(s.Text(), ":"); ok && strings.TrimSpace(k) == name {
			return strings.TrimSpace(v)
		}
	}
	return otherwise
}
