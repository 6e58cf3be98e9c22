package main

import (
	"runtime"
	"runtime/debug"
)

type versionCmd struct{}

type versionView struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitzero"`
	// Modified says that the commit was changed before it was built.
	Modified bool   `json:"modified,omitzero"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func buildInfo() versionView {
	v := versionView{Version: "unknown", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	v.Version = info.Main.Version
	if v.Version == "" {
		v.Version = "(devel)"
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

// Run prints the version.
func (versionCmd) Run(a *app) error {
	v := buildInfo()
	if a.out.json {
		return a.out.value(v)
	}
	commit := firstOf(v.Commit, "unknown commit")
	if v.Modified {
		commit += ", modified"
	}
	a.out.linef("lastlook %s (%s) %s %s", v.Version, commit, v.Go, v.Platform)
	return nil
}
