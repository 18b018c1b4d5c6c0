package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/everdesk/everdesk/adminview"
	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/audit"
	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/cmd/hub/internal/remote"
	"github.com/everdesk/everdesk/files"
	"github.com/everdesk/everdesk/gateway"
	"github.com/everdesk/everdesk/membership"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/ratelimit"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/tools/mcpserver"
	"github.com/everdesk/everdesk/tracing"
	"github.com/everdesk/everdesk/web"
	"github.com/everdesk/everdesk/wire"
)

// app holds all components of one hub process.
type app struct {
	people *auth.Authority
	files  *files.Store
	hub    *session.Hub
	server *gateway.Server
	// backends are the model backends; why says why the default for new sessions was
	// chosen.
	backends *providers.Table
	why      string
	limiter  *agentpool.Limiter
	runner   *agentpool.Runner
	mcp      *mcpserver.Server
	members  *membership.Membership
	monitor  *adminview.Watcher
	tracer   *tracing.Tracer // nil if tracing is off
	grace    time.Duration
}

// build creates and connects the components. It serves nothing; answer does.
func build(ctx context.Context, cfg config, store engine, addr net.Addr, log *slog.Logger) (*app, error) {
	if cfg.auth.Mode == auth.ModeNone && !isLoopback(addr) {
		return nil, errors.New("auth none lets everybody in, so it only listens on loopback addresses; " +
			"choose --auth token or jwt, or --addr 127.0.0.1:8080")
	}
	cfg.auth.Logger = log
	people, err := auth.New(ctx, cfg.auth, store)
	if err != nil {
		return nil, err
	}
	if err := leaveToken(cfg.store, people.InstallationToken()); err != nil {
		return nil, err
	}
	fileStore, err := files.Open(cfg.filesFolder(), files.Config{FileBytes: cfg.door.UploadBytes})
	if err != nil {
		return nil, err
	}
	cfg.session.Replica, cfg.session.Logger = cfg.replica, log
	cfg.session.Broadcast.Heartbeat = cfg.door.Heartbeat
	if cfg.limits.Off {
		cfg.session.AnswersPerMinute = -1
		cfg.door.UserSessions, cfg.door.UserConnections = -1, -1
	}
	cfg.session.BeforeExpiry = func(id wire.SessionID) {
		if err := fileStore.RemoveAll(id); err != nil {
			log.Warn("deleting files of a deleted session failed", "session", id, "err", err)
		}
	}
	h := &app{people: people, files: fileStore, grace: cfg.grace}
	h.members = membership.New(membership.Config{
		ID: cfg.replica, Version: version(), URL: openURL(addr), Load: h.load,
		UserConnections: func() map[string]int { return h.server.UserConnections() },
		Execute: func(ctx context.Context, e membership.Command) membership.Answer {
			return h.server.ExecuteCommand(ctx, e)
		},
		Drain: h.drain, Serve: h.resumeServing, Grace: cfg.grace, Logger: log,
	}, store)
	cfg.session.Alive = h.members.Alive
	if h.tracer, err = cfg.tracer(ctx, log); err != nil {
		return nil, errors.Join(err, fileStore.Close())
	}
	if err := h.withAgents(ctx, &cfg, store, addr, log); err != nil {
		return nil, errors.Join(err, fileStore.Close())
	}
	h.hub = session.NewHub(cfg.session, store)
	h.monitor = adminview.New(adminview.Config{Replica: cfg.replica, Sample: cfg.metrics.Sample, Logger: log}, h.hub, h.members, store)
	cfg.door.Version = version()
	cfg.door.Hosts = append(cfg.door.Hosts, hostOf(addr))
	deps := gateway.Deps{
		Store: store, Hub: h.hub, Auth: people, Limiter: ratelimit.New(cfg.limits, store), Files: fileStore,
		MCP: h.mcp, Providers: h.backends.Names(), Provider: cfg.session.Provider,
		Desktop: web.Desktop(), Apps: web.Apps(), Admin: web.Admin(), AdminView: h.monitor, Metrics: cfg.metrics.Handler(),
		Membership: h.members, Audit: audit.New(store, log), Agents: h.limiter, AgentLimit: h.limiter.Limits().Agents,
		Observer: cfg.metrics,
	}
	if h.tracer != nil {
		deps.Tracer = h.tracer
	}
	h.server = gateway.New(cfg.door, log, deps)
	cfg.metrics.SetLevels(h.levels)
	return h, nil
}

// slotLease is the minimum TTL of an agent slot: the limiter renews slots one after the other,
// which takes time.
const slotLease = 3 * time.Second

// withAgents builds the providers, the tool executor, the MCP server and the runner of agents.
func (h *app) withAgents(ctx context.Context, cfg *config, store engine, addr net.Addr, log *slog.Logger) (err error) {
	if h.backends, h.why, err = openProviders(ctx, cfg.agents, log); err != nil {
		return err
	}
	executor := tools.New(tools.Config{Files: h.files, Documents: store, Version: version(), Logger: log})
	h.mcp = mcpserver.New(executor, mcpserver.Config{Version: version(), Logger: log})
	h.mcp.SetURL(openURL(addr))
	// The slots of a crashed hub expire when its sessions can be taken over; otherwise the
	// resumed turns would wait for the slots of their interrupted runs.
	cfg.agents.limits.TTL = max(cfg.session.Lease, slotLease)
	h.limiter = agentpool.NewLimiter(store, cfg.agents.limits, log)
	runner := agentpool.Config{
		Limiter: h.limiter, Providers: h.backends, Tools: executor, MCPTokens: h.mcp, Observer: cfg.metrics, Logger: log,
	}
	if h.tracer != nil {
		runner.Tracer, cfg.session.Tracer = h.tracer, h.tracer
	}
	h.runner = agentpool.NewRunner(runner)
	cfg.session.Provider, cfg.session.Budget = h.backends.Default().Name(), cfg.agents.budget
	cfg.session.Window, cfg.session.CondenseAt = cfg.agents.window, cfg.agents.condenseAt
	cfg.session.Plan = cfg.agents.plan
	cfg.session.Plan.Tools, cfg.session.Plan.Dangerous = tools.Profiles(), []string{tools.ProfileCode}
	cfg.session.NewRunner = func(ctx context.Context, e agentpool.SessionRef) session.Runner {
		r := h.runner.Session(ctx, e)
		return session.Runner{Runs: r, Providers: r, Close: r.Close}
	}
	return nil
}

// Close stops the components that build created. Call it after answer has returned.
func (h *app) Close() error {
	h.runner.Close()
	h.limiter.Wait()
	if h.tracer != nil {
		h.tracer.Close()
	}
	return errors.Join(h.backends.Close(), h.files.Close())
}

// filesFolder returns the folder of uploaded files: by default beside the data of a file store,
// else in the working directory.
func (c config) filesFolder() string {
	switch {
	case c.files != "":
		return c.files
	case c.store.kind == fileStore:
		return filepath.Join(c.store.folder, "files")
	}
	return "everdesk-files"
}

// leaveToken writes the token to a file in the folder of a file store that only the same user
// can read, so that `hub attach` works without arguments. It first removes the file of an
// earlier start. A user who can read the folder can read every session in it anyway.
func leaveToken(store storeConfig, token string) error {
	if store.kind != fileStore {
		return nil
	}
	path := filepath.Join(store.folder, remote.TokenFile)
	// An existing file may be readable by other users, or a link to another file.
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the token of an earlier start: %w", err)
	}
	if token == "" {
		return nil
	}
	if err := os.WriteFile(path, []byte(token+"\n"), 0o600); err != nil {
		return fmt.Errorf("leave the token in %s: %w", path, err)
	}
	return nil
}

// entryURL returns the URL for the browser. It contains the installation token, if there is
// one, which signs the browser in.
func (h *app) entryURL(base string) string {
	if token := h.people.InstallationToken(); token != "" {
		return base + "/?token=" + url.QueryEscape(token)
	}
	return base
}

// answer serves until ctx ends. Then, for at most the grace period, it hands over the sessions,
// makes tabs reconnect to other replicas and lets running requests finish.
//
// Ownership: it starts five goroutines and returns only after they have ended.
func (h *app) answer(ctx context.Context, ln net.Listener, grace time.Duration, log *slog.Logger) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	wg.Go(func() { h.hub.Run(running) })
	wg.Go(func() { h.limiter.Run(running) })
	wg.Go(func() { h.members.Run(running) })
	wg.Go(func() { h.monitor.Run(running) })
	served := make(chan error, 1)
	wg.Go(func() { served <- h.server.Serve(ln) })
	select {
	case err := <-served:
		return err // a listener failed
	case <-ctx.Done():
	}
	log.InfoContext(ctx, "stopping", "cause", context.Cause(ctx))
	h.members.Leave() // from now on a command to serve again is refused
	h.server.Drain()
	soft, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	h.handOverSessions(soft, grace)
	if err := h.server.Shutdown(soft); err != nil {
		// Requests that took longer than the grace period are cut off.
		log.WarnContext(soft, "grace period exceeded", "err", err)
	}
	log.InfoContext(soft, "stopped")
	return nil
}

// handOverSessions releases all sessions to other replicas, and disconnects the tabs of each as
// soon as it is released. It takes at most drainTime(grace).
func (h *app) handOverSessions(ctx context.Context, grace time.Duration) {
	ctx, done := context.WithTimeout(ctx, drainTime(grace))
	var wg sync.WaitGroup
	defer wg.Wait()
	defer done()
	wg.Go(func() { h.server.DisconnectReleased(ctx, h.hub.Owns) })
	h.hub.Drain(ctx)
}

// drain hands over all sessions and disconnects all tabs, but keeps the process running. It
// returns an error if sessions or tabs are left.
func (h *app) drain(ctx context.Context) error {
	h.server.Drain()
	h.handOverSessions(ctx, h.grace)
	err := h.server.DisconnectAll(ctx)
	if left := h.hub.Load().Owned; left > 0 {
		err = errors.Join(err, fmt.Errorf("%d sessions are not handed over", left))
	}
	return err
}

// resumeServing reverts a drain.
func (h *app) resumeServing() {
	h.hub.Undrain()
	h.server.Undrain()
}

// load returns the load of this replica.
func (h *app) load() membership.Load {
	l := h.hub.Load()
	return membership.Load{
		Owned: l.Owned, Followed: l.Followed, Tabs: l.Tabs,
		Agents: h.limiter.Running(), AgentLimit: h.limiter.Limits().Agents,
	}
}

// drainTime returns the part of the grace period for handing over sessions. The rest, at most
// 3 s, is for disconnecting tabs, which must happen even if the store hangs.
func drainTime(grace time.Duration) time.Duration { return grace - min(grace/4, 3*time.Second) }

func isLoopback(addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

func hostOf(addr net.Addr) string {
	host, _, err := net.SplitHostPort(addr.String())
	if err != nil {
		return addr.String()
	}
	return host
}
