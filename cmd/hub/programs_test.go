package main

import (
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/providers/openai"
	"github.com/everdesk/everdesk/wire"
)

func TestParseAgents(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"": "", "claude": "claude", " codex , claude,codex": "codex claude", "gemini": "error", "acp,codex": "acp codex", "claude,": "error", ",": "error",
	} {
		var got []string
		err := parseAgents(&got, s)
		if (err != nil) != (want == "error") || err == nil && strings.Join(got, " ") != want {
			t.Errorf("%q: got %q and error %v, want %q", s, got, err, want)
		}
	}
}

// Programs are offered only if they are enabled, and a program that is not installed is an error.
func TestProgramsAreOffByDefault(t *testing.T) {
	t.Parallel()
	for _, b := range programs(agentConfig{folder: t.TempDir()}, slog.New(slog.DiscardHandler)) {
		if b.make != nil || !strings.Contains(b.why, "--agents "+b.name) {
			t.Errorf("%s is available: %v, because %q; want it off and the setting named", b.name, b.make != nil, b.why)
		}
	}
	_, _, err := openProviders(t.Context(), agentConfig{provider: "claude"}, slog.New(slog.DiscardHandler))
	if got, want := errorText(err), "--provider claude: it is not enabled: --agents claude"; got != want {
		t.Errorf("got error %q, want %q", got, want)
	}
}

func TestSessionFolder(t *testing.T) {
	t.Parallel()
	for _, id := range []wire.SessionID{"ses-1", "../../etc", "", ".", "a/b", "name with space", wire.SessionID(strings.Repeat("x", 300))} {
		at := sessionFolder("/data", id)
		if rel, err := filepath.Rel("/data/work", at); err != nil || strings.ContainsAny(rel, "/\\.") || len(rel) > 200 {
			t.Errorf("the folder of %q is %s, want one name below /data/work", id, at)
		}
	}
	all := []string{sessionFolder("/data", "a/b"), sessionFolder("/data", "a/c"), sessionFolder("/data", "ses-1"), sessionFolder("/data", "ses-2")}
	slices.Sort(all)
	if len(slices.Compact(all)) != 4 {
		t.Errorf("sessions share a folder: %q", all)
	}
}

// A process gets the key of the flag, but not one of the secrets of the hub, which are for requests that
// the hub itself sends.
func TestProgramsGetNoSecretOfTheHub(t *testing.T) {
	t.Parallel()
	stored := modelConfig{url: openai.DefaultBaseURL, stored: "sk-canary"}
	flag := modelConfig{url: openai.DefaultBaseURL, key: "sk-flag", stored: "sk-canary"}
	for want, m := range map[string]modelConfig{"": stored, "sk-flag": flag} {
		c := agentConfig{anthropic: m, openai: m, folder: t.TempDir()}
		log := slog.New(slog.DiscardHandler)
		if a, o := claudeConfig(c, log), codexConfig(c, log); a.Key != want || o.Key != want {
			t.Errorf("the programs get the keys %q and %q, want %q", a.Key, o.Key, want)
		}
		if b := findAnthropic(c, log); b.make == nil {
			t.Errorf("anthropic is not available: %s; want it with the key of the secrets", b.why)
		}
	}
}
