package attach

import (
	"context"

	"github.com/everdesk/everdesk/client"
)

// terminalUI displays a session on a terminal and executes typed input.
type terminalUI struct {
	a      *attachment
	view   *view
	client *client.Client
	events int // number of log events
	typing *console
}

func newTerminalUI(a *attachment, v *view) *terminalUI { return &terminalUI{a: a, view: v} }

func (d *terminalUI) attached(c *client.Client) {
	d.client = c
	d.typing = &console{client: c, only: d.a.monitors, monitor: d.a.monitor(), note: d.view.note, hash: d.printState}
}

func (d *terminalUI) link(l client.Link) { d.view.link(l) }

func (d *terminalUI) event(e client.Event) {
	d.view.event(e)
	if !e.At.IsZero() {
		d.events++
		if d.a.hashStep > 0 && d.events%d.a.hashStep == 0 {
			d.printState()
		}
	}
}

func (d *terminalUI) line(ctx context.Context, text string) error { return d.typing.do(ctx, text) }

func (d *terminalUI) end() {
	d.typing.wg.Wait()
	if d.a.hash {
		d.printState()
	}
}

func (d *terminalUI) printState() {
	hash, at := d.client.Hash()
	d.view.note(tintDim, "state %s at %s", hash, at)
}
