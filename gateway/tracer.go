package gateway

import "github.com/everdesk/everdesk/wire"

// Tracer starts the traces of messages. Its methods must not block.
type Tracer interface {
	// MessageReceived is called when a message for an agent was read. The traceparent is the
	// client's, if it sent one; it is not validated.
	MessageReceived(session wire.SessionID, message wire.MessageID, traceparent string)
}

// traceWith returns a function that starts the trace of a message that may cause a turn.
func traceWith(t Tracer) func(id wire.SessionID, m *wire.Message, traceparent string) {
	return func(id wire.SessionID, m *wire.Message, traceparent string) {
		if t == nil {
			return
		}
		switch m.Data.(type) {
		case wire.UserMessage, wire.WindowMessage, wire.ComponentAction:
			t.MessageReceived(id, m.ID, traceparent)
		}
	}
}
