package main

import (
	"slices"
	"strings"

	"github.com/everdesk/everdesk/cmd/hub/internal/command"
)

// parseFlags parses --name value, --name=value and, for switches, --name alone, and returns
// the other arguments. Unlike the standard flag package it does not stop at the first
// mistake.
func parseFlags(args []string, wrong *command.UsageErrors) (flags found, rest []string) {
	flags = found{}
	all := allSettings()
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if arg == "--" {
			return flags, append(rest, args...)
		}
		if !strings.HasPrefix(arg, "-") {
			rest = append(rest, arg)
			continue
		}
		name, text, given := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-"), "=")
		where := "flag --" + name
		i := slices.IndexFunc(all, func(s setting) bool { return s.name == name })
		switch {
		case i >= 0 && all[i].arg == "" && !given:
			text = "true"
		case !given && len(args) > 0 && (i >= 0 || !strings.HasPrefix(args[0], "-")):
			// The argument after an unknown flag is taken as its value.
			text, args = args[0], args[1:]
		case !given && i >= 0:
			wrong.Add("%s: needs a value", where)
			continue
		}
		if i < 0 {
			wrong.Add("%s: no such setting", where)
			continue
		}
		if all[i].unflagged {
			wrong.Add("%s: other users can see flags; set the variable %s", where, all[i].variable())
			continue
		}
		if _, twice := flags[name]; twice {
			wrong.Add("%s: given twice", where)
		}
		flags[name] = value{text, where}
	}
	return flags, rest
}
