package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/acp"
)

// acpAgents is the name in --agents that enables the agents of --acp-commands.
const acpAgents = "acp"

// acpCommand is an agent that speaks the Agent Client Protocol.
type acpCommand struct {
	name string
	// env holds the variables of the program, as NAME=VALUE, or NAME=$OTHER for the value of a
	// variable of the hub.
	env  []string
	path string
	args []string
}

// knownACP returns the commands of well-known agents. They ask before they change something. Their
// commands do not inherit the key: where package acp cannot do that, a setting of the agent does.
func knownACP() map[string]string {
	return map[string]string{
		// Gemini CLI connects to no MCP server, so to no tool of the desktop, in a folder that it does not trust.
		"gemini": "GEMINI_API_KEY=$GEMINI_API_KEY GEMINI_CLI_TRUST_WORKSPACE=true gemini --acp",
		"opencode": `OPENCODE_PERMISSION={"edit":"ask","bash":"ask","webfetch":"ask","external_directory":"ask"} OPENCODE_DISABLE_AUTOUPDATE=1 ` +
			"ANTHROPIC_API_KEY=$ANTHROPIC_API_KEY OPENAI_API_KEY=$OPENAI_API_KEY opencode acp",
		"qwen":             "OPENAI_API_KEY=$OPENAI_API_KEY OPENAI_BASE_URL=$OPENAI_BASE_URL OPENAI_MODEL=$OPENAI_MODEL qwen --acp",
		"claude-agent-acp": "ANTHROPIC_API_KEY=$ANTHROPIC_API_KEY CLAUDE_CODE_SUBPROCESS_ENV_SCRUB=1 claude-agent-acp",
		codexACP: `OPENAI_API_KEY=$OPENAI_API_KEY INITIAL_AGENT_MODE=read-only CODEX_CONFIG={"shell_environment_policy":{"inherit":"core"}} ` +
			codexACP,
	}
}

// codexACP is the name of the adapter of Codex, and codexWritingMode its mode in which commands may write in
// the working directory.
const (
	codexACP         = "codex-acp"
	codexWritingMode = "agent"
)

// builtinProviders are the names that --provider knows without --acp-commands.
var builtinProviders = []string{"auto", "demo", "anthropic", "openai", "ollama", "claude", "codex"}

// reservedNames are names of other providers and folders.
var reservedNames = append(slices.Clone(builtinProviders), acpAgents, "work")

// parseACPCommands reads commands separated by semicolons or line ends: the name of a known agent, or
// NAME=[VARIABLE=VALUE …] PROGRAM [ARGUMENT …].
func parseACPCommands(field *[]acpCommand, s string) error {
	*field = nil
	for text := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == ';' || r == '\n' }) {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		name, line, own := strings.Cut(text, "=")
		if !own {
			if line = knownACP()[name]; line == "" {
				return fmt.Errorf("%q is no known agent; want NAME=COMMAND, as in mine=/opt/agent --acp", text)
			}
		}
		c, err := parseACPCommand(name, line)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(*field, func(other acpCommand) bool { return other.name == name }) {
			return fmt.Errorf("%s is there twice", name)
		}
		*field = append(*field, c)
	}
	return nil
}

// parseACPCommand reads one command.
func parseACPCommand(name, line string) (acpCommand, error) {
	c := acpCommand{name: name}
	if !plainName.MatchString(name) || slices.Contains(reservedNames, name) {
		return c, fmt.Errorf("%q is no name for an agent, or taken", name)
	}
	words := strings.Fields(line)
	for len(words) > 0 && isAssignment(words[0]) {
		c.env, words = append(c.env, words[0]), words[1:]
	}
	if len(words) == 0 {
		return c, fmt.Errorf("%s has no program", name)
	}
	c.path, c.args = words[0], words[1:]
	if strings.ContainsAny(strings.Join(words, " "), `$"'`) {
		return c, fmt.Errorf("%s: the program and its arguments have neither variables, which others could see, nor quotes; put variables before the program", name)
	}
	return c, nil
}

// isAssignment reports whether a word sets a variable.
func isAssignment(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
}

// environment returns the variables of the program and the values among them that are secrets: those
// of the hub's own variables. Variables that the hub does not have are left out.
func (c acpCommand) environment(lookup func(string) (string, bool)) (env, secrets []string) {
	for _, e := range c.env {
		name, text, _ := strings.Cut(e, "=")
		if from, ok := strings.CutPrefix(text, "$"); ok {
			value, set := lookup(from)
			if !set || value == "" {
				continue
			}
			text, secrets = value, append(secrets, value)
		}
		env = append(env, name+"="+text)
	}
	return env, secrets
}

// config returns the settings of the agent's provider.
func (c acpCommand) config(a agentConfig, lookup func(string) (string, bool), log *slog.Logger) acp.Config {
	env, secrets := c.environment(lookup)
	cfg := acp.Config{
		Name: c.name, Path: c.path, Args: c.args, Env: env, Secrets: secrets, Home: filepath.Join(a.folder, c.name), Logger: log,
	}
	// Gemini CLI 0.61 creates no file when it reads through the hub: it does not recognize the error for one that does not exist.
	cfg.OwnReads = c.name == "gemini"
	if c.name == codexACP && a.codexSandbox == writingSandbox {
		cfg.Modes = append([]string{codexWritingMode}, acp.AskingModes()...)
	}
	return cfg
}

// findACP returns the agents that speak the Agent Client Protocol.
func findACP(c agentConfig, log *slog.Logger) (all []backend) {
	enabled := slices.Contains(c.programs, acpAgents)
	if enabled && len(c.acp) == 0 {
		return []backend{{acpAgents, "it is enabled", func() (providers.Provider, error) {
			return nil, errors.New("--agents acp needs --acp-commands, as in --acp-commands gemini")
		}}}
	}
	for _, command := range c.acp {
		if !enabled {
			all = append(all, backend{name: command.name, why: notEnabled(acpAgents)})
			continue
		}
		all = append(all, backend{command.name, "it is enabled", func() (providers.Provider, error) {
			return acp.New(command.config(c, os.LookupEnv, log))
		}})
	}
	return all
}
