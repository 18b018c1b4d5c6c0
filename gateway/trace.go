package gateway

import "github.com/everdesk/everdesk/wire"

// Tracer follows messages from the door on. It must not wait.
type Tracer interface {
	// Heard says that a message for an agent was read. The traceparent is what
	// the client calls its part, if it said so; nobody has checked it.
	Heard(session wire.SessionID, message wire.MessageID, traceparent string)
}

// trace has a message followed that a turn may come of.
func (s *Server) trace(id wire.SessionID, m *wire.Message, traceparent string) {
	if s.tracer == nil {
		return
	}
	switch m.Data.(type) {
	case wire.UserMessage, wire.WindowMessage, wire.ComponentAction:
		s.tracer.Heard(id, m.ID, traceparent)
	}
}
