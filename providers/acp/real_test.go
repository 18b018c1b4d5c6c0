//go:build agents

package acp_test

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/acp"
	"github.com/everdesk/everdesk/providers/agent/agenttest"
	"github.com/everdesk/everdesk/providers/fakemodel"
	"github.com/everdesk/everdesk/providers/providertest"
)

// realAgent is a real agent. Its program is in the variable NAME_BIN; one that is a script has the
// program that runs it in NAME_NODE.
type realAgent struct {
	// env returns the variables for a model at a URL.
	env  func(home, url string) []string
	args []string
	// files are settings in its home.
	files map[string]string
	// tools precedes the names of the hub's tools.
	tools string
	// shell is a call of its shell, with %s for the quoted command, and asking one for which it asks, if
	// that is another.
	shell, asking string
	// write is a call of its tool that writes a file, with %s for the quoted path; empty if it has none.
	write string
	// denialEnds says that it ends its turn when a call is denied.
	denialEnds bool
	usage      bool
}

func realAgents() map[string]realAgent {
	key := func(name string) string { return name + "=" + agenttest.Key }
	return map[string]realAgent{
		"opencode": {
			args: []string{"acp"}, tools: "everdesk_", shell: `/call bash {"command":%s,"description":"a test"}`,
			write: `/call write {"filePath":%s,"content":"hello\n"}`,
			env: func(_, url string) []string {
				config, err := json.Marshal(map[string]any{
					"model": "loopback/m", "small_model": "loopback/m", "autoupdate": false, "share": "disabled",
					"provider": map[string]any{"loopback": map[string]any{
						"npm": "@ai-sdk/openai-compatible", "name": "loopback",
						"options": map[string]any{"baseURL": url + "/v1", "apiKey": "{env:AGENT_KEY}"},
						"models":  map[string]any{"m": map[string]any{"name": "m", "limit": map[string]any{"context": 200_000, "output": 8000}}},
					}},
				})
				if err != nil {
					panic(err) // never for strings and numbers
				}
				return []string{
					key("AGENT_KEY"), "OPENCODE_CONFIG_CONTENT=" + string(config),
					`OPENCODE_PERMISSION={"edit":"ask","bash":"ask","webfetch":"ask","external_directory":"ask"}`,
					"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1", "OPENCODE_DISABLE_DEFAULT_PLUGINS=1",
				}
			},
		},
		"gemini": {
			args: []string{"--acp", "--model", "gemini-2.5-pro"}, tools: "mcp_everdesk_", shell: `/call run_shell_command {"command":%s,"description":"a test"}`,
			write: `/call write_file {"file_path":%s,"content":"hello\n"}`,
			files: map[string]string{".gemini/settings.json": `{"security":{"auth":{"selectedType":"gemini-api-key"}},"privacy":{"usageStatisticsEnabled":false},"general":{"enableAutoUpdate":false},"model":{"disableLoopDetection":true}}`},
			env: func(_, url string) []string {
				return []string{key("GEMINI_API_KEY"), "GOOGLE_GEMINI_BASE_URL=" + url, "GEMINI_CLI_TRUST_WORKSPACE=true"}
			},
		},
		"qwen": {
			args: []string{"--acp"}, tools: "mcp__everdesk__", shell: `/call run_shell_command {"command":%s,"description":"a test"}`,
			write: `/call write_file {"file_path":%s,"content":"hello\n"}`,
			files: map[string]string{".qwen/settings.json": `{"security":{"auth":{"selectedType":"openai"}},"privacy":{"usageStatisticsEnabled":false}}`},
			env: func(_, url string) []string {
				return []string{key("OPENAI_API_KEY"), "OPENAI_BASE_URL=" + url + "/v1", "OPENAI_MODEL=m"}
			},
		},
		"claude-agent-acp": {
			tools: "mcp__everdesk__", shell: `/call Bash {"command":%s,"description":"a test"}`, usage: true,
			write: `/call Write {"file_path":%s,"content":"hello\n"}`,
			env: func(_, url string) []string {
				return []string{
					key("ANTHROPIC_API_KEY"), "ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_MODEL=claude-sonnet-4-5", "CLAUDE_CODE_SUBPROCESS_ENV_SCRUB=1",
					"CLAUDE_CODE_EXECUTABLE=" + os.Getenv("CLAUDE_BIN"), "CLAUDE_CODE_MAX_RETRIES=0", "DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
				}
			},
		},
		"codex-acp": {
			tools: "mcp__everdesk.", shell: `/call exec_command {"cmd":%s}`, usage: true,
			asking: `/call exec_command {"cmd":%s,"sandbox_permissions":"require_escalated","justification":"a test"}`, denialEnds: true,
			env: func(_, url string) []string {
				config, err := json.Marshal(map[string]any{
					"model": "gpt-6.1-sol", "model_provider": "hub", "shell_environment_policy": map[string]any{"inherit": "core"},
					"model_providers": map[string]any{"hub": map[string]any{"name": "hub", "base_url": url + "/v1", "env_key": "HUB_MODEL_KEY", "wire_api": "responses"}},
				})
				if err != nil {
					panic(err) // never for strings
				}
				return []string{key("HUB_MODEL_KEY"), "CODEX_PATH=" + os.Getenv("CODEX_BIN"), "MODEL_PROVIDER=hub", "INITIAL_AGENT_MODE=read-only", "CODEX_CONFIG=" + string(config)}
			},
		},
	}
}

// realAt returns a function that returns providers of a real agent, with the model at a URL.
func realAt(name, url string) agenttest.NewProvider {
	a := realAgents()[name]
	return func(home string) (providers.Provider, error) {
		for file, text := range a.files {
			at := filepath.Join(home, file)
			if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
				return nil, err
			}
			if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
				return nil, err
			}
		}
		variable := strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		path, args := os.Getenv(variable+"_BIN"), a.args
		if node := os.Getenv(variable + "_NODE"); node != "" {
			path, args = node, append([]string{path}, args...)
		}
		p, err := acp.New(acp.Config{Name: name, Path: path, Args: args, Home: home, Secrets: []string{agenttest.Key}, Env: a.env(home, url), OwnReads: name == "gemini"})
		if err != nil {
			return nil, err
		}
		return &served{Provider: p}, nil
	}
}

// leaking returns the provider of which the leaks are counted: a real agent in TestRealNothingIsLeft,
// whose model is in the process that started this one.
func leaking() agenttest.NewProvider {
	if url := os.Getenv(realModel); url != "" {
		return realAt(os.Getenv(realName), url)
	}
	return newProvider("load")
}

// The variables with the URL of the model and the name of the agent.
const (
	realModel = "REAL_AGENT_MODEL"
	realName  = "REAL_AGENT_NAME"
)

// eachReal runs a test with every real agent.
func eachReal(t *testing.T, test func(t *testing.T, name string, a realAgent)) {
	t.Helper()
	for name, a := range realAgents() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, name, a)
		})
	}
}

// TestRealProgram runs the contract with real agents and a model on loopback, see `make test-agents`.
// The model understands directives only in the newest message, so that turns that continue are left
// out. The errors of its model are not tested: OpenCode does not report them over the protocol.
func TestRealProgram(t *testing.T) {
	t.Parallel()
	eachReal(t, func(t *testing.T, name string, a realAgent) {
		t.Helper()
		var homes agenttest.Homes
		providertest.Run(t, providertest.Bench{
			Around: func(t *testing.T, fn func(*testing.T)) { t.Helper(); fn(t) },
			New: func(t *testing.T) providers.Provider {
				t.Helper()
				p, err := realAt(name, fakemodel.Start(t))(homes.Of(t))
				if err != nil {
					t.Fatal(err)
				}
				return p
			},
			Prompt: func(steps ...providertest.Step) string {
				return strings.ReplaceAll(agenttest.Prompt(steps...), "/call ", "/call "+a.tools)
			},
			Usage: a.usage, Limit: 10 * time.Minute, // ten programs of OpenCode take four on a busy machine
			Started: func(p providers.Provider) int { return p.(*served).Started() },
		})
	})
}

func TestRealKeyStaysSecret(t *testing.T) {
	t.Parallel()
	eachReal(t, func(t *testing.T, name string, _ realAgent) {
		t.Helper()
		agenttest.KeyStaysSecret(t, realAt(name, fakemodel.Start(t)))
	})
}

// call returns a directive that runs a command.
func (a realAgent) call(command string) string {
	return strings.ReplaceAll(a.shell, "%s", strconv.Quote(command))
}

// question returns a directive that runs a command for which the agent asks.
func (a realAgent) question(command string) string {
	return strings.ReplaceAll(cmp.Or(a.asking, a.shell), "%s", strconv.Quote(command))
}

func TestRealApproval(t *testing.T) {
	t.Parallel()
	eachReal(t, func(t *testing.T, name string, a realAgent) {
		t.Helper()
		agenttest.Approval(t, realAt(name, fakemodel.Start(t)), agenttest.Asked{
			Directive: func(string) string { return a.question("touch a.txt") },
			Tool:      "shell", Text: "touch a.txt", File: "a.txt", DenialEnds: a.denialEnds,
		})
	})
}

// An agent asks once for a file that it writes, also if the hub writes it for the agent.
func TestRealWrite(t *testing.T) {
	t.Parallel()
	eachReal(t, func(t *testing.T, name string, a realAgent) {
		t.Helper()
		if a.write == "" {
			return
		}
		agenttest.Approval(t, realAt(name, fakemodel.Start(t)), agenttest.Asked{
			Directive: func(dir string) string {
				return strings.ReplaceAll(a.write, "%s", strconv.Quote(filepath.Join(dir, "b.txt")))
			},
			Tool: "apply_patch", Text: "+hello", File: "b.txt", DenialEnds: a.denialEnds, Once: true,
		})
	})
}

func TestRealShellHasNoKey(t *testing.T) {
	t.Parallel()
	eachReal(t, func(t *testing.T, name string, a realAgent) {
		t.Helper()
		agenttest.ShellHasNoKey(t, realAt(name, fakemodel.Start(t)), a.call)
	})
}

func TestRealNothingIsLeft(t *testing.T) {
	t.Parallel()
	eachReal(t, func(t *testing.T, name string, a realAgent) {
		t.Helper()
		agenttest.NothingIsLeft(t, a.question("touch a.txt"), realModel+"="+fakemodel.Start(t), realName+"="+name)
	})
}
