package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/everdesk/everdesk/client"
	"github.com/everdesk/everdesk/wire"
)

// tint is a colour of the terminal.
type tint string

const (
	tintNone   tint = ""
	tintDim    tint = "\x1b[2m"
	tintRed    tint = "\x1b[31m"
	tintGreen  tint = "\x1b[32m"
	tintYellow tint = "\x1b[33m"
	tintBlue   tint = "\x1b[36m"
)

const tintOff = "\x1b[0m"

// view draws a session on a terminal, a line for each thing that happens. Any
// goroutine may call it.
type view struct {
	mu     sync.Mutex
	out    io.Writer
	colour bool
	zone   *time.Location

	now    time.Time            // of the event that is shown
	titles map[windowRef]string // of open windows
	spoken map[streamRef]int    // how much of a text was shown, in UTF-16 units
	open   streamRef            // whose line is not at its end
}

// windowRef names a window.
type windowRef struct {
	monitor wire.MonitorID
	window  wire.WindowID
}

// streamRef names what an agent says or thinks.
type streamRef struct {
	agent    wire.AgentID
	thinking bool
}

// note shows a line that is not about an event.
func (v *view) note(t tint, format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.now = time.Time{}
	v.line(t, format, args...)
}

// line ends what is open and shows a line. Everything that others have written
// must have gone through [oneLine] or %q.
func (v *view) line(t tint, format string, args ...any) {
	v.breakLine()
	text := fmt.Sprintf(format, args...)
	if !v.now.IsZero() {
		text = v.tinted(tintDim, v.now.In(v.zone).Format(time.TimeOnly)) + " " + v.tinted(t, text)
	} else {
		text = v.tinted(t, text)
	}
	fmt.Fprintln(v.out, text)
}

func (v *view) tinted(t tint, text string) string {
	if !v.colour || t == tintNone {
		return text
	}
	return string(t) + text + tintOff
}

// breakLine ends a line that is open.
func (v *view) breakLine() {
	if v.open != (streamRef{}) {
		fmt.Fprintln(v.out)
		v.open = streamRef{}
	}
}

// stream shows the next piece of a text.
func (v *view) stream(ref streamRef, delta string, offset int) {
	shown := v.spoken[ref]
	if offset < shown {
		delta = fromUTF16(delta, shown-offset) // we have that
		offset = shown
	}
	if delta == "" {
		return
	}
	if v.spoken == nil {
		v.spoken = map[streamRef]int{}
	}
	v.spoken[ref] = offset + lenUTF16(delta)
	t := tintNone
	if ref.thinking {
		t = tintDim
	}
	if v.open != ref {
		v.breakLine()
		v.open = ref
		fmt.Fprint(v.out, v.tinted(tintGreen, cmp.Or(oneLine(string(ref.agent)), "agent")+": "))
	}
	fmt.Fprint(v.out, v.tinted(t, plain(delta)))
}

// hush ends the texts of an agent.
func (v *view) hush(agent wire.AgentID) {
	if v.open.agent == agent {
		v.breakLine()
	}
	delete(v.spoken, streamRef{agent: agent})
	delete(v.spoken, streamRef{agent: agent, thinking: true})
}

// link shows how the connection is doing.
func (v *view) link(l client.Link) {
	switch l.State {
	case client.LinkConnecting:
		v.note(tintDim, "── connecting")
	case client.LinkConnected:
		if l.Resumed {
			v.note(tintDim, "── connected again")
		} else {
			v.note(tintDim, "── connected")
		}
	case client.LinkReconnecting:
		v.note(tintYellow, "── reconnecting in %v: %s", l.Retry.Round(10*time.Millisecond), oneLine(l.Err.Error()))
	case client.LinkClosed:
	}
}

// event shows what happened.
func (v *view) event(e client.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.now = e.Time
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
		v.stream(streamRef{agent: d.AgentID}, d.Delta, d.Offset)
		if d.IsComplete {
			v.hush(d.AgentID)
		}
		if d.IsComplete && d.Outcome != wire.OutcomeCompleted && d.Outcome != "" {
			v.line(tintYellow, "%s: turn %s %s", oneLine(string(d.AgentID)), d.Outcome, oneLine(d.Reason))
		}
	case wire.AgentThinking:
		v.stream(streamRef{d.AgentID, true}, d.Delta, d.Offset)
	default:
		if !v.talk(e.Data) && !v.house(e.Data) {
			v.line(tintDim, "%s %s", oneLine(e.Type), shorten(oneLine(string(e.Raw)), 200))
		}
	}
}

// talk shows what concerns messages and questions. It reports false for anything
// else.
func (v *view) talk(p wire.ServerPayload) bool {
	switch d := p.(type) {
	case wire.MessageUpdated:
		v.row(d.Message)
	case wire.MessageAccepted:
		v.line(tintDim, "message taken by %s", oneLine(string(d.AgentID)))
	case wire.MessageQueued:
		v.line(tintDim, "message waits, number %d", d.Position)
	case wire.MessageRejected:
		v.line(tintRed, "message refused: %s (%d)", oneLine(d.Reason), d.Code)
	case wire.ErrorNotice:
		v.line(tintRed, "error: %s (%d)", oneLine(d.Message), d.Code)
	case wire.AgentError:
		v.line(tintRed, "%s: %s", cmp.Or(oneLine(string(d.AgentID)), "agent"), oneLine(d.Error))
	case wire.ToolProgress:
		v.line(tintDim, "%s: tool %s %s", oneLine(string(d.AgentID)), oneLine(d.ToolName), d.Status)
	case wire.TurnInterrupted:
		v.line(tintYellow, "%s: interrupted: %s", oneLine(string(d.AgentID)), oneLine(d.Reason))
	case wire.ApprovalRequest:
		v.dialog(d)
	case wire.DialogClosed:
		answer := string(d.Reason)
		if d.Reason == wire.ClosedAnswered && d.Confirmed {
			answer = "approved"
		} else if d.Reason == wire.ClosedAnswered {
			answer = "denied"
		}
		v.line(tintYellow, "dialog %s %s", oneLine(string(d.DialogID)), answer)
	case wire.PromptClosed:
		v.line(tintYellow, "prompt %s %s", oneLine(string(d.PromptID)), d.Reason)
	case wire.Emitted:
		v.line(tintDim, "kept at %s", d.At)
	default:
		return false
	}
	return true
}

// house shows what concerns the session as a whole. It reports false for anything
// else.
func (v *view) house(p wire.ServerPayload) bool {
	switch d := p.(type) {
	case wire.Presence:
		v.presence(d)
	case wire.OwnerChanged:
		v.line(tintDim, "replica %s has taken the session", d.Replica)
	case wire.SessionRenamed:
		v.line(tintNone, "session is now %q", oneLine(d.Title))
	case wire.MonitorStatus:
		v.line(tintDim, "%s %s", d.MonitorID, d.State)
	case wire.QueueUpdated:
		v.line(tintDim, "%s: %d waiting", d.MonitorID, len(d.Messages))
	case wire.WindowAgentStatus:
		v.line(tintDim, "window %s: agent %s %s", v.title(d.MonitorID, d.WindowID), oneLine(string(d.AgentID)), d.Status)
	case wire.GoElsewhere:
		v.line(tintYellow, "── the hub will close the connection: %s", cmp.Or(oneLine(d.Reason), "it stops"))
	case wire.AuthResult:
		v.line(tintDim, "── signed in as %s", oneLine(d.User))
	default:
		return false
	}
	return true
}

// presence shows who is here.
func (v *view) presence(d wire.Presence) {
	names := make([]string, 0, len(d.Connections))
	for _, c := range d.Connections {
		names = append(names, cmp.Or(oneLine(c.User), oneLine(string(c.ClientID)), string(c.ConnectionID)))
	}
	v.line(tintDim, "%d here: %s", max(d.Total, len(names)), strings.Join(names, ", "))
}

// row shows a row of the conversation once it is complete.
func (v *view) row(r wire.UIRow) {
	if r.Partial != nil && *r.Partial {
		return
	}
	name := cmp.Or(string(r.Say), string(r.Ask))
	t := tintNone
	switch {
	case r.Say == wire.SayUserFeedback:
		name, t = "user", tintBlue
	case r.Type == wire.RowAsk:
		t = tintYellow
	}
	v.line(t, "%s: %s", name, indent(plain(r.Text)))
}

// indent keeps further lines of a text apart from the lines of others.
func indent(s string) string {
	return strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n    ")
}
