package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is the module's version, as the Go tool stamped it.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(unknown)"
}

func printVersion(_ context.Context, p program) error {
	var wrong complaints
	refuse(p.args, &wrong)
	if err := wrong.orNil(); err != nil {
		return err
	}
	fmt.Fprintf(p.stdout, "everdesk %s\n", version())
	if info, ok := debug.ReadBuildInfo(); ok {
		revision, changed := "unknown", ""
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				revision = s.Value
			case s.Key == "vcs.modified" && s.Value == "true":
				changed = " with changes"
			}
		}
		fmt.Fprintf(p.stdout, "revision %s%s\n", revision, changed)
	}
	fmt.Fprintf(p.stdout, "%s %s/%s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return nil
}
