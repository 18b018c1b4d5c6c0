package main

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

// lineDesk shows a session to a program, as JSON lines.
type lineDesk struct {
	a      *attachment
	client *client.Client
	out    io.Writer
	stderr io.Writer
	events int // durable ones
	typing *console
}

func newLineDesk(a *attachment, out, stderr io.Writer) *lineDesk {
	return &lineDesk{a: a, out: &lockedWriter{w: out}, stderr: &lockedWriter{w: stderr}}
}

func (d *lineDesk) attached(c *client.Client) {
	d.client = c
	d.typing = &console{
		client: c, only: d.a.monitors, monitor: d.a.monitor(), hash: d.printHash,
		note: func(_ tint, format string, args ...any) { fmt.Fprintf(d.stderr, "hub: "+format+"\n", args...) },
	}
}

func (d *lineDesk) event(e client.Event) {
	// One write per line, so that lines stay whole when two programs share
	// a terminal.
	_, _ = d.out.Write(append(slices.Clip(e.Raw), '\n'))
	if e.At.IsZero() {
		return
	}
	d.events++
	if d.a.hashStep > 0 && d.events%d.a.hashStep == 0 {
		d.printHash()
	}
}

func (d *lineDesk) link(l client.Link) {
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

func (d *lineDesk) print(line any) {
	text, err := json.Marshal(line)
	if err != nil {
		return // strings and numbers always encode
	}
	_, _ = d.out.Write(append(text, '\n'))
}

func (d *lineDesk) printHash() {
	hash, at := d.client.Hash()
	d.print(struct {
		Type      string        `json:"type"`
		Hash      string        `json:"hash"`
		MessageID wire.Position `json:"message_id"`
	}{"state", hash, at})
}

// line sends an object as it is, and anything else as on a terminal.
func (d *lineDesk) line(ctx context.Context, text string) error {
	if !strings.HasPrefix(strings.TrimSpace(text), "{") {
		return d.typing.do(ctx, text)
	}
	p, err := d.client.Forward(ctx, []byte(text))
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil: // the same message is on its way
		fmt.Fprintf(d.stderr, "hub: %v\n", err)
	default:
		d.typing.await(ctx, p)
	}
	return nil
}

func (d *lineDesk) end() {
	d.typing.wg.Wait()
	select {
	case <-d.client.Ready():
	default:
		return // it never was there
	}
	if d.a.hash {
		d.printHash()
	}
	hash, at := d.client.Hash()
	fmt.Fprintf(d.stderr, "hub: left at %s, state %s\n", at, hash)
}

// monitor is the one that messages are for.
func (a *attachment) monitor() wire.MonitorID {
	if len(a.monitors) == 0 {
		return ""
	}
	return a.monitors[0]
}

// lockedWriter lets several goroutines write whole lines.
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
