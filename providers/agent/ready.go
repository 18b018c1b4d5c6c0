package agent

import (
	"context"
	"errors"
	"fmt"

	"github.com/everdesk/everdesk/providers"
)

var _ providers.Warmer = (*Provider)(nil)

// Warm implements [providers.Warmer]. It replaces programs that have ended meanwhile, and ends those
// that are too many. Agents whose programs belong to a session from the start are never prepared.
func (p *Provider) Warm(ctx context.Context, sessions int) error {
	if p.cfg.Prepare == nil {
		return nil
	}
	if err := p.removeReady(sessions); err != nil {
		return err
	}
	for {
		p.mu.Lock()
		enough := p.closed || len(p.ready) >= sessions
		p.mu.Unlock()
		if enough {
			return nil
		}
		if err := p.prepare(ctx); err != nil {
			return err
		}
	}
}

// prepare starts a program.
func (p *Provider) prepare(ctx context.Context) error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return providers.ErrClosed
	}
	p.opening.Add(1)
	p.mu.Unlock()
	defer p.opening.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(p.ctx, func() { cancel(providers.ErrClosed) })()
	r, err := p.cfg.Prepare(ctx)
	if err != nil {
		return fmt.Errorf("prepare the agent %s: %w", p.cfg.Name, err)
	}
	p.started.Add(1)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ready = append(p.ready, r) // Close waits for this and closes it
	return nil
}

// removeReady removes programs that have ended, and those beyond the number to keep.
func (p *Provider) removeReady(keep int) error {
	var gone []Prepared
	p.mu.Lock()
	kept := p.ready[:0:0]
	for _, r := range p.ready {
		if r.Alive() && len(kept) < keep {
			kept = append(kept, r)
		} else {
			gone = append(gone, r)
		}
	}
	p.ready = kept
	p.mu.Unlock()
	var err error
	for _, r := range gone {
		err = errors.Join(err, r.Close())
	}
	return err
}

// takeReady returns a program that is ready, nil if there is none.
func (p *Provider) takeReady() Prepared {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.ready) == 0 {
		return nil
	}
	r := p.ready[0]
	p.ready = p.ready[1:]
	return r
}
