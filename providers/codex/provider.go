package codex

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/agent"
	"github.com/everdesk/everdesk/providers/jsonline"
)

// Name is the provider's name.
const Name = "codex"

// Config holds the settings of the provider.
type Config struct {
	// Path is the program: the native file, not the launcher of npm.
	Path string
	// Home is the folder in which the program stores its conversations and settings.
	Home string
	// Key is the API key; empty means the login that the program has stored in Home. URL is the URL
	// of a Responses API, with /v1; empty means OpenAI. Model is the model; empty means the
	// program's default.
	Key   string
	URL   string
	Model string
	// Write allows commands to write in the working directory.
	Write bool
	// Writers has the conversations that programs with this home have open, see [agent.Config].
	Writers *agent.Writers
	// Env holds further variables of the program.
	Env    []string
	Logger *slog.Logger
}

// keyVariable is the variable that holds the key.
const keyVariable = "HUB_MODEL_KEY"

// Graces of the process. Their sum is below the time after which the hub abandons it.
const (
	inputGrace = time.Second
	termGrace  = 2 * time.Second
)

// New returns a provider.
func New(cfg Config) (*agent.Provider, error) {
	path, err := exec.LookPath(cmp.Or(cfg.Path, Name))
	if err != nil {
		return nil, fmt.Errorf("find the program of Codex: %w", err)
	}
	if !filepath.IsAbs(cfg.Home) {
		return nil, errors.New("the folder of Codex must be an absolute path")
	}
	cfg.Path = path
	for _, dir := range []string{cfg.Home, cfg.folder(), cfg.conversations(), cfg.archived(), cfg.databases(), cfg.temp()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("create the folder of Codex: %w", err)
		}
	}
	if err := cfg.removeReadable(); err != nil {
		return nil, err
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Writers == nil {
		cfg.Writers = agent.NewWriters(filepath.Join(cfg.Home, "locks"))
	}
	return agent.New(agent.Config{
		Name: Name, Logger: cfg.Logger, Secrets: []string{cfg.Key}, Writers: cfg.Writers, DropsCut: true,
		Caps: providers.Caps{Steer: true, Fork: true, Resume: true, Inject: true, Images: true, Process: true},
		Connect: func(ctx context.Context, o agent.Opening) (agent.Backend, error) {
			return connect(ctx, cfg, o)
		},
		Prepare: func(ctx context.Context) (agent.Prepared, error) { return launchAlone(ctx, cfg) },
	}), nil
}

// folder is CODEX_HOME. The program refuses one below its folder of temporary files.
func (cfg Config) folder() string        { return filepath.Join(cfg.Home, "home") }
func (cfg Config) conversations() string { return filepath.Join(cfg.folder(), "sessions") }
func (cfg Config) archived() string      { return filepath.Join(cfg.folder(), "archived_sessions") }
func (cfg Config) databases() string     { return filepath.Join(cfg.folder(), "databases") }
func (cfg Config) temp() string          { return filepath.Join(cfg.Home, "tmp") }

// removeReadable removes the databases that Codex wrote where commands read them before the hub named another folder. It makes
// them again from the conversations.
func (cfg Config) removeReadable() error {
	old, err := filepath.Glob(filepath.Join(cfg.folder(), "*.sqlite*"))
	for _, file := range old {
		err = errors.Join(err, os.Remove(file))
	}
	if err != nil {
		return fmt.Errorf("remove old databases of Codex: %w", err)
	}
	return nil
}

// profile is the name of the permissions of commands.
const profile = "hub"

// permissions returns the definition of the profile. It denies reading the conversations of all sessions, and the databases with
// parts of them, also because Codex runs an approved command again outside of a sandbox that refused it, unless that would permit
// reading something that is denied.
func (cfg Config) permissions() string {
	base := ":read-only"
	if cfg.Write {
		base = ":workspace"
	}
	return fmt.Sprintf(`permissions.%s={extends=%q,filesystem={%q="deny",%q="deny",%q="deny"}}`, profile, base, cfg.conversations(), cfg.archived(), cfg.databases())
}

// process returns the command line and the environment of the program. It starts in its own folder,
// because the working directory belongs to a thread.
func (cfg Config) process() jsonline.Config {
	args := []string{
		"app-server",
		"-c", "check_for_update_on_startup=false", "-c", "analytics.enabled=false", "-c", `otel.exporter="none"`, "-c", `web_search="disabled"`,
		"-c", `shell_environment_policy.inherit="core"`, "-c", `cli_auth_credentials_store="ephemeral"`,
		"-c", fmt.Sprintf("default_permissions=%q", profile), "-c", cfg.permissions(), "-c", fmt.Sprintf("sqlite_home=%q", cfg.databases()),
		"--disable", "plugins", "--disable", "apps", "--disable", "remote_plugin", "--disable", "shell_snapshot",
	}
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + cfg.Home, "CODEX_HOME=" + cfg.folder(), "TMPDIR=" + cfg.temp(), "LANG=C.UTF-8", "RUST_LOG=error",
	}
	var secrets []string
	if cfg.Key != "" {
		env, secrets = append(env, keyVariable+"="+cfg.Key), append(secrets, cfg.Key)
	}
	if cfg.URL != "" {
		args = append(args, "-c", `model_provider="hub"`, "-c", "model_providers.hub={name=\"hub\",base_url="+strconv.Quote(cfg.URL)+
			`,env_key="`+keyVariable+`",wire_api="responses",request_max_retries=2,stream_max_retries=2}`)
	}
	mark := jsonline.NewMark()
	name, value, _ := strings.Cut(mark, "=")
	args = append(args, "-c", fmt.Sprintf("shell_environment_policy.set={%s=%q}", name, value))
	return jsonline.Config{
		Path: cfg.Path, Args: args, Dir: cfg.Home, Env: append(env, cfg.Env...), Mark: mark, Secrets: secrets, InputGrace: inputGrace, TermGrace: termGrace,
	}
}

// dynamicTool describes a tool of the hub.
type dynamicTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"inputSchema"`
}

// dynamicTools returns the description of tools and its digest, by which a thread with the same
// tools is recognized.
func dynamicTools(tools []providers.Tool) ([]dynamicTool, string) {
	out := make([]dynamicTool, 0, len(tools))
	sum := sha256.New()
	for _, t := range tools {
		d := dynamicTool{"function", t.Name, t.Description, t.Schema}
		out = append(out, d)
		fmt.Fprintf(sum, "%q %q %s\n", d.Name, d.Description, d.Schema)
	}
	return out, hex.EncodeToString(sum.Sum(nil)[:6])
}
