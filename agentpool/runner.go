package agentpool

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// ToolExecutor is what agents act with.
type ToolExecutor interface {
	// Tools are those of a caller.
	Tools(c tools.Caller) []providers.Tool
	// Call uses one.
	Call(ctx context.Context, c tools.Caller, call providers.ToolCall) providers.ToolResult
	// Brief is what a model is told about itself and where it is.
	Brief(ctx context.Context, c tools.Caller) (string, error)
	// Launch does what the user wants to happen when a desktop begins.
	Launch(ctx context.Context, c tools.Caller)
}

// MCPTokens let programs outside the hub act as an agent.
type MCPTokens interface {
	// Issue makes a badge that is good until it is revoked.
	Issue(c tools.Caller) (e providers.Endpoint, revoke func())
}

// Providers are the backends there are.
type Providers interface {
	Get(name string) (providers.Provider, bool)
}

// SessionRef is the session that a session runner works for.
type SessionRef struct {
	Session wire.SessionID
	// Epoch is that of the owner.
	Epoch   uint64
	User    string
	Sink    Sink
	Desktop tools.Desktop
}

// Config is what a runner is made of.
type Config struct {
	Limiter   *Limiter
	Providers Providers
	Tools     ToolExecutor
	// MCPTokens may be nil: then backends that call tools over MCP have none.
	MCPTokens MCPTokens
	// Models says which model of a provider to use, where that is not the
	// provider's own choice.
	Models map[string]string
	// Park is after how long an open conversation that nobody uses is closed,
	// 5 minutes unless set.
	Park time.Duration
	// Observer is told what models take; nil means that nobody looks.
	Observer Observer
	// Tracer follows what agents do, if there is one.
	Tracer Tracer
	// Logger defaults to silence.
	Logger *slog.Logger
}

// Observer is told what happens, for those who count it. It must not wait.
type Observer interface {
	// Spent is called for every call of a model, with its tokens and what it cost as
	// far as that is known.
	Spent(input, output, cacheRead, cacheWrite int, dollars float64)
}

// Runner is what a replica has to run agents with.
type Runner struct {
	cfg Config
	log *slog.Logger

	mu      sync.Mutex // guards the following
	runners map[*SessionRunner]struct{}
}

// NewRunner makes a runner.
func NewRunner(cfg Config) *Runner {
	cfg.Park = cmp.Or(cfg.Park, 5*time.Minute)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Runner{cfg: cfg, log: cfg.Logger, runners: map[*SessionRunner]struct{}{}}
}

// Session makes the session runner of a session that this replica owns. When the context ends
// its agents stop; [SessionRunner.Close] waits for that.
func (s *Runner) Session(ctx context.Context, e SessionRef) *SessionRunner {
	c := &SessionRunner{
		pool: s, ref: e, log: s.log.With("session", e.Session),
		runs: map[string]*activeRun{}, idle: map[string]*providerSession{}, reserved: map[*Slot]struct{}{},
	}
	c.ctx, c.cancel = context.WithCancel(ctx)
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

func (s *Runner) left(c *SessionRunner) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.runners, c)
}
