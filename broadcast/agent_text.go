package broadcast

import (
	"slices"
	"time"
	"unicode/utf8"

	"github.com/everdesk/everdesk/internal/truncation"
	"github.com/everdesk/everdesk/wire"
)

// The bounds of the texts that are kept in full, and the interval at which a growing text is
// sent. Agents beyond maxTexts are sent from their next turn on; of a longer text only its
// beginning is sent.
const (
	maxTexts     = 64
	maxTextBytes = 1 << 20
	textInterval = 200 * time.Millisecond
)

// texts holds the texts of running agents. The log contains pieces of them; the desktop
// dialect needs the whole text each time.
type texts struct {
	form    Form
	session wire.SessionID
	agents  []*agentText
}

// agentText is the thinking or the answer of one agent in its current turn.
type agentText struct {
	agent    wire.AgentID
	thinking bool
	// body is the text from startOffset on, in UTF-16 units. Unless that is 0, the
	// beginning is unknown.
	startOffset int
	body        []byte
	units       int  // UTF-16 units in body
	truncated   bool // there was more
	lastShown   time.Time
	// waiting is the newest event whose text was not sent, because the text was sent less
	// than textInterval before; at and since are the time of the first such event by the
	// log's clock and by the local clock.
	waiting   wire.ServerPayload
	at, since time.Time
}

// append appends the frames of an event.
func (t *texts) append(dst []byte, e Event) []byte {
	switch p := e.Data.(type) {
	case nil:
		return dst
	case wire.AgentThinking:
		at := t.textOf(p.AgentID, true)
		at.putDelta(p.Delta, p.Offset)
		return at.appendThrottled(dst, t.form, e)
	case wire.SessionState: // replaces everything before
		t.agents = nil
		t.addFromSnapshot(p.Agents)
	case wire.AgentResponse:
		dst = t.flush(dst, p.AgentID, true, p.MonitorID)
		at := t.textOf(p.AgentID, false)
		at.putDelta(p.Delta, p.Offset)
		if !p.IsComplete {
			return at.appendThrottled(dst, t.form, e)
		}
		p.Content = string(at.body)
		t.remove(p.AgentID)
		return t.form.appendFrames(dst, wire.Event{Session: t.session, At: e.At, Time: e.Time, Data: p})
	}
	if agent := wire.AgentOf(e.Data); agent != "" {
		monitor := wire.MonitorOf(e.Data)
		dst = t.flush(dst, agent, true, monitor)
		dst = t.flush(dst, agent, false, monitor)
	}
	return t.form.appendFrames(dst, wire.Event{Session: t.session, At: e.At, Time: e.Time, Data: e.Data})
}

// textOf returns an agent's text, a new one if there is none.
func (t *texts) textOf(agent wire.AgentID, thinking bool) *agentText {
	for _, at := range t.agents {
		if at.agent == agent && at.thinking == thinking {
			return at
		}
	}
	at := &agentText{agent: agent, thinking: thinking}
	if len(t.agents) < maxTexts {
		t.agents = append(t.agents, at)
	}
	return at
}

// flush appends the throttled text of an agent, if its tabs are those of the given monitor.
func (t *texts) flush(dst []byte, agent wire.AgentID, thinking bool, monitor wire.MonitorID) []byte {
	for _, at := range t.agents {
		if at.agent == agent && at.thinking == thinking && at.waiting != nil && wire.MonitorOf(at.waiting) == monitor {
			dst = at.appendWhole(dst, t.form, at.waiting)
		}
	}
	return dst
}

// hasWaiting reports whether a throttled text was not sent yet.
func (t *texts) hasWaiting() bool {
	return slices.ContainsFunc(t.agents, func(at *agentText) bool { return at.waiting != nil })
}

// lateText is the frame of a throttled text, and its monitor.
type lateText struct {
	monitor wire.MonitorID
	frame   []byte
}

// takeLate returns the texts that were throttled for textInterval without a later event.
// wait is the longest remaining time of the others; 0 means that there are none.
func (t *texts) takeLate(now time.Time) (frames []lateText, wait time.Duration) {
	for _, at := range t.agents {
		if at.waiting == nil {
			continue
		}
		if left := textInterval - now.Sub(at.since); left > 0 {
			wait = max(wait, left)
			continue
		}
		at.lastShown = at.at.Add(now.Sub(at.since))
		frames = append(frames, lateText{wire.MonitorOf(at.waiting), at.appendWhole(nil, t.form, at.waiting)})
	}
	return frames, wait
}

// startLateSender starts a goroutine that sends throttled texts that no other event
// followed. The caller holds c.mu.
func (c *Center) startLateSender() {
	waits := func(r *ring) bool { return r != nil && r.form.isDesktop() && r.texts.hasWaiting() }
	if c.lateSenderRunning || !slices.ContainsFunc(c.rings[:], waits) {
		return
	}
	c.lateSenderRunning = true
	c.wg.Go(func() {
		for wait := textInterval; wait > 0; {
			timer := time.NewTimer(wait)
			select {
			case <-timer.C:
			case <-c.ctx.Done():
				timer.Stop()
				return
			}
			var groups []*group
			groups, wait = c.queueLateTexts()
			c.writeGroups(groups, len(groups)*groupSize)
		}
	})
}

// queueLateTexts queues throttled texts for all tabs that are up to date; the others get
// newer ones. It returns the time until the next call, or 0 for none.
func (c *Center) queueLateTexts() (groups []*group, wait time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lateSenderRunning = false
	if c.closed {
		return nil, 0
	}
	now := time.Now()
	for _, r := range c.rings {
		if r == nil || !r.form.isDesktop() {
			continue
		}
		frames, more := r.texts.takeLate(now)
		wait = max(wait, more)
		if len(frames) > 0 {
			c.queueLateFrames(r, frames)
			groups = append(groups, r.groups...)
		}
	}
	c.lateSenderRunning = wait > 0
	return groups, wait
}

// queueLateFrames queues texts for the tabs of a ring. The caller holds c.mu.
func (c *Center) queueLateFrames(r *ring, frames []lateText) {
	for _, t := range c.tabs {
		if t.ring != r {
			continue
		}
		t.mu.Lock()
		for _, l := range frames {
			if !t.closing && t.owner == nil && t.filter.shows(l.monitor) {
				t.afterEvent = append(t.afterEvent, delayedFrame{at: c.head, frame: l.frame, dropIfStale: true})
			}
		}
		t.mu.Unlock()
	}
}

// remove deletes the texts of an agent at the end of its turn.
func (t *texts) remove(agent wire.AgentID) {
	t.agents = slices.DeleteFunc(t.agents, func(at *agentText) bool { return at.agent == agent })
}

// addFromSnapshot adds the texts of a snapshot that are missing or lack their beginning.
func (t *texts) addFromSnapshot(agents []wire.AgentState) {
	for _, a := range agents {
		for _, known := range []struct {
			thinking bool
			body     string
		}{{true, a.Thinking}, {false, a.Text}} {
			if known.body == "" {
				continue
			}
			at := t.textOf(a.Role, known.thinking)
			// The snapshot may be older than the published pieces.
			if head, units := truncateUnits([]byte(known.body), at.startOffset); at.startOffset > 0 && units == at.startOffset {
				at.startOffset, at.body, at.units = 0, append(head, at.body...), units+at.units
			} else if len(at.body) == 0 {
				at.startOffset, at.units = 0, 0
				at.putDelta(known.body, 0)
			}
		}
	}
}

// putDelta writes a piece at its offset. If the piece does not touch the known text, the
// text starts at the piece and its beginning is unknown.
func (at *agentText) putDelta(delta string, offset int) {
	end := at.startOffset + at.units
	switch {
	case offset > end && (at.truncated || delta == ""):
		return
	case offset < at.startOffset, offset > end:
		at.startOffset, at.body, at.units, at.truncated = offset, nil, 0, false
	case offset < end:
		at.body, at.units = truncateUnits(at.body, offset-at.startOffset)
		at.truncated = false
	}
	if room := maxTextBytes - len(at.body); len(delta) > room {
		delta, at.truncated = truncation.Bytes(delta, room), true
	}
	at.body = append(at.body, delta...)
	at.units += utf16Len(delta)
}

// appendThrottled appends a frame with the text, unless one was sent less than textInterval
// ago.
func (at *agentText) appendThrottled(dst []byte, form Form, e Event) []byte {
	switch {
	case at.startOffset > 0:
		return dst
	case e.Time.Sub(at.lastShown) < textInterval && !e.Time.Before(at.lastShown):
		if at.waiting == nil {
			at.at, at.since = e.Time, time.Now()
		}
		at.waiting = e.Data
		return dst
	}
	at.lastShown = e.Time
	return at.appendWhole(dst, form, e.Data)
}

// appendWhole appends a frame with the current text.
func (at *agentText) appendWhole(dst []byte, form Form, data wire.ServerPayload) []byte {
	at.waiting = nil
	switch p := data.(type) {
	case wire.AgentThinking:
		p.Content = string(at.body)
		data = p
	case wire.AgentResponse:
		p.Content = string(at.body)
		data = p
	}
	return form.appendFrames(dst, wire.Event{Data: data})
}

// utf16Len returns the number of UTF-16 units of a text.
func utf16Len(s string) int {
	n := 0
	for _, r := range s {
		n += utf16Width(r)
	}
	return n
}

func utf16Width(r rune) int {
	if r >= 0x10000 {
		return 2
	}
	return 1
}

// truncateUnits shortens a text to a number of UTF-16 units, or one less where that would
// split a character.
func truncateUnits(body []byte, units int) ([]byte, int) {
	n := 0
	for i := 0; i < len(body); {
		r, size := utf8.DecodeRune(body[i:])
		if n+utf16Width(r) > units {
			return body[:i], n
		}
		n += utf16Width(r)
		i += size
	}
	return body, n
}
