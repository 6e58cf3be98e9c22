package main

import (
	"strings"

	"github.com/alecthomas/kong"
	"github.com/lastlook/lastlook/internal/server"
)

// browserFlag is --browser, which may have a value: the program's path. Its zero
// value is that the browser is off.
type browserFlag string

// browserAny is the browser that is found.
const browserAny browserFlag = "yes"

// IsBool implements [kong.BoolMapperValue]: the flag stands alone, too.
func (*browserFlag) IsBool() bool { return true }

// Decode implements [kong.MapperValue].
func (b *browserFlag) Decode(ctx *kong.DecodeContext) error {
	*b = browserAny
	if ctx.Scan.Peek().Type != kong.FlagValueToken {
		return nil
	}
	text, _ := ctx.Scan.Pop().Value.(string)
	switch strings.ToLower(text) {
	case "yes", "true", "1":
	case "no", "false", "0", "":
		*b = ""
	default:
		*b = browserFlag(text)
	}
	return nil
}

func (b browserFlag) options() server.BrowserOptions {
	switch b {
	case "":
		return server.BrowserOptions{}
	case browserAny:
		return server.BrowserOptions{On: true}
	}
	return server.BrowserOptions{On: true, Path: string(b)}
}
