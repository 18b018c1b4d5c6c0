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

func (d *jsonUI) attached(c *client.Client) {
	d.client = c
	d.typing = &console{
		client: c, only: d.a.monitors, monitor: d.a.monitor(), hash: d.printHash,
		note: func(_ tint, format string, args ...any) { fmt.Fprintf(d.stderr, "hub: "+format+"\n", args...) },
	}
}

func (d *jsonUI) event(e client.Event) {
	// One write per line keeps lines intact when two programs share an output.
	_, _ = d.out.Write(append(slices.Clip(e.Raw), '\n'))
	if e.At.IsZero() {
		return
	}
	d.events++
	if d.a.hashStep > 0 && d.events%d.a.hashStep == 0 {
		d.printHash()
	}
}

func (d *jsonUI) link(l client.Link) {
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
	d.print(line)
}

func (d *jsonUI) print(line any) {
	text, err := json.Marshal(line)
	if err != nil {
		return // strings and numbers always encode
	}
	_, _ = d.out.Write(append(text, '\n'))
}

func (d *jsonUI) printHash() {
	hash, at := d.client.Hash()
	d.print(struct {
		Type      string        `json:"type"`
		Hash      string        `json:"hash"`
		MessageID wire.Position `json:"message_id"`
	}{"state", hash, at})
}

// line sends a JSON object unchanged, and executes other lines as typed input.
func (d *jsonUI) line(ctx context.Context, text string) error {
	if !strings.HasPrefix(strings.TrimSpace(text), "{") {
		return d.typing.do(ctx, text)
	}
	p, err := d.client.Forward(ctx, []byte(text))
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil: // for example a message with the same id is unanswered
		fmt.Fprintf(d.stderr, "hub: %v\n", err)
	default:
		d.typing.await(ctx, p)
	}
	return nil
}

func (d *jsonUI) end() {
	d.typing.wg.Wait()
	select {
	case <-d.client.Ready():
	default:
		return // the hub never sent a state
	}
	if d.a.hash {
		d.printHash()
	}
	hash, at := d.client.Hash()
	fmt.Fprintf(d.stderr, "hub: left at %s, state %s\n", at, hash)
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
