package workflow

import "github.com/everdesk/everdesk/wire"

// Summary describes the active plan for other packages.
type Summary struct {
	// Role is the agent id of the plan, Message the message of User that it executes, on Monitor.
	Role    wire.AgentID
	Message wire.MessageID
	User    string
	Monitor wire.MonitorID
	// Questions is the number of its open questions.
	Questions int
}

// Summary returns a summary of the active plan, if there is one.
func (f *Flow) Summary() (Summary, bool) {
	if !f.Active() {
		return Summary{}, false
	}
	return Summary{Role: f.plan.role(), Message: f.plan.Message, User: f.plan.User, Monitor: f.plan.Monitor, Questions: len(f.asks)}, true
}

// Message returns the message that the newest plan executes or executed; "" if there was
// none.
func (f *Flow) Message() wire.MessageID {
	if f.plan == nil {
		return ""
	}
	return f.plan.Message
}

// OfGuest reports whether the newest plan was requested by a user other than the owner of
// the session.
func (f *Flow) OfGuest() bool { return f.plan != nil && f.plan.Guest }

// Working reports whether the session must stay owned because of the plan: a job is
// running, or a deadline is pending.
func (f *Flow) Working() bool {
	if !f.Active() {
		return false
	}
	if !f.Due().IsZero() || f.plan.ModelTask != nil && f.plan.ModelTask.Job != "" {
		return true
	}
	for _, t := range f.todos {
		if t.Job != "" {
			return true
		}
	}
	return false
}
