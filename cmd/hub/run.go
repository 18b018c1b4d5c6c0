package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Exit codes.
const (
	exitOK      = 0
	exitFailure = 1 // the command failed
	exitUsage   = 2 // the arguments or settings are invalid
)

// program is one invocation: its arguments, environment and standard streams.
type program struct {
	args    []string // after the name of the command
	environ []string
	stdin   io.Reader // nil means os.Stdin
	stdout  io.Writer
	stderr  io.Writer
}

// command is a subcommand.
type command struct {
	name string
	args string
	help string
	// flags are its flags besides the settings, one per line.
	flags string
	run   func(context.Context, program) error
}

// commands lists the subcommands; the first is the default.
func commands() []command {
	return []command{
		{name: "serve", args: "[flags]", help: "run the hub until SIGTERM or SIGINT (the default)", run: serve},
		{
			name: "attach", args: "[flags] [SESSION]",
			help: "follow a session in the terminal and send messages; without SESSION, list sessions",
			flags: `--server URL      the hub, also as the URL that it prints; the local one by default
				--token TOKEN     your token, also as HUB_TOKEN
				--new [TITLE]     create a session first
				--json            JSON lines even on a terminal
				--plain           text without colours, also into a pipe, which gets JSON otherwise
				--monitor M       only this monitor; may be repeated
				--state-hash[=N]  print the hash of the state at the end, and after every N events
				--until POSITION  exit after this event
				--for DURATION    exit after that time`,
			run: attach,
		},
		{
			name: "export", args: "[flags] SESSION", help: "write a session to a file: conversations, desktop, files; not a running plan",
			flags: `--server URL      the hub; the local one by default
				--token TOKEN     your token, also as HUB_TOKEN
				--out FILE        the file; SESSION.zip by default, - for standard output
				--force           replace an existing file`,
			run: exportSession,
		},
		{
			name: "import", args: "[flags] FILE", help: "create a session from an exported file, and print its id",
			flags: `--server URL      the hub; the local one by default
				--token TOKEN     your token, also as HUB_TOKEN
				--policy POLICY   full, main_and_selected_windows or summarize_old_windows
				--window ID       a window to restore; may be repeated
				--title TITLE     title of the session; that of the file by default`,
			run: importSession,
		},
		{
			name: "token", args: "[url|ticket|key|keys|revoke ID] [flags]",
			help: "create, list and revoke signed tokens, tickets and API keys",
			flags: `--user NAME       the user; required for keys and tickets
				--role ROLE       user, viewer, admin, admin:read, admin:act or admin:content
				--ttl DURATION    lifetime of a signed token
				--name NAME       name of a key
				--session ID      the only session that a ticket is valid for
				--key-file FILE   the key to sign with
				--key-id ID       its name in the key file
				--server URL      the hub; by default the store is opened, or the local hub is used while it holds the store
				--token TOKEN     your token, also as HUB_TOKEN`,
			run: token,
		},
		{
			name: "replicas", args: "[flags]", help: "list the hubs that share a store",
			flags: `--server URL      any of them, at its --admin-addr if it has one; the local one by default
				--token TOKEN     your token, also as HUB_TOKEN
				--json            the JSON answer of the hub`,
			run: replicas,
		},
		{
			name: "drain", args: "[flags] [REPLICA]",
			help: "make a hub hand over its sessions and refuse new connections; the process stays up",
			flags: `--server URL      any hub of the same store, at its --admin-addr if it has one
				--token TOKEN     your token, also as HUB_TOKEN
				--reason TEXT     the reason, recorded in the audit log
				--undo            accept connections and sessions again
				--wait DURATION   wait until all sessions are handed over`,
			run: drain,
		},
		{
			name: "admin", args: adminArgs, help: "inspect and control the sessions of all hubs that share a store",
			flags: adminFlags, run: admin,
		},
		{name: "config", args: "[flags]", help: "print the settings that serve would use, and the source of each", run: printConfig},
		{name: "health", args: "[flags] [URL]", help: "check whether a running hub is up; for container health checks", run: health},
		{name: "version", help: "print the version", run: printVersion},
		{name: "help", args: "[COMMAND]", help: "print this text, or the flags of one command", run: printHelp},
	}
}

// run executes the program and returns the exit code. The environment is a list and not a
// lookup function, because unknown variables are reported.
func run(ctx context.Context, args, environ []string, stdout, stderr io.Writer) int {
	var name string // empty: the default command
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		name, args = args[0], args[1:]
	}
	p := program{args: args, environ: environ, stdout: stdout, stderr: stderr}
	err := dispatch(ctx, name, p)
	if err == nil {
		return exitOK
	}
	fmt.Fprintf(stderr, "hub: %v\n", err)
	if _, ok := errors.AsType[complaints](err); ok {
		return exitUsage
	}
	return exitFailure
}

// dispatch runs a command, or prints the help of that command when one of the
// arguments asks for it.
func dispatch(ctx context.Context, name string, p program) error {
	c, err := commandNamed(cmp.Or(name, commands()[0].name))
	if err != nil {
		return err
	}
	for _, arg := range p.args {
		switch arg {
		case "-h", "-help", "--help":
			help := program{stdout: p.stdout}
			if name != "" {
				help.args = []string{name}
			}
			return printHelp(ctx, help)
		}
	}
	return c.run(ctx, p)
}

func commandNamed(name string) (command, error) {
	known := commands()
	i := slices.IndexFunc(known, func(c command) bool { return c.name == name })
	if i < 0 {
		return command{}, complaints{fmt.Sprintf("unknown command %q; see hub help", name)}
	}
	return known[i], nil
}

// complaints collects all mistakes in arguments and settings.
type complaints []string

func (c complaints) Error() string {
	if len(c) == 1 {
		return c[0]
	}
	return fmt.Sprintf("%d mistakes:\n  %s", len(c), strings.Join(c, "\n  "))
}

func (c *complaints) add(format string, args ...any) {
	*c = append(*c, fmt.Sprintf(format, args...))
}

// orNil returns nil for no complaints, because a nil slice in an error is not a nil error.
func (c complaints) orNil() error {
	if len(c) == 0 {
		return nil
	}
	return c
}
