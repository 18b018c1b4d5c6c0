package main

import (
	"context"
	"fmt"
	"strings"
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
func printHelp(_ context.Context, p program) error {
	var wrong complaints
	var text string
	if len(p.args) == 0 {
		text = helpOfAll()
	} else {
		refuse(p.args[1:], &wrong)
		c, err := commandNamed(p.args[0])
		if err != nil {
			wrong.add("%v", err)
		}
		text = helpOf(c)
	}
	if err := wrong.orNil(); err != nil {
		return err
	}
	_, err := fmt.Fprint(p.stdout, text)
	return err
}

func helpOfAll() string {
	var b strings.Builder
	b.WriteString(helpHead)
	for _, c := range commands() {
		fmt.Fprintf(&b, "  %-9s %s\n", c.name, c.help)
	}
	b.WriteString(helpTail)
	return b.String()
}

// helpOf returns the help of one command: with its flags or, if it has none, the settings.
func helpOf(c command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: hub %s\n\n%s\n", strings.TrimSpace(c.name+" "+c.args), c.help)
	switch {
	case c.flags != "":
		b.WriteString("\n")
		writeLines(&b, "  ", c.flags)
		b.WriteString("\nSettings are flags too; see hub help serve.\n")
	case strings.Contains(c.args, "[flags]"):
		b.WriteString(helpSettings)
		writeSettings(&b)
	}
	return b.String()
}

func writeSettings(b *strings.Builder) {
	for _, s := range settings() {
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
