package main

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/providers/outbound"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/workflow"
)

// agentConfig holds the settings of agents.
type agentConfig struct {
	provider string
	limits   agentpool.Limits
	budget   policies.BudgetLimits
	warm     int
	silence  time.Duration
	// window is the context window in tokens; condenseAt is the percentage of it at which a
	// conversation is condensed.
	window     int
	condenseAt int
	titles     bool
	// checkpointDesktops saves the windows of sessions without files.
	checkpointDesktops bool
	plan               workflow.Config
	anthropic          modelConfig
	openai             modelConfig
	dialect            string
	ollama             modelConfig
	// hosts are the servers that are reachable for profiles of users although their addresses are not
	// public.
	hosts outbound.Hosts
	// skills is the folder with texts for agents, or "".
	skills string
	// mcpFile is the file with the operator's MCP servers, or "". userCommands allows those of users to be programs.
	mcpFile      string
	userCommands bool
	// apps is the folder with apps that users can install, or "".
	apps string
	// webHosts are such servers for pages that agents and apps fetch.
	webHosts outbound.Hosts
	// browser is auto, off or the path of a Chromium. browserSandbox says whether it uses its own sandbox.
	browser        string
	browserSandbox bool
	jupyter        jupyterConfig
	// envVars are the environment variables that agents may read.
	envVars []string
	// programs are the enabled agents that are programs, and folder is theirs.
	programs []string
	folder   string
	// codexSandbox is the sandbox of commands of Codex: readOnlySandbox or writingSandbox.
	codexSandbox string
	// workspaces are the folders in which they may work.
	workspaces []string
	// acp are the agents that speak the Agent Client Protocol.
	acp []acpCommand
}

// modelConfig says how to reach a model.
type modelConfig struct {
	url, key, model string
	// stored is the key among the secrets of the hub, for requests that the hub itself sends. Agents
	// that are programs do not get it.
	stored string
}

// effectiveKey returns the key for requests that the hub itself sends.
func (m modelConfig) effectiveKey() string { return cmp.Or(m.key, m.stored) }

// agentSettings returns the settings of providers and agents.
func agentSettings() []setting {
	return slices.Concat(programSettings(), agentLimitSettings(), conversationSettings(), modelSettings(), toolSettings())
}

// programSettings returns the default provider and the settings of agents that are programs.
func programSettings() []setting {
	return []setting{
		{
			name: "provider", arg: "NAME", value: "auto", older: "PROVIDER",
			help: "the provider of new sessions: demo, anthropic, openai, ollama, an agent of --agents, or auto:\n" +
				"the first of anthropic and openai that has a key, else a local Ollama, else demo",
			parse: func(c *config, s string) error {
				return parseProvider(&c.agents.provider, s)
			},
		},
		{
			name: "agents", arg: "NAMES",
			help: "installed programs to offer as providers, with commas: claude (Claude Code), codex, acp (those\n" +
				"of --acp-commands). They run as the user of the hub, read files, and ask before they change files or\n" +
				"run commands that are not known to be harmless. --codex-sandbox says what those of Codex may write",
			parse: func(c *config, s string) error { return parseAgents(&c.agents.programs, s) },
		},
		{
			name: "codex-sandbox", arg: "MODE", value: readOnlySandbox,
			help: "the sandbox of Codex for commands, approved ones too: read-only, or workspace-write, in which they may\n" +
				"write in the working directory of the session and in folders of temporary files. It holds for codex\n" +
				"and codex-acp",
			parse: func(c *config, s string) error {
				return oneOf(&c.agents.codexSandbox, s, readOnlySandbox, writingSandbox)
			},
		},
		{
			name: "acp-commands", arg: "COMMANDS",
			help: "agents that speak the Agent Client Protocol, with semicolons: gemini, opencode, qwen,\n" +
				"claude-agent-acp, codex-acp, or NAME=[VARIABLE=VALUE …] PROGRAM [ARGUMENT …]. A value $X is the\n" +
				"hub's own variable X",
			parse: func(c *config, s string) error { return parseACPCommands(&c.agents.acp, s) },
		},
		{
			name: "agents-folder", arg: "FOLDER",
			help: "where these programs keep their conversations; agents of --acp-commands work there, and all agents\n" +
				"if the files of sessions are in a bucket. Beside the data of a file store if empty",
			parse: func(c *config, s string) error { c.agents.folder = s; return nil },
		},
		{
			name: "workspaces", arg: "FOLDERS",
			help: "folders, with commas, in which these programs may work: a session can choose one of them, or a\n" +
				"folder in one of them. Every user can. All replicas need the same folders",
			parse: func(c *config, s string) error { return parseWorkspaces(&c.agents.workspaces, s) },
		},
	}
}

// agentLimitSettings returns the limits of agents, their monitors and their backends.
func agentLimitSettings() []setting {
	return []setting{
		{
			name: "max-agents", arg: "N", value: "10", older: "MAX_AGENTS",
			help:  "maximum number of agents at once, over all sessions and replicas",
			parse: func(c *config, s string) error { return parseCount(&c.agents.limits.Agents, s, 1, 100_000) },
		},
		{
			name: "max-session-agents", arg: "N", value: "0",
			help:  "maximum number of agents at once in one session; 0 means no limit",
			parse: func(c *config, s string) error { return parseCount(&c.agents.limits.PerSession, s, 0, 100_000) },
		},
		{
			name: "max-user-agents", arg: "N", value: "0",
			help:  "maximum number of agents at once of one user; 0 means no limit",
			parse: func(c *config, s string) error { return parseCount(&c.agents.limits.PerUser, s, 0, 100_000) },
		},
		{
			name: "monitor-max-concurrent", arg: "N", value: "2", older: "MONITOR_MAX_CONCURRENT",
			help:  "maximum number of turns at once on the background monitors of a session",
			parse: func(c *config, s string) error { return parseCount(&c.agents.budget.Concurrent, s, 1, 1000) },
		},
		{
			name: "monitor-max-actions-per-min", arg: "N", value: "30", older: "MONITOR_MAX_ACTIONS_PER_MIN",
			help:  "maximum number of actions of a background monitor in a minute",
			parse: func(c *config, s string) error { return parseCount(&c.agents.budget.ActionsPerMin, s, 1, 1_000_000) },
		},
		{
			name: "monitor-max-output-per-min", arg: "BYTES", value: "50000", older: "MONITOR_MAX_OUTPUT_PER_MIN",
			help:  "maximum output of the agent of a background monitor in a minute",
			parse: func(c *config, s string) error { return parseCount(&c.agents.budget.OutputPerMin, s, 1, 1_000_000_000) },
		},
		{
			name: "warm-providers", arg: "N", value: "1",
			help:  "number of processes to keep ready, of each agent of --agents but claude; they do not count for --max-agents",
			parse: func(c *config, s string) error { return parseCount(&c.agents.warm, s, 0, 100) },
		},
		{
			name: "model-silence", arg: "DURATION", value: "5m",
			help:  "how long a model may send nothing before its turn fails",
			parse: func(c *config, s string) error { return parseSpan(&c.agents.silence, s, 2*time.Second, time.Hour) },
		},
	}
}

// conversationSettings returns the settings of conversations, titles, checkpoints and plans.
func conversationSettings() []setting {
	return []setting{
		{
			name: "context-window", arg: "TOKENS", value: "0",
			help:  "context window of the model in tokens; 0 means the known size of the model",
			parse: func(c *config, s string) error { return parseCount(&c.agents.window, s, 0, 100_000_000) },
		},
		{
			name: "condense-at", arg: "PERCENT", value: "80",
			help: "summarize a conversation when it fills this part of the context window, from 5 to 100;\n" +
				"0 means only when a user asks for it",
			parse: func(c *config, s string) error { return parsePercent(&c.agents.condenseAt, s) },
		},
		{
			name: "titles", arg: "on|off", value: "on",
			help: "on: a model gives a session without a title one after its first answer, with the model profile\n" +
				"of the role title if the user has one; off: titles come from people only",
			parse: func(c *config, s string) error { return parseOnOff(&c.agents.titles, s) },
		},
		{
			name: "checkpoint-desktops", arg: "on|off", value: "off",
			help: "on: sessions without files have checkpoints of their windows, too, so that a rewind restores them;\n" +
				"this starts git with every message of a user",
			parse: func(c *config, s string) error { return parseOnOff(&c.agents.checkpointDesktops, s) },
		},
		{
			name: "plan-parallel", arg: "N", value: "4",
			help:  "maximum number of todos of a plan at once",
			parse: func(c *config, s string) error { return parseCount(&c.agents.plan.Parallel, s, 1, workflow.MaxTodos) },
		},
		{
			name: "plan-answer-time", arg: "DURATION", value: "5m",
			help: "how long a plan waits for an answer before the default applies or the plan is cancelled;\n" +
				"twice as long for the approval of a todo",
			parse: func(c *config, s string) error {
				return parseSpan(&c.agents.plan.AnswerTime, s, time.Second, 30*24*time.Hour)
			},
		},
		{
			name: "plan-ask-above", arg: "DOLLARS", value: "0.25",
			help:  "estimated cost from which on a todo needs approval; 0 means that none does",
			parse: func(c *config, s string) error { return parseDollars(&c.agents.plan.AskAbove, s) },
		},
	}
}

// modelSettings returns the settings of model servers.
func modelSettings() []setting {
	return []setting{
		{
			name: "anthropic-key", arg: "KEY", older: "ANTHROPIC_API_KEY", show: hidden,
			help:  "the key of Anthropic's Messages API",
			parse: func(c *config, s string) error { c.agents.anthropic.key = s; return nil },
		},
		{
			name: "anthropic-url", arg: "URL", value: "https://api.anthropic.com", older: "ANTHROPIC_BASE_URL",
			help:  "the URL of the Messages API, without /v1",
			parse: func(c *config, s string) error { return parseModelURL(&c.agents.anthropic.url, s) },
		},
		{
			name: "anthropic-model", arg: "NAME", value: "claude-sonnet-4-6", older: "ANTHROPIC_MODEL",
			help:  "the model of anthropic",
			parse: func(c *config, s string) error { c.agents.anthropic.model = s; return nil },
		},
		{
			name: "openai-key", arg: "KEY", older: "OPENAI_API_KEY", show: hidden,
			help:  "the key of OpenAI or a compatible server",
			parse: func(c *config, s string) error { c.agents.openai.key = s; return nil },
		},
		{
			name: "openai-url", arg: "URL", value: "https://api.openai.com/v1", older: "OPENAI_BASE_URL",
			help:  "the URL of OpenAI or a compatible server, with /v1",
			parse: func(c *config, s string) error { return parseModelURL(&c.agents.openai.url, s) },
		},
		{
			name: "openai-model", arg: "NAME", value: "gpt-5.1", older: "OPENAI_MODEL",
			help:  "the model of openai",
			parse: func(c *config, s string) error { c.agents.openai.model = s; return nil },
		},
		{
			name: "openai-dialect", arg: "NAME", value: "auto",
			help: "the API to use: responses, chat, or auto, which is responses for OpenAI itself\n" +
				"and chat for compatible servers",
			parse: func(c *config, s string) error { return oneOf(&c.agents.dialect, s, "auto", "responses", "chat") },
		},
		{
			name: "ollama-url", arg: "URL", value: "http://127.0.0.1:11434/v1",
			help:  "the URL of a local Ollama, with /v1",
			parse: func(c *config, s string) error { return parseModelURL(&c.agents.ollama.url, s) },
		},
		{
			name: "ollama-model", arg: "NAME",
			help:  "the model of ollama; the first one that it lists if empty",
			parse: func(c *config, s string) error { c.agents.ollama.model = s; return nil },
		},
		{
			name: "provider-hosts", arg: "LIST",
			help: "servers that model profiles of users may use although their addresses are not public, such as\n" +
				"models.internal:8000 or 10.1.0.0/16, with commas. That of --ollama-url is always one of them",
			parse: func(c *config, s string) (err error) { c.agents.hosts, err = outbound.ParseHosts(s); return err },
		},
	}
}

// toolSettings returns the settings of what the tools of agents can use.
func toolSettings() []setting {
	return []setting{
		{
			name: "skills-dir", arg: "FOLDER",
			help: "a folder with texts that agents can read when they need them: one folder for each, with a\n" +
				"file SKILL.md that begins with name and description",
			parse: func(c *config, s string) error { c.agents.skills = s; return nil },
		},
		{
			name: "env-vars", arg: "LIST",
			help: "environment variables of the hub that agents may read, with commas; APP_* stands for all that begin so.\n" +
				"One whose name suggests a secret (key, token, password, auth, api and the like) must be listed exactly",
			parse: func(c *config, s string) (err error) { c.agents.envVars, err = tools.ParseEnvNames(s); return err },
		},
		{
			name: "mcp-servers", arg: "FILE",
			help: "a file with MCP servers whose tools all agents get: the mcpServers of Claude Desktop or Cursor, or\n" +
				"the servers of VS Code",
			parse: func(c *config, s string) error { c.agents.mcpFile = s; return nil },
		},
		{
			name: "user-mcp-commands", arg: "on|off", value: "off",
			help: "on: MCP servers of users may be programs, which run as the user of the hub; off: only remote\n" +
				"servers",
			parse: func(c *config, s string) error { return parseOnOff(&c.agents.userCommands, s) },
		},
		{
			name: "apps-dir", arg: "FOLDER",
			help: "a folder with apps that agents can install for users, beside those of the hub: one folder for each,\n" +
				"with the files app.json and index.html",
			parse: func(c *config, s string) error { c.agents.apps = s; return nil },
		},
		{
			name: "browser", arg: "auto|off|PATH", value: "auto",
			help: "the Chromium or Chrome in which agents use web pages of domains that users allow: auto is the installed\n" +
				"one, if there is one",
			parse: func(c *config, s string) error { c.agents.browser = s; return nil },
		},
		{
			name: "browser-sandbox", arg: "on|off", value: "on",
			help: "on: browsers use their own sandbox, and agents have no browser where that does not work, as for root;\n" +
				"off: they do not, which is for containers that are a sandbox themselves",
			parse: func(c *config, s string) error { return parseOnOff(&c.agents.browserSandbox, s) },
		},
		{
			name: "jupyter", arg: "auto|off", value: "off",
			help: "auto: the hub starts the installed jupyter-server when a notebook needs it, and its kernels run as the\n" +
				"user of the hub, which is for one user or for people who trust each other. It goes on when the hub is\n" +
				"killed, and ends when the hub stops; off: no server of its own",
			parse: func(c *config, s string) error { return oneOf(&c.agents.jupyter.mode, s, "auto", "off") },
		},
		{
			name: "jupyter-url", arg: "URL",
			help: "a Jupyter server that executes the code of notebooks, as in http://127.0.0.1:8888. It must have\n" +
				"--ServerApp.iopub_data_rate_limit=0 and --ServerApp.iopub_msg_rate_limit=0, or output is lost",
			parse: func(c *config, s string) error { c.agents.jupyter.url = s; return nil },
		},
		{
			name: "jupyter-token", arg: "TOKEN", show: hidden, unflagged: true,
			help:  "the token of the server at --jupyter-url",
			parse: func(c *config, s string) error { c.agents.jupyter.token = s; return nil },
		},
		{
			name: "web-hosts", arg: "LIST",
			help: "servers that agents and apps may fetch pages from, and that MCP servers of users may be, although\n" +
				"their addresses are not public, such as wiki.internal or 10.1.0.0/16, with commas. Users still have\n" +
				"to allow the domain",
			parse: func(c *config, s string) (err error) { c.agents.webHosts, err = outbound.ParseHosts(s); return err },
		},
	}
}

// parseProvider accepts every name that a provider can have; openProviders knows which there are.
func parseProvider(field *string, s string) error {
	if !plainName.MatchString(s) {
		return errors.New("want auto or the name of a provider, as in demo, anthropic, openai, ollama, claude or codex")
	}
	*field = s
	return nil
}

// hidden returns "(set)" for a secret, and "" for an empty one.
func hidden(s string) string {
	if s == "" {
		return ""
	}
	return "(set)"
}

func parseModelURL(field *string, s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("want a URL, as in https://models.example.org/v1")
	}
	*field = s
	return nil
}

func parseOnOff(field *bool, s string) error {
	var mode string
	err := oneOf(&mode, s, "on", "off")
	*field = mode == "on"
	return err
}

func parsePercent(field *int, s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n != 0 && (n < 5 || n > 100) {
		return errors.New("want a number from 5 to 100, or 0")
	}
	*field = n
	return nil
}

// parseDollars stores 0, which means no limit, as -1, as the settings of plans expect.
func parseDollars(field *float64, s string) error {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !(f >= 0 && f <= 1e9) {
		return errors.New("want an amount in dollars, as in 0.25, or 0")
	}
	if *field = f; f == 0 {
		*field = -1
	}
	return nil
}

func parseCount(field *int, s string, least, most int) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < least || n > most {
		return fmt.Errorf("want a number from %d to %d", least, most)
	}
	*field = n
	return nil
}
