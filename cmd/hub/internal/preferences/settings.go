package preferences

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/everdesk/everdesk/cmd/hub/internal/command"
	"github.com/everdesk/everdesk/cmd/hub/internal/remote"
	"github.com/everdesk/everdesk/cmd/hub/internal/terminal"
	"github.com/everdesk/everdesk/settingsfile"
)

// Command returns `hub settings`. read reads the settings of a user for `hub settings export --secrets`.
func Command(read ReadStore) command.Command {
	return command.Command{
		Name: "settings", Args: "[list|get NAME|set NAME VALUE|unset NAME|export|import FILE] [flags]",
		Help: "list and change your settings, or those of all users; export and import yours",
		Flags: `--scope SCOPE     user for yourself, the default, or hub for all users
			--json            the JSON answer of the hub; of import the report as JSON
			--server URL      the hub; the local one by default
			--token TOKEN     your token, also as HUB_TOKEN
			--out FILE        of export: the file; standard output by default
			--force           of export: replace an existing file
			--secrets         of export: with secrets, encrypted; reads the store itself, with the key of the hub
			--user NAME       of export --secrets: whose settings; local in a hub without accounts
			--passphrase-file FILE  the passphrase of the secrets, - for standard input; asked on a terminal by default
			--dry-run         of import: report only, write nothing
			--session ID      of import: the session that gets auto-approval rules of Roo-Code`,
		Run: func(ctx context.Context, p command.Call) error { return runSettings(ctx, p, read) },
	}
}

// state is a setting in the hub's answer.
type state struct {
	Name    string          `json:"name"`
	Value   json.RawMessage `json:"value"`
	Source  string          `json:"source"`
	Pinned  string          `json:"pinned"`
	Invalid *refusal        `json:"invalid"`
}

type refusal struct {
	Name   string `json:"name"`
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

type values struct {
	Settings []state   `json:"settings"`
	Refused  []refusal `json:"refused"`
}

// call is one invocation of a command.
type call struct {
	command.Call
	hub    *remote.Hub
	flags  command.Flags
	scope  string
	asJSON bool
	// readStore reads the settings of a user from the store.
	readStore func(ctx context.Context, user string) (settingsfile.Content, error)
}

// verbs holds the number of arguments of each verb.
func verbs() map[string]int {
	return map[string]int{"list": 0, "get": 1, "set": 2, "unset": 1, "export": 0, "import": 1}
}

// fileFlags are the flags of export and import.
func fileFlags() map[string]command.Arity {
	return map[string]command.Arity{
		"out": command.Value, "force": command.NoValue, "secrets": command.NoValue, "user": command.Value, "passphrase-file": command.Value,
		"dry-run": command.NoValue, "session": command.Value,
	}
}

func runSettings(ctx context.Context, p command.Call, read ReadStore) error {
	var wrong command.UsageErrors
	c, args := parse(p, fileFlags(), &wrong)
	verb := "list"
	if len(args) > 0 {
		verb, args = args[0], args[1:]
	}
	if n, ok := verbs()[verb]; !ok {
		wrong.Add("unknown verb %q; want list, get, set, unset, export or import", verb)
	} else if len(args) != n {
		wrong.Add("%s: want %d arguments, got %d", verb, n, len(args))
	} else if c.checkFileFlags(verb, &wrong); c.flags.Has("secrets") && len(wrong) == 0 {
		_, rest := command.ParseFlags(p.Args, ownFlags(fileFlags()), &wrong)
		c.readStore, _ = read(p, rest, &wrong)
	}
	if err := wrong.OrNil(); err != nil {
		return err
	}
	switch verb {
	case "get":
		return c.get(ctx, args[0])
	case "set":
		return c.set(ctx, args[0], args[1])
	case "unset":
		return c.change(ctx, args[0], json.RawMessage("null"))
	case "export":
		return c.exportSettings(ctx)
	case "import":
		return c.importSettings(ctx, args[0])
	}
	return c.list(ctx)
}

// ownFlags returns flags that are no settings of the hub: those that the commands of this package share, and more.
func ownFlags(more map[string]command.Arity) map[string]command.Arity {
	all := map[string]command.Arity{"scope": command.Value, "json": command.NoValue, "server": command.Value, "token": command.Value}
	maps.Copy(all, more)
	return all
}

// parse parses the flags that the commands of this package share, and more, and returns the other arguments.
func parse(p command.Call, more map[string]command.Arity, wrong *command.UsageErrors) (*call, []string) {
	hub, flags, args := remote.Parse(p, ownFlags(more), wrong)
	c := &call{Call: p, hub: hub, flags: flags, scope: flags.Last("scope"), asJSON: flags.Has("json")}
	if c.scope != "" && c.scope != "user" && c.scope != "hub" {
		wrong.Add("flag --scope: want user or hub; got %q", c.scope)
	}
	return c, args
}

// target returns the URL of an endpoint with the scope.
func (c *call) target(path ...string) *url.URL {
	u := c.hub.URL.JoinPath(append([]string{"api"}, path...)...)
	if c.scope != "" {
		u.RawQuery = url.Values{"scope": {c.scope}}.Encode()
	}
	return u
}

func (c *call) read(ctx context.Context) (v values, raw json.RawMessage, err error) {
	if err := c.hub.Ask(ctx, http.MethodGet, c.target("settings", "values"), nil, &raw); err != nil {
		return v, nil, fmt.Errorf("read settings: %w", err)
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return v, nil, fmt.Errorf("%s did not answer like a hub", c.hub.URL.Host)
	}
	return v, raw, nil
}

func (c *call) list(ctx context.Context) error {
	v, raw, err := c.read(ctx)
	if err != nil {
		return err
	}
	if c.asJSON {
		_, err := fmt.Fprintf(c.Stdout, "%s\n", raw)
		return err
	}
	out := tabwriter.NewWriter(c.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "NAME\tVALUE\tFROM")
	for _, s := range v.Settings {
		from := s.Source
		if s.Pinned != "" {
			from += ": " + s.Pinned
		}
		if s.Invalid != nil {
			from += "; a stored value is not valid: " + s.Invalid.Detail
		}
		fmt.Fprintf(out, "%s\t%s\t%s\n", terminal.OneLine(s.Name), terminal.OneLine(string(s.Value)), terminal.OneLine(from))
	}
	return out.Flush()
}

// get prints the value of a setting: a text as it is, other values as JSON.
func (c *call) get(ctx context.Context, name string) error {
	v, _, err := c.read(ctx)
	if err != nil {
		return err
	}
	s, err := find(v, name)
	if err != nil {
		return err
	}
	text := string(s.Value)
	if !c.asJSON {
		_ = json.Unmarshal(s.Value, &text) // other values than texts stay JSON
	}
	_, err = fmt.Fprintln(c.Stdout, terminal.Plain(text))
	return err
}

// set changes a setting. The value is a text if the setting has texts, and JSON otherwise.
func (c *call) set(ctx context.Context, name, text string) error {
	v, _, err := c.read(ctx)
	if err != nil {
		return err
	}
	s, err := find(v, name)
	if err != nil {
		return err
	}
	value := json.RawMessage(text)
	if strings.HasPrefix(string(s.Value), `"`) {
		if value, err = json.Marshal(text); err != nil {
			return err
		}
	}
	if !json.Valid(value) {
		return fmt.Errorf("%s: want JSON, as in %s; got %q", name, s.Value, text)
	}
	return c.change(ctx, name, value)
}

func (c *call) change(ctx context.Context, name string, value json.RawMessage) error {
	in := map[string]any{"values": map[string]json.RawMessage{name: value}}
	var out values
	if err := c.hub.Ask(ctx, http.MethodPatch, c.target("settings", "values"), in, &out); err != nil {
		return fmt.Errorf("change %s: %w", name, err)
	}
	for _, r := range out.Refused {
		return errors.New(terminal.OneLine(fmt.Sprintf("change %s: %s (%s)", r.Name, r.Detail, r.Code)))
	}
	return nil
}

func find(v values, name string) (state, error) {
	i := slices.IndexFunc(v.Settings, func(s state) bool { return s.Name == name })
	if i < 0 {
		return state{}, fmt.Errorf("there is no setting %q; hub settings list prints all", name)
	}
	return v.Settings[i], nil
}
