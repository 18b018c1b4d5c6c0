package main

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/claude"
	"github.com/everdesk/everdesk/providers/codex"
	"github.com/everdesk/everdesk/providers/openai"
)

// parseAgents reads the names of agents that are programs.
func parseAgents(field *[]string, s string) error {
	*field = nil
	for name := range strings.SplitSeq(s, ",") {
		name = strings.TrimSpace(name)
		switch {
		case name == "" && s == "":
		case name != claude.Name && name != codex.Name && name != acpAgents:
			return fmt.Errorf("want %s, %s or %s, or several with commas", claude.Name, codex.Name, acpAgents)
		case !slices.Contains(*field, name):
			*field = append(*field, name)
		}
	}
	return nil
}

// parseWorkspaces parses the folders in which agents that are programs may work.
func parseWorkspaces(field *[]string, s string) error {
	*field = nil
	for path := range strings.SplitSeq(s, ",") {
		path = strings.TrimSpace(path)
		switch {
		case path == "" && s == "":
		case !filepath.IsAbs(path):
			return errors.New("want an absolute path of a folder, or several with commas")
		default:
			*field = append(*field, path)
		}
	}
	return nil
}

// programs returns the agents that are programs. They are available only if --agents names them.
func programs(c agentConfig, log *slog.Logger) []backend {
	return append([]backend{findClaude(c, log), findCodex(c, log)}, findACP(c, log)...)
}

// notEnabled is the reason why an agent is not available.
func notEnabled(name string) string { return "it is not enabled: --agents " + name }

func findClaude(c agentConfig, log *slog.Logger) backend {
	if !slices.Contains(c.programs, claude.Name) {
		return backend{name: claude.Name, why: notEnabled(claude.Name)}
	}
	return backend{claude.Name, "it is enabled", func() (providers.Provider, error) {
		return claude.New(claudeConfig(c, log))
	}}
}

// claudeConfig returns the settings of Claude Code. Its process gets the key of the flag, never a secret
// of the hub.
func claudeConfig(c agentConfig, log *slog.Logger) claude.Config {
	cfg := claude.Config{Home: filepath.Join(c.folder, claude.Name), Key: c.anthropic.key, Logger: log}
	if cfg.Key != "" {
		cfg.URL, cfg.Model = c.anthropic.url, c.anthropic.model
	}
	return cfg
}

func findCodex(c agentConfig, log *slog.Logger) backend {
	if !slices.Contains(c.programs, codex.Name) {
		return backend{name: codex.Name, why: notEnabled(codex.Name)}
	}
	return backend{codex.Name, "it is enabled", func() (providers.Provider, error) {
		return codex.New(codexConfig(c, log))
	}}
}

// The sandboxes of commands of Codex.
const (
	readOnlySandbox = "read-only"
	writingSandbox  = "workspace-write"
)

// codexConfig returns the settings of Codex. Its process gets the key of the flag, never a secret of the
// hub.
func codexConfig(c agentConfig, log *slog.Logger) codex.Config {
	cfg := codex.Config{Home: filepath.Join(c.folder, codex.Name), Key: c.openai.key, Write: c.codexSandbox == writingSandbox, Logger: log}
	if cfg.Key != "" {
		cfg.Model = c.openai.model
	}
	if c.openai.url != openai.DefaultBaseURL {
		cfg.URL = c.openai.url
	}
	return cfg
}

// agentsFolder returns the absolute path of the folder of agents that are programs: by default
// beside the data of a file store, else in the working directory.
func (c config) agentsFolder() (string, error) {
	folder := c.agents.folder
	switch {
	case folder != "":
	case c.store.kind == fileStore:
		folder = filepath.Join(c.store.folder, "agents")
	default:
		folder = "everdesk-agents"
	}
	return filepath.Abs(folder)
}
