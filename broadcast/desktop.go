package broadcast

import (
	"slices"
	"time"
	"unicode/utf8"

	"github.com/everdesk/everdesk/internal/truncation"
	"github.com/everdesk/everdesk/wire"
)

// How much of what agents say is kept to show it whole, and how often it is
// shown. Agents beyond maxTexts are shown from their next turn on, and of a text
// its beginning.
const (
	maxTexts  = 64
	maxText   = 1 << 20
	textPause = 200 * time.Millisecond
)

// texts is what running agents have said so far. The log has pieces; the desktop
// dialect wants the whole each time.
type texts struct {
	form    Form
	session wire.SessionID
	said    []*text
}

// text is what one agent has thought or answered in its turn.
type text struct {
	agent    wire.AgentID
	thinking bool
	// body is what was said from a place on. Unless that is 0, the beginning
	// is not known.
	from  int
	body  []byte
	units int  // of UTF-16 in body
	full  bool // there was more
	shown time.Time
	// waiting is the event that body was not shown with, for it was shown a
	// moment ago; at and since are when that began, by the log's clock and by
	// ours.
	waiting   wire.ServerPayload
	at, since time.Time
}

// append adds the frames of an event.
func (t *texts) append(dst []byte, e Event) []byte {
	switch p := e.Data.(type) {
	case nil:
		return dst
	case wire.AgentThinking:
		s := t.of(p.AgentID, true)
		s.put(p.Delta, p.Offset)
		return s.show(dst, t.form, e)
	case wire.SessionState: // it stands for everything before
		t.said = nil
		t.learn(p.Agents)
	case wire.AgentResponse:
		dst = t.flush(dst, p.AgentID, true, p.MonitorID)
		s := t.of(p.AgentID, false)
		s.put(p.Delta, p.Offset)
		if !p.IsComplete {
			return s.show(dst, t.form, e)
		}
		p.Content = string(s.body)
		t.forget(p.AgentID)
		return t.form.appendFrames(dst, wire.Event{Session: t.session, At: e.At, Time: e.Time, Data: p})
	}
	if agent := wire.AgentOf(e.Data); agent != "" {
		monitor := wire.MonitorOf(e.Data)
		dst = t.flush(dst, agent, true, monitor)
		dst = t.flush(dst, agent, false, monitor)
	}
	return t.form.appendFrames(dst, wire.Event{Session: t.session, At: e.At, Time: e.Time, Data: e.Data})
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

// flush adds what an agent said and was not shown yet to what is shown to those
// who see a monitor, if they see it too.
func (t *texts) flush(dst []byte, agent wire.AgentID, thinking bool, monitor wire.MonitorID) []byte {
	for _, s := range t.said {
		if s.agent == agent && s.thinking == thinking && s.waiting != nil && wire.MonitorOf(s.waiting) == monitor {
			dst = s.whole(dst, t.form, s.waiting)
		}
	}
	return dst
}

// wait reports whether something was not shown yet.
func (t *texts) wait() bool {
	return slices.ContainsFunc(t.said, func(s *text) bool { return s.waiting != nil })
}

// late is a text that was not shown for a while, and the monitor that it is of.
type late struct {
	monitor wire.MonitorID
	frame   []byte
}

// late takes what has waited long enough and nothing came after it. It says how
// long the others have to wait at most; 0 means that there are none.
func (t *texts) late(now time.Time) (frames []late, wait time.Duration) {
	for _, s := range t.said {
		if s.waiting == nil {
			continue
		}
		if left := textPause - now.Sub(s.since); left > 0 {
			wait = max(wait, left)
			continue
		}
		s.shown = s.at.Add(now.Sub(s.since))
		frames = append(frames, late{wire.MonitorOf(s.waiting), s.whole(nil, t.form, s.waiting)})
	}
	return frames, wait
}

// trail starts a goroutine that sends texts that no other event followed. The caller
// has c.mu.
func (c *Center) trail() {
	waits := func(r *ring) bool { return r != nil && r.form.isDesktop() && r.texts.wait() }
	if c.trailing || !slices.ContainsFunc(c.rings[:], waits) {
		return
	}
	c.trailing = true
	c.wg.Go(func() {
		for wait := textPause; wait > 0; {
			timer := time.NewTimer(wait)
			select {
			case <-timer.C:
			case <-c.ctx.Done():
				timer.Stop()
				return
			}
			var groups []*group
			groups, wait = c.late()
			c.wake(groups, len(groups)*groupSize)
		}
	})
}

// late queues texts that were not sent for a while, for all tabs that are up to date;
// the others get newer ones. It returns when to do so again, or 0 for never.
func (c *Center) late() (groups []*group, wait time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trailing = false
	if c.closed {
		return nil, 0
	}
	now := time.Now()
	for _, r := range c.rings {
		if r == nil || !r.form.isDesktop() {
			continue
		}
		frames, more := r.texts.late(now)
		wait = max(wait, more)
		if len(frames) > 0 {
			c.queueLate(r, frames)
			groups = append(groups, r.groups...)
		}
	}
	c.trailing = wait > 0
	return groups, wait
}

// queueLate queues texts for the tabs of a ring. The caller has c.mu.
func (c *Center) queueLate(r *ring, frames []late) {
	for _, t := range c.tabs {
		if t.ring != r {
			continue
		}
		t.mu.Lock()
		for _, l := range frames {
			if !t.gone && t.owner == nil && t.filter.shows(l.monitor) {
				t.due = append(t.due, due{at: c.head, frame: l.frame, passing: true})
			}
		}
		t.mu.Unlock()
	}
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
			s := t.of(a.Role, known.thinking)
			// The snapshot may be older than what was published since.
			if head, units := cut([]byte(known.body), s.from); s.from > 0 && units == s.from {
				s.from, s.body, s.units = 0, append(head, s.body...), units+s.units
			} else if len(s.body) == 0 {
				s.from, s.units = 0, 0
				s.put(known.body, 0)
			}
		}
	}
}

// put writes a piece at its place. Of a piece that does not touch what is known
// the beginning has to be learnt.
func (s *text) put(delta string, offset int) {
	end := s.from + s.units
	switch {
	case offset > end && (s.full || delta == ""):
		return
	case offset < s.from, offset > end:
		s.from, s.body, s.units, s.full = offset, nil, 0, false
	case offset < end:
		s.body, s.units = cut(s.body, offset-s.from)
		s.full = false
	}
	if room := maxText - len(s.body); len(delta) > room {
		delta, s.full = truncation.Bytes(delta, room), true
	}
	s.body = append(s.body, delta...)
	s.units += units16(delta)
}

// show adds the frame of an event of the agent, unless there was one a moment
// ago.
func (s *text) show(dst []byte, form Form, e Event) []byte {
	switch {
	case s.from > 0:
		return dst
	case e.Time.Sub(s.shown) < textPause && !e.Time.Before(s.shown):
		if s.waiting == nil {
			s.at, s.since = e.Time, time.Now()
		}
		s.waiting = e.Data
		return dst
	}
	s.shown = e.Time
	return s.whole(dst, form, e.Data)
}

// whole adds a frame with the text as it is now.
func (s *text) whole(dst []byte, form Form, data wire.ServerPayload) []byte {
	s.waiting = nil
	switch p := data.(type) {
	case wire.AgentThinking:
		p.Content = string(s.body)
		data = p
	case wire.AgentResponse:
		p.Content = string(s.body)
		data = p
	}
	return form.appendFrames(dst, wire.Event{Data: data})
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
