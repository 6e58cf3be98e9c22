package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/lastlook/lastlook/internal/config"
	"github.com/lastlook/lastlook/internal/server"
)

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"The shell: bash, zsh or fish."`
}

// Help implements [kong.HelpProvider].
func (*completionCmd) Help() string {
	return `For bash: source <(lastlook completion bash), in ~/.bashrc. For zsh: the same with zsh, in ~/.zshrc after compinit. For fish: lastlook completion fish > ~/.config/fish/completions/lastlook.fish.`
}

// completeWord is the word by which the scripts ask what may stand next: it is
// followed by the words so far, the last being the one that is typed.
const completeWord = "__complete"

// The scripts ask lastlook itself, and offer files where it knows nothing.
const (
	bashScript = `_lastlook() {
  local IFS=$'\n'
  COMPREPLY=($(compgen -W "$("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _lastlook lastlook
`
	zshScript = `#compdef lastlook
_lastlook() {
  local -a found
  found=("${(@f)$("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "${found[1]}" ]]; then compadd -a found; else _files; fi
}
if [[ "${funcstack[1]}" = _lastlook ]]; then _lastlook "$@"; else compdef _lastlook lastlook; fi
`
	fishScript = `function __lastlook_complete
  set -l words (commandline -opc) (commandline -ct)
  set -l found ($words[1] __complete $words[2..-1] 2>/dev/null)
  if test (count $found) -gt 0
    printf '%s\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c lastlook -f -a '(__lastlook_complete)'
`
)

// Run prints the script.
func (c *completionCmd) Run(a *app) error {
	script := map[string]string{"bash": bashScript, "zsh": zshScript, "fish": fishScript}[c.Shell]
	_, err := io.WriteString(a.streams.out, script)
	return err
}

// complete prints what may stand in the place of the last word, one per line.
func complete(ctx context.Context, model *kong.Application, words []string, std streams) int {
	var c cli
	// The data directory and the database decide which watches and channels there
	// are.
	for flag, v := range map[string]*string{"data": &c.Data, "database": &c.Database, "schema": &c.Schema} {
		*v = std.getenv("LASTLOOK_" + strings.ToUpper(flag))
		for i, w := range words {
			if w == "--"+flag && i+1 < len(words) {
				*v = words[i+1]
			} else if given, ok := strings.CutPrefix(w, "--"+flag+"="); ok {
				*v = given
			}
		}
	}
	a := &app{streams: std, flags: &c, log: newLogger(io.Discard, &c), now: nil}
	for _, s := range candidates(model, words, a.dynamic(ctx)) {
		_, _ = fmt.Fprintln(std.out, plain(s))
	}
	return exitOK
}

// candidates returns what may stand in the place of the last word. dynamic
// gives the values that only the data directory knows, by kind.
func candidates(model *kong.Application, words []string, dynamic func(kind string) []string) []string {
	if len(words) == 0 {
		words = []string{""}
	}
	done, typed := words[:len(words)-1], words[len(words)-1]
	node, flags := model.Node, slices.Clone(model.Flags)
	var open *kong.Flag // waits for its value
	positional := 0
	for _, w := range done {
		switch {
		case open != nil:
			open = nil
		case strings.HasPrefix(w, "-"):
			name, _, hasValue := strings.Cut(w, "=")
			if f := flagNamed(flags, name); f != nil && !hasValue && !f.IsBool() && !f.IsCounter() {
				open = f
			}
		case childNamed(node, w) != nil:
			node = childNamed(node, w)
			flags = append(flags, node.Flags...)
		default:
			positional++
		}
	}
	var out []string
	name, _, hasValue := strings.Cut(typed, "=")
	switch {
	case open != nil:
		out = valuesOf(open.Value, open.Name, dynamic)
	case strings.HasPrefix(typed, "--") && hasValue:
		if f := flagNamed(flags, name); f != nil {
			for _, v := range valuesOf(f.Value, f.Name, dynamic) {
				out = append(out, name+"="+v)
			}
		}
	case strings.HasPrefix(typed, "-"):
		out = flagNames(flags)
	case len(node.Children) > 0:
		for _, c := range node.Children {
			if !c.Hidden {
				out = append(out, c.Name)
			}
		}
	case len(node.Positional) > 0:
		arg := node.Positional[min(positional, len(node.Positional)-1)]
		out = valuesOf(arg, node.Path(), dynamic)
	}
	return slices.DeleteFunc(out, func(s string) bool { return !strings.HasPrefix(s, typed) })
}

func flagNamed(flags []*kong.Flag, name string) *kong.Flag {
	for _, f := range flags {
		if name == "--"+f.Name || f.Short != 0 && name == "-"+string(f.Short) {
			return f
		}
	}
	return nil
}

func flagNames(flags []*kong.Flag) []string {
	var out []string
	for _, f := range flags {
		if f.Hidden {
			continue
		}
		if f.Tag.Negatable == "" {
			out = append(out, "--"+f.Name)
		} else {
			out = append(out, "--no-"+f.Name)
		}
	}
	slices.Sort(out)
	return out
}

func childNamed(n *kong.Node, name string) *kong.Node {
	for _, c := range n.Children {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// valuesOf returns the values that a flag or an argument may have. what is the
// flag's name, or the path of the argument's command.
func valuesOf(v *kong.Value, what string, dynamic func(kind string) []string) []string {
	if v.Enum != "" {
		return v.EnumSlice()
	}
	switch what {
	case "source":
		return server.SourceNames()
	case "source set", "source remove":
		return config.KeyedSources()
	case "reason":
		return reasonNames()
	case "to", "channel", "channel remove", "channel unmute":
		return dynamic("channel")
	case "watch show", "watch pause", "watch resume", "watch remove", "explain", "subject":
		return dynamic("watch")
	}
	return nil
}

// dynamic returns the names that the data directory knows.
func (a *app) dynamic(ctx context.Context) func(kind string) []string {
	return func(kind string) []string {
		var out []string
		// What cannot be read cannot be offered; that is no error here.
		_ = a.reading(ctx, func(s *server.Server) error {
			if kind == "channel" {
				out = s.Channels()
				return nil
			}
			all, err := s.Watches(ctx)
			for i := range all {
				out = append(out, all[i].Watch.ID)
			}
			return err
		})
		return out
	}
}
