package demo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/everdesk/everdesk/providers"
)

// Name is the name of the provider.
const Name = "demo"

// reads is the size of the demo's context window in tokens of four bytes.
const reads = 100_000

// Config holds the settings of the demo.
type Config struct {
	// Pace is the time between two pieces of text, so that answers look typed.
	// Defaults to none.
	Pace time.Duration
}

// Provider implements [providers.Provider] without a model.
type Provider struct {
	cfg Config

	mu     sync.Mutex
	open   map[*session]struct{}
	closed bool
}

// New returns a demo provider.
func New(cfg Config) *Provider {
	return &Provider{cfg: cfg, open: map[*session]struct{}{}}
}

// Name returns "demo".
func (p *Provider) Name() string { return Name }

// Caps reports every capability except Process and MCP.
func (p *Provider) Caps() providers.Caps {
	return providers.Caps{Steer: true, Fork: true, Resume: true, Inject: true, Images: true, Window: reads, Scripted: true}
}

// Open begins or continues a conversation. A fork does not change its original, because each
// session has its own copy of the entries.
func (p *Provider) Open(ctx context.Context, spec providers.Spec) (providers.Session, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, fmt.Errorf("open a demo: %w", err)
	}
	if spec.OnEvent == nil {
		return nil, errors.New("open a demo: Spec.OnEvent is missing")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, fmt.Errorf("open a demo: %w", providers.ErrClosed)
	}
	s := newSession(p, spec)
	p.open[s] = struct{}{}
	return s, nil
}

// Close ends the turns of all sessions, waits for them, and makes [Provider.Open] fail.
func (p *Provider) Close() error {
	p.mu.Lock()
	p.closed = true
	open := slices.Collect(maps.Keys(p.open))
	p.mu.Unlock()
	for _, s := range open {
		s.end()
	}
	return nil
}

// removeSession removes a closed session.
func (p *Provider) removeSession(s *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, s)
}
