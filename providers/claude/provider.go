package claude

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/agent"
	"github.com/everdesk/everdesk/providers/jsonline"
)

// Name is the provider's name.
const Name = "claude"

// Config holds the settings of the provider.
type Config struct {
	// Path is the program: the native file, not the launcher of npm.
	Path string
	// Home is the folder in which the program stores its conversations and settings.
	Home string
	// Key is the API key; empty means the one that the program has stored in Home. URL is the URL
	// of the API and Model the model; empty means the program's default.
	Key   string
	URL   string
	Model string
	// Writers has the conversations that programs with this home have open, see [agent.Config].
	Writers *agent.Writers
	// Env holds further variables of the program.
	Env    []string
	Logger *slog.Logger
}

// shellTools need the programs of the sandbox that keeps the key from commands; fileTools do not.
const (
	fileTools  = "Read,Edit,Write,Grep,Glob,NotebookEdit"
	shellTools = fileTools + ",Bash"
)

// Graces of the process. Their sum is below the time after which the hub abandons it.
const (
	inputGrace = time.Second
	termGrace  = 2 * time.Second
)

// New returns a provider.
func New(cfg Config) (*agent.Provider, error) {
	path, err := exec.LookPath(cmp.Or(cfg.Path, Name))
	if err != nil {
		return nil, fmt.Errorf("find the program of Claude Code: %w", err)
	}
	if !filepath.IsAbs(cfg.Home) {
		return nil, errors.New("the folder of Claude Code must be an absolute path")
	}
	cfg.Path = path
	if err := os.MkdirAll(cfg.Home, 0o700); err != nil {
		return nil, fmt.Errorf("create the folder of Claude Code: %w", err)
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Writers == nil {
		cfg.Writers = agent.NewWriters(filepath.Join(cfg.Home, "locks"))
	}
	return agent.New(agent.Config{
		Name: Name, Logger: cfg.Logger, Secrets: []string{cfg.Key}, Writers: cfg.Writers,
		Caps: providers.Caps{Steer: true, Fork: true, Resume: true, Inject: true, Images: true, Process: true},
		Connect: func(ctx context.Context, o agent.Opening) (agent.Backend, error) {
			return connect(ctx, cfg, o)
		},
	}), nil
}

// process returns the command line and the environment of the program for one conversation, and
// the id that the conversation has.
func (cfg Config) process(o agent.Opening) (jsonline.Config, string) {
	id := newUUID()
	args := []string{
		"-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
		"--include-partial-messages", "--permission-prompt-tool", "stdio", "--permission-mode", "default",
		"--strict-mcp-config", "--setting-sources", "",
		"--mcp-config", `{"mcpServers":{"` + serverName + `":{"type":"sdk","name":"` + serverName + `","alwaysLoad":true}}}`,
		"--allowedTools", "mcp__" + serverName,
	}
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + cfg.Home, "CLAUDE_CONFIG_DIR=" + filepath.Join(cfg.Home, ".claude"),
		"LANG=C.UTF-8", "TMPDIR=" + os.TempDir(),
		"DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"CLAUDE_CODE_MAX_RETRIES=3",
	}
	tools := fileTools
	if hasSandbox() {
		tools = shellTools
		env = append(env, "CLAUDE_CODE_SUBPROCESS_ENV_SCRUB=1")
	}
	if o.Spec.Call == nil {
		tools = ""
	}
	args = append(args, "--tools", tools)
	if model := cmp.Or(o.Spec.Model, cfg.Model); model != "" {
		args = append(args, "--model", model)
	}
	switch o.Spec.Effort {
	case "":
	case "minimal": // which the program does not know
		env = append(env, "CLAUDE_CODE_EFFORT_LEVEL=low")
	default:
		env = append(env, "CLAUDE_CODE_EFFORT_LEVEL="+o.Spec.Effort)
	}
	switch {
	case o.Resume != "" && o.Fork:
		args = append(args, "--resume", o.Resume, "--fork-session", "--session-id", id)
	case o.Resume != "":
		id = o.Resume
		args = append(args, "--resume", id)
	default:
		args = append(args, "--session-id", id)
	}
	var secrets []string
	if cfg.Key != "" {
		env, secrets = append(env, "ANTHROPIC_API_KEY="+cfg.Key), append(secrets, cfg.Key)
	}
	if cfg.URL != "" {
		env = append(env, "ANTHROPIC_BASE_URL="+cfg.URL)
	}
	return jsonline.Config{
		Path: cfg.Path, Args: args, Dir: o.Dir, Env: append(env, cfg.Env...), Mark: jsonline.NewMark(), Secrets: secrets,
		InputGrace: inputGrace, TermGrace: termGrace,
	}, id
}

// hasSandbox reports whether the programs are there without which Claude Code refuses to run any command
// when it has to keep the key from them.
func hasSandbox() bool {
	for _, program := range []string{"bwrap", "socat"} {
		if _, err := exec.LookPath(program); err != nil {
			return false
		}
	}
	return true
}

// newUUID returns a random UUID of version 4.
func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// minVersion is the first version that answers initialize completely.
const minVersion = "2.1.268"

// checkVersion reports a version that is too old. Versions that are no versions pass: the program
// may change their form.
func checkVersion(version string) error {
	var have, want [3]int
	if n, _ := fmt.Sscanf(strings.TrimSpace(version), "%d.%d.%d", &have[0], &have[1], &have[2]); n != 3 {
		return nil
	}
	_, _ = fmt.Sscanf(minVersion, "%d.%d.%d", &want[0], &want[1], &want[2]) // a constant
	for i := range have {
		if have[i] != want[i] {
			if have[i] < want[i] {
				return fmt.Errorf("version %s of Claude Code is too old; %s or newer is needed", version, minVersion)
			}
			return nil
		}
	}
	return nil
}
