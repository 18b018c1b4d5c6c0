package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/golang-jwt/jwt/v5"

	"github.com/everdesk/everdesk/adminview"
	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/apps"
	"github.com/everdesk/everdesk/audit"
	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/fetch"
	"github.com/everdesk/everdesk/files"
	"github.com/everdesk/everdesk/gateway"
	"github.com/everdesk/everdesk/gateway/rest"
	"github.com/everdesk/everdesk/gateway/rooipc"
	"github.com/everdesk/everdesk/mcpclient"
	"github.com/everdesk/everdesk/membership"
	"github.com/everdesk/everdesk/modes"
	"github.com/everdesk/everdesk/profiles"
	"github.com/everdesk/everdesk/providers/outbound"
	"github.com/everdesk/everdesk/ratelimit"
	"github.com/everdesk/everdesk/secrets"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/settings"
	"github.com/everdesk/everdesk/store/filestore"
	"github.com/everdesk/everdesk/store/redisstore"
	"github.com/everdesk/everdesk/web"
	"github.com/everdesk/everdesk/wire"
)

// hubOptions configures a testHub.
type hubOptions struct {
	provider string // of new sessions
	crash    func()
	gateway  gateway.Config
	auth     auth.Config
	limits   ratelimit.Config
	session  session.Config
	// store replaces the default store.
	store func(*slog.Logger) (engine, error)
	// counts wraps the counters of the rate limits.
	counts func(ratelimit.Counts) ratelimit.Counts
	// pipes replaces the TCP listener.
	pipes *pipeListener
	// mcp serves /mcp.
	mcp gateway.MCP
	// desktop and apps are the pages; ownApps gives the apps a listener of their own.
	desktop, apps *web.Site
	ownApps       bool
	// admin is the admin page; ownAdmin gives the admin endpoints a listener of their own.
	admin     *web.Site
	ownAdmin  bool
	metrics   http.Handler
	adminView gateway.AdminView // replaces the real one
	// members makes the hub announce itself and follow orders.
	members bool
	tracer  gateway.Tracer
	// pins are the pinned settings.
	pins []settings.Pin
	// keys encrypt secrets; none by default.
	keys *secrets.Keyring
	// webHosts lists the private servers that apps may fetch from.
	webHosts outbound.Hosts
	// ipc is the path of an IPC socket.
	ipc string
	// mcpServers are those of the operator.
	mcpServers []mcpclient.Server
	// market is a folder with apps that users can install.
	market string
	// checkpoints are the states of files; none by default.
	checkpoints rest.Checkpoints
}

// sessionStore is the part of a store that a session.Hub uses.
type sessionStore interface {
	session.Leases
	session.Writer
	session.Log
	session.Inbox
	session.Directory
}

// engine is the part of a store that a testHub uses.
type engine interface {
	sessionStore
	auth.Documents
	audit.Store
	membership.Announcements
	membership.Documents
	ratelimit.Counts
	service
}

// documents is an alias, because an embedded field with the name Documents would hide the method.
type documents = auth.Documents

// service is the state of a store.
type service interface {
	Ready(ctx context.Context) error
	Close() error
}

// joined is an engine made of the parts of a store.
type joined struct {
	sessionStore
	documents
	membership.Announcements
	agentpool.Semaphores
	ratelimit.Counts
	service
}

// joinFile joins the parts of a file store.
func joinFile(s *filestore.Store, err error) (agentStore, error) {
	if err != nil {
		return nil, err
	}
	return joined{s.Sessions, s.Documents, s.Replicas, s.Semaphores, s.Rates, s}, nil
}

// joinRedis joins the parts of a Redis store.
func joinRedis(s *redisstore.Store, err error) (agentStore, error) {
	if err != nil {
		return nil, err
	}
	return joined{s.Sessions, s.Documents, s.Replicas, s.Semaphores, s.Rates, s}, nil
}

// testHub is a whole hub on a real store, behind a real listener unless the options have pipes.
type testHub struct {
	t             testing.TB
	store         engine
	pipes         *pipeListener
	hub           *session.Hub
	auth          *auth.Authority
	fileStore     *files.Store
	fileFolder    string // of the file store
	userApps      *apps.Store
	server        *gateway.Server
	members       *membership.Membership
	adminView     *adminview.Watcher
	runMembership bool
	addr          string
	admin         string // address of the admin listener, if any
	apps          string // address of the apps' listener, if any
	secret        []byte // key of signed tokens
	renewalToken  string // the first token in tests of renewals, unless empty
	log           *safeBuffer
	wait          time.Duration
}

// safeBuffer is a log buffer for concurrent writers.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// newTestHub starts a hub in mode jwt with all limits off, unless the options say otherwise.
func newTestHub(tb testing.TB, tune ...func(*hubOptions)) *testHub {
	tb.Helper()
	h := &testHub{t: tb, secret: []byte(strings.Repeat("s3cret-", 8)), log: &safeBuffer{}, wait: 2 * time.Minute}
	key := filepath.Join(tb.TempDir(), "key")
	if err := os.WriteFile(key, h.secret, 0o600); err != nil {
		tb.Fatal(err)
	}
	p := hubOptions{auth: auth.Config{Mode: auth.ModeJWT, KeyFile: key, Issuer: "tests", Audience: "everdesk"}}
	p.limits.Off = true
	p.session.Replica = "replica-1"
	p.gateway.Timeouts.Close = time.Second
	p.gateway.Timeouts.Naming = 50 * time.Millisecond // most desktop clients in tests send nothing at first
	for _, f := range tune {
		f(&p)
	}
	log := slog.New(slog.NewTextHandler(io.MultiWriter(h.log, tb.Output()), &slog.HandlerOptions{Level: slog.LevelDebug}))
	p.auth.Logger, p.session.Logger, p.session.Broadcast.Logger = log, log, log
	if p.gateway.Heartbeat != 0 {
		p.session.Broadcast.Heartbeat = p.gateway.Heartbeat
	}
	if p.store == nil {
		p.store = func(log *slog.Logger) (engine, error) {
			return joinFile(filestore.Open(tb.TempDir(), filestore.Config{Sync: filestore.SyncOff, Logger: log}))
		}
	}
	var err error
	if h.store, err = p.store(log); err != nil {
		tb.Fatal(err)
	}
	if h.auth, err = auth.New(tb.Context(), p.auth, h.store); err != nil {
		tb.Fatal(err)
	}
	h.fileFolder = tb.TempDir()
	if h.fileStore, err = files.Open(h.fileFolder, files.Config{}); err != nil {
		tb.Fatal(err)
	}
	var counts ratelimit.Counts = h.store
	if p.counts != nil {
		counts = p.counts(counts)
	}
	h.hub, h.pipes = session.NewHub(p.session, session.StoreOf(h.store)), p.pipes
	h.members, h.runMembership = membership.New(membership.Config{
		ID: p.session.Replica, Version: "v1", Every: 20 * time.Millisecond, Logger: log,
		Load: func() membership.Load {
			l := h.hub.Load()
			return membership.Load{Owned: l.Owned, Followed: l.Followed, Tabs: l.Tabs}
		},
		Drain: func(ctx context.Context) error {
			h.server.Drain()
			h.hub.Drain(ctx)
			return h.server.DisconnectAll(ctx)
		},
		UserConnections: func() map[string]int { return h.server.ConnectionsByUser() },
		Execute: func(ctx context.Context, e membership.Command) membership.Answer {
			return h.server.ExecuteCommand(ctx, e)
		},
		Serve: func() { h.hub.Undrain(); h.server.Undrain() },
	}, h.store, h.store), p.members
	h.adminView = adminview.New(adminview.Config{Replica: p.session.Replica, Logger: log}, h.hub, h.members, h.store, h.store)
	if p.adminView == nil {
		p.adminView = h.adminView
	}
	p.gateway.SeparateAdmin = p.ownAdmin
	values, err := settings.New(h.store, settings.Config{Catalogue: settings.Catalogue(), Pins: p.pins, Logger: log})
	if err != nil {
		tb.Fatal(err)
	}
	if p.keys == nil {
		p.keys = secrets.NoKeys()
	}
	hidden := secrets.New(h.store, p.keys, func(ctx context.Context, of secrets.Owner, names []string) {
		values.Publish(ctx, settings.Subject{User: of.User}, names)
	})
	models := profiles.New(h.store, profiles.Config{
		Pinned: []profiles.Profile{{ID: "demo", Name: "demo", Backend: "demo", Pinned: "the hub"}}, Backends: []string{"demo", "anthropic"},
		Changed: func(ctx context.Context, user string) {
			values.Publish(ctx, settings.Subject{User: user}, []string{profiles.SettingName})
		},
	})
	folder, err := files.OpenFolder(tb.TempDir())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = folder.Close() })
	h.userApps = apps.New(folder, nil)
	pages := fetch.New(fetch.NewDomains(h.store), p.webHosts)
	tb.Cleanup(pages.Close)
	var servers *mcpclient.Manager
	servers = mcpclient.NewManager(mcpclient.Config{
		Operator: p.mcpServers, Hosts: p.webHosts, Secrets: hidden, Logger: log,
		Store: mcpclient.NewStore(h.store, false, p.mcpServers, func(ctx context.Context, user string) {
			servers.Invalidate(user)
			values.Publish(ctx, settings.Subject{User: user}, []string{mcpclient.SettingName})
		}),
	})
	tb.Cleanup(servers.Close)
	market, err := apps.NewMarket(p.market)
	if err != nil {
		tb.Fatal(err)
	}
	h.server = gateway.New(p.gateway, log, gateway.Deps{
		Membership: h.members, Audit: audit.New(h.store, log),
		Store: gateway.Store{Readiness: h.store, Events: h.store, Documents: h.store}, Hub: h.hub, Auth: h.auth, Limiter: ratelimit.New(p.limits, counts), Files: h.fileStore, Checkpoints: p.checkpoints, MCP: p.mcp, ToolProfiles: []string{"default", "all"},
		Desktop: p.desktop, Apps: p.apps, Settings: values, Secrets: hidden, Profiles: models, Modes: modes.New(h.store, func(ctx context.Context, user string) {
			values.Publish(ctx, settings.Subject{User: user}, []string{modes.SettingName})
		}), Backends: fakeBackends{}, Web: pages, MCPServers: servers, UserApps: apps.New(folder, values.PublishApp), Market: market, AppCompiler: inProcess{},
		Admin: p.admin, Metrics: p.metrics, AdminView: p.adminView, Tracer: p.tracer, Provider: p.provider, Crash: p.crash,
	})
	if p.ownAdmin {
		var lc net.ListenConfig
		ln, err := lc.Listen(tb.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			tb.Fatal(err)
		}
		h.admin = ln.Addr().String()
		h.server.SetAdminListener(ln)
	}
	if p.ownApps {
		var lc net.ListenConfig
		ln, err := lc.Listen(tb.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			tb.Fatal(err)
		}
		h.apps = ln.Addr().String()
		h.server.SetAppsListener(ln)
	}
	if p.ipc != "" {
		ln, err := rooipc.Listen(tb.Context(), p.ipc)
		if err != nil {
			tb.Fatal(err)
		}
		h.server.SetIPCListener(ln)
	}
	h.start()
	return h
}

// start serves requests, and stops everything at the end of the test.
func (h *testHub) start() {
	h.t.Helper()
	var ln net.Listener = h.pipes
	if h.pipes == nil {
		var lc net.ListenConfig
		var err error
		if ln, err = lc.Listen(h.t.Context(), "tcp", "127.0.0.1:0"); err != nil {
			h.t.Fatal(err)
		}
	}
	h.addr = ln.Addr().String()
	running, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { h.hub.Run(running) })
	if h.pipes == nil { // in a bubble time passes too fast for it
		wg.Go(func() { h.adminView.Run(running) })
	}
	if h.runMembership {
		wg.Go(func() { h.members.Run(running) })
	}
	wg.Go(func() {
		if err := h.server.Serve(ln); err != nil {
			h.t.Error(err)
		}
	})
	h.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), h.wait)
		defer cancel()
		if err := h.server.Shutdown(ctx); err != nil {
			h.t.Error(err)
		}
		stop()
		wg.Wait()
		if err := h.store.Close(); err != nil {
			h.t.Error(err)
		}
	})
}

// transport returns an HTTP transport for the hub that keeps no connections.
func (h *testHub) transport() *http.Transport {
	transport := &http.Transport{DisableCompression: true}
	if h.pipes != nil {
		transport.DialContext = h.pipes.DialContext
	}
	return transport
}

// claims returns the claims of a valid token.
func claims(user string, life time.Duration) jwt.MapClaims {
	now := time.Now()
	return jwt.MapClaims{
		"iss": "tests", "aud": "everdesk", "sub": user, "iat": now.Add(-time.Minute).Unix(), "exp": now.Add(life).Unix(),
	}
}

// token returns a signed token for a user.
func (h *testHub) token(user string, life time.Duration, roles ...string) string {
	h.t.Helper()
	claims := claims(user, life)
	if len(roles) > 0 {
		claims["roles"] = roles
	}
	text, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString(h.secret)
	if err != nil {
		h.t.Fatal(err)
	}
	return text
}

// newSession creates a session of a user.
func (h *testHub) newSession(user string) wire.SessionID {
	h.t.Helper()
	info, err := h.hub.Create(h.t.Context(), session.NewSession{User: user})
	if err != nil {
		h.t.Fatal(err)
	}
	return info.ID
}

// dialOptions are the parameters of a handshake.
type dialOptions struct {
	token  string
	header http.Header
	protos []string
}

func as(token string) dialOptions { return dialOptions{token: token, protos: []string{"everdesk.v2"}} }

// handshakeResponse is the HTTP response to a handshake.
type handshakeResponse struct {
	status int
	header http.Header
	body   []byte
}

// tryDial tries to open a WebSocket. The tab is nil if the handshake was refused.
func (h *testHub) tryDial(path string, v dialOptions) (*tab, handshakeResponse) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), h.wait)
	defer cancel()
	header := v.header.Clone()
	if header == nil {
		header = http.Header{}
	}
	if v.token != "" {
		header.Set("Authorization", "Bearer "+v.token)
	}
	transport := h.transport()
	defer transport.CloseIdleConnections()
	opts := &websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}, HTTPHeader: header, Subprotocols: v.protos}
	if host := header.Get("Host"); host != "" {
		opts.Host = host
		header.Del("Host")
	}
	ws, res, err := websocket.Dial(ctx, "ws://"+h.addr+path, opts) //nolint:bodyclose // the library does
	if res == nil {
		h.t.Fatalf("dial %.200s: got error %v, want an answer", path, err)
	}
	a := handshakeResponse{status: res.StatusCode, header: res.Header}
	if err != nil {
		a.body, _ = io.ReadAll(res.Body)
		return nil, a
	}
	ws.SetReadLimit(-1)
	h.t.Cleanup(func() { _ = ws.CloseNow() })
	return &tab{t: h.t, ws: ws, wait: h.wait}, a
}

// mustDial opens a WebSocket.
func (h *testHub) mustDial(path string, v dialOptions) *tab {
	h.t.Helper()
	x, a := h.tryDial(path, v)
	if x == nil {
		h.t.Fatalf("%.200s: got %d %s, want a connection", path, a.status, a.body)
	}
	return x
}

// wantRefused checks that a handshake is refused with a status and, unless 0, a code.
func (h *testHub) wantRefused(path string, v dialOptions, status int, code wire.Code) wire.Problem {
	h.t.Helper()
	x, a := h.tryDial(path, v)
	if x != nil {
		h.t.Fatalf("%.200s was let in, want %d", path, status)
	}
	var p wire.Problem
	if err := json.Unmarshal(a.body, &p); err != nil {
		h.t.Errorf("%.200s: %d, body %q: %v", path, a.status, a.body, err)
	}
	if a.status != status || code != 0 && p.Code != code {
		h.t.Errorf("%.200s: %d %+v, want %d with code %d", path, a.status, p, status, code)
	}
	return p
}
