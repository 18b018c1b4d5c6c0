package main

import (
	"context"
	"fmt"
	"strings"
)

const helpHead = `hub keeps AI desktops alive.

Usage: hub [command] [flags]

Commands:
`

const helpMiddle = `
Settings, as flags; --log-level is HUB_LOG_LEVEL in the environment and log-level
in the file. Flags count before variables, variables before the file:
`

const helpTail = `
Exit codes: 0 done, 1 it did not work, 2 a mistake in the call or the settings.
`

func printHelp(_ context.Context, p program) error {
	var wrong complaints
	refuse(p.args, &wrong)
	if err := wrong.orNil(); err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString(helpHead)
	for _, c := range commands() {
		fmt.Fprintf(&b, "  %s\n        %s\n", strings.TrimSpace(c.name+" "+c.args), c.help)
		for line := range strings.Lines(c.flags) {
			fmt.Fprintf(&b, "          %s\n", strings.TrimSpace(line))
		}
	}
	b.WriteString(helpMiddle)
	for _, s := range settings() {
		fmt.Fprintf(&b, "\n  %s\n", strings.TrimSpace(s.flag()+" "+s.arg))
		for line := range strings.Lines(s.help) {
			fmt.Fprintf(&b, "        %s\n", strings.TrimSpace(line))
		}
		if s.value != "" {
			fmt.Fprintf(&b, "        default: %s\n", s.value)
		}
	}
	b.WriteString(helpTail)
	_, err := fmt.Fprint(p.stdout, b.String())
	return err
}
