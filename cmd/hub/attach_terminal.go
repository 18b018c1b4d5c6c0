package main

import (
	"context"

	"github.com/everdesk/everdesk/client"
)

// terminalDesk shows a session to a person and takes what they type.
type terminalDesk struct {
	a      *attachment
	view   *view
	client *client.Client
	events int
	typing *console
}

func newTerminalDesk(a *attachment, v *view) *terminalDesk { return &terminalDesk{a: a, view: v} }

func (d *terminalDesk) attached(c *client.Client) {
	d.client = c
	d.typing = &console{client: c, only: d.a.monitors, monitor: d.a.monitor(), note: d.view.note, hash: d.printState}
}

func (d *terminalDesk) link(l client.Link) { d.view.link(l) }

func (d *terminalDesk) event(e client.Event) {
	d.view.event(e)
	if !e.At.IsZero() {
		d.events++
		if d.a.hashStep > 0 && d.events%d.a.hashStep == 0 {
			d.printState()
		}
	}
}

func (d *terminalDesk) line(ctx context.Context, text string) error { return d.typing.do(ctx, text) }

func (d *terminalDesk) end() {
	d.typing.wg.Wait()
	if d.a.hash {
		d.printState()
	}
}

func (d *terminalDesk) printState() {
	hash, at := d.client.Hash()
	d.view.note(tintDim, "state %s at %s", hash, at)
}
