package attach

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/everdesk/everdesk/client"
	"github.com/everdesk/everdesk/cmd/hub/internal/command"
	"github.com/everdesk/everdesk/cmd/hub/internal/remote"
	"github.com/everdesk/everdesk/cmd/hub/internal/terminal"
	"github.com/everdesk/everdesk/wire"
)

// attachment holds the parsed arguments of `hub attach`.
type attachment struct {
	hub      *remote.Hub
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

// Command returns `hub attach`.
func Command() command.Command {
	return command.Command{
		Name: "attach", Args: "[flags] [SESSION]",
		Help: "follow a session in the terminal and send messages; without SESSION, list sessions",
		Flags: `--server URL      the hub, also as the URL that it prints; the local one by default
			--token TOKEN     your token, also as HUB_TOKEN
			--new [TITLE]     create a session first
			--json            JSON lines even on a terminal
			--plain           text without colours, also into a pipe, which gets JSON otherwise
			--monitor M       only this monitor; may be repeated
			--state-hash[=N]  print the hash of the state at the end, and after every N events
			--until POSITION  exit after this event
			--for DURATION    exit after that time`,
		Run: run,
	}
}

func run(ctx context.Context, p command.Call) error {
	var wrong command.UsageErrors
	a := parse(p, &wrong)
	if err := wrong.OrNil(); err != nil {
		return err
	}
	if a.fresh {
		id, err := a.create(ctx)
		if err != nil {
			return err
		}
		fmt.Fprintf(p.Stderr, "hub: session %s\n", id)
		a.session = id
	}
	if a.session == "" {
		return a.list(ctx, p.Stdout)
	}
	if err := a.checkAccess(ctx); err != nil {
		return err
	}
	stdin := p.Input()
	if a.json || !a.plain && !terminal.IsTerminal(p.Stdout) {
		return a.runUI(ctx, newJSONUI(&a, p.Stdout, p.Stderr), stdin, false)
	}
	v := newView(p.Stdout, !a.plain && p.Env("NO_COLOR") == "", time.Local)
	return a.runUI(ctx, newTerminalUI(&a, v), stdin, terminal.IsTerminal(stdin))
}

// ui displays an attached session and executes its input.
type ui interface {
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

// runUI displays the session until ctx ends, the user leaves, --for or --until is reached, or
// the client fails. The end of the input ends it if endWithInput is set.
//
// Ownership: it returns after the client has ended. The goroutine that reads input may
// outlive it, because a read from a terminal cannot be interrupted; it ends with the next
// line or the program.
func (a *attachment) runUI(ctx context.Context, d ui, stdin io.Reader, endWithInput bool) error {
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if a.span > 0 {
		timer := time.AfterFunc(a.span, func() { stop(errOver) })
		defer timer.Stop()
	}
	var c *client.Client
	c, err := client.New(client.Config{
		URL: a.hub.URL.String(), Session: a.session, Token: a.hub.Token, Monitors: a.monitors,
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
func (a *attachment) readInput(ctx context.Context, d ui, lines <-chan string, endWithInput bool) error {
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

// parse parses the arguments. Flags it does not know are settings of the hub, which
// say where the local hub is.
func parse(p command.Call, wrong *command.UsageErrors) attachment {
	hub, flags, rest := remote.Parse(p, map[string]command.Arity{
		"monitor": command.Value, "for": command.Value, "until": command.Value,
		"json": command.NoValue, "plain": command.NoValue, "new": command.NoValue, "state-hash": command.OptionalValue,
	}, wrong)
	a := attachment{hub: hub}
	a.json, a.plain, a.fresh = flags.Has("json"), flags.Has("plain"), flags.Has("new")
	if a.json && a.plain {
		wrong.Add("flags --json and --plain: want one of them")
	}
	switch {
	case len(rest) > 0 && a.fresh:
		a.title = rest[0]
	case len(rest) > 0:
		a.session = wire.SessionID(rest[0])
		if err := a.session.Validate(); err != nil {
			wrong.Add("session %q: %v", rest[0], err)
		}
	}
	if len(rest) > 1 {
		wrong.Refuse(rest[1:])
	}
	for _, text := range flags["monitor"] {
		a.monitors = append(a.monitors, wire.MonitorID(text))
		if err := wire.MonitorID(text).Validate(); err != nil {
			wrong.Add("flag --monitor: %v", err)
		}
	}
	a.setEnd(flags, wrong)
	return a
}

// setEnd parses the flags for when to exit and what to print then.
func (a *attachment) setEnd(flags command.Flags, wrong *command.UsageErrors) {
	var err error
	if text := flags.Last("for"); text != "" {
		if a.span, err = command.ParseDuration(text); err != nil {
			wrong.Add("flag --for: %v; got %q", err, text)
		}
	}
	if text := flags.Last("until"); text != "" {
		if a.until, err = wire.ParsePosition(text); err != nil {
			wrong.Add("flag --until: want a message_id, as in 4-127; got %q", text)
		}
	}
	a.hash = flags.Has("state-hash")
	if text := flags.Last("state-hash"); text != "" {
		if a.hashStep, err = strconv.Atoi(text); err != nil || a.hashStep < 1 {
			wrong.Add("flag --state-hash: want a number of events, as in --state-hash=100; got %q", text)
		}
	}
}
