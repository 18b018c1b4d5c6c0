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

func (u *terminalUI) attached(c *client.Client) {
	u.client = c
	u.typing = &console{client: c, only: u.a.monitors, monitor: u.a.monitor(), note: u.view.printNote, hash: u.printState}
}

func (u *terminalUI) link(l client.Link) { u.view.link(l) }

func (u *terminalUI) event(e client.Event) {
	u.view.event(e)
	if !e.At.IsZero() {
		u.events++
		if u.a.hashStep > 0 && u.events%u.a.hashStep == 0 {
			u.printState()
		}
	}
}

func (u *terminalUI) line(ctx context.Context, text string) error {
	return u.typing.executeInput(ctx, text)
}

func (u *terminalUI) end() {
	u.typing.wg.Wait()
	if u.a.hash {
		u.printState()
	}
}

func (u *terminalUI) printState() {
	hash, at := u.client.Hash()
	u.view.printNote(tintDim, "state %s at %s", hash, at)
}
