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

// Name is what people choose the demo by.
const Name = "demo"

// reads is how many tokens the demo reads, at four bytes each.
const reads = 100_000

// Config says how a demo behaves.
type Config struct {
	// Pace is the time between two pieces of text, so that answers look typed.
	// Defaults to none.
	Pace time.Duration
}

// Provider is the demo.
type Provider struct {
	cfg Config

	mu     sync.Mutex
	open   map[*session]struct{}
	closed bool
}

// New makes a demo.
func New(cfg Config) *Provider {
	return &Provider{cfg: cfg, open: map[*session]struct{}{}}
}

// Name is "demo".
func (p *Provider) Name() string { return Name }

// Caps says that it can do everything but be a process.
func (p *Provider) Caps() providers.Caps {
	return providers.Caps{Steer: true, Fork: true, Resume: true, Inject: true, Images: true, Window: reads}
}

// Open begins a conversation or goes on with one. The original of a fork is not
// touched: what is remembered is never changed, only added to.
func (p *Provider) Open(ctx context.Context, spec providers.Spec) (providers.Session, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, fmt.Errorf("open a demo: %w", err)
	}
	if spec.Hear == nil {
		return nil, errors.New("open a demo: nobody listens")
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

// Close ends all conversations.
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

// forget drops a session that was closed.
func (p *Provider) forget(s *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, s)
}
