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

// A client of the desktop dialect that reconnects has no cursor and keeps what it shows. A
// snapshot adds items to its desktop and removes none. So the client is also sent the ending
// of every item that ended within the retained log and is not in the snapshot; it ignores the
// ending of an item that it does not show.

const (
	// endingsPageEvents bounds a page of the log that is read for endings.
	endingsPageEvents = 512
	// maxEndings bounds the endings of each kind that a client is sent: the newest.
	maxEndings = 500
	// maxDeparted bounds the detached tabs that are kept.
	maxDeparted = 64
)

// departed is a detached tab of the desktop dialect, which may reconnect.
type departed struct {
	user       string
	connection wire.ConnectionID
	at         wire.Position // everything up to it was sent
}

// recordDeparted records the position of a tab of the desktop dialect. The caller holds
// c.mu.
func (c *Center) recordDeparted(t *Tab) {
	if !t.form.isDesktop() {
		return
	}
	if len(c.departed) == maxDeparted {
		c.departed = slices.Delete(c.departed, 0, 1)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	c.departed = append(c.departed, departed{t.who.User, t.who.ConnectionID, t.at})
}

// popDeparted returns the detached tab of a user that was detached first, which is assumed
// to be the reconnecting one, or zero.
func (c *Center) popDeparted(user string) departed {
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

// endable identifies an item that can end.
type endable struct {
	kind    endableKind
	monitor wire.MonitorID // for windows
	id      string
}

type endableKind uint8

const (
	endWindow endableKind = iota
	endAgent
	endWindowAgent
	endPrompt
	endDialog
	endNotification
	endShortcut
	endBadge
	endableKinds
)

// endings are the items that ended in a part of the log. They may have begun again.
type endings struct {
	ended map[endable]wire.Event // the last ending of each
	order []endable
	// openedAt is the position at which a dialog was opened, lockedBy the agent that locked
	// a window.
	openedAt map[wire.DialogID]wire.Position
	lockedBy map[endable]wire.AgentID
}

// endingPrefixes begin the frames of all events that readEndings decodes; that of
// AGENT_RESPONSE comes first.
var endingPrefixes = [][]byte{
	[]byte(`{"type":"AGENT_RESPONSE"`), []byte(`{"type":"ACTIONS"`), []byte(`{"type":"WINDOW_AGENT_STATUS"`),
	[]byte(`{"type":"PROMPT_CLOSED"`), []byte(`{"type":"DIALOG_CLOSED"`), []byte(`{"type":"APPROVAL_REQUEST"`),
}

var complete = []byte(`"isComplete":true`)

// isEnding reports whether a frame may be of a relevant event. It decodes nothing, because
// nearly all events are pieces of texts.
func isEnding(frame []byte) bool {
	i := slices.IndexFunc(endingPrefixes, func(begin []byte) bool { return bytes.HasPrefix(frame, begin) })
	return i > 0 || i == 0 && bytes.Contains(frame, complete)
}

// readEndings reads the retained log up to a position. It omits what it cannot read: a
// client that shows stale items is better than one that is refused.
func (c *Center) readEndings(until wire.Position) *endings {
	e := &endings{
		ended: map[endable]wire.Event{}, openedAt: map[wire.DialogID]wire.Position{}, lockedBy: map[endable]wire.AgentID{},
	}
	ctx, cancel := context.WithTimeout(c.ctx, sourceTimeout)
	defer cancel()
	after, err := c.src.Oldest(ctx)
	for err == nil && after.Compare(until) < 0 {
		var page []store.Event
		page, err = c.src.Read(ctx, after, endingsPageEvents)
		if errors.Is(err, store.ErrTrimmed) { // trimmed since Oldest
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
			e.addEvent(kept)
			after = kept.At
		}
		if len(page) == 0 {
			break
		}
	}
	if err != nil {
		c.cfg.Logger.Warn("cannot read log for reconnecting client", "session", c.session, "error", err)
	}
	return e
}

// addEvent records the ending, if any, in an event of the log.
func (e *endings) addEvent(kept store.Event) {
	if !isEnding(kept.Frame) {
		return
	}
	event, err := wire.Native{}.DecodeEvent(kept.Frame)
	if err != nil {
		return // an event of a newer hub
	}
	event.At = kept.At
	switch p := event.Data.(type) {
	case wire.Actions:
		for _, a := range p.Actions {
			e.addAction(event, p.MonitorID, a)
		}
	case wire.AgentResponse:
		e.record(endable{kind: endAgent, id: string(p.AgentID)}, event)
	case wire.WindowAgentStatus:
		if p.Status == wire.AgentReleased {
			e.record(endable{kind: endWindowAgent, id: string(p.AgentID)}, event)
		}
	case wire.PromptClosed:
		e.record(endable{kind: endPrompt, id: string(p.PromptID)}, event)
	case wire.ApprovalRequest:
		e.openedAt[p.DialogID] = kept.At
	case wire.DialogClosed:
		e.record(endable{kind: endDialog, id: string(p.DialogID)}, event)
	}
}

// addAction records the ending, if any, in an action.
func (e *endings) addAction(event wire.Event, monitor wire.MonitorID, action wire.Action) {
	end := func(kind endableKind, id string, does ...wire.Action) {
		event.Data = wire.Actions{Actions: does, MonitorID: monitor}
		e.record(endable{kind: kind, id: id}, event)
	}
	switch a := action.(type) {
	case wire.WindowLock:
		e.lockedBy[windowKey(monitor, a.WindowID)] = a.AgentID
	case wire.WindowClose:
		w := windowKey(monitor, a.WindowID)
		// The client closes no locked window, and may have missed the unlock.
		var does []wire.Action
		if by, ok := e.lockedBy[w]; ok {
			does = append(does, wire.WindowUnlock{WindowID: wire.WindowID(w.id), AgentID: by})
		}
		event.Data = wire.Actions{Actions: append(does, wire.WindowClose{WindowID: wire.WindowID(w.id)}), MonitorID: w.monitor}
		e.record(w, event)
	case wire.DialogConfirm:
		e.openedAt[a.ID] = event.At
	case wire.NotificationDismiss:
		end(endNotification, string(a.ID), a)
	case wire.RemoveShortcut:
		end(endShortcut, string(a.ShortcutID), a)
	case wire.AppBadge:
		if a.Count == 0 {
			end(endBadge, string(a.AppID), a)
		}
	}
}

// windowKey returns the key of a window whose id may include its monitor.
func windowKey(monitor wire.MonitorID, id wire.WindowID) endable {
	raw, _ := strings.CutPrefix(string(id), string(monitor)+"/")
	return endable{endWindow, monitor, raw}
}

func (e *endings) record(t endable, event wire.Event) {
	e.ended[t] = event
	e.order = append(e.order, t)
}

// presentIn returns the items in a snapshot.
func presentIn(s *wire.SessionState) map[endable]bool {
	alive := map[endable]bool{}
	for i := range s.Windows {
		alive[endable{endWindow, s.Windows[i].MonitorID, string(s.Windows[i].WindowID)}] = true
	}
	for i := range s.Agents {
		if a := &s.Agents[i]; a.Status != wire.AgentStatusIdle {
			alive[endable{kind: endAgent, id: string(a.Role)}] = true
			alive[endable{kind: endWindowAgent, id: string(a.Role)}] = true
		}
	}
	for i := range s.Prompts {
		alive[endable{kind: endPrompt, id: string(s.Prompts[i].ID)}] = true
	}
	for i := range s.Dialogs {
		alive[endable{kind: endDialog, id: string(s.Dialogs[i].DialogID)}] = true
	}
	for i := range s.Notifications {
		alive[endable{kind: endNotification, id: string(s.Notifications[i].ID)}] = true
	}
	for i := range s.Shortcuts {
		alive[endable{kind: endShortcut, id: string(s.Shortcuts[i].ID)}] = true
	}
	for _, b := range s.Badges {
		if b.Value > 0 {
			alive[endable{kind: endBadge, id: string(b.Key)}] = true
		}
	}
	return alive
}

// missingFrom returns the events that end items which are not in a snapshot, in log order,
// for a tab that may still show them.
func (e *endings) missingFrom(s *wire.SessionState, f *filter, was departed) []wire.Event {
	skip := presentIn(s)
	var sent [endableKinds]int
	var events []wire.Event
	for _, t := range slices.Backward(e.order) {
		event := e.ended[t]
		if skip[t] || sent[t.kind] == maxEndings || !f.shows(wire.MonitorOf(event.Data)) {
			continue
		}
		skip[t] = true
		missed := !was.at.IsZero() && event.At.Compare(was.at) > 0
		switch p := event.Data.(type) {
		case wire.AgentResponse:
			if !missed {
				p.Outcome, p.Reason = "", "" // otherwise the client would show an old failure again
			}
			event.Data = p
		case wire.DialogClosed:
			asked, known := e.openedAt[p.DialogID]
			if !missed || known && asked.Compare(was.at) > 0 || p.AnsweredBy == was.connection {
				continue // the client does not show the dialog
			}
			event.Data = closedDialog(p)
		}
		sent[t.kind]++
		events = append(events, event)
	}
	slices.Reverse(events)
	return events
}

// closedDialog returns a dialog that replaces a closed one, because the dialect has no
// message that closes a dialog.
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

// appendEndings appends the frames of events; consecutive actions of one monitor share a
// frame.
func (c *Center) appendEndings(form Form, dst []byte, events []wire.Event) []byte {
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
