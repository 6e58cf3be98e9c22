package main

import (
	"io"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

func model(t *testing.T) *kong.Application {
	t.Helper()
	k, err := newParser(new(cli), streams{out: io.Discard, err: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	return k.Model
}

func TestCandidates(t *testing.T) {
	dynamic := func(kind string) []string {
		return map[string][]string{"channel": {"log", "phone"}, "watch": {"w_1", "w_2"}}[kind]
	}
	m := model(t)
	for _, c := range []struct{ words, want string }{
		{"|", "serve tick check watch explain export import channel recipient source device key token outbox prune migrate demo version completion"},
		{"wa|", "watch"},
		{"watch |", "add list show pause resume accept remove"},
		{"--json watch re|", "resume remove"},
		{"--data x watch |", "add list show pause resume accept remove"},
		{"--log-level |", "debug info warn error"},
		{"--log-level=w|", "--log-level=warn"},
		{"watch add http://x --b|", "--back-in-stock --below --browser"},
		{"watch add --no|", "--no-check"},
		{"watch add --to |", "log phone"},
		{"watch add --to p|", "phone"},
		{"watch add --back-in-stock --to=|", "--to=log --to=phone"},
		{"watch add --source |", "page json shopify feed rakuten yahoo browser"},
		{"source set |", "rakuten yahoo"},
		{"watch show |", "w_1 w_2"},
		{"watch remove w_1 |", "w_1 w_2"},
		{"explain |", "w_1 w_2"},
		{"import --format |", "auto json csv urls changedetection"},
		{"import |", ""},
		{"watch add |", ""},
		{"outbox list --state |", "pending sending retry sent dropped failed"},
		{"outbox list --reason co|", "condition_lost"},
		{"outbox tail -n |", ""},
		{"channel remove |", "log phone"},
		{"completion |", "bash zsh fish"},
		{"--lo|", "--log-format --log-level"},
		{"nonsense |", "serve tick check watch explain export import channel recipient source device key token outbox prune migrate demo version completion"},
		{"-q se|", "serve"},
	} {
		words := strings.Split(strings.TrimSuffix(c.words, "|"), " ")
		if got := strings.Join(candidates(m, words, dynamic), " "); got != c.want {
			t.Errorf("%s: got %q, want %q", c.words, got, c.want)
		}
	}
	if got := candidates(m, nil, dynamic); len(got) == 0 {
		t.Error("nothing for no words")
	}
}

// Every flag that takes a value must be one that candidates skips the value of.
func TestCandidatesSkipEveryFlagsValue(t *testing.T) {
	m := model(t)
	for _, leaf := range m.Leaves(false) {
		for _, group := range leaf.AllFlags(false) {
			for _, f := range group {
				if f.IsBool() || f.Name == "help" {
					continue
				}
				words := append(strings.Fields(leaf.Path()), "--"+f.Name, "some-value", "--")
				got := candidates(m, words, func(string) []string { return nil })
				if len(got) == 0 {
					t.Errorf("%v: nothing is offered after the value", words)
				}
			}
		}
	}
}
