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

// What the program ends with.
const (
	exitOK      = 0
	exitFailure = 1 // it could not do what it was asked
	exitUsage   = 2 // it was asked wrongly
)

// program is one call of the hub: its arguments and its surroundings.
type program struct {
	args    []string // after the name of the command
	environ []string
	stdin   io.Reader // nil means the process's own
	stdout  io.Writer
	stderr  io.Writer
}

// command is a subcommand.
type command struct {
	name string
	args string
	help string
	// flags are those it has besides the settings, one per line.
	flags string
	run   func(context.Context, program) error
}

// commands lists the subcommands; the first is the default.
func commands() []command {
	return []command{
		{name: "serve", args: "[flags]", help: "run the hub until it is told to stop (the default)", run: serve},
		{
			name: "attach", args: "[flags] [SESSION]",
			help: "follow a session on this terminal and speak in it; without one, list sessions",
			flags: `--server URL      the hub, also as it prints itself; the local one by default
				--token TOKEN     who you are, also as HUB_TOKEN
				--new [TITLE]     make a session first
				--json            JSON lines even on a terminal
				--plain           lines for people even into a pipe, which else gets JSON, and no colours
				--monitor M       only this monitor; may be repeated
				--state-hash[=N]  print the hash of the state at the end, and after every N events
				--until POSITION  leave when this event was seen
				--for DURATION    leave after that time`,
			run: attach,
		},
		{
			name: "export", args: "[flags] SESSION", help: "write a session to a file: what was said and seen, the desktop, its files; no plan that is under way",
			flags: `--server URL      the hub; the local one by default
				--token TOKEN     who you are, also as HUB_TOKEN
				--out FILE        where to; SESSION.zip by default, - for standard output
				--force           replace the file when it is there`,
			run: exportSession,
		},
		{
			name: "import", args: "[flags] FILE", help: "make a session of such a file, and print its id",
			flags: `--server URL      the hub; the local one by default
				--token TOKEN     who you are, also as HUB_TOKEN
				--policy POLICY   full, main_and_selected_windows or summarize_old_windows
				--window ID       a window that is chosen; may be repeated
				--title TITLE     what the session is called; as it was by default`,
			run: importSession,
		},
		{
			name: "token", args: "[url|ticket|key|keys|revoke ID] [flags]",
			help: "make, list and end signed tokens, tickets and API keys",
			flags: `--user NAME       for whom; keys and tickets need it
				--role ROLE       user, viewer, admin, admin:read, admin:act or admin:content
				--ttl DURATION    how long a signed token holds
				--name NAME       what a key is called
				--session ID      the only session a ticket is for
				--key-file FILE   the key to sign with
				--key-id ID       its name in the key file
				--server URL      the hub to ask; by default the store is opened or, while the local hub has it, that is asked
				--token TOKEN     who asks it, also as HUB_TOKEN`,
			run: token,
		},
		{
			name: "replicas", args: "[flags]", help: "list the hubs that share a store",
			flags: `--server URL      any of them, at its --admin-addr if it has one; the local one by default
				--token TOKEN     who you are, also as HUB_TOKEN
				--json            as the hub answers`,
			run: replicas,
		},
		{
			name: "drain", args: "[flags] [REPLICA]",
			help: "have a hub hand its sessions over and take nobody new; it stays up",
			flags: `--server URL      any hub of the same store, at its --admin-addr if it has one
				--token TOKEN     who you are, also as HUB_TOKEN
				--reason TEXT     why; it is kept with who did it
				--undo            have it take people again instead
				--wait DURATION   wait until it has handed everything over`,
			run: drain,
		},
		{
			name: "admin", args: adminArgs, help: "look after the sessions of all hubs that share a store",
			flags: adminFlags, run: admin,
		},
		{name: "config", args: "[flags]", help: "print the settings serve would use, and where each comes from", run: printConfig},
		{name: "health", args: "[flags] [URL]", help: "ask a running hub whether it is up; for container health checks", run: health},
		{name: "version", help: "print the version", run: printVersion},
		{name: "help", args: "[COMMAND]", help: "print this text, or the flags of one command", run: printHelp},
	}
}

// run is the program. It returns the exit code. The environment comes as a list
// and not as a lookup because variables that mean nothing are complained of.
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

// complaints are all mistakes in what the program was told.
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

// orNil is needed because a nil slice in an error is not a nil error.
func (c complaints) orNil() error {
	if len(c) == 0 {
		return nil
	}
	return c
}
