package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/everdesk/everdesk/client"
	"github.com/everdesk/everdesk/wire"
)

// attachment holds the parsed arguments of `hub attach`.
type attachment struct {
	server   *url.URL
	token    string
	session  wire.SessionID // empty: list sessions
	fresh    bool           // create a session first; title is its title
	title    string
	monitors []wire.MonitorID
	json     bool          // JSON lines, also on a terminal
	plain    bool          // readable lines, also into a pipe
	span     time.Duration // exit after this time; 0 means never
	until    wire.Position // exit at that position; zero means never
	hash     bool          // print the state's hash at the end
	hashStep int           // also print it after every hashStep log events, unless 0
}

// attach follows a session: on a terminal in readable form, else as JSON lines.
//
// attach without a session lists the sessions.
//
// JSON lines: on stdout every event is one line with the unchanged native envelope. Other lines are
// {"type":"link","state":…,"resumed":…,"error":…,"retry_ms":…} when the connection changes
// and, with --state-hash, {"type":"state","hash":…,"message_id":…}. On stdin a line that is
// a JSON object is sent unchanged, and kept until it is answered if it has an id and the
// hub answers such messages; other lines are as on a terminal, where one that begins with a
// colon is a command and any other one is sent as USER_MESSAGE.
func attach(ctx context.Context, p program) error {
	var wrong complaints
	a := parseAttach(p, &wrong)
	if err := wrong.orNil(); err != nil {
		return err
	}
	if a.fresh {
		id, err := a.create(ctx)
		if err != nil {
			return err
		}
		fmt.Fprintf(p.stderr, "hub: session %s\n", id)
		a.session = id
	}
	if a.session == "" {
		return a.list(ctx, p.stdout)
	}
	if err := a.checkAccess(ctx); err != nil {
		return err
	}
	stdin := p.stdin
	if stdin == nil {
		stdin = os.Stdin
	}
	if a.json || !a.plain && !isTerminal(p.stdout) {
		return a.follow(ctx, newLineDesk(&a, p.stdout, p.stderr), stdin, false)
	}
	v := &view{out: p.stdout, colour: !a.plain && lookup(p.environ, "NO_COLOR") == "", zone: time.Local}
	return a.follow(ctx, newTerminalDesk(&a, v), stdin, isTerminal(stdin))
}

// attachUI displays an attached session and executes its input.
type attachUI interface {
	// attached is called once, before all other methods.
	attached(c *client.Client)
	// event and link are called in order, by one goroutine.
	event(e client.Event)
	link(l client.Link)
	// line executes a line of input. An error ends the program; errLeave does so without a
	// message.
	line(ctx context.Context, text string) error
	// end is called last.
	end()
}

// Causes of a successful end: the user left, or --for or --until is reached.
var (
	errLeave = errors.New("left")
	errOver  = errors.New("done")
)

// follow displays the session until ctx ends, the user leaves, --for or --until is reached, or
// the client fails. The end of the input ends it if endWithInput is set.
//
// Ownership: it returns after the client has ended. The goroutine that reads input may
// outlive it, because a read from a terminal cannot be interrupted; it ends with the next
// line or the program.
func (a *attachment) follow(ctx context.Context, d attachUI, stdin io.Reader, endWithInput bool) error {
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if a.span > 0 {
		timer := time.AfterFunc(a.span, func() { stop(errOver) })
		defer timer.Stop()
	}
	var c *client.Client
	c, err := client.New(client.Config{
		URL: a.server.String(), Session: a.session, Token: a.token, Monitors: a.monitors,
		OnEvent: func(_ context.Context, e client.Event) {
			d.event(e)
			if !a.until.IsZero() && c.Position().Compare(a.until) >= 0 {
				stop(errOver)
			}
		},
		OnLink: func(_ context.Context, l client.Link) { d.link(l) },
	})
	if err != nil {
		return err
	}
	d.attached(c)
	var wg sync.WaitGroup
	wg.Go(func() { stop(c.Run(running)) })
	err = a.readInput(running, d, readLines(running, stdin), endWithInput)
	stop(err)
	wg.Wait()
	d.end()
	err = context.Cause(running)
	if ctx.Err() != nil || errors.Is(err, errLeave) || errors.Is(err, errOver) {
		return nil // as requested
	}
	return err
}

// readInput executes lines until ctx ends or a line fails; errLeave means that the user leaves.
func (a *attachment) readInput(ctx context.Context, d attachUI, lines <-chan string, endWithInput bool) error {
	for {
		select {
		case text, ok := <-lines:
			switch {
			case !ok && endWithInput:
				return errLeave
			case !ok:
				lines = nil // no more input; events are still displayed
				continue
			}
			if err := d.line(ctx, text); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// parseAttach parses the arguments. Flags it does not know are settings of the hub, which
// say where the local hub is.
func parseAttach(p program, wrong *complaints) attachment {
	own, rest := ownFlags(p.args, map[string]bool{
		"server": true, "token": true, "monitor": true, "for": true, "until": true,
		"json": false, "plain": false, "new": false, "state-hash": false,
	}, wrong)
	flags, rest := parseFlags(rest, wrong)
	cfg, _ := load(flags, p.environ, wrong)
	a := attachment{token: cmp.Or(own.last("token"), lookup(p.environ, tokenVariable))}
	a.json, a.plain, a.fresh = own.has("json"), own.has("plain"), own.has("new")
	if a.json && a.plain {
		wrong.add("flags --json and --plain: want one of them")
	}
	switch {
	case len(rest) > 0 && a.fresh:
		a.title = rest[0]
	case len(rest) > 0:
		a.session = wire.SessionID(rest[0])
		if err := a.session.Validate(); err != nil {
			wrong.add("session %q: %v", rest[0], err)
		}
	}
	if len(rest) > 1 {
		refuse(rest[1:], wrong)
	}
	a.find(own, cfg, wrong)
	for _, text := range own["monitor"] {
		a.monitors = append(a.monitors, wire.MonitorID(text))
		if err := wire.MonitorID(text).Validate(); err != nil {
			wrong.add("flag --monitor: %v", err)
		}
	}
	a.setEnd(own, wrong)
	return a
}

// find sets the URL and the token of the hub: that of --server, or the local one.
func (a *attachment) find(own ownArgs, cfg config, wrong *complaints) {
	if text := own.last("server"); text != "" {
		a.setServer(text, wrong)
		return
	}
	a.setServer(localURL(cfg.addr), wrong)
	// The local hub's token must not be sent to other hubs.
	if a.token == "" && cfg.store.kind == fileStore {
		a.token = localToken(cfg.store.folder)
	}
}

// setServer parses the URL of a hub, including the entry URL with a token that the hub
// prints.
func (a *attachment) setServer(text string, wrong *complaints) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || !slices.Contains([]string{"http", "https"}, u.Scheme) {
		wrong.add("flag --server: want a URL, as in http://127.0.0.1:8080; got %q", text)
		a.server = &url.URL{}
		return
	}
	a.token = cmp.Or(a.token, u.Query().Get("token"))
	u.RawQuery, u.Fragment, u.User = "", "", nil
	a.server = u
}

// setEnd parses the flags for when to exit and what to print then.
func (a *attachment) setEnd(own ownArgs, wrong *complaints) {
	var err error
	if text := own.last("for"); text != "" {
		if a.span, err = parseDuration(text); err != nil {
			wrong.add("flag --for: %v; got %q", err, text)
		}
	}
	if text := own.last("until"); text != "" {
		if a.until, err = wire.ParsePosition(text); err != nil {
			wrong.add("flag --until: want a message_id, as in 4-127; got %q", text)
		}
	}
	a.hash = own.has("state-hash")
	if text := own.last("state-hash"); text != "" {
		if a.hashStep, err = strconv.Atoi(text); err != nil || a.hashStep < 1 {
			wrong.add("flag --state-hash: want a number of events, as in --state-hash=100; got %q", text)
		}
	}
}

// ownArgs holds the flags of a command, without the settings, and their values.
type ownArgs map[string][]string

func (f ownArgs) has(name string) bool { _, ok := f[name]; return ok }

// last returns the value given last, or "".
func (f ownArgs) last(name string) string {
	if values := f[name]; len(values) > 0 {
		return values[len(values)-1]
	}
	return ""
}

// ownFlags extracts the flags in needsValue from the arguments; those that map to true need a
// value. rest holds all other arguments, in order.
func ownFlags(args []string, needsValue map[string]bool, wrong *complaints) (own ownArgs, rest []string) {
	own = ownArgs{}
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		name, text, given := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		needs, known := needsValue[name]
		switch {
		case arg == "--":
			return own, append(append(rest, arg), args...)
		case !strings.HasPrefix(arg, "-") || !known:
			rest = append(rest, arg)
			continue
		case needs && !given && len(args) == 0:
			wrong.add("flag --%s: needs a value", name)
			continue
		case needs && !given:
			text, args = args[0], args[1:]
		case given && !needs && name != "state-hash":
			wrong.add("flag --%s: takes no value", name)
		}
		own[name] = append(own[name], text)
	}
	return own, rest
}

// localToken reads the token that a hub stores beside its data for programs of the same
// user, or returns "". The token is sent to the process that listens on the hub's address: on a
// shared machine that could be another user's while the hub is down.
func localToken(folder string) string {
	text, err := os.ReadFile(filepath.Join(folder, tokenFile)) //nolint:gosec // the operator's own folder
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// lookup returns the value of an environment variable.
func lookup(environ []string, name string) string {
	for _, entry := range environ {
		if text, ok := strings.CutPrefix(entry, name+"="); ok {
			return text
		}
	}
	return ""
}

// isTerminal reports whether a file is a terminal. The null device is also a character
// device, but not a terminal.
func isTerminal(end any) bool {
	f, ok := end.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}
