package acp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/agent"
	"github.com/everdesk/everdesk/providers/jsonline"
)

// Config holds the settings of the provider.
type Config struct {
	// Name is the provider's name.
	Name string
	// Path is the program and Args are its arguments.
	Path string
	Args []string
	// Env holds variables of the program, besides PATH, HOME, TMPDIR and LANG. Secrets are those
	// values that must not occur in arguments and errors.
	Env     []string
	Secrets []string
	// Modes are the modes to use, the preferred one first, of those that the agent has; [AskingModes]
	// unless set.
	Modes []string
	// OwnReads makes the program read files itself rather than through the hub.
	OwnReads bool
	// Home is the folder in which the program stores its conversations and settings.
	Home   string
	Logger *slog.Logger
}

// Graces of the process. Their sum is below the time after which the hub abandons it.
const (
	inputGrace = 1500 * time.Millisecond
	termGrace  = 1500 * time.Millisecond
)

// New returns a provider.
func New(cfg Config) (*agent.Provider, error) {
	path, err := exec.LookPath(cfg.Path)
	if err != nil {
		return nil, fmt.Errorf("find the program of %s: %w", cfg.Name, err)
	}
	if !filepath.IsAbs(cfg.Home) {
		return nil, errors.New("the folder of an agent must be an absolute path")
	}
	if cfg.Path, err = filepath.Abs(path); err != nil {
		return nil, fmt.Errorf("find the program of %s: %w", cfg.Name, err)
	}
	for _, dir := range []string{cfg.Home, cfg.temp()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("create the folder of %s: %w", cfg.Name, err)
		}
	}
	if err := cfg.writeStartFile(); err != nil {
		return nil, fmt.Errorf("write the start file of %s: %w", cfg.Name, err)
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return agent.New(agent.Config{
		Name: cfg.Name, Logger: cfg.Logger, Secrets: cfg.Secrets, Writers: agent.NewWriters(filepath.Join(cfg.Home, "locks")),
		Caps: providers.Caps{Steer: true, Fork: true, Resume: true, Inject: true, Images: true, Process: true, MCP: true},
		Connect: func(ctx context.Context, o agent.Opening) (agent.Backend, error) {
			return connect(ctx, cfg, o)
		},
		Prepare: func(ctx context.Context) (agent.Prepared, error) { return launch(ctx, cfg) },
	}), nil
}

func (cfg Config) temp() string { return filepath.Join(cfg.Home, "tmp") }

// startFile returns the path of a script that bash runs first (BASH_ENV) when the agent starts it for a command.
func (cfg Config) startFile() string { return filepath.Join(cfg.Home, "bash-env.sh") }

// writeStartFile writes the file that removes the variables with secrets, so that commands of the agent
// do not print them by accident. Commands that look for them still find them in the agent's process.
func (cfg Config) writeStartFile() error {
	var text strings.Builder
	text.WriteString("# Written by the hub at every start: commands of the agent need no keys.\nunset BASH_ENV")
	for _, e := range cfg.Env {
		name, value, _ := strings.Cut(e, "=")
		if slices.ContainsFunc(cfg.Secrets, func(secret string) bool { return secret != "" && strings.Contains(value, secret) }) {
			text.WriteString(" " + name)
		}
	}
	return os.WriteFile(cfg.startFile(), []byte(text.String()+"\n"), 0o600)
}

// process returns the command line and the environment of the program. It starts in its own folder,
// because the working directory belongs to a conversation.
func (cfg Config) process() jsonline.Config {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + cfg.Home, "TMPDIR=" + cfg.temp(), "LANG=C.UTF-8", "BASH_ENV=" + cfg.startFile()}
	return jsonline.Config{
		Path: cfg.Path, Args: cfg.Args, Dir: cfg.Home, Env: append(env, cfg.Env...), Mark: jsonline.NewMark(), Secrets: cfg.Secrets,
		InputGrace: inputGrace, TermGrace: termGrace,
	}
}
