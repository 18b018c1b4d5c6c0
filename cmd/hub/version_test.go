package main

import (
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"testing"
)

func TestDescribeBuild(t *testing.T) {
	t.Parallel()
	recorded := func(version string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: version}, Settings: settings}
	}
	revision := debug.BuildSetting{Key: "vcs.revision", Value: "abc"}
	for _, c := range []struct {
		name     string
		info     *debug.BuildInfo
		version  string
		revision string
		want     buildID
	}{
		{"nothing is known", recorded(""), "", "", buildID{"(unknown)", "unknown", false}},
		{"neither git nor linker", recorded("(devel)"), "", "", buildID{"(devel)", "unknown", false}},
		{"by the linker", recorded("(devel)"), "v1.2.3", "def", buildID{"v1.2.3", "def", false}},
		{"by the linker, with changes", recorded("(devel)"), "v1.2.3+dirty", "def+dirty", buildID{"v1.2.3+dirty", "def", true}},
		{
			"by the go command", recorded("v1.0.0+dirty", revision, debug.BuildSetting{Key: "vcs.modified", Value: "true"}),
			"v9", "def",
			buildID{"v1.0.0+dirty", "abc", true},
		},
		{"installed as a module", recorded("v1.0.0"), "", "", buildID{"v1.0.0", "unknown", false}},
		{"revision without version", recorded("(devel)", revision), "v2", "def+dirty", buildID{"v2", "abc", false}},
	} {
		if got := describeBuild(c.info, c.version, c.revision); got != c.want {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
	}
}

// TestLinkerFlags checks that every build sets variables that exist: the linker ignores unknown
// names.
func TestLinkerFlags(t *testing.T) {
	t.Parallel()
	flags := func(env ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "../../scripts/ldflags.sh")
		cmd.Env, cmd.Stderr = append(os.Environ(), env...), t.Output()
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	want := "-X main.stampedVersion=v1.2.3 -X main.stampedRevision=abc"
	if got := flags("VERSION=v1.2.3", "REVISION=abc"); got != want {
		t.Errorf("flags are %q, want %q", got, want)
	}
	// Git may know the commit or not; unknown values are left out.
	for f := range strings.FieldsSeq(flags("VERSION=", "REVISION=")) {
		name, value, ok := strings.Cut(f, "=")
		if ok && (value == "" || name != "main.stampedVersion" && name != "main.stampedRevision") {
			t.Errorf("linker flag: got %q, want stampedVersion or stampedRevision with a value", f)
		}
	}
	for name, text := range map[string]string{
		"version.go":             "\nvar stampedVersion, stampedRevision string\n",
		"../../.goreleaser.yaml": "-X main.stampedVersion={{ .Tag }} -X main.stampedRevision={{ .FullCommit }}\n",
		"../../Makefile":         "$(scripts/ldflags.sh)",
		"../../Dockerfile":       "$(scripts/ldflags.sh)",
	} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(data), text) {
			t.Errorf("%s does not contain %q", name, text)
		}
	}
}
