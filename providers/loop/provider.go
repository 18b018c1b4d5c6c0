package loop

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/everdesk/everdesk/providers"
)

// Bounds of a conversation.
const (
	// MaxRounds bounds the model calls of one turn.
	MaxRounds = 50
	// MaxWaiting bounds the messages waiting for a running turn.
	MaxWaiting = 100
	// MaxBytes bounds a conversation in memory; older parts are left out. It exceeds the
	// context window of the largest models.
	MaxBytes = 8 << 20
	// MaxReply bounds one reply of the model in bytes.
	MaxReply = 2 << 20
)

// Config holds the settings of a provider.
type Config struct {
	// Name is the provider's name; blocks that only it understands carry it.
	Name  string
	Model Model
	// Images says that the model accepts images.
	Images bool
	// Window is the size of the context window in tokens, 0 if unknown.
	Window int
	Logger *slog.Logger
	// Closed, unless nil, is called when the provider has closed.
	Closed func()
}

// Provider runs conversations with one model. It implements [providers.Provider].
//
// A provider owns its sessions, and a session the goroutine of its turn; Close ends them all
// and returns when the last one has ended.
type Provider struct {
	cfg Config

	mu     sync.Mutex
	open   map[*session]struct{}
	closed bool
}

var _ providers.Provider = (*Provider)(nil)

// New returns a provider.
func New(cfg Config) *Provider {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Provider{cfg: cfg, open: map[*session]struct{}{}}
}

// Name implements [providers.Provider].
func (p *Provider) Name() string { return p.cfg.Name }

// Caps implements [providers.Provider].
func (p *Provider) Caps() providers.Caps {
	return providers.Caps{Steer: true, Fork: true, Resume: true, Inject: true, Images: p.cfg.Images, Window: p.cfg.Window, Prefix: true}
}

// Open implements [providers.Provider]. Continuing and forking are the same here: the entries
// are copied.
func (p *Provider) Open(ctx context.Context, spec providers.Spec) (providers.Session, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	s := newSession(p, spec)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, providers.ErrClosed
	}
	p.open[s] = struct{}{}
	return s, nil
}

// Close implements [providers.Provider].
func (p *Provider) Close() error {
	p.mu.Lock()
	first := !p.closed
	p.closed = true
	all := slices.Collect(maps.Keys(p.open))
	p.mu.Unlock()
	var wg sync.WaitGroup
	for _, s := range all {
		wg.Go(func() { _ = s.Close() })
	}
	wg.Wait()
	if first && p.cfg.Closed != nil {
		p.cfg.Closed()
	}
	return nil
}

func (p *Provider) removeSession(s *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, s)
}
