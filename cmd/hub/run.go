package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/cmd/hub/internal/acp"
	"github.com/everdesk/everdesk/cmd/hub/internal/admin"
	"github.com/everdesk/everdesk/cmd/hub/internal/attach"
	"github.com/everdesk/everdesk/cmd/hub/internal/bridge"
	"github.com/everdesk/everdesk/cmd/hub/internal/cells"
	"github.com/everdesk/everdesk/cmd/hub/internal/command"
	"github.com/everdesk/everdesk/cmd/hub/internal/export"
	"github.com/everdesk/everdesk/cmd/hub/internal/health"
	"github.com/everdesk/everdesk/cmd/hub/internal/preferences"
	"github.com/everdesk/everdesk/cmd/hub/internal/states"
	"github.com/everdesk/everdesk/cmd/hub/internal/supervise"
	"github.com/everdesk/everdesk/cmd/hub/internal/token"
)

// commands lists the subcommands; the first is the default.
func commands() []command.Command {
	return []command.Command{
		{Name: "serve", Args: "[flags]", Help: "run the hub until SIGTERM or SIGINT (the default)", Run: serve},
		supervise.Command(),
		attach.Command(),
		bridge.Command(),
		acp.Command(version()),
		cells.Command(),
		export.Command(),
		export.ImportCommand(),
		states.Command(),
		states.DiffCommand(),
		states.RestoreCommand(),
		preferences.Command(storedSettings),
		preferences.SecretsCommand(),
		token.Command(tokenSettings),
		admin.ReplicasCommand(),
		admin.DrainCommand(),
		admin.Command(),
		{Name: "config", Args: "[flags]", Help: "print the settings that serve would use, and the source of each", Run: printConfig},
		health.Command(),
		{Name: "version", Help: "print the version", Run: printVersion},
		{Name: "help", Args: "[COMMAND]", Help: "print this text, or the flags of one command", Run: printHelp},
	}
}

// run executes the program and returns the exit code. The environment is a list and not a
// lookup function, because unknown variables are reported.
func run(ctx context.Context, args, environ []string, stdout, stderr io.Writer) int {
	var name string // empty: the default command
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		name, args = args[0], args[1:]
	}
	p := command.Call{Args: args, Environ: environ, Stdout: stdout, Stderr: stderr, Local: localHub}
	return command.Exit(stderr, dispatch(ctx, name, p))
}

// dispatch runs a command, or prints the help of that command when one of the
// arguments asks for it.
func dispatch(ctx context.Context, name string, p command.Call) error {
	c, err := commandNamed(cmp.Or(name, commands()[0].Name))
	if err != nil {
		return err
	}
	for _, arg := range p.Args {
		switch arg {
		case "-h", "-help", "--help":
			help := command.Call{Stdout: p.Stdout}
			if name != "" {
				help.Args = []string{name}
			}
			return printHelp(ctx, help)
		}
	}
	return c.Run(ctx, p)
}

func commandNamed(name string) (command.Command, error) {
	known := commands()
	i := slices.IndexFunc(known, func(c command.Command) bool { return c.Name == name })
	if i < 0 {
		return command.Command{}, command.UsageErrors{fmt.Sprintf("unknown command %q; see hub help", name)}
	}
	return known[i], nil
}

// localHub returns where a hub with the given settings is, and the arguments that are no flags.
func localHub(args, environ []string, wrong *command.UsageErrors) (command.Local, []string) {
	flags, rest := parseFlags(args, wrong)
	cfg, _ := load(flags, environ, wrong)
	return cfg.local(), rest
}

func (c config) local() command.Local {
	local := command.Local{Addr: c.addr, AdminAddr: c.admin}
	if c.store.kind == fileStore {
		local.Folder = c.store.folder
	}
	return local
}

// tokenSettings reads the settings of `hub token`.
func tokenSettings(p command.Call, args []string, wrong *command.UsageErrors) (token.Settings, []string) {
	flags, rest := parseFlags(args, wrong)
	cfg, _ := load(flags, p.Environ, wrong)
	cfg.logging.level = max(cfg.logging.level, slog.LevelWarn)
	return token.Settings{
		Local: cfg.local(), Auth: cfg.auth, Logger: cfg.logging.logger(p.Stderr),
		Open: func(ctx context.Context, log *slog.Logger) (auth.Documents, func() error, error) {
			s, err := cfg.store.open(ctx, log)
			if err != nil {
				return nil, nil, err
			}
			return s.documents, s.close, nil
		},
	}, rest
}
