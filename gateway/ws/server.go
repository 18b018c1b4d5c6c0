package ws

import (
	"context"
	"log/slog"
	"time"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/pictures"
	"github.com/everdesk/everdesk/ratelimit"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/settings"
	"github.com/everdesk/everdesk/wire"
)

// Config tunes a [Server]. All fields must be set.
type Config struct {
	// FrameBytes bounds one client message.
	FrameBytes int64
	// Heartbeat is the interval between pings on an idle connection.
	Heartbeat time.Duration
	// DrainAfter is the upper bound of the random delay after which clients are asked to reconnect
	// when this hub stops. DrainGrace is the time that one batch of clients has to answer the close
	// before the next batch is closed.
	DrainAfter time.Duration
	DrainGrace time.Duration
	// UserConnections is the number of connections a user may have to all replicas together; negative
	// means no limit.
	UserConnections int
	// Timeouts are the deadlines for clients.
	Timeouts Timeouts
}

// Observer receives connection events, for metrics. Its methods must not block.
type Observer interface {
	// Closed is called when a WebSocket has ended; 1006 means without a close frame.
	Closed(code wire.CloseCode)
	// Limited is called when a user has reached a limit.
	Limited(limit string)
}

// Deps are the components that a [Server] uses.
type Deps struct {
	Log    *slog.Logger
	Hub    *session.Hub
	Auth   *auth.Authority
	Limits *ratelimit.Limiter
	// Pictures scales the pictures of messages.
	Pictures      *pictures.Fitter
	Store         EventStore
	Authenticator *access.Authenticator
	Sessions      *access.Sessions
	// Reads audits what admins read.
	Reads Reads
	// Members is nil for the only replica.
	Members  Connected
	Observer Observer
	// Settings, unless nil, publishes which settings have changed.
	Settings *settings.Store
	// Refused counts refused requests.
	Refused *access.RefusalCounts
	// Trace starts the trace of a message; traceparent is the client's, not validated.
	Trace func(id wire.SessionID, m *wire.Message, traceparent string)
	// OnKeyRevoked, unless nil, is called with the id of each API key and MCP token that was revoked, on
	// whichever replica.
	OnKeyRevoked func(id string)
	// OnSettingsChanged, unless nil, is called for each change of settings, secrets and profiles, on
	// whichever replica it was made.
	OnSettingsChanged func(settings.Changed)
}

// Server serves streaming connections: it accepts them, and disconnects them when the hub drains or
// stops. Make it with [New].
type Server struct {
	cfg           Config
	log           *slog.Logger
	hub           *session.Hub
	limits        *ratelimit.Limiter
	authenticator *access.Authenticator
	sessions      *access.Sessions
	observer      Observer
	refused       *access.RefusalCounts
	trace         func(id wire.SessionID, m *wire.Message, traceparent string)

	resources *connResources
	registry  *registry
	rights    *rights
	admission *admission
}

// New returns a server without connections.
func New(cfg Config, d Deps) *Server {
	s := &Server{
		cfg: cfg, log: d.Log, hub: d.Hub, limits: d.Limits, authenticator: d.Authenticator, sessions: d.Sessions,
		observer: d.Observer, refused: d.Refused, trace: d.Trace, resources: newConnResources(d.Pictures),
	}
	s.registry = newRegistry(d.Log, &s.cfg, s.resources)
	s.rights = &rights{registry: s.registry, sessions: d.Sessions, auth: d.Auth, revocations: revocations{byKey: map[revokedKey]revocationTime{}}}
	s.admission = &admission{
		log: d.Log, auth: d.Auth, limits: d.Limits, store: d.Store, authenticator: d.Authenticator, sessions: d.Sessions, reads: d.Reads,
		members: d.Members, observer: d.Observer, refused: d.Refused, userConnections: cfg.UserConnections,
		registry: s.registry, rights: s.rights, gate: newAuthGate(),
	}
	heartbeats := &heartbeat{registry: s.registry, rights: s.rights, interval: cfg.Heartbeat, timeouts: &s.cfg.Timeouts}
	s.registry.background = []func(){heartbeats.run, func() {
		d.Auth.Watch(s.registry.ctx, func(r auth.Revocation) {
			s.rights.revoke(r)
			if r.Key != "" && d.OnKeyRevoked != nil {
				d.OnKeyRevoked(r.Key)
			}
		})
	}}
	if d.Settings != nil {
		s.registry.background = append(s.registry.background, func() {
			d.Settings.Watch(s.registry.ctx, func(c settings.Changed) {
				if d.OnSettingsChanged != nil { // first, so that tabs find what has changed
					d.OnSettingsChanged(c)
				}
				s.registry.notifyChanged(c)
			})
		})
	}
	return s
}

// WatchNotices makes sure that OnKeyRevoked and OnSettingsChanged are called from now on, also while
// there are no connections.
func (s *Server) WatchNotices() { s.registry.watchNotices() }

// Drain refuses new clients until [Server.Undrain].
func (s *Server) Drain() { s.registry.draining.Store(true) }

// Undrain reverts [Server.Drain].
func (s *Server) Undrain() { s.registry.draining.Store(false) }

// Draining reports whether new clients are refused.
func (s *Server) Draining() bool { return s.registry.draining.Load() }

// Close asks all clients to reconnect elsewhere, closes their connections and ends all goroutines.
// When ctx ends it stops waiting for close handshakes.
func (s *Server) Close(ctx context.Context) { s.registry.closeAll(ctx) }

// Stopping returns a context that ends when [Server.Close] has disconnected the clients.
func (s *Server) Stopping() context.Context { return s.registry.ctx }

// Connections returns the number of streaming connections.
func (s *Server) Connections() int { return s.registry.count() }

// ConnectionsByUser returns the number of connections to this replica of the users that have the most, for other
// replicas to count. Users with few connections are left out.
func (s *Server) ConnectionsByUser() map[string]int { return s.registry.busiest(s.cfg.UserConnections) }

// RecheckSession applies a change of access rights, made on this replica, to the connections to a
// session. Other replicas notice with their periodic recheck.
func (s *Server) RecheckSession(id wire.SessionID) { s.rights.recheckSession(id) }

// CloseCookie closes the connections that were opened with a cookie.
func (s *Server) CloseCookie(cookie auth.Identity) { s.rights.closeCookie(cookie) }
