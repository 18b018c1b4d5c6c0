package membership

import (
	"context"
	"errors"

	"github.com/everdesk/everdesk/store"
)

// heed does what is ordered, if that is new and meant for this process. The second
// context bounds the look only.
func (f *Membership) heed(ctx, limited context.Context) error {
	d, err := f.store.Get(limited, orders, string(f.cfg.ID))
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	w, err := readOrder(d.Data)
	if err != nil || w.Process != f.process {
		return err // the second is for an earlier life of ours
	}
	f.mu.Lock()
	stale := f.leaving || f.seen == w.ID
	f.seen = w.ID
	f.mu.Unlock()
	if stale {
		return nil
	}
	switch w.Order {
	case OrderDrain:
		f.drain(ctx, w.ID)
	case OrderServe:
		f.serve(ctx, w)
	default:
		f.log.WarnContext(ctx, "a wish is not understood", "order", string(w.Order))
	}
	return nil
}

// persist tries a drain again that did not end well: what was in its way may be gone.
func (f *Membership) persist(ctx context.Context) {
	f.mu.Lock()
	state, order := f.state, f.seen
	f.mu.Unlock()
	if state == Draining {
		f.drain(ctx, order)
	}
}

// drain begins to hand everything over, unless that was done or is under way.
func (f *Membership) drain(ctx context.Context, order string) {
	limited, cancel := context.WithTimeout(ctx, f.cfg.Grace)
	t := &transition{cancel: cancel, done: make(chan struct{})}
	f.mu.Lock()
	if f.leaving || f.state == Drained || f.moving != nil && !f.moving.over() {
		f.mu.Unlock()
		cancel()
		return
	}
	begins := f.state != Draining
	f.state, f.moving = Draining, t
	f.mu.Unlock()
	if begins {
		f.log.InfoContext(ctx, "draining", "wish", order)
		f.hurry() // so that others see it soon
	}
	go func() { // ends with halt, which Run, serve and Leave call
		defer close(t.done)
		defer cancel()
		if err := f.cfg.Drain(limited); err != nil {
			f.log.WarnContext(ctx, "not everything was handed over", "wish", order, "err", err)
			return // a later round tries again
		}
		f.mu.Lock()
		if f.moving == t && !f.leaving {
			f.state = Drained
		}
		f.mu.Unlock()
		f.log.InfoContext(ctx, "drained", "wish", order)
		f.hurry()
	}()
}

// serve takes everything back.
func (f *Membership) serve(ctx context.Context, w ReplicaOrder) {
	f.halt()
	t := &transition{cancel: func() {}, done: make(chan struct{})}
	f.mu.Lock()
	if f.leaving || f.state == Serving {
		f.mu.Unlock()
		return
	}
	f.state, f.moving = Serving, t // Leave waits for it
	f.mu.Unlock()
	f.cfg.Serve()
	close(t.done)
	f.log.InfoContext(ctx, "serving again", "wish", w.ID)
	f.hurry()
}

// halt ends a drain under way and waits for that.
func (f *Membership) halt() {
	f.mu.Lock()
	t := f.moving
	f.moving = nil
	f.mu.Unlock()
	if t != nil {
		t.cancel()
		<-t.done
	}
}

// over reports whether it has ended.
func (t *transition) over() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}
