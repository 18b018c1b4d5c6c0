package gateway

import (
	"github.com/everdesk/everdesk/gateway/ws"
	"github.com/everdesk/everdesk/wire"
)

// Observer receives connection events, for metrics. Its methods must not block.
type Observer = ws.Observer

// noopObserver ignores all events.
type noopObserver struct{}

func (noopObserver) Closed(wire.CloseCode) {}
func (noopObserver) Limited(string)        {}

// limitSessions is the name of the limit on a user's sessions.
const limitSessions = "sessions"

// observerOrNoop returns o, or a noopObserver if o is nil.
func observerOrNoop(o Observer) Observer {
	if o == nil {
		return noopObserver{}
	}
	return o
}

// Connections returns the number of streaming connections.
func (s *Server) Connections() int { return s.streams.Connections() }

// ConnectionsByUser returns the number of connections to this replica of the users that have the most, for
// other replicas to count. Users with few connections are left out.
func (s *Server) ConnectionsByUser() map[string]int { return s.streams.ConnectionsByUser() }

// Draining reports whether the server drains, see [Server.Drain].
func (s *Server) Draining() bool { return s.streams.Draining() }
