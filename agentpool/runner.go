package agentpool

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/everdesk/everdesk/profiles"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// ToolExecutor executes tools on behalf of agents.
type ToolExecutor interface {
	// Tools returns the tools that the caller may use.
	Tools(c tools.Caller) []providers.Tool
	// AllTools returns the tools of all agents, for backends that cache the beginning of requests.
	AllTools(c tools.Caller) []providers.Tool
	// Call executes a tool.
	Call(ctx context.Context, c tools.Caller, call providers.ToolCall) providers.ToolResult
	// Brief returns the briefing of the caller's agent.
	Brief(ctx context.Context, c tools.Caller) (tools.Briefing, error)
	// Launch runs the launch hooks of the user's configuration.
	Launch(ctx context.Context, c tools.Caller)
}

// MCPTokens issues the tokens with which external programs call tools on behalf of an agent.
type MCPTokens interface {
	// Issue returns an endpoint with the tools of c and a token that is valid until revoke is
	// called. execute executes the calls, possibly several concurrently.
	Issue(c tools.Caller, execute func(context.Context, providers.ToolCall) providers.ToolResult) (e providers.Endpoint, revoke func())
}

// Providers looks up backends by name.
type Providers interface {
	// Get returns the backend of that name, and whether there is one.
	Get(name string) (providers.Provider, bool)
}

// Profiles finds what a user means by a name: a model profile of the user or a backend of the hub. Its
// methods may read the store and return within about a second.
type Profiles interface {
	// Find returns the name under which a session stores what the user means, and whether there is
	// such a provider.
	Find(user, name string) (string, bool)
	// Get returns the provider that is stored under a name.
	Get(user, name string) (providers.Provider, bool)
	// Default returns the user's own default of a role, or "".
	Default(user string, r profiles.Role) string
}

// SessionRef identifies the session that a session runner belongs to, and receives its reports.
type SessionRef struct {
	Session wire.SessionID
	// Epoch is the owner's epoch.
	Epoch   uint64
	User    string
	Sink    Sink
	Desktop tools.Desktop
}

// Config holds the dependencies and settings of a runner.
type Config struct {
	Limiter   *Limiter
	Providers Providers
	// Profiles, unless nil, replaces Providers.
	Profiles Profiles
	Tools    ToolExecutor
	// MCPTokens may be nil: then backends that call tools over MCP have no tools.
	MCPTokens MCPTokens
	// Models selects the model per provider; a missing provider uses its default model.
	Models map[string]string
	// WorkDir returns the working directory of a session for the named backend, which is a process; nil
	// gives each provider session a temporary one. A turn fails with its error.
	WorkDir func(ctx context.Context, id wire.SessionID, provider string) (WorkDir, error)
	// WatchFiles begins to look for what programs change in the files of a session; nil if no WorkDir is their folder.
	WatchFiles func(context.Context, wire.SessionID) (FileWatch, error)
	// IdleTimeout is the time after which an idle provider session is closed; default 5 minutes.
	IdleTimeout time.Duration
	// Observer receives the usage of models; nil means none.
	Observer Observer
	// Tracer traces runs; nil means none.
	Tracer Tracer
	// Logger defaults to a logger that discards everything.
	Logger *slog.Logger
}

// Observer receives usage for metrics. It must not block.
type Observer interface {
	// Spent is called for every model call with its tokens and its cost in US dollars, 0 if
	// unknown.
	Spent(input, output, cacheRead, cacheWrite int, dollars float64)
}

// Runner executes the agents of one replica.
type Runner struct {
	cfg          Config
	log          *slog.Logger
	quickReports *rate.Limiter // of text, see newQuickReports

	mu      sync.Mutex // guards the following
	runners map[*SessionRunner]struct{}
}

// NewRunner returns a runner.
func NewRunner(cfg Config) *Runner {
	cfg.IdleTimeout = cmp.Or(cfg.IdleTimeout, 5*time.Minute)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Runner{cfg: cfg, log: cfg.Logger, quickReports: newQuickReports(), runners: map[*SessionRunner]struct{}{}}
}

// Session creates the session runner of a session that this replica owns. When the context ends
// its agents stop; [SessionRunner.Close] waits for that.
func (s *Runner) Session(ctx context.Context, e SessionRef) *SessionRunner {
	c := &SessionRunner{
		parent: s, ref: e, log: s.log.With("session", e.Session),
		runs: map[string]*activeRun{}, idle: map[string]*providerSession{}, reserved: map[*Slot]struct{}{},
	}
	c.ctx, c.cancel = context.WithCancel(ctx)
	c.files = fileChanges{ctx: c.ctx, log: c.log}
	if open := s.cfg.WatchFiles; open != nil {
		c.files.open = func(ctx context.Context) (FileWatch, error) { return open(ctx, e.Session) }
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runners[c] = struct{}{}
	return c
}

// Close closes every session runner that is still open.
func (s *Runner) Close() {
	s.mu.Lock()
	runners := make([]*SessionRunner, 0, len(s.runners))
	for c := range s.runners {
		runners = append(runners, c)
	}
	s.mu.Unlock()
	var wg sync.WaitGroup
	for _, c := range runners {
		wg.Go(c.Close)
	}
	wg.Wait()
}

func (s *Runner) remove(c *SessionRunner) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.runners, c)
}
