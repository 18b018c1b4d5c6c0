package main

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
)

func TestParseACPCommands(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"":                                   "[]",
		"gemini":                             "[{gemini [GEMINI_API_KEY=$GEMINI_API_KEY GEMINI_CLI_TRUST_WORKSPACE=true] gemini [--acp]}]",
		" mine=/opt/agent --acp;\n gemini ;": "[{mine [] /opt/agent [--acp]} {gemini [GEMINI_API_KEY=$GEMINI_API_KEY GEMINI_CLI_TRUST_WORKSPACE=true] gemini [--acp]}]",
		"mine=A=1 B=$C agent x=y":            "[{mine [A=1 B=$C] agent [x=y]}]",
		"nonesuch":                           "error: no known agent",
		"mine=":                              "error: no program",
		"mine=A=1":                           "error: no program",
		"mine=agent --key $KEY":              "error: neither variables",
		"mine=agent --key 'a b'":             "error: nor quotes",
		"codex=agent":                        "error: taken",
		"../x=agent":                         "error: no name",
		"a=x;a=y":                            "error: twice",
	} {
		var got []acpCommand
		err := parseACPCommands(&got, s)
		if text, wrong := strings.CutPrefix(want, "error: "); wrong {
			if err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("%q: got %v and error %v, want an error with %q", s, got, err, text)
			}
			continue
		}
		if fmt.Sprint(got) != want || err != nil {
			t.Errorf("%q: got %v and error %v, want %s", s, got, err, want)
		}
	}
	for name := range knownACP() {
		var got []acpCommand
		if err := parseACPCommands(&got, name); err != nil || len(got) != 1 {
			t.Errorf("%s: got %v and error %v, want a command", name, got, err)
		}
	}
}

func TestACPEnvironment(t *testing.T) {
	t.Parallel()
	c := acpCommand{env: []string{"A=1", "KEY=$MY_KEY", "NONE=$NONESUCH"}}
	env, secrets := c.environment(func(name string) (string, bool) { return "canary", name == "MY_KEY" })
	if fmt.Sprint(env) != "[A=1 KEY=canary]" || fmt.Sprint(secrets) != "[canary]" {
		t.Errorf("got %v with the secrets %v, want A and KEY, of which KEY is a secret", env, secrets)
	}
}

// Gemini CLI reads files itself, other agents through the hub.
func TestGeminiReadsFilesItself(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"gemini": true, "qwen": false, "mine": false} {
		c := acpCommand{name: name, path: "true"}.config(agentConfig{folder: "/agents"}, os.LookupEnv, nil)
		if c.OwnReads != want {
			t.Errorf("%s reads files itself: got %v, want %v", name, c.OwnReads, want)
		}
	}
}

// Agents are offered only if they are enabled, and need a command.
func TestACPIsOffByDefault(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	mine := []acpCommand{{name: "mine", path: "true"}}
	for want, cfg := range map[string]agentConfig{
		"--provider mine: it is not enabled: --agents acp": {provider: "mine", acp: mine},
		"--provider none: there is no such provider":       {provider: "none", acp: mine},
		"provider acp: --agents acp needs --acp-commands":  {provider: "demo", programs: []string{acpAgents}},
	} {
		cfg.folder = t.TempDir()
		if _, _, err := openProviders(t.Context(), cfg, log); !strings.Contains(errorText(err), want) {
			t.Errorf("got error %q, want %q", errorText(err), want)
		}
	}
	table, why, err := openProviders(t.Context(), agentConfig{provider: "mine", acp: mine, programs: []string{acpAgents}, folder: t.TempDir()}, log)
	if err != nil || table.Default().Name() != "mine" {
		t.Fatalf("got error %v, because %q; want the provider mine", err, why)
	}
	if err := table.Close(); err != nil {
		t.Error(err)
	}
}
