package gateway

import "github.com/everdesk/everdesk/wire"

// Observer is told what happens at the doors, for those who count it. It must not wait.
type Observer interface {
	// Closed is called when a WebSocket has ended; 1006 means that it was lost.
	Closed(code wire.CloseCode)
	// Limited is called when somebody has too many of something.
	Limited(limit string)
}

// blind is an observer who looks at nothing.
type blind struct{}

func (blind) Closed(wire.CloseCode) {}
func (blind) Limited(string)        {}

// The limits that the observer is told of. Others are those of package quota.
const (
	limitConnections = "connections"
	limitSessions    = "sessions"
)

// observing is an observer, if need be one who looks at nothing.
func observing(o Observer) Observer {
	if o == nil {
		return blind{}
	}
	return o
}

// told tells the observer how a WebSocket has ended.
func (c *conn) told() {
	e := c.ended.Load()
	switch {
	case c.ws == nil:
	case e != nil:
		c.s.observer.Closed(e.code)
	case c.left != 0:
		c.s.observer.Closed(c.left)
	default:
		c.s.observer.Closed(closeLost)
	}
}

// closeLost is the code of a connection that has ended without one.
const closeLost wire.CloseCode = 1006

// Connections is how many streaming connections there are.
func (s *Server) Connections() int {
	s.connections.mu.Lock()
	defer s.connections.mu.Unlock()
	n := 0
	for _, slot := range s.connections.wheel {
		n += len(slot)
	}
	return n
}

// Draining reports whether [Server.Drain] was called, and not taken back.
func (s *Server) Draining() bool { return s.draining.Load() }
