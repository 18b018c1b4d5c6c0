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

// tint is a terminal colour.
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

// view prints a session as lines of text. Streamed text of an agent continues the open line. Its
// methods event, link and note are safe for concurrent use; all others need mu.
type view struct {
	mu     sync.Mutex
	out    io.Writer
	colour bool
	zone   *time.Location

	now      time.Time            // time of the current event; zero prints no time
	titles   map[windowRef]string // of open windows
	monitors map[wire.MonitorID]wire.MonitorStatus
	voices   map[voiceRef]*voice
	open     voiceRef // the stream whose text is on the open line; zero if no line is open
	ended    bool     // the text of the open stream ended with a line break
}

// windowRef identifies a window.
type windowRef struct {
	monitor wire.MonitorID
	window  wire.WindowID
}

// voiceRef identifies an agent's text or thinking.
type voiceRef struct {
	agent    wire.AgentID
	thinking bool
}

// voice is the state of a streamed text.
type voice struct {
	label string
	known int    // received length in UTF-16 units
	held  string // text held back until the line of another agent ends
}

// holdRunes is the number of bytes up to which text is held back while another agent has the
// open line, so that parallel streams alternate in readable portions.
const holdRunes = 200

// note prints a line that is not about an event.
func (v *view) note(t tint, format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.now = time.Time{}
	v.line(t, format, args...)
}

// line ends the open line and prints a line. Untrusted text must have passed [oneLine], [plain]
// or %q.
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

// breakLine ends the open line.
func (v *view) breakLine() {
	if v.open != (voiceRef{}) && !v.ended {
		fmt.Fprintln(v.out)
	}
	v.open, v.ended = voiceRef{}, false
}

// addText prints the next piece of a streamed text, without the part that was received before,
// or holds it back while another agent has the open line. offset is in UTF-16 units.
func (v *view) addText(ref voiceRef, label, delta string, offset int) {
	o := v.voices[ref]
	if o == nil {
		if v.voices == nil {
			v.voices = map[voiceRef]*voice{}
		}
		o = &voice{label: label}
		v.voices[ref] = o
	}
	if offset < o.known {
		delta = fromUTF16(delta, o.known-offset) // already received
		offset = o.known
	}
	if delta == "" {
		return
	}
	o.known = offset + lenUTF16(delta)
	o.held += delta
	free := v.open == (voiceRef{}) || v.open.agent == ref.agent
	if free || len(o.held) > holdRunes || strings.Contains(o.held, "\n") {
		v.printText(ref, o)
	}
}

// printText prints the held text of a stream.
func (v *view) printText(ref voiceRef, o *voice) {
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

// finish prints the held text of an agent and ends its line.
func (v *view) finish(agent wire.AgentID) {
	for _, thinking := range []bool{true, false} {
		if o := v.voices[voiceRef{agent, thinking}]; o != nil {
			v.printText(voiceRef{agent, thinking}, o)
		}
	}
	if v.open.agent == agent {
		v.breakLine()
	}
}

// dropTexts removes the streams of an agent, whose next turn starts new ones.
func (v *view) dropTexts(agent wire.AgentID) {
	delete(v.voices, voiceRef{agent, false})
	delete(v.voices, voiceRef{agent, true})
}

// rewind makes addText accept a stream again from an offset: the hub lost the text after it and
// sends it again. The text that is already printed stays.
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

// hasText reports whether text of the agent's current turn has arrived.
func (v *view) hasText(agent wire.AgentID) bool { return v.voices[voiceRef{agent: agent}] != nil }

// agentTint returns the colour of an agent's name.
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

// margin indents further lines of a text.
const margin = "    "

func indent(s string) string { return strings.ReplaceAll(s, "\n", "\n"+margin) }

// link prints the state of the connection.
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

// brokeText describes why a connection was lost: with the hub's error, or with the innermost
// cause.
func brokeText(err error) string {
	if _, said := errors.AsType[*client.Error](err); !said {
		err = innermost(err)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "the connection broke"
	}
	return oneLine(err.Error())
}

// event prints an event.
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
		v.addText(ref, agentLabel(d.AgentID, d.MonitorID), d.Delta, d.Offset)
	default:
		if !v.agentEvent(e.Data) && !v.questionEvent(e.Data) && !v.planEvent(e.Data) && !v.sessionEvent(e.Data) {
			v.line(tintDim, "%s %s", oneLine(e.Type), shorten(oneLine(string(e.Raw)), 200))
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
			break // the event todo_failed has reported it
		}
		v.line(tintRed, "error: %s (%d)", oneLine(d.Message), d.Code)
	case wire.Emitted:
		v.line(tintDim, "kept at %s", d.At)
	default:
		return false
	}
	return true
}

// presence prints the open connections.
func (v *view) presence(d wire.Presence) {
	names := make([]string, 0, len(d.Connections))
	for _, c := range d.Connections {
		names = append(names, cmp.Or(oneLine(c.User), oneLine(string(c.ClientID)), string(c.ConnectionID)))
	}
	v.line(tintDim, "%d here: %s", max(d.Total, len(names)), strings.Join(slices.Clip(names), ", "))
}
