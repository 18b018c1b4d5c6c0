package membership

import (
	"context"
	"errors"

	"github.com/everdesk/everdesk/store"
)

// applyOrder reads the order for this replica and applies it if it is new and for this
// process. limited bounds the read only.
func (f *Membership) applyOrder(ctx, limited context.Context) error {
	d, err := f.docs.Get(limited, orderCollection, string(f.cfg.ID))
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	w, err := readOrder(d.Data)
	if err != nil || w.Process != f.process {
		return err // or the order is for an earlier process
	}
	f.mu.Lock()
	stale := f.leaving || f.lastOrder == w.ID
	f.lastOrder = w.ID
	f.mu.Unlock()
	if stale {
		return nil
	}
	switch w.Order {
	case OrderDrain:
		f.drain(ctx, w.ID)
	case OrderServe:
		f.revokeDrain(ctx, w)
	default:
		f.log.WarnContext(ctx, "unknown order ignored", "order", string(w.Order))
	}
	return nil
}

// retryDrain starts a failed drain again: its cause may be gone.
func (f *Membership) retryDrain(ctx context.Context) {
	f.mu.Lock()
	state, order := f.state, f.lastOrder
	f.mu.Unlock()
	if state == Draining {
		f.drain(ctx, order)
	}
}

// drain starts to hand all sessions over, unless that is done or in progress.
func (f *Membership) drain(ctx context.Context, order string) {
	limited, cancel := context.WithTimeout(ctx, f.cfg.Grace)
	t := &transition{cancel: cancel, done: make(chan struct{})}
	f.mu.Lock()
	if f.leaving || f.state == Drained || f.transition != nil && !f.transition.finished() {
		f.mu.Unlock()
		cancel()
		return
	}
	begins := f.state != Draining
	f.state, f.transition = Draining, t
	f.mu.Unlock()
	if begins {
		f.log.InfoContext(ctx, "draining", "order", order)
		f.requestRound() // announce the new state at once
	}
	go func() { // ended by stopTransition, which Run, serve and Leave call
		defer close(t.done)
		defer cancel()
		if err := f.cfg.Drain(limited); err != nil {
			f.log.WarnContext(ctx, "not everything was handed over", "order", order, "err", err)
			return // the next round retries
		}
		f.mu.Lock()
		if f.transition == t && !f.leaving {
			f.state = Drained
		}
		f.mu.Unlock()
		f.log.InfoContext(ctx, "drained", "order", order)
		f.requestRound()
	}()
}

// revokeDrain revokes a drain and accepts sessions again.
func (f *Membership) revokeDrain(ctx context.Context, w ReplicaOrder) {
	f.stopTransition()
	t := &transition{cancel: func() {}, done: make(chan struct{})}
	f.mu.Lock()
	if f.leaving || f.state == Serving {
		f.mu.Unlock()
		return
	}
	f.state, f.transition = Serving, t // so that Leave waits for it
	f.mu.Unlock()
	f.cfg.Serve()
	close(t.done)
	f.log.InfoContext(ctx, "serving again", "order", w.ID)
	f.requestRound()
}

// stopTransition cancels a drain in progress and waits for its end.
func (f *Membership) stopTransition() {
	f.mu.Lock()
	t := f.transition
	f.transition = nil
	f.mu.Unlock()
	if t != nil {
		t.cancel()
		<-t.done
	}
}

// finished reports whether the transition has ended.
func (t *transition) finished() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}
