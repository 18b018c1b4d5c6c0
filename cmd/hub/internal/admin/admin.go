package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/everdesk/everdesk/audit"
	"github.com/everdesk/everdesk/cmd/hub/internal/command"
	"github.com/everdesk/everdesk/cmd/hub/internal/remote"
	"github.com/everdesk/everdesk/wire"
)

// Command returns `hub admin`, which inspects and controls the sessions of all hubs that share a
// store.
func Command() command.Command {
	return command.Command{
		Name: "admin", Args: "VERB [flags]", Help: "inspect and control the sessions of all hubs that share a store",
		Flags: `overview          all hubs, totals and alerts
			replicas          list the hubs
			sessions          list the sessions of all hubs, filtered and sorted by:
			--user NAME --status STATUS --owner REPLICA --text WORDS --stuck --questions
			--errors --no-tabs --quarantined --sort COLUMN --desc --limit N
			show SESSION      one session in detail
			tail SESSION      its log as it grows; --from POSITION --type T --agent A --monitor M
			interrupt SESSION stop its agents, or --agent A, or those of --monitor M
			cancel SESSION MESSAGE
			close-tab SESSION CONNECTION
			handover SESSION --to REPLICA
			reset SESSION     close its windows and delete its conversations; --yes without a terminal
			release SESSION   release it from quarantine
			delete SESSION    delete it with everything in it; --yes without a terminal
			drain REPLICA     make it hand over its sessions; --wait DURATION until it has
			undrain REPLICA   make it accept connections and sessions again
			audit             list admin actions; --who NAME --action A --target T --limit N
			audit verify      check that the audit log is complete and unchanged
			--reason TEXT     the reason, required for every change and recorded in the audit log
			--server URL      any hub of the same store, at its --admin-addr if it has one
			--token TOKEN     your token, also as HUB_TOKEN
			--json            the JSON answer of the hub; tail prints a line for each event`,
		Run: run,
	}
}

// verb is a subcommand of `hub admin`.
type verb struct {
	name string
	// args names its arguments; optional ones are in brackets.
	args string
	// flags are its flags besides --server, --token and --json; those with a = take a
	// value.
	flags string
	// acts marks an admin action, which takes a reason.
	acts bool
	run  func(*call, context.Context) error
}

// verbs lists the subcommands in the order of the help.
func verbs() []verb {
	return []verb{
		{name: "overview", run: (*call).overview},
		{name: "replicas", run: (*call).replicas},
		{
			name:  "sessions",
			flags: "user= status= owner= text= stuck questions errors no-tabs quarantined sort= desc limit=", run: (*call).sessions,
		},
		{name: "show", args: "SESSION", run: (*call).showSession},
		{name: "tail", args: "SESSION", flags: "type= agent= monitor= from=", run: (*call).tail},
		{name: "interrupt", args: "SESSION", flags: "agent= monitor=", acts: true, run: (*call).interrupt},
		{name: "cancel", args: "SESSION MESSAGE", acts: true, run: (*call).cancel},
		{name: "close-tab", args: "SESSION CONNECTION", acts: true, run: (*call).closeTab},
		{name: "handover", args: "SESSION", flags: "to=", acts: true, run: (*call).handOver},
		{name: "reset", args: "SESSION", flags: "yes", acts: true, run: (*call).reset},
		{name: "release", args: "SESSION", acts: true, run: (*call).release},
		{name: "delete", args: "SESSION", flags: "yes", acts: true, run: (*call).remove},
		{name: "drain", args: "REPLICA", flags: "wait=", acts: true, run: (*call).drain},
		{name: "undrain", args: "REPLICA", flags: "wait=", acts: true, run: (*call).undrain},
		{name: "audit", args: "[verify]", flags: "who= action= target= limit=", run: (*call).audit},
	}
}

// call holds the parsed arguments of `hub admin`.
type call struct {
	program command.Call
	hub     *remote.Hub
	flags   command.Flags
	args    []string
	json    bool
	// limit bounds the length of a list.
	limit  int
	reason string
}

// run executes a subcommand of `hub admin`.
func run(ctx context.Context, p command.Call) error {
	verbs := verbs()
	names := make([]string, len(verbs))
	for i, v := range verbs {
		names[i] = v.name
	}
	if len(p.Args) == 0 || strings.HasPrefix(p.Args[0], "-") {
		return command.UsageErrors{"hub admin: want one of " + strings.Join(names, ", ")}
	}
	i := slices.Index(names, p.Args[0])
	if i < 0 {
		return command.UsageErrors{fmt.Sprintf("hub admin: no verb %q; want one of %s", p.Args[0], strings.Join(names, ", "))}
	}
	p.Args = p.Args[1:]
	var wrong command.UsageErrors
	c := parse(verbs[i], p, &wrong)
	if err := wrong.OrNil(); err != nil {
		return err
	}
	return verbs[i].run(c, ctx)
}

func parse(v verb, p command.Call, wrong *command.UsageErrors) *call {
	known := map[string]command.Arity{"json": command.NoValue}
	if v.acts {
		known["reason"] = command.Value
	}
	for name := range strings.FieldsSeq(v.flags) {
		if name, ok := strings.CutSuffix(name, "="); ok {
			known[name] = command.Value
		} else {
			known[name] = command.NoValue
		}
	}
	hub, flags, rest := remote.ParseAdmin(p, known, wrong)
	c := &call{program: p, hub: hub, flags: flags, json: flags.Has("json"), reason: flags.Last("reason")}
	c.setArgs(v, rest, wrong)
	if v.acts && audit.CheckReason(c.reason) != nil {
		wrong.Add("hub admin %s: say why with --reason, in 1 to %d characters; it is kept with who did it", v.name, audit.MaxReason)
	}
	if text := flags.Last("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			wrong.Add("flag --limit: want a number from 1; got %q", text)
		}
		c.limit = n
	}
	if flags.Has("to") && wire.ReplicaID(flags.Last("to")).Validate() != nil || v.name == "handover" && !flags.Has("to") {
		wrong.Add("hub admin %s: say which replica is to have it with --to; hub replicas lists them", v.name)
	}
	if text := flags.Last("from"); text != "" {
		if _, err := wire.ParsePosition(text); err != nil {
			wrong.Add("flag --from: %v", err)
		}
	}
	return c
}

// setArgs assigns the arguments of a subcommand.
func (c *call) setArgs(v verb, rest []string, wrong *command.UsageErrors) {
	checks := map[string]func(string) error{
		"SESSION":    func(s string) error { return wire.SessionID(s).Validate() },
		"MESSAGE":    func(s string) error { return wire.MessageID(s).Validate() },
		"CONNECTION": func(s string) error { return wire.ConnectionID(s).Validate() },
		"REPLICA":    func(s string) error { return wire.ReplicaID(s).Validate() },
	}
	for name := range strings.FieldsSeq(v.args) {
		word, maybe := strings.CutPrefix(name, "[")
		word = strings.TrimSuffix(word, "]")
		switch {
		case len(rest) == 0 && maybe:
			return
		case len(rest) == 0:
			wrong.Add("hub admin %s: needs %s", v.name, v.args)
			return
		case checks[word] == nil && rest[0] != word:
			wrong.Add("unexpected argument %q", rest[0])
		case checks[word] != nil:
			if err := checks[word](rest[0]); err != nil {
				wrong.Add("%s %q: %v", strings.ToLower(word), rest[0], err)
			}
		}
		c.args, rest = append(c.args, rest[0]), rest[1:]
	}
	wrong.Refuse(rest)
}

// path returns a URL of the admin API.
func (c *call) path(parts ...string) *url.URL {
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	return c.hub.URL.JoinPath(append([]string{"api", "admin"}, parts...)...)
}

// session returns a URL of the admin API for the session of the call.
func (c *call) session(parts ...string) *url.URL {
	return c.path(append([]string{"sessions", c.args[0]}, parts...)...)
}

// fetch requests a document and decodes it into into or, with --json, prints it unchanged and
// returns shown = true.
func (c *call) fetch(ctx context.Context, what string, target *url.URL, into any) (shown bool, err error) {
	var raw json.RawMessage
	if err := c.hub.Ask(ctx, http.MethodGet, target, nil, &raw); err != nil {
		return false, fmt.Errorf("%s: %w", what, forAdmins(err))
	}
	if c.json {
		_, err := fmt.Fprintf(c.program.Stdout, "%s\n", raw)
		return true, err
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return false, fmt.Errorf("%s: that is no answer of a hub: %w", what, err)
	}
	return false, nil
}

// list requests a list page by page, up to c.limit items. field is the field of an answer that
// holds the items of a page; rest holds the other fields of the last answer.
func (c *call) list(ctx context.Context, what string, target *url.URL, query url.Values, field string) (all []json.RawMessage, rest map[string]json.RawMessage, err error) {
	const page = 100
	for after := ""; ; {
		query.Set("limit", strconv.Itoa(min(page, c.limit-len(all))))
		if after != "" {
			query.Set("after", after)
		}
		target.RawQuery = query.Encode()
		rest = nil
		if err := c.hub.Ask(ctx, http.MethodGet, target, nil, &rest); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", what, c.asUsageError(forAdmins(err)))
		}
		var items []json.RawMessage
		var next string
		if json.Unmarshal(rest[field], &items) != nil || rest["next"] != nil && json.Unmarshal(rest["next"], &next) != nil {
			return nil, nil, fmt.Errorf("%s: that is no answer of a hub", what)
		}
		delete(rest, field)
		all = append(all, items...)
		if next == "" || next == after || len(all) >= c.limit {
			return all[:min(len(all), c.limit)], rest, nil
		}
		after = next
	}
}

// asUsageError converts the error to a usage error if the hub refused the value of a flag of
// this call.
func (c *call) asUsageError(err error) error {
	if no, ok := errors.AsType[*remote.RefusedError](err); ok && no.Status == http.StatusBadRequest && c.flags.Has(no.Field) {
		return command.UsageErrors{fmt.Sprintf("flag --%s: %s Got %q", no.Field, no.Detail, c.flags.Last(no.Field))}
	}
	return err
}

// printList prints a list as JSON, with the other fields of the answer.
func (c *call) printList(field string, all []json.RawMessage, rest map[string]json.RawMessage) error {
	if all == nil {
		all = []json.RawMessage{}
	}
	items, err := json.Marshal(all)
	if err != nil {
		return err
	}
	if rest == nil {
		rest = map[string]json.RawMessage{}
	}
	rest[field] = items
	return json.NewEncoder(c.program.Stdout).Encode(rest)
}
