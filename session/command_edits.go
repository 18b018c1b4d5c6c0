package session

import "github.com/everdesk/everdesk/wire"

// didEdit is the kind of the timeline entry about an edit. Clients cannot send it: they send the edit.
const didEdit wire.InteractionType = "window.edit"

// editOf returns the edit of a user that a message consists of.
func editOf(m wire.Emit) (wire.WindowEdit, bool) {
	if len(m.Actions) != 1 {
		return wire.WindowEdit{}, false
	}
	edit, ok := m.Actions[0].(wire.WindowEdit)
	return edit, ok
}

// recordEdit adds an edit of a window to the timeline of its monitor, which the main agent reads in its next turn.
func (dc *desktopCommands) recordEdit(monitor wire.MonitorID, edited wire.Action, about string) {
	w, ok := dc.w.state.Window(monitor, windowOf(edited))
	if !ok || dc.agents == nil {
		return
	}
	dc.agents.poolForUpdate().RecordInteraction(w.MonitorID, wire.UserInteraction{
		Type: didEdit, WindowID: w.WindowID, Instruction: about, Timestamp: wire.Millis(dc.w.now.UnixMilli()),
	})
}
