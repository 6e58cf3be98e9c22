package main

import (
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// sections returns the parts of docs/cli.md by their headings.
func sections(t *testing.T) map[string]string {
	t.Helper()
	b, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, part := range regexp.MustCompile(`(?m)^#+ `).Split(string(b), -1) {
		heading, body, _ := strings.Cut(part, "\n")
		out[heading] = body
	}
	return out
}

// docs/cli.md has every command and every flag, and no others.
func TestTheDocumentationIsComplete(t *testing.T) {
	docs, m := sections(t), model(t)
	commands := map[string]bool{}
	for _, leaf := range m.Leaves(true) {
		path := leaf.FullPath()
		commands[path] = true
		body, ok := docs[path]
		if !ok {
			t.Errorf("docs/cli.md has no section %q", path)
			continue
		}
		if !strings.Contains(body, "```sh\n"+path) {
			t.Errorf("%s has no example", path)
		}
		var flags []string
		for _, name := range flagNames(leaf.Flags) {
			if !strings.Contains(body, "`"+name) {
				t.Errorf("%s does not document %s", path, name)
			}
			flags = append(flags, name)
		}
		for _, name := range regexp.MustCompile("(?m)^\\| .*`(--[a-z-]+)").FindAllStringSubmatch(body, -1) {
			if !slices.Contains(flags, name[1]) {
				t.Errorf("%s has no flag %s", path, name[1])
			}
		}
	}
	for heading := range docs {
		if strings.HasPrefix(heading, "lastlook ") && !commands[heading] {
			t.Errorf("there is no command %q", heading)
		}
	}
	for _, name := range flagNames(m.Flags) {
		if !strings.Contains(docs["All commands"], "`"+name) {
			t.Errorf("the flag %s of all commands is not documented", name)
		}
	}
}

// Every example can be typed as it stands.
func TestTheExamplesAreRight(t *testing.T) {
	n := 0
	for heading, body := range sections(t) {
		for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(body, -1) {
			for line := range strings.Lines(block[1]) {
				n++
				command, _, _ := strings.Cut(line, " #")
				if err := parses(t, command); err != nil {
					t.Errorf("%s: %s: %v", heading, strings.TrimSpace(command), err)
				}
			}
		}
	}
	if n < 20 {
		t.Errorf("only %d examples were found", n)
	}
	for _, leaf := range model(t).Leaves(true) {
		_, example, ok := strings.Cut(leaf.Detail, "Example: ")
		if i := strings.Index(example, "lastlook "); ok && i >= 0 {
			if err := parses(t, example[i:]); err != nil {
				t.Errorf("the help of %s: %s: %v", leaf.Path(), example, err)
			}
		}
	}
}

// parses parses a line as a shell would pass it on.
func parses(t *testing.T, line string) error {
	t.Helper()
	var args []string
	for _, m := range regexp.MustCompile(`"([^"]*)"|(\S+)`).FindAllStringSubmatch(line, -1) {
		args = append(args, m[1]+m[2])
	}
	k, err := newParser(new(cli), streams{out: io.Discard, err: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	_, err = k.Parse(args[1:])
	return err
}
