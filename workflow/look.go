package workflow

import "github.com/everdesk/everdesk/wire"

// Look is what others may know of a plan that is under way.
type Look struct {
	// Role is the plan as an agent, Message what it works off, on Monitor.
	Role    wire.AgentID
	Message wire.MessageID
	Monitor wire.MonitorID
	// Questions is how many of its questions are open.
	Questions int
}

// Look is the plan that is under way, if there is one.
func (f *Flow) Look() (Look, bool) {
	if !f.Active() {
		return Look{}, false
	}
	return Look{Role: f.plan.role(), Message: f.plan.Message, Monitor: f.plan.Monitor, Questions: len(f.asks)}, true
}

// Message is what the newest plan works off, or did; empty if there was none.
func (f *Flow) Message() wire.MessageID {
	if f.plan == nil {
		return ""
	}
	return f.plan.Message
}

// OfGuest reports whether the newest plan is one of somebody else than the owner of
// the session.
func (f *Flow) OfGuest() bool { return f.plan != nil && f.plan.Guest }

// Working reports whether somebody has to own the session for the plan's sake: work
// is under way, or something becomes due.
func (f *Flow) Working() bool {
	if !f.Active() {
		return false
	}
	if !f.Due().IsZero() || f.plan.Think != nil && f.plan.Think.Job != "" {
		return true
	}
	for _, t := range f.todos {
		if t.Job != "" {
			return true
		}
	}
	return false
}
