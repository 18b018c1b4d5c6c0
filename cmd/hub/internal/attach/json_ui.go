package attach

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/everdesk/everdesk/client"
	"github.com/everdesk/everdesk/wire"
)

// jsonUI prints a session as JSON lines.
type jsonUI struct {
	a      *attachment
	client *client.Client
	out    io.Writer
	stderr io.Writer
	events int // number of log events
	typing *console
}

func newJSONUI(a *attachment, out, stderr io.Writer) *jsonUI {
	return &jsonUI{a: a, out: &lockedWriter{w: out}, stderr: &lockedWriter{w: stderr}}
}

func (u *jsonUI) attached(c *client.Client) {
	u.client = c
	u.typing = &console{
		client: c, only: u.a.monitors, monitor: u.a.monitor(), hash: u.printHash,
		note: func(_ tint, format string, args ...any) { fmt.Fprintf(u.stderr, "hub: "+format+"\n", args...) },
	}
}

func (u *jsonUI) event(e client.Event) {
	// One write per line keeps lines intact when two programs share an output.
	_, _ = u.out.Write(append(slices.Clip(e.Raw), '\n'))
	if e.At.IsZero() {
		return
	}
	u.events++
	if u.a.hashStep > 0 && u.events%u.a.hashStep == 0 {
		u.printHash()
	}
}

func (u *jsonUI) link(l client.Link) {
	line := struct {
		Type    string           `json:"type"`
		State   client.LinkState `json:"state"`
		Resumed bool             `json:"resumed,omitempty"`
		Error   string           `json:"error,omitempty"`
		RetryMS int64            `json:"retry_ms,omitempty"`
	}{Type: "link", State: l.State, Resumed: l.Resumed, RetryMS: l.Retry.Milliseconds()}
	if l.Err != nil {
		line.Error = l.Err.Error()
	}
	u.print(line)
}

func (u *jsonUI) print(line any) {
	text, err := json.Marshal(line)
	if err != nil {
		return // strings and numbers always encode
	}
	_, _ = u.out.Write(append(text, '\n'))
}

func (u *jsonUI) printHash() {
	hash, at := u.client.Hash()
	u.print(struct {
		Type      string        `json:"type"`
		Hash      string        `json:"hash"`
		MessageID wire.Position `json:"message_id"`
	}{"state", hash, at})
}

// line sends a JSON object unchanged, and executes other lines as typed input.
func (u *jsonUI) line(ctx context.Context, text string) error {
	if !strings.HasPrefix(strings.TrimSpace(text), "{") {
		return u.typing.executeInput(ctx, text)
	}
	p, err := u.client.Forward(ctx, []byte(text))
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil: // for example a message with the same id is unanswered
		fmt.Fprintf(u.stderr, "hub: %v\n", err)
	default:
		u.typing.await(ctx, p)
	}
	return nil
}

func (u *jsonUI) end() {
	u.typing.wg.Wait()
	select {
	case <-u.client.Ready():
	default:
		return // the hub never sent a state
	}
	if u.a.hash {
		u.printHash()
	}
	hash, at := u.client.Hash()
	fmt.Fprintf(u.stderr, "hub: left at %s, state %s\n", at, hash)
}

// monitor returns the monitor that messages go to: the first of --monitor, or "".
func (a *attachment) monitor() wire.MonitorID {
	if len(a.monitors) == 0 {
		return ""
	}
	return a.monitors[0]
}

// lockedWriter serialises the writes of several goroutines.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

// Write implements [io.Writer].
func (l *lockedWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}
