package attach

import (
	"cmp"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/everdesk/everdesk/client"
	"github.com/everdesk/everdesk/cmd/hub/internal/command"
	"github.com/everdesk/everdesk/cmd/hub/internal/terminal"
	"github.com/everdesk/everdesk/wire"
)

// view prints the events of a session as text. Its methods event, link and note are safe for
// concurrent use; all others need mu.
type view struct {
	mu       sync.Mutex
	out      *output
	titles   map[windowRef]string // of open windows
	monitors map[wire.MonitorID]wire.MonitorStatus
}

func newView(w io.Writer, colour bool, zone *time.Location) *view {
	return &view{out: &output{w: w, colour: colour, zone: zone}}
}

// windowRef identifies a window.
type windowRef struct {
	monitor wire.MonitorID
	window  wire.WindowID
}

// printNote prints a line that is not about an event.
func (v *view) printNote(t tint, format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.out.now = time.Time{}
	v.out.line(t, format, args...)
}

// link prints the state of the connection.
func (v *view) link(l client.Link) {
	switch l.State {
	case client.LinkConnecting:
		v.printNote(tintDim, "── connecting")
	case client.LinkConnected:
		if l.Resumed {
			v.printNote(tintDim, "── connected again")
		} else {
			v.printNote(tintDim, "── connected")
		}
	case client.LinkReconnecting:
		v.printNote(tintYellow, "── reconnecting in %v: %s", l.Retry.Round(10*time.Millisecond), brokeText(l.Err))
	case client.LinkClosed:
	}
}

// brokeText describes why a connection was lost: with the hub's error, or with the innermost
// cause.
func brokeText(err error) string {
	if _, said := errors.AsType[*client.Error](err); !said {
		err = command.Innermost(err)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "the connection broke"
	}
	return terminal.OneLine(err.Error())
}

// event prints an event.
func (v *view) event(e client.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.out.now = e.Time
	switch d := e.Data.(type) {
	case wire.SessionState:
		if d.Mode == wire.StateSnapshot {
			v.state(e.Session, d)
		}
	case wire.Actions:
		for _, a := range d.Actions {
			v.action(d.MonitorID, a)
		}
	case wire.AgentResponse:
		v.response(d)
	case wire.AgentThinking:
		ref := streamRef{d.AgentID, true}
		if d.Delta == "" {
			v.out.rewind(ref, d.Offset)
		}
		v.out.addText(ref, agentLabel(d.AgentID, d.MonitorID), d.Delta, d.Offset)
	default:
		if !v.agentEvent(e.Data) && !v.questionEvent(e.Data) && !v.planEvent(e.Data) && !v.sessionEvent(e.Data) {
			v.out.line(tintDim, "%s %s", terminal.OneLine(e.Type), terminal.Shorten(terminal.OneLine(string(e.Raw)), 200))
		}
	}
}

// sessionEvent prints events about the session as a whole. It returns false for other
// events.
func (v *view) sessionEvent(p wire.ServerPayload) bool {
	switch d := p.(type) {
	case wire.Presence:
		v.presence(d)
	case wire.OwnerChanged:
		v.out.line(tintDim, "replica %s has taken the session", d.Replica)
	case wire.SessionRenamed:
		v.out.line(tintNone, "session is now %q", terminal.OneLine(d.Title))
	case wire.ProviderChanged:
		v.out.line(tintBlue, "answers come from %s now", terminal.OneLine(d.Provider))
	case wire.MonitorStatus:
		v.monitor(d)
	case wire.CellOutputs:
		v.outputs(d)
	case wire.QueueUpdated:
		v.out.line(tintDim, "%s: %d waiting", d.MonitorID, len(d.Messages))
	case wire.GoElsewhere:
		v.out.line(tintYellow, "── the hub will close the connection: %s", cmp.Or(terminal.OneLine(d.Reason), "it stops"))
	case wire.StoreStatus:
		v.storeStatus(d)
	case wire.AuthResult:
		v.out.line(tintDim, "── signed in as %s", terminal.OneLine(d.User))
	case wire.ErrorNotice:
		if d.Code == wire.CodeTodoFailed {
			break // the event todo_failed has reported it
		}
		v.out.line(tintRed, "error: %s (%d)", terminal.OneLine(d.Message), d.Code)
	case wire.Emitted:
		v.out.line(tintDim, "kept at %s", d.At)
	default:
		return false
	}
	return true
}

func (v *view) storeStatus(s wire.StoreStatus) {
	text := "the hub cannot reach its store; what you send waits"
	switch {
	case s.Available:
		text = "the store of the hub is available again"
	case s.Full:
		text = "the store of the hub is full; what you send waits for space"
	}
	v.out.line(tintYellow, "── %s", text)
}

// presence prints the open connections.
func (v *view) presence(d wire.Presence) {
	names := make([]string, 0, len(d.Connections))
	for _, c := range d.Connections {
		names = append(names, cmp.Or(terminal.OneLine(c.User), terminal.OneLine(string(c.ClientID)), string(c.ConnectionID)))
	}
	v.out.line(tintDim, "%d here: %s", max(d.Total, len(names)), strings.Join(slices.Clip(names), ", "))
}
