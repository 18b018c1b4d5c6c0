package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/everdesk/everdesk/adminview"
	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/audit"
	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/browser"
	"github.com/everdesk/everdesk/fetch"
	"github.com/everdesk/everdesk/files"
	"github.com/everdesk/everdesk/gateway"
	"github.com/everdesk/everdesk/kernels"
	"github.com/everdesk/everdesk/mcpclient"
	"github.com/everdesk/everdesk/membership"
	"github.com/everdesk/everdesk/metrics"
	"github.com/everdesk/everdesk/modes"
	"github.com/everdesk/everdesk/pdf"
	"github.com/everdesk/everdesk/profiles"
	"github.com/everdesk/everdesk/profiles/backends"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/ratelimit"
	"github.com/everdesk/everdesk/runjs"
	"github.com/everdesk/everdesk/secrets"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/settings"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/tools/mcpserver"
	"github.com/everdesk/everdesk/tracing"
	"github.com/everdesk/everdesk/web"
	"github.com/everdesk/everdesk/wire"
	"github.com/everdesk/everdesk/workspaces"
)

// App is one hub process: its components, connected.
type App struct {
	authority *auth.Authority
	files     *files.Store
	// checkpoints are the states of these files.
	checkpoints *sessionCheckpoints
	// workspaces are folders of the operator in which agents of sessions work.
	workspaces *workspaces.Store
	apps       *tools.Apps
	tracer     *tracing.Tracer // nil if tracing is off
	// backends are the model backends; defaultReason says why the default for new sessions was
	// chosen.
	backends      *providers.Table
	defaultReason string
	models        *backends.Backends // of model profiles
	opener        *modelOpener
	web           *fetch.Client
	browsers      *browser.Manager   // nil if agents have no browser
	servers       *mcpclient.Manager // of MCP
	jupyter       *jupyter           // nil if notebooks cannot run code, and noJupyter says why
	noJupyter     error
	modes         *modes.Finder
	limiter       *agentpool.Limiter
	executor      *tools.Executor
	mcp           *mcpserver.Server
	runner        *agentpool.Runner
	members       *membership.Membership
	hub           *session.Hub
	adminView     *adminview.Watcher
	server        *gateway.Server
	grace         time.Duration
}

// process describes the process that an [App] runs in.
type process struct {
	replica wire.ReplicaID
	addr    net.Addr // of the hub
	admin   net.Addr // separate, for admins; nil for none
	metrics *metrics.Metrics
	log     *slog.Logger
}

// userStores are the stores of what users configure.
type userStores struct {
	settings *settings.Store
	secrets  *secrets.Store
	profiles *profiles.Store
	modes    *modes.Store
}

// build creates and connects the components, each after those that it uses. It serves nothing;
// run does.
func build(ctx context.Context, cfg config, p process, store openStore) (_ *App, err error) {
	if cfg.auth.Mode == auth.ModeNone && !isLoopback(p.addr) {
		return nil, errors.New("auth none lets everybody in, so it only listens on loopback addresses; " +
			"choose --auth token or jwt, or --addr 127.0.0.1:8080")
	}
	h := &App{grace: cfg.grace}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.Close())
		}
	}()
	if h.authority, err = auth.New(ctx, cfg.authority(p), store.documents); err != nil {
		return nil, err
	}
	if err = writeTokenFile(cfg.store, h.authority.InstallationToken()); err != nil {
		return nil, err
	}
	if cfg.agents.folder, err = cfg.agentsFolder(); err != nil {
		return nil, err
	}
	if err = h.openFolders(ctx, cfg, p, store); err != nil {
		return nil, err
	}
	if h.tracer, err = cfg.tracer(ctx, p); err != nil {
		return nil, err
	}
	users := userStores{}
	if users.settings, err = openSettings(cfg, p, store.documents); err != nil {
		return nil, err
	}
	values := users.settings
	if users.secrets, err = openSecrets(cfg, store.documents, func(ctx context.Context, user string, names ...string) {
		h.settingsChanged(ctx, values, user, names...)
	}); err != nil {
		return nil, err
	}
	if cfg.agents, err = cfg.agents.withSecrets(ctx, p, users.secrets); err != nil {
		return nil, err
	}
	if err = h.openModels(ctx, cfg, p, store, &users); err != nil {
		return nil, err
	}
	h.limiter = agentpool.NewLimiter(store.semaphores, cfg.agentLimits(), p.log)
	if err = h.buildTools(ctx, cfg, p, store, users); err != nil {
		return nil, err
	}
	h.runner = agentpool.NewRunner(h.runnerConfig(cfg, p))
	h.members = membership.New(h.membershipConfig(p), store.replicas, store.documents)
	h.hub = session.NewHub(h.sessionConfig(cfg, p, store), store.sessions)
	h.adminView = adminview.New(adminview.Config{Replica: p.replica, Sample: p.metrics.Sample, Logger: p.log}, h.hub, h.members, store.documents, store.sessions)
	h.server = gateway.New(cfg.gatewayConfig(p), p.log, h.gatewayDeps(cfg, p, store, users))
	p.metrics.SetLevels(h.levels)
	return h, nil
}

// openFolders opens the workspaces, the checkpoints and the files of sessions.
func (h *App) openFolders(ctx context.Context, cfg config, p process, store openStore) (err error) {
	if h.workspaces, err = workspaces.New(store.documents, cfg.agents.workspaces); err != nil {
		return err
	}
	if h.checkpoints, err = openCheckpoints(ctx, cfg, h.workspaces, p.log); err != nil {
		return err
	}
	h.files, err = openFiles(ctx, cfg, store, files.Config{
		FileBytes: cfg.gateway.UploadBytes,
		Changed:   func(ctx context.Context, id wire.SessionID, c []files.Change) { h.publishFiles(ctx, p.log, id, c) },
		Removed: func(id wire.SessionID) error {
			return errors.Join(os.RemoveAll(sessionFolder(cfg.agents.folder, id)), h.checkpoints.removeSession(id), h.workspaces.Remove(context.Background(), id))
		},
	})
	return err
}

// openModels opens the model backends and the stores of the model profiles and modes of users, which it adds to users.
func (h *App) openModels(ctx context.Context, cfg config, p process, store openStore, users *userStores) (err error) {
	if h.backends, h.defaultReason, err = openProviders(ctx, cfg.agents, p.log); err != nil {
		return err
	}
	values := users.settings
	h.opener = newModelOpener(cfg.agents, h.backends, p.log)
	users.profiles = profiles.New(store.documents, profiles.Config{
		Pinned: h.opener.hubProfiles(), Backends: h.opener.backendNames(), Reserved: slices.Collect(maps.Keys(aliases())), CheckProfile: h.opener.check,
		Changed: func(ctx context.Context, user string) { h.settingsChanged(ctx, values, user, profiles.SettingName) },
	})
	h.models = newModels(h.opener, users.profiles, users.secrets)
	users.modes = modes.New(store.documents, func(ctx context.Context, user string) {
		h.modes.Invalidate(user)
		h.settingsChanged(ctx, values, user, modes.SettingName)
	})
	h.modes = modes.NewFinder(users.modes, p.log)
	return nil
}

// buildTools creates the executor of the tools of agents with everything that tools use, and the same tools over MCP.
func (h *App) buildTools(ctx context.Context, cfg config, p process, store openStore, users userStores) error {
	program, err := executable()
	if err != nil {
		return err
	}
	values := users.settings
	if h.apps, err = openApps(ctx, cfg, h.files.Backend(), program, values.PublishApp, p.log); err != nil {
		return err
	}
	domains := fetch.NewDomains(store.documents)
	h.web = fetch.New(domains, cfg.agents.webHosts)
	h.browsers = newBrowsers(cfg.agents, domains, p.log)
	if h.jupyter, h.noJupyter = newJupyter(cfg, p.log, kernels.FindServer); h.noJupyter != nil {
		if !errors.Is(h.noJupyter, errNoJupyter) {
			return h.noJupyter
		}
		p.log.InfoContext(ctx, "notebooks cannot run code", "reason", h.noJupyter)
	}
	if h.servers, err = newMCPServers(cfg, p, store.documents, users.secrets, func(ctx context.Context, user string) {
		h.settingsChanged(ctx, values, user, mcpclient.SettingName)
	}); err != nil {
		return err
	}
	h.apps.DataChanged = values.PublishAppData
	h.executor = tools.New(tools.Config{
		Files: h.files, Documents: store.documents, Settings: values, Web: h.web, Browser: browserTools(h.browsers), Scripts: runjs.New(runjs.Config{Path: program}), PDF: pdf.New(pdf.Config{Path: program}), Apps: h.apps,
		Env:       tools.Env{Names: cfg.agents.envVars, Lookup: os.LookupEnv},
		Notebooks: h.jupyter != nil,
		Skills:    loadSkills(cfg.agents.skills, p.log), Workspaces: h.workspaces, Servers: h.servers, Models: completer{h.models}, Version: version(), Logger: p.log,
	})
	h.mcp = mcpserver.New(h.executor, mcpserver.Config{
		Version: version(), Clients: mcpClients{authority: h.authority, hub: func() *session.Hub { return h.hub }}, Logger: p.log,
	})
	h.mcp.SetURL(openURL(p.addr))
	return nil
}

// gatewayDeps returns the components that the gateway serves.
func (h *App) gatewayDeps(cfg config, p process, store openStore, users userStores) gateway.Deps {
	deps := gateway.Deps{
		Market: h.apps.Market, AppCompiler: h.apps.Compiler,
		Store: gateway.Store{Readiness: store.readiness, Events: store.sessions, Documents: store.documents},
		Hub:   h.hub, Auth: h.authority, Limiter: ratelimit.New(cfg.rateLimits(p), store.rates), Files: h.files, Checkpoints: h.checkpoints, CheckpointTransfer: h.checkpoints, Workspaces: h.workspaces, Settings: users.settings, OnSettingsChanged: h.onSettingsChanged(users.settings), Secrets: users.secrets, Profiles: users.profiles, Modes: users.modes, Backends: &modelProbe{h.opener, users.secrets}, Web: h.web, MCPServers: h.servers, UserApps: h.apps.Store,
		MCP: h.mcp, ToolProfiles: append(tools.Profiles(), tools.ProfileAll, tools.ProfileMain), Providers: h.backends.Names(), Provider: h.backends.Default().Name(),
		Desktop: web.Desktop(), Apps: web.Apps(), Admin: web.Admin(), AdminView: h.adminView, Metrics: p.metrics.Handler(),
		Membership: h.members, Audit: audit.New(store.documents, p.log), Agents: h.limiter, AgentLimit: h.limiter.Limits().Agents,
		Observer: p.metrics,
	}
	if h.tracer != nil {
		deps.Tracer = h.tracer
	}
	if cfg.supervised && canKillItself() {
		deps.Crash = func() { killItself(p.log) }
	}
	return deps
}

// settingsChanged publishes that settings, secrets or profiles of a user have changed; user is empty for
// those of the hub.
func (h *App) settingsChanged(ctx context.Context, values *settings.Store, user string, names ...string) {
	h.models.Invalidate(user)
	if h.servers != nil {
		h.servers.Invalidate(user, names...)
	}
	values.Publish(ctx, settings.Subject{User: user}, names)
}

// onSettingsChanged drops what is cached of a user whose secrets or profiles have changed, perhaps on
// another replica.
func (h *App) onSettingsChanged(values *settings.Store) func(settings.Changed) {
	plain := map[string]bool{} // settings that have no effect on models
	for _, s := range values.Catalogue() {
		plain[s.Name] = !s.Secret
	}
	return func(c settings.Changed) {
		if c.Scope == settings.ScopeUser && slices.ContainsFunc(c.Names, func(name string) bool {
			return !plain[name] && !strings.HasPrefix(name, settings.AppDataPrefix)
		}) {
			h.models.Invalidate(c.User)
			h.modes.Invalidate(c.User)
			h.servers.Invalidate(c.User, c.Names...)
		}
	}
}

func (h *App) runnerConfig(cfg config, p process) agentpool.Config {
	c := agentpool.Config{
		Limiter: h.limiter, Providers: h.backends, Profiles: h.models, Tools: h.executor, MCPTokens: h.mcp, Observer: p.metrics, Logger: p.log,
		WorkDir: func(ctx context.Context, id wire.SessionID, provider string) (agentpool.WorkDir, error) {
			return h.workDir(ctx, cfg, id, provider)
		},
		WatchFiles: func(ctx context.Context, id wire.SessionID) (agentpool.FileWatch, error) {
			return h.files.Watch(ctx, id)
		},
	}
	if h.tracer != nil {
		c.Tracer = h.tracer
	}
	return c
}

// membershipConfig refers to components that are built later. The membership uses them only when
// it runs.
func (h *App) membershipConfig(p process) membership.Config {
	return membership.Config{
		ID: p.replica, Version: version(), URL: openURL(p.addr), Load: h.load,
		UserConnections: func() map[string]int { return h.server.ConnectionsByUser() },
		Execute: func(ctx context.Context, e membership.Command) membership.Answer {
			return h.server.ExecuteCommand(ctx, e)
		},
		Drain: h.drain, Serve: h.resumeServing, Grace: h.grace, Logger: p.log,
	}
}

// sessionConfig completes the settings of sessions with the components that they use.
func (h *App) sessionConfig(cfg config, p process, store openStore) session.Config {
	c := cfg.session
	c.Replica, c.Logger, c.Documents, c.Cold, c.Signals = p.replica, p.log, store.documents, store.cold, store.signals
	c.Observer, c.MessageObserver, c.Broadcast.Observer = p.metrics, p.metrics, p.metrics
	c.Broadcast.Heartbeat = cfg.gateway.Heartbeat
	if cfg.limits.Off {
		c.AnswersPerMinute = -1
	}
	c.BeforeExpiry = func(id wire.SessionID) {
		if err := h.files.RemoveAll(context.Background(), id); err != nil {
			p.log.Warn("deleting files of an expired session failed", "session", id, "err", err)
		}
		if err := h.authority.MCPTokens.RemoveAll(context.Background(), id); err != nil { // they expire
			p.log.Warn("deleting MCP tokens of an expired session failed", "session", id, "err", err)
		}
		if err := h.authority.Links.RemoveAll(context.Background(), id); err != nil { // they expire, too
			p.log.Warn("deleting links of an expired session failed", "session", id, "err", err)
		}
	}
	if h.checkpoints.Available() == nil {
		c.Checkpoints, c.CheckpointDesktops = h.checkpoints, cfg.agents.checkpointDesktops
	}
	c.WatchFiles = func(ctx context.Context, id wire.SessionID) (session.FileWatch, error) { return h.files.Watch(ctx, id) }
	if h.jupyter != nil {
		c.Kernels = h.jupyter
	} else {
		c.KernelsOff = h.noJupyter.Error()
	}
	c.Alive = h.members.Alive
	c.MayPack, c.MayCool = h.members.AllReadPacks, h.members.AllReadCold
	if h.tracer != nil {
		c.Tracer = h.tracer
	}
	c.Provider, c.Budget = h.backends.Default().Name(), cfg.agents.budget
	c.CondenseAt = cfg.agents.condenseAt
	c.Titles = cfg.agents.titles
	c.Plan = cfg.agents.plan
	c.Plan.Tools = tools.Profiles()
	c.NewRunner = func(ctx context.Context, e agentpool.SessionRef) session.Runner {
		h.server.WatchNotices() // from now on it may cache profiles and keep sessions with a key open
		r := h.runner.Session(ctx, e)
		return session.Runner{Runs: r, Providers: r, Views: h.executor, Modes: h.modes.Of(e.User), AwaitDisposed: r.AwaitDisposed, Close: func() {
			r.Close()
			h.servers.CloseSession(string(e.Session))
			if h.browsers != nil {
				h.browsers.Close(e.Session)
			}
		}}
	}
	return c
}

// Close stops the components that build created, also if it failed. Call it after run has
// returned.
func (h *App) Close() error {
	if h.runner != nil {
		h.runner.Close()
		h.limiter.Wait()
	}
	if h.tracer != nil {
		h.tracer.Close()
	}
	var err error
	if h.models != nil {
		err = h.models.Close()
		h.opener.client.Close()
	}
	if h.servers != nil {
		h.servers.Close()
	}
	if h.browsers != nil {
		h.browsers.Shutdown()
	}
	if h.jupyter != nil {
		h.jupyter.Close()
	}
	if h.web != nil {
		h.web.Close()
	}
	if h.backends != nil {
		err = errors.Join(err, h.backends.Close())
	}
	if h.files != nil {
		err = errors.Join(err, h.files.Close())
	}
	return err
}

// entryURL returns the URL for the browser. It contains the installation token, if there is
// one, which signs the browser in.
func (h *App) entryURL(base string) string {
	if token := h.authority.InstallationToken(); token != "" {
		return base + "/?token=" + url.QueryEscape(token)
	}
	return base
}

// run serves until ctx ends. Then, for at most the grace period, it hands over the sessions, makes
// tabs reconnect to other replicas and lets running requests finish. If a listener fails, it returns
// at once and hands nothing over.
//
// Ownership: it starts five goroutines and returns only after they have ended.
func (h *App) run(ctx context.Context, ln net.Listener, grace time.Duration, log *slog.Logger) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	wg.Go(func() { h.hub.Run(running) })
	wg.Go(func() { h.limiter.Run(running) })
	if h.jupyter != nil {
		wg.Go(func() { h.jupyter.Run(running, h.hub.CheckKernels) })
	}
	wg.Go(func() { h.members.Run(running) })
	wg.Go(func() { h.adminView.Run(running) })
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
func (h *App) handOverSessions(ctx context.Context, grace time.Duration) {
	ctx, done := context.WithTimeout(ctx, drainTime(grace))
	var wg sync.WaitGroup
	defer wg.Wait()
	defer done()
	wg.Go(func() { h.server.DisconnectReleased(ctx, h.hub.Owns) })
	h.hub.Drain(ctx)
}

// drain hands over all sessions and disconnects all tabs, but keeps the process running. It
// returns an error if sessions or tabs are left.
func (h *App) drain(ctx context.Context) error {
	h.server.Drain()
	h.handOverSessions(ctx, h.grace)
	err := h.server.DisconnectAll(ctx)
	if left := h.hub.Load().Owned; left > 0 {
		err = errors.Join(err, fmt.Errorf("%d sessions are not handed over", left))
	}
	return err
}

// resumeServing reverts a drain.
func (h *App) resumeServing() {
	h.hub.Undrain()
	h.server.Undrain()
}

// load returns the load of this replica.
func (h *App) load() membership.Load {
	l := h.hub.Load()
	return membership.Load{
		Owned: l.Owned, Followed: l.Followed, Tabs: l.Tabs,
		Agents: h.limiter.Running(), AgentLimit: h.limiter.Limits().Agents,
	}
}

// drainTime returns the part of the grace period for handing over sessions. The rest, at most
// 3 s, is for disconnecting tabs, which must happen even if the store hangs.
func drainTime(grace time.Duration) time.Duration { return grace - min(grace/4, 3*time.Second) }
