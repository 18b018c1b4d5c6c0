package main

import (
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
	run  func(context.Context, program) error
}

// commands lists the subcommands; the first is the default.
func commands() []command {
	return []command{
		{"serve", "[flags]", "run the hub until it is told to stop (the default)", serve},
		{"attach", "[flags] [SESSION]", "follow a session on this terminal and speak in it; lists sessions without one", attach},
		{"token", "[url|ticket|key|keys|revoke ID] [flags]", "make, list and end tokens, tickets and API keys", token},
		{"config", "[flags]", "print the settings serve would use, and where each comes from", printConfig},
		{"health", "[flags] [URL]", "ask a running hub whether it is up; for container health checks", health},
		{"version", "", "print the version", printVersion},
		{"help", "", "print this text", printHelp},
	}
}

// run is the program. It returns the exit code. The environment comes as a list
// and not as a lookup because variables that mean nothing are complained of.
func run(ctx context.Context, args, environ []string, stdout, stderr io.Writer) int {
	name := commands()[0].name
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

func dispatch(ctx context.Context, name string, p program) error {
	known := commands()
	i := slices.IndexFunc(known, func(c command) bool { return c.name == name })
	if i < 0 {
		return complaints{fmt.Sprintf("unknown command %q; see hub help", name)}
	}
	for _, arg := range p.args {
		switch arg {
		case "-h", "-help", "--help":
			return printHelp(ctx, program{stdout: p.stdout})
		}
	}
	return known[i].run(ctx, p)
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
