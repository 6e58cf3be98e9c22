package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
)

const (
	testID  = "application-id-that-is-secret"
	testKey = "pk_access-key-that-is-secret"
)

// TestSourceKeys: keys are set, replaced and removed in a file that is its
// owner's alone, and print as nothing.
func TestSourceKeys(t *testing.T) {
	d, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	set := func(k SourceKey) error {
		return d.UpdateSourceKeys(t.Context(), func(s SourceKeys) (SourceKeys, error) { return s.Set(k) })
	}
	if s, err := d.SourceKeys(); err != nil || len(s) > 0 {
		t.Fatalf("%v, %v", s, err)
	}
	want := SourceKeys{{Source: "rakuten", ID: testID, Key: testKey, Site: "https://me.example/"}, {Source: "yahoo", ID: "second"}}
	for _, k := range []SourceKey{{Source: "yahoo", ID: "first"}, want[0], want[1]} {
		if err := set(k); err != nil {
			t.Fatal(err)
		}
	}
	got, err := d.SourceKeys()
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%d keys, %v", len(got), err)
	}
	if text := fmt.Sprintf("%v %+v %#v", got, got, got); strings.Contains(text, "secret") || strings.Contains(text, "second") {
		t.Error("the keys are printed: " + text)
	}
	info, err := os.Stat(d.SourcesFile())
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := os.Stat(d.SourcesFile() + ".lock"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the lock is left behind: %v", err)
	}
	remove := func(s SourceKeys) (SourceKeys, error) { return s.Remove("rakuten") }
	if err := d.UpdateSourceKeys(t.Context(), remove); err != nil {
		t.Error(err)
	}
	if err := d.UpdateSourceKeys(t.Context(), remove); !errors.Is(err, ErrInvalid) {
		t.Errorf("removed twice: %v", err)
	}
	if got, err = d.SourceKeys(); err != nil || !slices.Equal(got, want[1:]) {
		t.Errorf("%d keys, %v", len(got), err)
	}
}

// TestReadSourceKey: each source has its own parts; what is wrong is said
// without what was read.
func TestReadSourceKey(t *testing.T) {
	for _, c := range []struct {
		source, text string
		want         SourceKey
	}{
		{"rakuten", testID + "\n" + testKey + "\n", SourceKey{Source: "rakuten", ID: testID, Key: testKey}},
		{"rakuten", "\r\n" + testID + "\r\n\r\n" + testKey, SourceKey{Source: "rakuten", ID: testID, Key: testKey}},
		{"yahoo", " " + testID + "\n", SourceKey{Source: "yahoo", ID: testID}},
		{source: "rakuten", text: testID},
		{source: "rakuten", text: testID + "\n" + testKey + "\nmore"},
		{source: "yahoo", text: testID + "\n" + testKey},
		{source: "yahoo"},
		{source: "page", text: testID},
	} {
		got, err := ReadSourceKey(c.source, c.text)
		if c.want.Source == "" {
			if !errors.Is(err, ErrInvalid) || strings.Contains(err.Error(), "that-is-secret") {
				t.Errorf("%s: %v", c.source, err)
			}
		} else if err != nil || got != c.want {
			t.Errorf("%s: %v", c.source, err)
		}
	}
	bad := SourceKey{Source: "rakuten", ID: testID, Key: testKey, Site: "javascript:0"}
	if err := bad.Validate(); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
}

// TestSourcesFile: a file that was edited by hand is read strictly, and never
// quoted.
func TestSourcesFile(t *testing.T) {
	for _, text := range []string{
		`{`, `{"version":1,"sources":[]} x`, `{"sources":[]}`, `{"version":2,"sources":[]}`, `{"version":1,"keys":[]}`,
		`{"version":1,"sources":[{"name":"yahoo"}]}`,
		`{"version":1,"sources":[{"name":"yahoo","id":"` + testID + `","key":"` + testKey + `"}]}`,
		`{"version":1,"sources":[{"name":"yahoo","id":"` + testID + `"},{"name":"yahoo","id":"` + testID + `"}]}`,
		`{"version":1,"sources":[{"name":"page","id":"` + testID + `"}]}`,
	} {
		d, err := Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(d.SourcesFile(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if s, err := d.SourceKeys(); !errors.Is(err, ErrInvalid) || strings.Contains(err.Error(), "that-is-secret") {
			t.Errorf("%s: %v, %v", text, s, err)
		}
	}
}
