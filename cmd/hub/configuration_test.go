package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/CONFIGURATION.md")

// TestConfigurationIsFresh compares docs/CONFIGURATION.md with the settings and
// commands, and writes it with -update (make gen).
func TestConfigurationIsFresh(t *testing.T) {
	t.Parallel()
	const name = "../../docs/CONFIGURATION.md"
	intro, err := os.ReadFile("testdata/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	want := configurationPage(string(intro))
	if *update {
		if err := os.WriteFile(name, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is stale (%v): run make gen", name, err)
	}
}

// configurationPage renders the intro, a table of settings per group and the flags
// of every command.
func configurationPage(intro string) []byte {
	var b bytes.Buffer
	b.WriteString("<!-- Generated from cmd/hub by make gen; edit the settings or cmd/hub/testdata/configuration.md. -->\n\n")
	b.WriteString(intro)
	b.WriteString("## Settings\n")
	left := len(allSettings())
	for _, group := range []struct {
		title    string
		settings []setting
	}{
		{"Network", gatewaySettings()},
		{"Authentication", authSettings()},
		{"Sessions", sessionSettings()},
		{"Agents, plans and providers", agentSettings()},
		{"Store and files", storeSettings()},
		{"Process and logging", processSettings()},
		{"Tracing", traceSettings()},
	} {
		fmt.Fprintf(&b, "\n### %s\n\n| flag | environment variable | default | values | meaning |\n| --- | --- | --- | --- | --- |\n", group.title)
		for _, s := range group.settings {
			settingRow(&b, s)
		}
		left -= len(group.settings)
	}
	if left != 0 {
		panic("a group of settings is missing here")
	}
	b.WriteString("\n## Flags of the other commands\n\nSettings are flags of these commands too.\n")
	for _, c := range commands() {
		if c.Flags == "" {
			continue
		}
		fmt.Fprintf(&b, "\n### hub %s\n\n`hub %s`: %s\n\n```\n%s\n```\n", c.Name, strings.TrimSpace(c.Name+" "+c.Args), c.Help, trimLines(c.Flags))
	}
	return b.Bytes()
}

// trimLines removes the indentation that flags have in the source.
func trimLines(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.TrimSpace(line))
	}
	return strings.Join(lines, "\n")
}

func settingRow(b *bytes.Buffer, s setting) {
	cell := func(text string) string {
		return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", `\|`)
	}
	variable := "`" + s.variable() + "`"
	if s.older != "" {
		variable += ", also `" + s.older + "`"
	}
	value := ""
	if s.value != "" {
		value = "`" + s.value + "`"
	}
	help := s.help
	switch s.kind {
	case fileStore:
		help += " (file store only)"
	case redisStore:
		help += " (Redis only)"
	}
	if s.outside {
		help += " (not in the file)"
	}
	flag := "`" + cell(strings.TrimSpace(s.flag()+" "+s.arg)) + "`"
	if s.unflagged {
		flag = "none"
	}
	fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", flag, variable, cell(value), cell(allowed(s)), cell(help))
}

// allowed is what the setting's own error message says about valid values; empty for
// a setting that accepts any text.
func allowed(s setting) string {
	err := s.parse(&config{}, "\x00")
	if err == nil {
		return ""
	}
	text, ok := strings.CutPrefix(err.Error(), "want ")
	if !ok {
		return ""
	}
	text, _, _ = strings.Cut(text, "; entry ") // which names the invalid one
	return text
}
