package gateway

import "github.com/everdesk/everdesk/wire"

// Observer receives connection events, for metrics. Its methods must not block.
type Observer interface {
	// Closed is called when a WebSocket has ended; 1006 means without a close frame.
	Closed(code wire.CloseCode)
	// Limited is called when a user has reached a limit.
	Limited(limit string)
}

// noopObserver ignores all events.
type noopObserver struct{}

func (noopObserver) Closed(wire.CloseCode) {}
func (noopObserver) Limited(string)        {}

// The names of the gateway's own limits. Package ratelimit has the others.
const (
	limitConnections = "connections"
	limitSessions    = "sessions"
)

// observerOrNoop returns o, or a noopObserver if o is nil.
func observerOrNoop(o Observer) Observer {
	if o == nil {
		return noopObserver{}
	}
	return o
}

// reportClosed reports to the observer how a WebSocket has ended.
func (c *conn) reportClosed() {
	e := c.closeRequested.Load()
	switch {
	case c.ws == nil:
	case e != nil:
		c.s.observer.Closed(e.code)
	case c.clientCloseCode != 0:
		c.s.observer.Closed(c.clientCloseCode)
	default:
		c.s.observer.Closed(closeAbnormal)
	}
}

// closeAbnormal is the code of a connection that ended without a close frame (RFC 6455, 7.1.5).
const closeAbnormal wire.CloseCode = 1006

// Connections returns the number of streaming connections.
func (s *Server) Connections() int {
	s.connections.mu.Lock()
	defer s.connections.mu.Unlock()
	n := 0
	for _, slot := range s.connections.wheel {
		n += len(slot)
	}
	return n
}

// Draining reports whether the server drains, see [Server.Drain].
func (s *Server) Draining() bool { return s.draining.Load() }
