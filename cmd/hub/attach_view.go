package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
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
	tintPurple tint = "\x1b[35m"
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

	now      time.Time            // of the event that is shown
	titles   map[windowRef]string // of open windows
	monitors map[wire.MonitorID]wire.MonitorStatus
	voices   map[voiceRef]*voice
	open     voiceRef // who has the line
	ended    bool     // that line is at its end
}

// windowRef names a window.
type windowRef struct {
	monitor wire.MonitorID
	window  wire.WindowID
}

// voiceRef names what an agent says or thinks.
type voiceRef struct {
	agent    wire.AgentID
	thinking bool
}

// voice is a text that comes in pieces.
type voice struct {
	label string
	known int    // how much of it has come, in UTF-16 units
	held  string // what waits for the line of another agent to end
}

// patience is how much of a text waits while another agent has the line. It makes
// two that speak at once readable: they take turns.
const patience = 200

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
	text := v.tinted(t, fmt.Sprintf(format, args...))
	if !v.now.IsZero() {
		text = v.tinted(tintDim, v.now.In(v.zone).Format(time.TimeOnly)) + " " + text
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
	if v.open != (voiceRef{}) && !v.ended {
		fmt.Fprintln(v.out)
	}
	v.open, v.ended = voiceRef{}, false
}

// hear shows the next piece of a text.
func (v *view) hear(ref voiceRef, label, delta string, offset int) {
	o := v.voices[ref]
	if o == nil {
		if v.voices == nil {
			v.voices = map[voiceRef]*voice{}
		}
		o = &voice{label: label}
		v.voices[ref] = o
	}
	if offset < o.known {
		delta = fromUTF16(delta, o.known-offset) // we have that
		offset = o.known
	}
	if delta == "" {
		return
	}
	o.known = offset + lenUTF16(delta)
	o.held += delta
	free := v.open == (voiceRef{}) || v.open.agent == ref.agent
	if free || len(o.held) > patience || strings.Contains(o.held, "\n") {
		v.speak(ref, o)
	}
}

// speak shows what a voice has to say.
func (v *view) speak(ref voiceRef, o *voice) {
	text := plain(o.held)
	o.held = ""
	if v.open != ref {
		text = strings.TrimLeft(text, "\n")
	}
	if text == "" {
		return
	}
	t, colon := tintNone, ": "
	if ref.thinking {
		t, colon = tintDim, " thinks: "
	}
	switch {
	case v.open != ref:
		v.breakLine()
		v.open = ref
		fmt.Fprint(v.out, v.tinted(agentTint(o.label), o.label+colon))
	case v.ended:
		fmt.Fprint(v.out, margin)
	}
	text, v.ended = strings.CutSuffix(text, "\n")
	fmt.Fprint(v.out, v.tinted(t, indent(text)))
	if v.ended {
		fmt.Fprintln(v.out)
	}
}

// finish shows what is left of an agent's texts, and then of the others'.
func (v *view) finish(agent wire.AgentID) {
	for _, thinking := range []bool{true, false} {
		if o := v.voices[voiceRef{agent, thinking}]; o != nil {
			v.speak(voiceRef{agent, thinking}, o)
		}
	}
	if v.open.agent == agent {
		v.breakLine()
	}
}

// forget ends the texts of an agent, whose next turn has others.
func (v *view) forget(agent wire.AgentID) {
	delete(v.voices, voiceRef{agent, false})
	delete(v.voices, voiceRef{agent, true})
}

// rewind takes back what an agent said after a position: it was lost, and will be
// said again.
func (v *view) rewind(ref voiceRef, offset int) {
	o := v.voices[ref]
	if o == nil || offset >= o.known {
		return
	}
	v.finish(ref.agent)
	o.known = offset
	if !ref.thinking {
		v.line(tintYellow, "%s: the hub was gone; the end of that comes again", o.label)
	}
}

// heard reports whether something of what an agent says was shown as it came.
func (v *view) heard(agent wire.AgentID) bool { return v.voices[voiceRef{agent: agent}] != nil }

// agentTint is the colour of an agent's name.
func agentTint(label string) tint {
	if strings.HasPrefix(label, string(wire.AgentMain)) {
		return tintGreen
	}
	sum := 0
	for _, b := range []byte(label) {
		sum += int(b)
	}
	return []tint{tintPurple, tintBlue, tintYellow}[sum%3]
}

// margin keeps further lines of a text apart from the lines of others.
const margin = "    "

func indent(s string) string { return strings.ReplaceAll(s, "\n", "\n"+margin) }

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
		v.note(tintYellow, "── reconnecting in %v: %s", l.Retry.Round(10*time.Millisecond), brokeText(l.Err))
	case client.LinkClosed:
	}
}

// brokeText says why there is no connection, in a few words: not through how many
// hands the news went.
func brokeText(err error) string {
	if _, said := errors.AsType[*client.Error](err); !said {
		err = innermost(err)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "the connection broke"
	}
	return oneLine(err.Error())
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
		v.response(d)
	case wire.AgentThinking:
		ref := voiceRef{d.AgentID, true}
		if d.Delta == "" {
			v.rewind(ref, d.Offset)
		}
		v.hear(ref, agentLabel(d.AgentID, d.MonitorID), d.Delta, d.Offset)
	default:
		if !v.talk(e.Data) && !v.questioned(e.Data) && !v.planned(e.Data) && !v.house(e.Data) {
			v.line(tintDim, "%s %s", oneLine(e.Type), shorten(oneLine(string(e.Raw)), 200))
		}
	}
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
	case wire.ProviderChanged:
		v.line(tintBlue, "answers come from %s now", oneLine(d.Provider))
	case wire.MonitorStatus:
		v.monitor(d)
	case wire.QueueUpdated:
		v.line(tintDim, "%s: %d waiting", d.MonitorID, len(d.Messages))
	case wire.GoElsewhere:
		v.line(tintYellow, "── the hub will close the connection: %s", cmp.Or(oneLine(d.Reason), "it stops"))
	case wire.StoreStatus:
		v.line(tintYellow, "── %s", map[bool]string{true: "the hub reaches its store again", false: "the hub cannot reach its store; what you send waits"}[d.Available])
	case wire.AuthResult:
		v.line(tintDim, "── signed in as %s", oneLine(d.User))
	case wire.ErrorNotice:
		if d.Code == wire.CodeTodoFailed {
			break // todo_failed has said so
		}
		v.line(tintRed, "error: %s (%d)", oneLine(d.Message), d.Code)
	case wire.Emitted:
		v.line(tintDim, "kept at %s", d.At)
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
	v.line(tintDim, "%d here: %s", max(d.Total, len(names)), strings.Join(slices.Clip(names), ", "))
}
