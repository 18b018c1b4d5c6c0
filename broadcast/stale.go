package broadcast

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// A client of the desktop dialect that comes back has no cursor and keeps what it
// shows. A snapshot makes things appear there and nothing disappear. So it is also
// told the end of everything that ended in the part of the log that is kept and is
// not in the snapshot; the end of something it does not show means nothing to it.

const (
	// stalePage bounds a page of the log that is read for endings.
	stalePage = 512
	// mostEndings bounds the endings of each kind that a client is sent: the newest.
	mostEndings = 500
	// mostDeparted bounds the tabs that are remembered after they have left.
	mostDeparted = 64
)

// departed is a tab of the desktop dialect that has left, and may come back.
type departed struct {
	user       string
	connection wire.ConnectionID
	at         wire.Position // it was sent everything up to there
}

// noteDeparture remembers where a tab of the desktop dialect was. The caller has c.mu.
func (c *Center) noteDeparture(t *Tab) {
	if !t.form.isDesktop() {
		return
	}
	if len(c.departed) == mostDeparted {
		c.departed = slices.Delete(c.departed, 0, 1)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	c.departed = append(c.departed, departed{t.who.User, t.who.ConnectionID, t.at})
}

// takeDeparture is where the tab was that has come back: the one of the user that left
// first. It is zero when that is not known.
func (c *Center) takeDeparture(user string) departed {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.departed, func(d departed) bool { return d.user == user })
	if i < 0 {
		return departed{}
	}
	d := c.departed[i]
	c.departed = slices.Delete(c.departed, i, i+1)
	return d
}

// thing is what may end.
type thing struct {
	kind    thingKind
	monitor wire.MonitorID // of a window
	id      string
}

type thingKind uint8

const (
	thingWindow thingKind = iota
	thingAgent
	thingWindowAgent
	thingPrompt
	thingDialog
	thingNotification
	thingShortcut
	thingBadge
	thingKinds
)

// endings is what ended in a part of the log, and may have begun again.
type endings struct {
	ended map[thing]wire.Event // the last end of each
	order []thing
	// asked is where dialogs were opened, locked who has locked a window.
	asked  map[wire.DialogID]wire.Position
	locked map[thing]wire.AgentID
}

// mayEnd has the beginnings of the frames of all events that are looked at; those of
// AGENT_RESPONSE come first.
var mayEnd = [][]byte{
	[]byte(`{"type":"AGENT_RESPONSE"`), []byte(`{"type":"ACTIONS"`), []byte(`{"type":"WINDOW_AGENT_STATUS"`),
	[]byte(`{"type":"PROMPT_CLOSED"`), []byte(`{"type":"DIALOG_CLOSED"`), []byte(`{"type":"APPROVAL_REQUEST"`),
}

var complete = []byte(`"isComplete":true`)

// isEnding reports whether a frame may be of an event that matters here. It decodes
// nothing, for nearly all events are pieces of texts.
func isEnding(frame []byte) bool {
	i := slices.IndexFunc(mayEnd, func(begin []byte) bool { return bytes.HasPrefix(frame, begin) })
	return i > 0 || i == 0 && bytes.Contains(frame, complete)
}

// readEndings reads what is kept of the log up to a position. What it cannot read is
// left out: a client that shows something stale is better than one that is refused.
func (c *Center) readEndings(until wire.Position) *endings {
	e := &endings{
		ended: map[thing]wire.Event{}, asked: map[wire.DialogID]wire.Position{}, locked: map[thing]wire.AgentID{},
	}
	ctx, cancel := context.WithTimeout(c.ctx, sourceTimeout)
	defer cancel()
	after, err := c.src.Oldest(ctx)
	for err == nil && after.Compare(until) < 0 {
		var page []store.Event
		page, err = c.src.Read(ctx, after, stalePage)
		if errors.Is(err, store.ErrTrimmed) { // meanwhile
			before := after
			if after, err = c.src.Oldest(ctx); err != nil || after.Compare(before) > 0 {
				continue
			}
			break
		}
		for _, kept := range page {
			if kept.At.Compare(until) > 0 {
				return e
			}
			e.add(kept)
			after = kept.At
		}
		if len(page) == 0 {
			break
		}
	}
	if err != nil {
		c.cfg.Logger.Warn("log not read for a client that comes back", "session", c.session, "error", err)
	}
	return e
}

// add takes an event of the log into account.
func (e *endings) add(kept store.Event) {
	if !isEnding(kept.Frame) {
		return
	}
	event, err := wire.Native{}.DecodeEvent(kept.Frame)
	if err != nil {
		return // of a newer hub
	}
	event.At = kept.At
	switch p := event.Data.(type) {
	case wire.Actions:
		for _, a := range p.Actions {
			e.act(event, p.MonitorID, a)
		}
	case wire.AgentResponse:
		e.end(thing{kind: thingAgent, id: string(p.AgentID)}, event)
	case wire.WindowAgentStatus:
		if p.Status == wire.AgentReleased {
			e.end(thing{kind: thingWindowAgent, id: string(p.AgentID)}, event)
		}
	case wire.PromptClosed:
		e.end(thing{kind: thingPrompt, id: string(p.PromptID)}, event)
	case wire.ApprovalRequest:
		e.asked[p.DialogID] = kept.At
	case wire.DialogClosed:
		e.end(thing{kind: thingDialog, id: string(p.DialogID)}, event)
	}
}

// act takes an action into account.
func (e *endings) act(event wire.Event, monitor wire.MonitorID, action wire.Action) {
	end := func(kind thingKind, id string, does ...wire.Action) {
		event.Data = wire.Actions{Actions: does, MonitorID: monitor}
		e.end(thing{kind: kind, id: id}, event)
	}
	switch a := action.(type) {
	case wire.WindowLock:
		e.locked[windowThing(monitor, a.WindowID)] = a.AgentID
	case wire.WindowClose:
		w := windowThing(monitor, a.WindowID)
		// That client closes no window that is locked, and may have missed who unlocked it.
		var does []wire.Action
		if by, ok := e.locked[w]; ok {
			does = append(does, wire.WindowUnlock{WindowID: wire.WindowID(w.id), AgentID: by})
		}
		event.Data = wire.Actions{Actions: append(does, wire.WindowClose{WindowID: wire.WindowID(w.id)}), MonitorID: w.monitor}
		e.end(w, event)
	case wire.DialogConfirm:
		e.asked[a.ID] = event.At
	case wire.NotificationDismiss:
		end(thingNotification, string(a.ID), a)
	case wire.RemoveShortcut:
		end(thingShortcut, string(a.ShortcutID), a)
	case wire.AppBadge:
		if a.Count == 0 {
			end(thingBadge, string(a.AppID), a)
		}
	}
}

// windowThing is a window that is named with its monitor or without.
func windowThing(monitor wire.MonitorID, id wire.WindowID) thing {
	raw, _ := strings.CutPrefix(string(id), string(monitor)+"/")
	return thing{thingWindow, monitor, raw}
}

func (e *endings) end(t thing, event wire.Event) {
	e.ended[t] = event
	e.order = append(e.order, t)
}

// living are the things in a snapshot.
func living(s *wire.SessionState) map[thing]bool {
	alive := map[thing]bool{}
	for i := range s.Windows {
		alive[thing{thingWindow, s.Windows[i].MonitorID, string(s.Windows[i].WindowID)}] = true
	}
	for i := range s.Agents {
		if a := &s.Agents[i]; a.Status != wire.AgentStatusIdle {
			alive[thing{kind: thingAgent, id: string(a.Role)}] = true
			alive[thing{kind: thingWindowAgent, id: string(a.Role)}] = true
		}
	}
	for i := range s.Prompts {
		alive[thing{kind: thingPrompt, id: string(s.Prompts[i].ID)}] = true
	}
	for i := range s.Dialogs {
		alive[thing{kind: thingDialog, id: string(s.Dialogs[i].DialogID)}] = true
	}
	for i := range s.Notifications {
		alive[thing{kind: thingNotification, id: string(s.Notifications[i].ID)}] = true
	}
	for i := range s.Shortcuts {
		alive[thing{kind: thingShortcut, id: string(s.Shortcuts[i].ID)}] = true
	}
	for _, b := range s.Badges {
		if b.Value > 0 {
			alive[thing{kind: thingBadge, id: string(b.Key)}] = true
		}
	}
	return alive
}

// over are the events that end what a snapshot does not have, in their order, for a
// tab that may still show it.
func (e *endings) over(s *wire.SessionState, f *filter, was departed) []wire.Event {
	skip := living(s)
	var told [thingKinds]int
	var events []wire.Event
	for _, t := range slices.Backward(e.order) {
		event := e.ended[t]
		if skip[t] || told[t.kind] == mostEndings || !f.shows(wire.MonitorOf(event.Data)) {
			continue
		}
		skip[t] = true
		missed := !was.at.IsZero() && event.At.Compare(was.at) > 0
		switch p := event.Data.(type) {
		case wire.AgentResponse:
			if !missed {
				p.Outcome, p.Reason = "", "" // else an old failure would be shown again
			}
			event.Data = p
		case wire.DialogClosed:
			asked, known := e.asked[p.DialogID]
			if !missed || known && asked.Compare(was.at) > 0 || p.AnsweredBy == was.connection {
				continue // it does not show the dialog
			}
			event.Data = closedDialog(p)
		}
		told[t.kind]++
		events = append(events, event)
	}
	slices.Reverse(events)
	return events
}

// closedDialog says that a dialog is closed, in its place: the dialect has nothing
// that closes one.
func closedDialog(p wire.DialogClosed) wire.Actions {
	why := "It was answered elsewhere."
	switch p.Reason {
	case wire.ClosedExpired:
		why = "It was not answered in time."
	case wire.ClosedCancelled:
		why = "The agent no longer asks."
	}
	return wire.Actions{MonitorID: p.MonitorID, Actions: []wire.Action{wire.DialogConfirm{
		ID: p.DialogID, Title: "This question is closed", Message: why, ConfirmText: "OK", CancelText: "Close",
	}}}
}

// appendOver adds the frames of events, with actions of a monitor together.
func (c *Center) appendOver(form Form, dst []byte, events []wire.Event) []byte {
	for i := 0; i < len(events); i++ {
		e := events[i]
		if first, ok := e.Data.(wire.Actions); ok {
			for ; i+1 < len(events); i++ {
				next, ok := events[i+1].Data.(wire.Actions)
				if !ok || next.MonitorID != first.MonitorID {
					break
				}
				first.Actions = append(slices.Clip(first.Actions), next.Actions...)
			}
			e.Data = first
		}
		e.Session = c.session
		dst = form.appendFrames(dst, e)
	}
	return dst
}
