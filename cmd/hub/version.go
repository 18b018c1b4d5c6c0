package main

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/everdesk/everdesk/cmd/hub/internal/command"
)

// stampedVersion and stampedRevision are set by the linker, see scripts/ldflags.sh.
// They serve builds that the go command does not stamp: in a git worktree, without
// the .git folder, or with -buildvcs=false. -trimpath does not matter to either.
var stampedVersion, stampedRevision string

// dirty is the suffix of the version and the revision of a build from changed files.
const dirty = "+dirty"

// buildID names the source that a program was built from.
type buildID struct {
	version  string // of the module, such as v1.2.3
	revision string // the commit, "unknown" if nothing names it
	modified bool   // files differed from the commit
}

// thisBuild names the source of this program.
func thisBuild() buildID {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return describeBuild(info, stampedVersion, stampedRevision)
}

// describeBuild uses the values that the go command recorded, which are those of the compiled
// files, and fills gaps with the values set by the linker.
func describeBuild(info *debug.BuildInfo, linkedVersion, linkedRevision string) buildID {
	b := buildID{version: info.Main.Version}
	if b.version == "" || b.version == "(devel)" {
		b.version = cmp.Or(linkedVersion, b.version, "(unknown)")
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.revision = s.Value
		case "vcs.modified":
			b.modified = s.Value == "true"
		}
	}
	if b.revision == "" {
		b.revision, b.modified = strings.CutSuffix(linkedRevision, dirty)
		b.revision = cmp.Or(b.revision, "unknown")
	}
	return b
}

// version is the version of this program.
func version() string { return thisBuild().version }

func printVersion(_ context.Context, p command.Call) error {
	var wrong command.UsageErrors
	wrong.Refuse(p.Args)
	if err := wrong.OrNil(); err != nil {
		return err
	}
	b := thisBuild()
	changed := ""
	if b.modified {
		changed = " with changes"
	}
	fmt.Fprintf(p.Stdout, "everdesk %s\n", b.version)
	fmt.Fprintf(p.Stdout, "revision %s%s\n", b.revision, changed)
	fmt.Fprintf(p.Stdout, "%s %s/%s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return nil
}
