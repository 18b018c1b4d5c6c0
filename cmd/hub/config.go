package main

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"

	"go.yaml.in/yaml/v3"

	"github.com/everdesk/everdesk/cmd/hub/internal/command"
)

// value is the text of a setting and its source.
type value struct {
	text  string
	where string // such as "flag --addr" or "file hub.yaml:3"
}

// found holds the values of one source, by the name of the setting or of the older variable.
type found map[string]value

// effective is a setting with its effective value.
type effective struct {
	setting
	value
}

// load reads all settings: flags override variables, variables the file, the file the
// defaults. It checks every candidate, even an overridden one, so that mistakes show up early.
func load(flags found, environ []string, wrong *command.UsageErrors) (config, []effective) {
	vars := variables(environ, wrong)
	file := found{}
	for _, source := range []found{flags, vars} {
		if path := source["config"].text; path != "" {
			file = readFile(path, wrong)
			break
		}
	}
	var cfg config
	var all []effective
	for _, s := range allSettings() {
		values := candidates(s, file, vars, flags)
		for _, v := range values {
			if err := s.parse(&cfg, v.text); err != nil {
				wrong.Add("%s (%s): %v; got %q", s.name, v.where, err, s.shown(v.text))
			}
		}
		all = append(all, effective{s, values[len(values)-1]})
	}
	cfg.applyShortLease(all, wrong)
	cfg.checkProvider(all, wrong)
	cfg.checkCold(all, wrong)
	return cfg, all
}

// checkProvider refuses a provider that is neither built in nor an agent of --acp-commands, which may be
// read after it.
func (c *config) checkProvider(all []effective, wrong *command.UsageErrors) {
	name := c.agents.provider
	if slices.Contains(builtinProviders, name) || slices.ContainsFunc(c.agents.acp, func(a acpCommand) bool { return a.name == name }) {
		return
	}
	i := slices.IndexFunc(all, func(e effective) bool { return e.name == "provider" && e.text == name })
	if i >= 0 { // otherwise its parser has refused it
		wrong.Add("provider (%s): want %s or an agent of --acp-commands; got %q", all[i].where, strings.Join(builtinProviders, ", "), name)
	}
}

// applyShortLease applies --short-lease, which cannot be combined with another lease.
func (c *config) applyShortLease(all []effective, wrong *command.UsageErrors) {
	if !c.shortLease {
		return
	}
	for i, e := range all {
		if e.name != "lease" {
			continue
		}
		if e.where != "default" && c.session.Lease != shortLease {
			wrong.Add("short-lease: means a lease of %v, but lease (%s) is %s", shortLease, e.where, e.text)
		}
		all[i].value = value{shortLease.String(), "short-lease"}
	}
	c.session.Lease = shortLease
}

// candidates returns the values given to a setting, the effective one last. The older variable
// is left out if the flag or the variable is set.
func candidates(s setting, file, vars, flags found) []value {
	values := []value{{s.value, "default"}}
	if v, ok := file[s.name]; ok {
		values = append(values, v)
	}
	variable, byVariable := vars[s.name]
	flag, byFlag := flags[s.name]
	if v, ok := vars[s.older]; ok && !byVariable && !byFlag {
		if s.adapt != nil {
			v.text = s.adapt(values[len(values)-1].text, v.text)
		}
		values = append(values, v)
	}
	if byVariable {
		values = append(values, variable)
	}
	if byFlag {
		values = append(values, flag)
	}
	return values
}

// ofKubernetes matches the variables that Kubernetes sets in every container for each service of
// the namespace. A service called hub must not prevent the hub from starting.
var ofKubernetes = regexp.MustCompile(`^HUB(_.*)?_(SERVICE_HOST|SERVICE_PORT(_.*)?|PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)=` +
	`|^HUB(_.*)?_PORT=(tcp|udp|sctp)://`)

// variables reads the settings in the environment, and reports unknown variables that begin with
// HUB_. An empty variable counts as unset, because container tools pass unset values that way.
func variables(environ []string, wrong *command.UsageErrors) found {
	names := map[string]string{}
	for _, s := range allSettings() {
		names[s.variable()] = s.name
		if s.older != "" {
			names[s.older] = s.older
		}
	}
	vars := found{}
	for _, entry := range environ {
		name, text, _ := strings.Cut(entry, "=")
		key, known := names[name]
		switch {
		case text == "" || name == command.TokenVariable || name == command.MCPTokenVariable:
		case known:
			vars[key] = value{text, "env " + name}
		case strings.HasPrefix(name, "HUB_") && !ofKubernetes.MatchString(entry):
			wrong.Add("env %s: no such setting", name)
		}
	}
	return vars
}

// printConfig writes the effective settings in the form of a settings file,
// with the source of each as a comment.
func printConfig(_ context.Context, p command.Call) error {
	var wrong command.UsageErrors
	flags, rest := parseFlags(p.Args, &wrong)
	wrong.Refuse(rest)
	_, all := load(flags, p.Environ, &wrong)
	if err := wrong.OrNil(); err != nil {
		return err
	}
	out := tabwriter.NewWriter(p.Stdout, 0, 0, 2, ' ', 0)
	for _, e := range all {
		text, err := yaml.Marshal(e.shown(e.text))
		if err != nil {
			return fmt.Errorf("print %s: %w", e.name, err)
		}
		line := e.name + ": " + strings.TrimSpace(string(text))
		if e.outside {
			line = "# " + line
		}
		fmt.Fprintf(out, "%s\t# %s\n", line, e.where)
	}
	return out.Flush()
}
