package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/audit"
	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/files"
	"github.com/everdesk/everdesk/ratelimit"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/web"
	"github.com/everdesk/everdesk/wire"
)

// Timeouts of the HTTP servers. Handlers that stream lift the read and write deadlines of their
// connection with [http.ResponseController].
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 30 * time.Second
	writeTimeout      = 30 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
	// disconnectPoll is the interval at which [Server.DisconnectAll] checks whether the
	// disconnected clients are gone.
	disconnectPoll = 20 * time.Millisecond
	// releaseInterval is the interval at which [Server.DisconnectReleased] looks for sessions that
	// were handed over.
	releaseInterval = 100 * time.Millisecond
)

// Store is the part of the store that the gateway uses.
type Store interface {
	// Ready returns nil, or the reason why the store cannot be used.
	Ready(ctx context.Context) error
	// Read returns up to limit events of a session's log that follow the position after.
	Read(ctx context.Context, session wire.SessionID, after wire.Position, limit int) ([]store.Event, error)
	// Get, Put and Remove access the documents with users' settings and the names of their
	// sessions.
	Get(ctx context.Context, collection, name string) (store.Document, error)
	Put(ctx context.Context, d store.Document) (version uint64, err error)
	Remove(ctx context.Context, collection, name string, version uint64) error
}

// Config tunes a [Server]. The zero value means the defaults.
type Config struct {
	// Version is shown on the status page and in the API description.
	Version string
	// ReadyTimeout bounds the readiness check of the store. It defaults to 2 s, less than load
	// balancers commonly wait.
	ReadyTimeout time.Duration
	// Hosts are the host names and addresses, besides those of the loopback, under which clients
	// reach the hub: the listen address and the names that users type. Ports in them are ignored.
	// "*" allows every host, which is safe only behind a proxy that checks the header.
	Hosts []string
	// Origins are the origins of pages on other hosts that may use the hub, such as
	// "https://desk.example.org".
	Origins []string
	// FrameBytes bounds one client message, over WebSocket and over REST. It defaults to 64 KiB.
	FrameBytes int64
	// UploadBytes bounds an uploaded file. It defaults to 25 MiB.
	UploadBytes int64
	// Heartbeat is the interval between pings on an idle connection. It defaults to 30 s.
	Heartbeat time.Duration
	// QueryTokens allows tokens in the query of WebSocket, SSE and stored-file requests, where
	// proxies may log them.
	QueryTokens bool
	// TrustedProxies are the networks whose X-Forwarded-For header is used; none by default.
	TrustedProxies []netip.Prefix
	// DesktopDir is a folder with a built desktop that is served at / instead of the embedded one.
	DesktopDir string
	// AppsURL is the origin under which browsers reach the apps through a proxy, such as
	// "https://apps.example.org". Empty means the port of [Server.SetAppsListener] on the host of
	// the request.
	AppsURL string
	// SeparateAdmin moves the admin page, the admin API and /metrics from the main listener to the
	// one of [Server.SetAdminListener].
	SeparateAdmin bool
	// WebDev is the URL of a development server on this machine (Vite) that serves the desktop
	// instead of the embedded files. Nil outside development.
	WebDev *url.URL
	// DrainAfter is the upper bound of the random delay after which clients are asked to reconnect
	// when this hub stops. DrainGrace is the time that one batch of clients has to answer the close
	// before the next batch is closed. They default to 5 s and 2 s.
	DrainAfter time.Duration
	DrainGrace time.Duration
	// UserSessions is the number of sessions a user may have, and UserConnections the number of
	// streaming connections a user may have to all replicas together; a client that reconnects to
	// another replica may be counted twice for a few seconds. They default to 200 and 2,000;
	// negative means no limit.
	UserSessions    int
	UserConnections int
	// Timeouts are the deadlines for clients of the streaming endpoints.
	Timeouts Timeouts
}

func (c Config) withDefaults() Config {
	c.ReadyTimeout = cmp.Or(c.ReadyTimeout, 2*time.Second)
	c.FrameBytes = cmp.Or(c.FrameBytes, 64<<10)
	c.UploadBytes = cmp.Or(c.UploadBytes, 25<<20)
	c.Heartbeat = cmp.Or(c.Heartbeat, 30*time.Second)
	c.DrainAfter = cmp.Or(c.DrainAfter, 5*time.Second)
	c.DrainGrace = cmp.Or(c.DrainGrace, 2*time.Second)
	c.UserSessions = cmp.Or(c.UserSessions, 200)
	c.UserConnections = cmp.Or(c.UserConnections, 2000)
	c.Timeouts = c.Timeouts.withDefaults()
	return c
}

// Deps are the components that a [Server] uses.
type Deps struct {
	Store   Store
	Hub     *session.Hub
	Auth    *auth.Authority
	Limiter *ratelimit.Limiter
	Files   *files.Store
	// MCP serves /mcp, the tools for agents outside the hub; nil means no such endpoint.
	MCP http.Handler
	// Providers are the names of the model backends, and Provider is the default for new sessions.
	Providers []string
	Provider  string
	// Desktop holds the files of the page at /, and Apps the files of the apps' own origin; nil
	// means none.
	Desktop *web.Site
	Apps    *web.Site
	// Admin holds the files of the page at /admin, and Metrics serves /metrics; nil means none.
	// AdminView is the read model of all sessions for the admin API.
	Admin     *web.Site
	Metrics   http.Handler
	AdminView AdminView
	// Membership is the set of replicas including this one, and Audit the log of admin actions.
	// Without them there is no admin API.
	Membership Membership
	Audit      *audit.Log
	// Agents counts the running agents, of which AgentLimit may run; nil means zero.
	Agents     Agents
	AgentLimit int
	// Observer receives connection events, for metrics; nil means none.
	Observer Observer
	// Tracer starts the traces of messages; nil means no tracing.
	Tracer Tracer
}

// Server serves HTTP requests. Make it with [New].
type Server struct {
	cfg             Config
	log             *slog.Logger
	store           Store
	hub             *session.Hub
	auth            *auth.Authority
	limits          *ratelimit.Limiter
	files           *files.Store
	mcp             http.Handler
	providers       []string
	defaultProvider string
	echo            *echo.Echo
	http            *http.Server

	desktop   *web.Site
	metrics   http.Handler
	adminView AdminView
	// adminPage holds the files of the admin page, and adminStreams the SSE streams that such pages
	// have open.
	adminPage    *web.Site
	admin        adminListener
	adminStreams adminStreams
	actions      adminActions

	dev        *httputil.ReverseProxy // nil without [Config].WebDev
	apps       apps
	members    Membership
	audit      *audit.Log
	agents     Agents
	tracer     Tracer // nil when messages are not traced
	agentLimit int
	port       atomic.Int32 // port of the main listener, for the frame-ancestors policy of the apps

	observer Observer

	hosts          map[string]bool // in lower case, without ports
	origins        []string        // in lower case
	refused        refusals
	responseBudget responseBudget
	// anonymousErrors bounds the log lines that unauthenticated requests can cause.
	anonymousErrors logLimiter
	// description returns the OpenAPI document, which it builds on the first call.
	description func() []byte

	createLocks      createLocks
	connections      connections
	authGate         authGate
	draining         atomic.Bool
	storeUnavailable atomic.Bool // the last readiness check failed
}

// New returns a server that uses d. It does not listen yet.
func New(cfg Config, log *slog.Logger, d Deps) *Server {
	s := &Server{
		cfg: cfg.withDefaults(), log: log,
		store: d.Store, hub: d.Hub, auth: d.Auth, limits: d.Limiter, files: d.Files,
		mcp: d.MCP, providers: d.Providers, defaultProvider: d.Provider, desktop: d.Desktop, adminPage: d.Admin, metrics: d.Metrics, adminView: d.AdminView,
		members: d.Membership, audit: d.Audit, agents: d.Agents, agentLimit: d.AgentLimit,
		observer: observerOrNoop(d.Observer), tracer: d.Tracer, hosts: map[string]bool{}, authGate: newAuthGate(),
	}
	for _, h := range cfg.Hosts {
		s.hosts[hostName(h)] = true
	}
	for _, o := range cfg.Origins {
		s.origins = append(s.origins, strings.ToLower(strings.TrimSuffix(o, "/")))
	}
	if cfg.WebDev != nil {
		s.dev = newDevProxy(cfg.WebDev, log)
	}
	s.connections.init()
	s.actions.init()
	s.responseBudget.init()
	s.echo = s.newEcho()
	s.register(s.echo, slices.DeleteFunc(s.routes(), func(r route) bool { return s.cfg.SeparateAdmin && r.isAdminRoute() }))
	s.registerPages()
	s.description = sync.OnceValue(func() []byte { return openAPI(s.cfg.Version, s.routes()) })
	s.http = s.newHTTP(s)
	s.initApps(d.Apps)
	s.initAdmin()
	return s
}

// newEcho returns a router with the middleware that every request passes.
func (s *Server) newEcho() *echo.Echo {
	e := echo.New()
	e.HTTPErrorHandler = s.writeProblem
	e.IPExtractor = ipExtractor(s.cfg.TrustedProxies)
	e.Use(s.logRequests, s.setSecurityHeaders, s.checkHostAndOrigin)
	return e
}

func (s *Server) newHTTP(handler http.Handler) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
}

// register adds the routes, each with the middleware that its guard needs.
func (s *Server) register(to *echo.Echo, all []route) {
	for _, r := range all {
		handler := r.handler
		switch r.guard {
		case guardAdmin:
			handler = s.requireIdentity(requireAdmin(handler))
		case guardRead:
			handler = s.requireIdentity(requireAdminRead(handler))
		case guardAct:
			handler = s.requireIdentity(requireAdminRead(requireAdminAct(handler)))
		case guardIdentity:
			handler = s.requireIdentity(handler)
		}
		to.Add(r.method, r.path, handler)
		if r.method == http.MethodGet && r.guard != guardSocket {
			to.Add(http.MethodHead, r.path, handler) // load balancers probe with HEAD
		}
	}
}

func get(to *echo.Echo, path string, handler echo.HandlerFunc) {
	to.GET(path, handler)
	to.HEAD(path, handler)
}

// registerPages adds the routes outside the table: the desktop's files and /mcp.
func (s *Server) registerPages() {
	if s.mcp != nil {
		s.echo.Any("/mcp", s.serveMCP)
	}
	switch {
	case s.cfg.DesktopDir != "":
		get(s.echo, "/*", s.staticDesktop)
	case s.dev != nil:
		get(s.echo, "/*", s.proxyDev)
	case s.desktop != nil:
		for _, name := range s.desktop.Names() {
			if name != indexFile {
				get(s.echo, "/"+name, s.asset(name))
			}
		}
	}
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.isForApps(r) {
		s.apps.echo.ServeHTTP(w, r)
		return
	}
	s.echo.ServeHTTP(w, r)
}

// Serve serves requests on ln, and on the listeners of the apps and of the admins if there are any,
// until [Server.Shutdown], after which it returns nil. It closes all listeners.
func (s *Server) Serve(ln net.Listener) error {
	s.port.Store(int32(portNumber(ln.Addr()))) //nolint:gosec // ports are small
	return s.serveAll(ln)
}

// Drain makes /readyz return 503, so that load balancers pick other replicas before Shutdown closes
// the listener, and refuses new streaming clients. It closes the admin streams; admins may
// reconnect to watch the drain.
func (s *Server) Drain() {
	s.draining.Store(true)
	s.adminStreams.closeAll(false)
}

// Undrain reverts [Server.Drain].
func (s *Server) Undrain() { s.draining.Store(false) }

// DisconnectReleased disconnects clients whose session this hub no longer runs, until ctx ends. A
// session that was handed over gets an owner as soon as a client opens it on another replica, so
// its clients need not wait until the last session is handed over. Call [Server.Drain] first.
func (s *Server) DisconnectReleased(ctx context.Context, runs func(wire.SessionID) bool) {
	tick := time.NewTicker(releaseInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		idle := slices.DeleteFunc(s.connections.all(), func(c *conn) bool {
			return c.closeRequested.Load() != nil || c.tab.Load() == nil || runs(c.session)
		})
		if len(idle) > 0 {
			s.disconnect(ctx, idle, "this hub hands its sessions over")
		}
	}
}

// DisconnectAll disconnects the streaming clients, as [Server.Shutdown] does, but keeps the
// listeners open. Call [Server.Drain] first, or new clients connect. It returns when all
// connections are gone, or with an error when ctx ends first.
func (s *Server) DisconnectAll(ctx context.Context) error {
	for {
		if ctx.Err() != nil { // clients that were not notified yet may stay
			return fmt.Errorf("send clients elsewhere: %w", context.Cause(ctx))
		}
		conns := s.connections.all()
		if len(conns) == 0 {
			return nil
		}
		// Connections that were asked to close are already ending.
		conns = slices.DeleteFunc(conns, func(c *conn) bool { return c.closeRequested.Load() != nil })
		s.disconnect(ctx, conns, "this hub is being drained")
		select {
		case <-time.After(disconnectPoll):
		case <-ctx.Done():
		}
	}
}

// Shutdown closes the listeners, disconnects the streaming clients and waits for running requests.
// It aborts requests that still run when ctx ends and returns an error for them.
func (s *Server) Shutdown(ctx context.Context) error {
	s.Drain()
	s.adminStreams.closeAll(true)
	// Concurrently: clients must not reconnect to a listener that is still open, and the streams
	// among the requests end only when they are disconnected.
	var wg sync.WaitGroup
	wg.Go(func() { s.closeAll(ctx) })
	if s.apps.http != nil {
		// The apps' listener serves files only; requests for them are not worth waiting for.
		wg.Go(func() { _ = s.apps.http.Shutdown(ctx); _ = s.apps.http.Close() })
	}
	var adminErr error
	if s.admin.http != nil {
		wg.Go(func() { adminErr = s.admin.http.Shutdown(ctx) })
	}
	err := s.http.Shutdown(ctx)
	wg.Wait()
	defer s.actions.wait(ctx)
	if adminErr != nil {
		err = errors.Join(err, adminErr, s.admin.http.Close())
	}
	if err == nil {
		return nil
	}
	return errors.Join(fmt.Errorf("wait for running requests: %w", err), s.http.Close())
}
