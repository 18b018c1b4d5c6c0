package command

import (
	"errors"
	"strings"
	"time"
)

// Arity says whether a flag has a value.
type Arity int

// A flag has no value, or one after = only, or always one: after = or as the next argument.
const (
	NoValue Arity = iota
	OptionalValue
	Value
)

// Flags holds the flags of a command, without the settings, and their values.
type Flags map[string][]string

// Has reports whether a flag is given.
func (f Flags) Has(name string) bool { _, ok := f[name]; return ok }

// Last returns the value given last, or "".
func (f Flags) Last(name string) string {
	if values := f[name]; len(values) > 0 {
		return values[len(values)-1]
	}
	return ""
}

// ParseFlags extracts the known flags from the arguments. rest holds all other arguments, in
// order.
func ParseFlags(args []string, known map[string]Arity, wrong *UsageErrors) (flags Flags, rest []string) {
	flags = Flags{}
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		name, text, given := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		arity, ok := known[name]
		switch {
		case arg == "--":
			return flags, append(append(rest, arg), args...)
		case !strings.HasPrefix(arg, "-") || !ok:
			rest = append(rest, arg)
			continue
		case arity == Value && !given && len(args) == 0:
			wrong.Add("flag --%s: needs a value", name)
			continue
		case arity == Value && !given:
			text, args = args[0], args[1:]
		case given && arity == NoValue:
			wrong.Add("flag --%s: takes no value", name)
		}
		flags[name] = append(flags[name], text)
	}
	return flags, rest
}

// ParseDuration parses the value of a flag or a setting.
func ParseDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, errors.New("want a duration, as in 20s or 1m30s")
	}
	return d, nil
}

// SplitList splits a comma-separated list and drops empty items.
func SplitList(s string) []string {
	var items []string
	for item := range strings.SplitSeq(s, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}
