package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/internal/config"
	"github.com/lastlook/lastlook/internal/server"
	"github.com/lastlook/lastlook/internal/transfer"
)

// exit is an error that has been explained already, and the exit code for it.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// usage is an error of the command line that kong cannot find.
type usage struct{ error }

func usagef(format string, args ...any) error { return usage{fmt.Errorf(format, args...)} }

// report prints an error in one line that says what to do, and returns the
// exit code.
func report(w io.Writer, err error) int {
	if err == nil {
		return exitOK
	}
	if e, ok := errors.AsType[exit](err); ok {
		return int(e)
	}
	code, help := exitFailed, ""
	if parse, ok := errors.AsType[*kong.ParseError](err); ok {
		code, help = exitUsage, "; see lastlook --help"
		if parse.Context != nil {
			if node := parse.Context.Selected(); node != nil {
				help = "; see " + node.FullPath() + " --help"
			}
		}
	} else if isUsage(err) {
		code = exitUsage
	}
	_, _ = fmt.Fprintf(w, "lastlook: %s\n", explain(err)+help)
	return code
}

func isUsage(err error) bool {
	if _, ok := errors.AsType[usage](err); ok {
		return true
	}
	for _, target := range []error{config.ErrInvalid, config.ErrUnknownChannel, server.ErrInvalid, server.ErrInvalidKey} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// explain returns an error's text in one line, without the names of packages
// that mean nothing to an operator.
func explain(err error) string {
	if errors.Is(err, context.Canceled) {
		return "interrupted"
	}
	text := err.Error()
	for _, prefix := range []string{
		config.ErrInvalid.Error() + ": ", config.ErrUnknownChannel.Error() + ": ", server.ErrInvalid.Error() + ": ", server.ErrInvalidKey.Error() + ": ",
		transfer.ErrInvalid.Error() + ": ",
		"invalid price: ", "sqlite: get: ", "sqlite: ", "postgres: get: ", "postgres: ", "watchpg: ", "devicepg: ", "accesspg: ", "lastlook: ", "watch: ",
	} {
		text = strings.ReplaceAll(text, prefix, "")
	}
	if errors.Is(err, lastlook.ErrDispatcherRunning) {
		text = strings.TrimPrefix(text, "a dispatcher is already running: ")
		text = "another lastlook is already dispatching in this data directory: " + text
	}
	if m := wantsValue.FindStringSubmatch(text); m != nil {
		text = m[1] + " needs a value"
	}
	return plain(strings.TrimSpace(text))
}

// wantsValue is what kong says of a flag at the end of the line, or before
// another flag, that has no value.
var wantsValue = regexp.MustCompile(`^(--[a-z-]+): (?:expected .* value but got "EOL"|missing value, expecting "<arg>).*`)
