package main

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/cmd/hub/internal/command"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/demo"
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

// preparing is a provider that can be kept ready.
type preparing struct {
	providers.Provider
	name string
}

func (p preparing) Name() string                    { return p.name }
func (p preparing) Warm(context.Context, int) error { return nil }

// Every program that users can choose is kept ready, and the default provider.
func TestWarmProviders(t *testing.T) {
	t.Parallel()
	all := []providers.Provider{demo.New(demo.Config{}), preparing{name: "codex"}, preparing{name: "mine"}}
	for chosen, want := range map[string]string{"demo": "demo codex mine", "mine": "mine codex"} {
		if got := strings.Join(warmProviders(chosen, all), " "); got != want {
			t.Errorf("with the default %s, %q are kept ready, want %q", chosen, got, want)
		}
	}
}

// Commands of Codex may write only if the operator says so, for the program, for a program with the key of a
// user, and for the adapter.
func TestCodexSandbox(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	for _, tt := range []struct {
		args  []string
		write bool
		modes string
	}{
		{nil, false, "[]"},
		{[]string{"--codex-sandbox", "read-only"}, false, "[]"},
		{[]string{"--codex-sandbox", "workspace-write"}, true, "[agent default read-only]"},
	} {
		var wrong command.UsageErrors
		flags, _ := parseFlags(append(tt.args, "--agents", "codex,acp", "--acp-commands", "codex-acp; gemini"), &wrong)
		c, _ := load(flags, nil, &wrong)
		if len(wrong) > 0 {
			t.Fatal(wrong)
		}
		if got := codexConfig(c.agents, log).Write; got != tt.write {
			t.Errorf("%q: commands of codex may write: %v, want %v", tt.args, got, tt.write)
		}
		none := func(string) (string, bool) { return "", false }
		if got := fmt.Sprint(c.agents.acp[0].config(c.agents, none, log).Modes); got != tt.modes {
			t.Errorf("%q: the modes of codex-acp are %s, want %s", tt.args, got, tt.modes)
		}
		if got := c.agents.acp[1].config(c.agents, none, log).Modes; got != nil {
			t.Errorf("%q: the modes of gemini are %q, want those in which it asks", tt.args, got)
		}
	}
}
