package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/everdesk/everdesk/cmd/hub/internal/command"
)

const helpHead = `hub is the Everdesk server and its command-line client.

Usage: hub [command] [flags]

Commands:
`

const helpSettings = `
Settings as flags. --log-level is HUB_LOG_LEVEL in the environment and log-level in
the file. A flag overrides a variable, a variable overrides the file:
`

const helpTail = `
hub help COMMAND, or hub COMMAND --help, lists the flags of one command;
hub help serve lists all settings.

Exit codes: 0 success, 1 failure, 2 a mistake in the call or the settings.
`

// printHelp prints the list of commands, or the usage and flags of one.
func printHelp(_ context.Context, p command.Call) error {
	var wrong command.UsageErrors
	var text string
	if len(p.Args) == 0 {
		text = helpOfAll()
	} else {
		wrong.Refuse(p.Args[1:])
		c, err := commandNamed(p.Args[0])
		if err != nil {
			wrong.Add("%v", err)
		}
		text = helpOf(c)
	}
	if err := wrong.OrNil(); err != nil {
		return err
	}
	_, err := fmt.Fprint(p.Stdout, text)
	return err
}

func helpOfAll() string {
	var b strings.Builder
	b.WriteString(helpHead)
	for _, c := range commands() {
		fmt.Fprintf(&b, "  %-11s %s\n", c.Name, c.Help)
	}
	b.WriteString(helpTail)
	return b.String()
}

// helpOf returns the help of one command: with its flags or, if it has none, the settings.
func helpOf(c command.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: hub %s\n\n%s\n", strings.TrimSpace(c.Name+" "+c.Args), c.Help)
	switch {
	case c.Flags != "":
		b.WriteString("\n")
		writeLines(&b, "  ", c.Flags)
		b.WriteString("\nSettings are flags too; see hub help serve.\n")
	case strings.Contains(c.Args, "[flags]"):
		b.WriteString(helpSettings)
		writeSettings(&b)
	}
	return b.String()
}

func writeSettings(b *strings.Builder) {
	for _, s := range allSettings() {
		fmt.Fprintf(b, "\n  %s\n", strings.TrimSpace(s.flag()+" "+s.arg))
		writeLines(b, "        ", s.help)
		if s.value != "" {
			fmt.Fprintf(b, "        default: %s\n", s.value)
		}
	}
}

func writeLines(b *strings.Builder, indent, text string) {
	for line := range strings.Lines(text) {
		fmt.Fprintf(b, "%s%s\n", indent, strings.TrimSpace(line))
	}
}
