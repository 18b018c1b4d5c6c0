package attach

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/everdesk/everdesk/cmd/hub/internal/terminal"
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

// output prints lines, and the streamed texts of agents: the text of one agent continues the open
// line, while the texts of the others are held back. It is not safe for concurrent use.
type output struct {
	w      io.Writer
	colour bool
	zone   *time.Location

	now     time.Time // time of the current event; zero prints no time
	streams map[streamRef]*stream
	open    streamRef // the stream whose text is on the open line; zero if no line is open
	ended   bool      // the text of the open stream ended with a line break
}

// streamRef identifies an agent's text or thinking.
type streamRef struct {
	agent    wire.AgentID
	thinking bool
}

// stream is the state of a streamed text.
type stream struct {
	label string
	known int    // received length in UTF-16 units
	held  string // text held back until the line of another agent ends
}

// holdRunes is the number of characters up to which text is held back while another agent has the
// open line, so that parallel streams alternate in readable portions.
const holdRunes = 200

// line ends the open line and prints a line. Untrusted text must have passed [terminal.OneLine],
// [terminal.Plain] or %q.
func (o *output) line(t tint, format string, args ...any) {
	o.breakLine()
	text := o.tinted(t, fmt.Sprintf(format, args...))
	if !o.now.IsZero() {
		text = o.tinted(tintDim, o.now.In(o.zone).Format(time.TimeOnly)) + " " + text
	}
	fmt.Fprintln(o.w, text)
}

func (o *output) tinted(t tint, text string) string {
	if !o.colour || t == tintNone {
		return text
	}
	return string(t) + text + tintOff
}

// breakLine ends the open line.
func (o *output) breakLine() {
	if o.open != (streamRef{}) && !o.ended {
		fmt.Fprintln(o.w)
	}
	o.open, o.ended = streamRef{}, false
}

// addText prints the next piece of a streamed text, without the part that was received before,
// or holds it back while another agent has the open line. offset is in UTF-16 units.
func (o *output) addText(ref streamRef, label, delta string, offset int) {
	s := o.streams[ref]
	if s == nil {
		if o.streams == nil {
			o.streams = map[streamRef]*stream{}
		}
		s = &stream{label: label}
		o.streams[ref] = s
	}
	if offset < s.known {
		delta = fromUTF16(delta, s.known-offset) // already received
		offset = s.known
	}
	if delta == "" {
		return
	}
	s.known = offset + lenUTF16(delta)
	s.held += delta
	free := o.open == (streamRef{}) || o.open.agent == ref.agent
	if free || utf8.RuneCountInString(s.held) > holdRunes || strings.Contains(s.held, "\n") {
		o.printText(ref, s)
	}
}

// printText prints the held text of a stream.
func (o *output) printText(ref streamRef, s *stream) {
	text := terminal.Plain(s.held)
	s.held = ""
	if o.open != ref {
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
	case o.open != ref:
		o.breakLine()
		o.open = ref
		fmt.Fprint(o.w, o.tinted(agentTint(s.label), s.label+colon))
	case o.ended:
		fmt.Fprint(o.w, margin)
	}
	text, o.ended = strings.CutSuffix(text, "\n")
	fmt.Fprint(o.w, o.tinted(t, indent(text)))
	if o.ended {
		fmt.Fprintln(o.w)
	}
}

// finish prints the held text of an agent and ends its line.
func (o *output) finish(agent wire.AgentID) {
	for _, thinking := range []bool{true, false} {
		if s := o.streams[streamRef{agent, thinking}]; s != nil {
			o.printText(streamRef{agent, thinking}, s)
		}
	}
	if o.open.agent == agent {
		o.breakLine()
	}
}

// dropTexts removes the streams of an agent, whose next turn starts new ones.
func (o *output) dropTexts(agent wire.AgentID) {
	delete(o.streams, streamRef{agent, false})
	delete(o.streams, streamRef{agent, true})
}

// rewind makes addText accept a stream again from an offset: the hub lost the text after it and
// sends it again. The text that is already printed stays.
func (o *output) rewind(ref streamRef, offset int) {
	s := o.streams[ref]
	if s == nil || offset >= s.known {
		return
	}
	o.finish(ref.agent)
	s.known = offset
	if !ref.thinking {
		o.line(tintYellow, "%s: the hub was gone; the end of that comes again", s.label)
	}
}

// flushHeld displays the held text of the first agent, in the order of ids, that has any. Its
// line is then open, so the text of the other agents stays held.
func (o *output) flushHeld() {
	agents := map[wire.AgentID]bool{}
	for ref := range o.streams {
		agents[ref.agent] = true
	}
	for _, agent := range slices.Sorted(maps.Keys(agents)) {
		for _, thinking := range []bool{true, false} {
			ref := streamRef{agent, thinking}
			if s := o.streams[ref]; s != nil && (o.open == (streamRef{}) || o.open.agent == agent) {
				o.printText(ref, s)
			}
		}
	}
}

// hasText reports whether text of the agent's current turn has arrived.
func (o *output) hasText(agent wire.AgentID) bool { return o.streams[streamRef{agent: agent}] != nil }

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

// fromUTF16 returns s without its first n UTF-16 units.
func fromUTF16(s string, n int) string {
	for i, r := range s {
		if n <= 0 {
			return s[i:]
		}
		n--
		if r > 0xffff {
			n--
		}
	}
	return ""
}

// lenUTF16 returns the length in UTF-16 units.
func lenUTF16(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r > 0xffff {
			n++
		}
	}
	return n
}
