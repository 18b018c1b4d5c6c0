package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/apps"
	"github.com/everdesk/everdesk/audit"
	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/files"
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/admin"
	"github.com/everdesk/everdesk/gateway/agui"
	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/gateway/openapi"
	"github.com/everdesk/everdesk/gateway/rest"
	"github.com/everdesk/everdesk/gateway/rooipc"
	"github.com/everdesk/everdesk/gateway/ws"
	"github.com/everdesk/everdesk/membership"
	"github.com/everdesk/everdesk/modes"
	"github.com/everdesk/everdesk/pictures"
	"github.com/everdesk/everdesk/profiles"
	"github.com/everdesk/everdesk/ratelimit"
	"github.com/everdesk/everdesk/secrets"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/settings"
	"github.com/everdesk/everdesk/web"
	"github.com/everdesk/everdesk/wire"
	"github.com/everdesk/everdesk/workspaces"
)

// Timeouts of the HTTP servers. Handlers that stream lift the read and write deadlines of their
// connection with [http.ResponseController].
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 30 * time.Second
	writeTimeout      = 30 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
)

// Store holds the parts of the store that the gateway uses.
type Store struct {
	Readiness StoreReadiness
	// Events are the logs of sessions.
	Events admin.EventStore
	// Documents hold users' settings and the names of their sessions.
	Documents access.Documents
}

// StoreReadiness is the part of the store that knows its state.
type StoreReadiness interface {
	// Ready returns nil, or the reason why the store cannot be used.
	Ready(ctx context.Context) error
}

// Timeouts are the deadlines for clients of the streaming endpoints.
type Timeouts = ws.Timeouts

// AdminView is the read model of all sessions for the admin API.
type AdminView = admin.View

// Agents counts the agents of all replicas.
type Agents = admin.Agents

// Members is the part of package membership that the gateway uses.
type Members interface {
	admin.Membership
	ws.Connected
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
	// IPCUser is the user whose sessions the clients of [Server.SetIPCListener] use.
	IPCUser string
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
	c.Timeouts = c.Timeouts.WithDefaults()
	return c
}

// Deps are the components that a [Server] uses.
type Deps struct {
	Store   Store
	Hub     *session.Hub
	Auth    *auth.Authority
	Limiter *ratelimit.Limiter
	Files   *files.Store
	// Checkpoints are the states of these files; nil means that there are none.
	Checkpoints rest.Checkpoints
	// CheckpointTransfer exports and imports them; nil means that session files have none.
	CheckpointTransfer rest.CheckpointTransfer
	// Workspaces are the folders in which agents may work; nil means that there are none.
	Workspaces *workspaces.Store
	// Settings are the settings of users and of the hub; nil means none.
	Settings *settings.Store
	// OnSettingsChanged, unless nil, is called for each change of settings, secrets and profiles, on
	// whichever replica it was made. See [Server.WatchNotices].
	OnSettingsChanged func(settings.Changed)
	// Secrets are the secrets of users and of the hub; nil means none.
	Secrets *secrets.Store
	// Profiles are the model profiles of users; nil means none.
	Profiles *profiles.Store
	// MCPServers runs the MCP servers of users; nil means that there are none.
	MCPServers rest.MCPServers
	// Modes are the modes of users; nil means none.
	Modes *modes.Store
	// Backends asks model backends what they offer; nil means none.
	Backends rest.Backends
	// Web requests pages for apps; nil means that there are none.
	Web rest.Web
	// UserApps are the apps of users; nil means none.
	UserApps *apps.Store
	// Market has the apps that users can install; nil means none.
	Market *apps.Market
	// AppCompiler compiles those of them that have no page; nil means that they cannot be installed.
	AppCompiler rest.AppCompiler
	// MCP serves /mcp, the tools for agents and programs outside the hub; nil means no such endpoint.
	MCP MCP
	// ToolProfiles are the profiles of tools that programs can have, the default first.
	ToolProfiles []string
	// Providers are the names of the model backends, and Provider is the default for new sessions.
	Providers []string
	Provider  string
	// Crash kills this process on request of the tour; nil if nothing would start it again.
	Crash func()
	// Desktop holds the files of the page at /, and Apps the files of the apps' own origin; nil
	// means none.
	Desktop *web.Site
	Apps    *web.Site
	// Admin holds the files of the page at /admin, and Metrics serves /metrics; nil means none.
	// View is the read model of all sessions for the admin API.
	Admin     *web.Site
	Metrics   http.Handler
	AdminView admin.View
	// Membership is the set of replicas including this one, and Audit the log of admin actions.
	// Without them there is no admin API.
	Membership Members
	Audit      *audit.Log
	// Agents counts the running agents, of which AgentLimit may run; nil means zero.
	Agents     admin.Agents
	AgentLimit int
	// Observer receives connection events, for metrics; nil means none.
	Observer Observer
	// Tracer starts the traces of messages; nil means no tracing.
	Tracer Tracer
}

// MCP is the MCP endpoint.
type MCP interface {
	http.Handler
	// Revoke ends the running requests of the MCP token with the id, if there are any.
	Revoke(id string)
}

// Server serves HTTP requests. Make it with [New].
type Server struct {
	cfg     Config
	log     *slog.Logger
	limits  *ratelimit.Limiter
	mcp     MCP
	metrics http.Handler

	hosts         *access.Hosts
	authenticator *access.Authenticator
	actions       *admin.Actions
	streams       *ws.Server
	admin         *admin.API
	rest          *rest.API
	agui          *agui.API
	ipc           *rooipc.Server
	ready         *readiness
	pages         *pages
	apps          appsServer

	// The router and server of the main listener, and of the separate one of the admin endpoints.
	echo          *echo.Echo
	http          *http.Server
	adminListener adminListener
	ipcListener   *net.UnixListener // nil if there is no IPC socket

	refused access.RefusalCounts
	// anonymousErrors bounds the log lines that unauthenticated requests can cause.
	anonymousErrors logLimiter
	// description returns the OpenAPI document, which it builds on the first call.
	description func() []byte
}

// New returns a server that uses d. It does not listen yet.
func New(cfg Config, log *slog.Logger, d Deps) *Server {
	s := &Server{
		cfg: cfg.withDefaults(), log: log, limits: d.Limiter, mcp: d.MCP, metrics: d.Metrics,
	}
	observer, trace := observerOrNoop(d.Observer), traceWith(d.Tracer)
	s.hosts = access.NewHosts(cfg.Hosts, cfg.Origins, cfg.TrustedProxies)
	sessions := access.NewSessions(d.Hub, d.Store.Documents, d.Files, log, s.cfg.UserSessions, func() { observer.Limited(limitSessions) }, d.Auth.MCPTokens, d.Auth.Links)
	s.authenticator = access.NewAuthenticator(d.Auth, d.Limiter, s.hosts, sessions, &s.refused, cfg.QueryTokens)
	fitter := pictures.NewFitter()
	s.actions = admin.NewActions(log, d.Audit, d.Membership)
	s.streams = ws.New(ws.Config{
		FrameBytes: s.cfg.FrameBytes, Heartbeat: s.cfg.Heartbeat, DrainAfter: s.cfg.DrainAfter, DrainGrace: s.cfg.DrainGrace,
		UserConnections: s.cfg.UserConnections, Timeouts: s.cfg.Timeouts,
	}, ws.Deps{
		Log: log, Hub: d.Hub, Auth: d.Auth, Limits: d.Limiter, Store: d.Store.Events, Authenticator: s.authenticator, Sessions: sessions, Reads: s.actions,
		Members: d.Membership, Observer: observer, Refused: &s.refused, Trace: trace, Settings: d.Settings, OnKeyRevoked: s.revokeMCP,
		OnSettingsChanged: d.OnSettingsChanged,
		Pictures:          fitter,
	})
	budget := httpio.NewBudget()
	s.admin = admin.New(admin.Deps{
		Log: log, Hub: d.Hub, Store: d.Store.Events, Sessions: sessions, Authenticator: s.authenticator, Budget: budget, Actions: s.actions,
		Members: d.Membership, Audit: d.Audit, View: d.AdminView, Agents: d.Agents, AgentLimit: d.AgentLimit,
		UserSessions: s.cfg.UserSessions, UserConnections: s.cfg.UserConnections, FrameBytes: s.cfg.FrameBytes,
	})
	s.apps.hosts, s.apps.refused = s.hosts, &s.refused
	s.rest = rest.New(rest.Deps{
		Market: d.Market, AppCompiler: d.AppCompiler, AppScript: appScript(d.Apps),
		Log: log, Hub: d.Hub, Auth: d.Auth, Limits: d.Limiter, Files: d.Files, Checkpoints: d.Checkpoints, CheckpointTransfer: d.CheckpointTransfer, Workspaces: d.Workspaces, Store: d.Store.Documents, Settings: d.Settings, Secrets: d.Secrets, Profiles: d.Profiles, Modes: d.Modes, Backends: d.Backends, Web: d.Web, MCPServers: d.MCPServers, Apps: d.UserApps, Hosts: s.hosts,
		Authenticator: s.authenticator, Sessions: sessions, Actions: s.actions, Budget: budget, Connections: s.streams,
		Stream: s.streams.ServeSSE, Trace: trace, Crash: d.Crash, AppsOrigin: s.apps.origin,
		Version: cfg.Version, Providers: d.Providers, Provider: d.Provider, ToolProfiles: d.ToolProfiles,
		Heartbeat: s.cfg.Heartbeat, FrameBytes: s.cfg.FrameBytes, UploadBytes: s.cfg.UploadBytes, Pictures: fitter,
	})
	s.agui = agui.New(agui.Deps{
		Log: log, Hub: d.Hub, Authenticator: s.authenticator, Sessions: sessions, Actions: s.actions, Budget: budget, Version: cfg.Version, Trace: trace,
	})
	s.ipc = rooipc.New(rooipc.Deps{
		Log: log, Hub: d.Hub, Sessions: sessions, Limits: d.Limiter, Pictures: fitter, Modes: d.Modes, Profiles: d.Profiles, Trace: trace,
		FrameBytes: s.cfg.FrameBytes, User: s.cfg.IPCUser,
	})
	s.ready = &readiness{log: log, store: d.Store.Readiness, timeout: s.cfg.ReadyTimeout, draining: s.streams.Draining}
	s.pages = &pages{
		log: log, auth: d.Auth, hosts: s.hosts, authenticator: s.authenticator, ready: s.ready, apps: &s.apps,
		version: cfg.Version, frameBytes: s.cfg.FrameBytes, dir: cfg.DesktopDir, desktop: d.Desktop, adminPage: d.Admin,
		stopping: s.streams.Stopping(),
	}
	if cfg.WebDev != nil {
		s.pages.dev = newDevProxy(cfg.WebDev, log)
	}
	s.echo = s.newEcho()
	s.register(s.echo, slices.DeleteFunc(s.routes(), func(r openapi.Route) bool { return s.cfg.SeparateAdmin && isAdminPath(r.Path) }))
	s.registerPages()
	s.description = sync.OnceValue(func() []byte { return openapi.Document(s.cfg.Version, access.CredentialNames(), s.routes()) })
	s.http = s.newHTTP(s)
	s.initApps(d.Apps)
	s.initAdmin()
	return s
}

// routes returns all routes, except those of registerPages.
func (s *Server) routes() []openapi.Route {
	all := slices.Concat(s.rest.Routes(), s.agui.Routes(), s.streams.Routes(), s.pages.routes(), s.admin.Routes(), s.hubRoutes())
	if s.admin.Enabled() {
		all = append(all, s.adminPageRoutes()...)
	}
	return all
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

// register adds the routes, each behind its guard.
func (s *Server) register(to *echo.Echo, all []openapi.Route) {
	for _, r := range all {
		handler := s.authenticator.Guard(r.Guard, r.Handler)
		to.Add(r.Method, r.Path, handler)
		if r.Method == http.MethodGet && r.Guard != openapi.GuardSocket {
			to.Add(http.MethodHead, r.Path, handler) // load balancers probe with HEAD
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
		get(s.echo, "/*", s.pages.staticDesktop)
	case s.pages.dev != nil:
		get(s.echo, "/*", s.pages.proxyDev)
	case s.pages.desktop != nil:
		for _, name := range s.pages.desktop.Names() {
			if name != indexFile {
				get(s.echo, "/"+name, s.pages.asset(name))
			}
		}
	}
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.apps.owns(r) {
		s.apps.echo.ServeHTTP(w, r)
		return
	}
	s.echo.ServeHTTP(w, r)
}

// Serve serves requests on ln, and on the listeners of the apps and of the admins if there are any,
// until [Server.Shutdown], after which it returns nil. It closes all listeners.
func (s *Server) Serve(ln net.Listener) error {
	s.apps.hubPort.Store(int32(portNumber(ln.Addr()))) //nolint:gosec // ports are small
	return s.serveAll(ln)
}

// SetIPCListener makes Serve also serve the IPC protocol of Roo-Code on a socket, see [rooipc.Listen].
func (s *Server) SetIPCListener(ln *net.UnixListener) { s.ipcListener = ln }

// Drain makes /readyz return 503, so that load balancers pick other replicas before Shutdown closes
// the listener, and refuses new streaming clients. It closes the admin streams; admins may
// reconnect to watch the drain.
func (s *Server) Drain() {
	s.streams.Drain()
	s.admin.CloseStreams(false)
}

// Undrain reverts [Server.Drain].
func (s *Server) Undrain() { s.streams.Undrain() }

// WatchNotices makes sure that OnSettingsChanged of [Deps] is called from now on, also while there are no
// connections.
func (s *Server) WatchNotices() { s.streams.WatchNotices() }

// DisconnectReleased disconnects clients whose session this hub no longer runs, until ctx ends. A
// session that was handed over gets an owner as soon as a client opens it on another replica, so
// its clients need not wait until the last session is handed over. Call [Server.Drain] first.
func (s *Server) DisconnectReleased(ctx context.Context, runs func(wire.SessionID) bool) {
	s.streams.DisconnectReleased(ctx, runs)
}

// DisconnectAll disconnects the streaming clients, as [Server.Shutdown] does, but keeps the
// listeners open. Call [Server.Drain] first, or new clients connect. It returns when all
// connections are gone, or with an error when ctx ends first.
func (s *Server) DisconnectAll(ctx context.Context) error { return s.streams.DisconnectAll(ctx) }

// Shutdown closes the listeners, disconnects the streaming clients and waits for running requests.
// It aborts requests that still run when ctx ends and returns an error for them.
func (s *Server) Shutdown(ctx context.Context) error {
	s.Drain()
	s.admin.CloseStreams(true)
	s.agui.CloseStreams(true)
	// Concurrently: clients must not reconnect to a listener that is still open, and the streams
	// among the requests end only when they are disconnected.
	var wg sync.WaitGroup
	wg.Go(func() { s.ipc.Close(ctx) })
	wg.Go(func() { s.streams.Close(ctx) })
	if s.apps.http != nil {
		// The apps' listener serves files only; requests for them are not worth waiting for.
		wg.Go(func() { _ = s.apps.http.Shutdown(ctx); _ = s.apps.http.Close() })
	}
	var adminErr error
	if s.adminListener.http != nil {
		wg.Go(func() { adminErr = s.adminListener.http.Shutdown(ctx) })
	}
	err := s.http.Shutdown(ctx)
	wg.Wait()
	defer s.actions.Wait(ctx)
	if adminErr != nil {
		err = errors.Join(err, adminErr, s.adminListener.http.Close())
	}
	if err == nil {
		return nil
	}
	return errors.Join(fmt.Errorf("wait for running requests: %w", err), s.http.Close())
}

// ExecuteCommand executes a command of another replica.
func (s *Server) ExecuteCommand(ctx context.Context, e membership.Command) membership.Answer {
	return s.admin.ExecuteCommand(ctx, e)
}
