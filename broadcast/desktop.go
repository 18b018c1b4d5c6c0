package broadcast

import (
	"slices"
	"time"
	"unicode/utf8"

	"github.com/everdesk/everdesk/wire"
)

// How much of what agents say is kept to show it whole, and how often it is
// shown. An agent beyond the bounds is shown again from its next turn on.
const (
	maxTexts  = 64
	maxText   = 1 << 20
	textPause = 200 * time.Millisecond
)

// texts is what running agents have said so far. The log has pieces; the desktop
// dialect wants the whole each time.
type texts struct{ said []*text }

// text is what one agent has thought or answered in its turn.
type text struct {
	agent    wire.AgentID
	thinking bool
	body     []byte
	units    int // of UTF-16 in body
	shown    time.Time
	// waiting is the event that body was not shown with, for it was shown a
	// moment ago.
	waiting wire.ServerPayload
	// lost says that the beginning is not known.
	lost bool
}

// append adds the frames of an event.
func (t *texts) append(dst []byte, e Event) []byte {
	switch p := e.Data.(type) {
	case nil:
		return dst
	case wire.AgentThinking:
		s := t.of(p.AgentID, true)
		s.put(p.Delta, p.Offset)
		return s.show(dst, e)
	case wire.AgentResponse:
		dst = t.flush(dst, p.AgentID, true)
		s := t.of(p.AgentID, false)
		s.put(p.Delta, p.Offset)
		if !p.IsComplete {
			return s.show(dst, e)
		}
		p.Content = string(s.body)
		t.forget(p.AgentID)
		return appendFrames(dst, wire.Event{At: e.At, Time: e.Time, Data: p})
	}
	if agent := wire.AgentOf(e.Data); agent != "" {
		dst = t.flush(dst, agent, true)
		dst = t.flush(dst, agent, false)
	}
	return appendFrames(dst, wire.Event{At: e.At, Time: e.Time, Data: e.Data})
}

// of finds an agent's text, or begins it.
func (t *texts) of(agent wire.AgentID, thinking bool) *text {
	for _, s := range t.said {
		if s.agent == agent && s.thinking == thinking {
			return s
		}
	}
	s := &text{agent: agent, thinking: thinking}
	if len(t.said) < maxTexts {
		t.said = append(t.said, s)
	}
	return s
}

// flush adds what an agent said and was not shown yet.
func (t *texts) flush(dst []byte, agent wire.AgentID, thinking bool) []byte {
	for _, s := range t.said {
		if s.agent == agent && s.thinking == thinking && s.waiting != nil {
			dst = s.whole(dst, s.waiting)
		}
	}
	return dst
}

// forget drops what an agent said, at the end of its turn.
func (t *texts) forget(agent wire.AgentID) {
	t.said = slices.DeleteFunc(t.said, func(s *text) bool { return s.agent == agent })
}

// learn takes over what a snapshot knows of agents that are not known yet.
func (t *texts) learn(agents []wire.AgentState) {
	for _, a := range agents {
		for _, known := range []struct {
			thinking bool
			body     string
		}{{true, a.Thinking}, {false, a.Text}} {
			if known.body == "" {
				continue
			}
			if s := t.of(a.Role, known.thinking); s.lost || len(s.body) == 0 {
				s.lost, s.body, s.units = false, nil, 0
				s.put(known.body, 0)
			}
		}
	}
}

// put writes a piece at its place. A piece that does not touch what is known
// makes the text lost, until one begins it anew.
func (s *text) put(delta string, offset int) {
	if offset == 0 {
		s.lost = false
	}
	if s.lost || offset > s.units || len(s.body)+len(delta) > maxText {
		s.lost, s.body, s.units = true, nil, 0
		return
	}
	if offset < s.units {
		s.body, s.units = cut(s.body, offset)
	}
	s.body = append(s.body, delta...)
	s.units += units16(delta)
}

// show adds the frame of an event of the agent, unless there was one a moment
// ago.
func (s *text) show(dst []byte, e Event) []byte {
	switch {
	case s.lost:
		return dst
	case e.Time.Sub(s.shown) < textPause && !e.Time.Before(s.shown):
		s.waiting = e.Data
		return dst
	}
	s.shown = e.Time
	return s.whole(dst, e.Data)
}

// whole adds a frame with the text as it is now.
func (s *text) whole(dst []byte, data wire.ServerPayload) []byte {
	s.waiting = nil
	switch p := data.(type) {
	case wire.AgentThinking:
		p.Content = string(s.body)
		data = p
	case wire.AgentResponse:
		p.Content = string(s.body)
		data = p
	}
	return appendFrames(dst, wire.Event{Data: data})
}

// units16 is how many UTF-16 units a text has.
func units16(s string) int {
	n := 0
	for _, r := range s {
		n += width16(r)
	}
	return n
}

func width16(r rune) int {
	if r >= 0x10000 {
		return 2
	}
	return 1
}

// cut shortens a text to some UTF-16 units, or one less where that would tear a
// character.
func cut(body []byte, units int) ([]byte, int) {
	n := 0
	for i := 0; i < len(body); {
		r, size := utf8.DecodeRune(body[i:])
		if n+width16(r) > units {
			return body[:i], n
		}
		n += width16(r)
		i += size
	}
	return body, n
}
