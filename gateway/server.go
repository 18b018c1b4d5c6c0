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

// The patience of the server. Doors that stream lift the read and write
// deadlines of their own connection with [http.ResponseController].
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 30 * time.Second
	writeTimeout      = 30 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
	// goneAfter is how often it is looked whether clients that were sent away
	// are gone.
	goneAfter = 20 * time.Millisecond
	// releaseEvery is how often it is looked which sessions are handed over.
	releaseEvery = 100 * time.Millisecond
)

// Store is what the gateway needs of the store.
type Store interface {
	// Ready says why the store cannot be used, or nil.
	Ready(ctx context.Context) error
	// Read looks into a session's log.
	Read(ctx context.Context, session wire.SessionID, after wire.Position, limit int) ([]store.Event, error)
	// Get, Put and Remove are where the settings of users and the names of their sessions are kept.
	Get(ctx context.Context, collection, name string) (store.Document, error)
	Put(ctx context.Context, d store.Document) (version uint64, err error)
	Remove(ctx context.Context, collection, name string, version uint64) error
}

// Config tunes a [Server]. The zero value means the defaults.
type Config struct {
	// Version is what the status page shows.
	Version string
	// ReadyTimeout is how long the store may take to say that it is ready.
	// Defaults to 2 s, less than what load balancers commonly wait.
	ReadyTimeout time.Duration
	// Hosts are the names, besides those of this machine's loopback, that the
	// hub is reached under: the address it listens on and what people type. A
	// port in them means nothing. "*" means any, which is safe only behind a
	// proxy that checks them.
	Hosts []string
	// Origins are pages of other hosts that may use the hub, such as
	// "https://desk.example.org".
	Origins []string
	// FrameBytes bounds a client's message, over WebSocket as over REST. It
	// defaults to 64 KiB.
	FrameBytes int64
	// UploadBytes bounds an uploaded file. It defaults to 25 MiB.
	UploadBytes int64
	// Heartbeat is how often an idle connection is asked whether it lives. It
	// defaults to 30 s.
	Heartbeat time.Duration
	// QueryTokens lets tokens come in the query of what streams and of stored files, where proxies
	// may log them.
	QueryTokens bool
	// TrustedProxies are those whose X-Forwarded-For is believed; none by default.
	TrustedProxies []netip.Prefix
	// DesktopDir is a built desktop to serve at / instead of ours.
	DesktopDir string
	// AppsURL is where browsers find the apps when a proxy stands before them,
	// such as "https://apps.example.org". Empty means the port of
	// [Server.AppsAt] on whatever host the hub is reached under.
	AppsURL string
	// AdminApart says that those who look after the hub have a door of their own,
	// see [Server.AdminAt]. Nothing of theirs is at everybody's then.
	AdminApart bool
	// WebDev is a build tool on this machine that serves the desktop instead;
	// for those who write it. Nil in all other cases.
	WebDev *url.URL
	// DrainAfter is the longest that clients are told to wait before they come
	// back when this hub stops; each is told a random part of it. DrainGrace is
	// how long a group of them may take to answer their close before the next
	// group is closed. They default to 5 s and 2 s.
	DrainAfter time.Duration
	DrainGrace time.Duration
	// UserSessions is how many sessions a user may make and UserConnections how
	// many streaming connections a user may have, to all replicas together; those
	// who come back to another replica may be counted twice for a while. They
	// default to 200 and 2,000; negative means any number.
	UserSessions    int
	UserConnections int
	// Timeouts is how long the streaming doors wait for clients.
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

// Deps is what a [Server] stands before.
type Deps struct {
	Store   Store
	Hub     *session.Hub
	Auth    *auth.Authority
	Limiter *ratelimit.Limiter
	Files   *files.Store
	// MCP is where agents outside the hub find their tools; nil means nowhere.
	MCP http.Handler
	// Providers are who can think, Provider is who does in new sessions.
	Providers []string
	Provider  string
	// Desktop is the page at /, and Apps are the frames in it that have an
	// origin of their own; nil means none.
	Desktop *web.Site
	Apps    *web.Site
	// Admin is the page at /admin, and Metrics is what is measured, at /metrics; nil
	// means none. Monitor is what is shown of all sessions.
	Admin   *web.Site
	Metrics http.Handler
	Monitor Monitor
	// Membership are the replicas, of which this is one, and Audit is where it is
	// written down what admins do. Without them there is no admin API.
	Membership Membership
	Audit      *audit.Log
	// Agents counts those that run, of at most AgentLimit; nil means none.
	Agents     Agents
	AgentLimit int
	// Observer is told what happens at the doors; nil means that nobody looks.
	Observer Observer
	// Tracer follows messages, if there is one.
	Tracer Tracer
}

// Server answers HTTP requests. Make it with [New].
type Server struct {
	cfg      Config
	log      *slog.Logger
	store    Store
	hub      *session.Hub
	auth     *auth.Authority
	limits   *ratelimit.Limiter
	files    *files.Store
	mcp      http.Handler
	backends []string
	mind     string
	echo     *echo.Echo
	http     *http.Server

	desktop *web.Site
	metrics http.Handler
	monitor Monitor
	// adminPage is the page of those who look after the hub, who are in the admin streams
	// while they do.
	adminPage    *web.Site
	admin        adminListener
	adminStreams adminStreams
	actions      adminActions

	dev     *httputil.ReverseProxy // nil unless there is a build tool
	apps    apps
	members Membership
	audit   *audit.Log
	agents  Agents
	tracer  Tracer       // nil unless messages are followed
	most    int          // agents
	port    atomic.Int32 // of the listener, for the apps to know their pages by

	observer Observer

	hosts   map[string]bool // in lower case, without ports
	origins []string        // in lower case
	refused refusals
	bulk    bulk
	// strangers is how much is in the log because of them.
	strangers logLimiter
	// description is the API description, made when it is first asked for.
	description func() []byte

	createLocks createLocks
	connections connections
	turnstile   authGate
	draining    atomic.Bool
	away        atomic.Bool // the store did not answer when last asked
}

// New makes a server in front of d. It does not listen yet.
func New(cfg Config, log *slog.Logger, d Deps) *Server {
	s := &Server{
		cfg: cfg.withDefaults(), log: log,
		store: d.Store, hub: d.Hub, auth: d.Auth, limits: d.Limiter, files: d.Files,
		mcp: d.MCP, backends: d.Providers, mind: d.Provider, desktop: d.Desktop, adminPage: d.Admin, metrics: d.Metrics, monitor: d.Monitor,
		members: d.Membership, audit: d.Audit, agents: d.Agents, most: d.AgentLimit,
		observer: observing(d.Observer), tracer: d.Tracer, hosts: map[string]bool{}, turnstile: newAuthGate(),
	}
	for _, h := range cfg.Hosts {
		s.hosts[hostName(h)] = true
	}
	for _, o := range cfg.Origins {
		s.origins = append(s.origins, strings.ToLower(strings.TrimSuffix(o, "/")))
	}
	if cfg.WebDev != nil {
		s.dev = newDev(cfg.WebDev, log)
	}
	s.connections.init()
	s.actions.init()
	s.bulk.init()
	s.echo = s.newEcho()
	s.register(s.echo, slices.DeleteFunc(s.routes(), func(r route) bool { return s.cfg.AdminApart && r.isAdmins() }))
	s.registerPages()
	s.description = sync.OnceValue(func() []byte { return openAPI(s.cfg.Version, s.routes()) })
	s.http = s.newHTTP(s)
	s.openApps(d.Apps)
	s.openAdmin()
	return s
}

// newEcho makes a router with the checks that every request passes.
func (s *Server) newEcho() *echo.Echo {
	e := echo.New()
	e.HTTPErrorHandler = s.fail
	e.IPExtractor = extractor(s.cfg.TrustedProxies)
	e.Use(s.watch, s.secure, s.admit)
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

// register makes the routes known, each behind its guards.
func (s *Server) register(to *echo.Echo, all []route) {
	for _, r := range all {
		handler := r.do
		switch r.guard {
		case guardAdmin:
			handler = s.known(admins(handler))
		case guardRead:
			handler = s.known(lookers(handler))
		case guardAct:
			handler = s.known(lookers(doers(handler)))
		case guardKnown:
			handler = s.known(handler)
		}
		to.Add(r.method, r.path, handler)
		if r.method == http.MethodGet && r.guard != guardSocket {
			to.Add(http.MethodHead, r.path, handler) // load balancers like to ask this way
		}
	}
}

func get(to *echo.Echo, path string, handler echo.HandlerFunc) {
	to.GET(path, handler)
	to.HEAD(path, handler)
}

// registerPages makes known what is in no table: the files of the desktop, and where
// agents find their tools.
func (s *Server) registerPages() {
	if s.mcp != nil {
		s.echo.Any("/mcp", s.serveMCP)
	}
	switch {
	case s.cfg.DesktopDir != "":
		get(s.echo, "/*", s.static)
	case s.dev != nil:
		get(s.echo, "/*", s.develop)
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

// Serve answers requests that come to ln, and to the listeners of the apps and of
// those who look after the hub if there are any, until [Server.Shutdown], after which
// it returns nil. It closes all.
func (s *Server) Serve(ln net.Listener) error {
	s.port.Store(int32(portNumber(ln.Addr()))) //nolint:gosec // ports are small
	return s.serveAll(ln)
}

// Drain makes /readyz say 503 from now on, so that load balancers look
// elsewhere before Shutdown closes the door, and lets no streaming clients in.
// Those who watch the hub are sent away, and may come back to see how it goes on.
func (s *Server) Drain() {
	s.draining.Store(true)
	s.adminStreams.closeAll(false)
}

// Undrain takes [Server.Drain] back.
func (s *Server) Undrain() { s.draining.Store(false) }

// Release sends those clients elsewhere whose session is not run here, as long as
// ctx lasts: a session that was handed over is owned again as soon as somebody needs
// it at another hub, and nobody is to wait here until the last session is handed
// over. Call [Server.Drain] first.
func (s *Server) Release(ctx context.Context, runs func(wire.SessionID) bool) {
	tick := time.NewTicker(releaseEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		idle := slices.DeleteFunc(s.connections.all(), func(c *conn) bool {
			return c.ended.Load() != nil || c.tab.Load() == nil || runs(c.session)
		})
		if len(idle) > 0 {
			s.disconnect(ctx, idle, "this hub hands its sessions over")
		}
	}
}

// Dismiss sends the streaming clients elsewhere, as [Server.Shutdown] does, but goes
// on listening. Call [Server.Drain] first, or others come. It returns when all are
// gone, or with an error when ctx ends before.
func (s *Server) Dismiss(ctx context.Context) error {
	for {
		if ctx.Err() != nil { // those who were told nothing yet may stay
			return fmt.Errorf("send clients elsewhere: %w", context.Cause(ctx))
		}
		conns := s.connections.all()
		if len(conns) == 0 {
			return nil
		}
		// Those who were told already are on their way out.
		conns = slices.DeleteFunc(conns, func(c *conn) bool { return c.ended.Load() != nil })
		s.disconnect(ctx, conns, "this hub is being drained")
		select {
		case <-time.After(goneAfter):
		case <-ctx.Done():
		}
	}
}

// Shutdown stops listening, sends the streaming clients elsewhere and waits for
// running requests. Those still running when ctx ends are cut, and the error says
// so.
func (s *Server) Shutdown(ctx context.Context) error {
	s.Drain()
	s.adminStreams.closeAll(true)
	// Both at once: clients must not come back to a door that is still open,
	// and the streams among the requests end only when they are dismissed.
	var wg sync.WaitGroup
	wg.Go(func() { s.closeAll(ctx) })
	if s.apps.http != nil {
		// What is on its way there are files; nobody waits for them longer.
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
