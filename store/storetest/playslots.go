package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/everdesk/everdesk/store"
)

// slotPlayer executes the steps about semaphores.
type slotPlayer struct {
	*comparison
	waiters map[string]*waiter // by semaphore and holder
}

// waiter is a request that waits for a slot of the engine.
type waiter struct {
	request store.SlotRequest
	engine  Engine
	cancel  context.CancelFunc
	done    chan error
}

func (p *slotPlayer) request(s step) store.SlotRequest {
	q := store.SlotRequest{Semaphore: s.semaphore(), Limit: s.slotLimit(), TTL: p.ttl(s.N)}
	q.Holder, q.Key = s.holder()
	return q
}

func (q waiter) name() string { return q.request.Semaphore + " " + q.request.Holder }

func (p *slotPlayer) acquire(e Engine, s step) error {
	w := waiter{request: p.request(s)}
	if p.waiters[w.name()] != nil {
		return nil // the result of two concurrent requests of one holder is undefined
	}
	_, gotErr := e.Semaphores.Acquire(p.ctx, w.request)
	_, wantErr := p.model.acquire(w.request)
	if err := compareResults("Acquire by "+w.request.Holder, nil, nil, gotErr, wantErr); err != nil {
		return err
	}
	return p.use(e, w.request.Semaphore)
}

func (p *slotPlayer) wait(e Engine, s step) error {
	w := &waiter{request: p.request(s), engine: e, done: make(chan error, 1)}
	w.request.Wait, w.request.TTL = true, 1000*p.env.Unit
	if p.waiters[w.name()] != nil {
		return nil
	}
	ctx, cancel := context.WithCancel(p.ctx)
	w.cancel = cancel
	go func() {
		_, err := e.Semaphores.Acquire(ctx, w.request)
		w.done <- err
	}()
	p.waiters[w.name()] = w
	granted, err := p.model.acquire(w.request)
	if err != nil {
		return err
	}
	if granted {
		return p.awaitGrant(w.name())
	}
	for { // until the engine counts it as waiting
		err := p.use(e, w.request.Semaphore)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(time.Millisecond):
		case got := <-w.done:
			w.done <- got
			return fmt.Errorf("Acquire by %s ended with error %w, want it to wait", w.request.Holder, got)
		case <-p.ctx.Done():
			return err
		}
	}
}

// awaitGrant waits for a grant that the model has made.
func (p *slotPlayer) awaitGrant(name string) error {
	w := p.waiters[name]
	delete(p.waiters, name)
	select {
	case err := <-w.done:
		w.cancel()
		return compareResults("Acquire of waiting "+name, nil, nil, err, nil)
	case <-p.ctx.Done():
		p.waiters[name] = w
		return fmt.Errorf("%s was not granted the slot that is its", name)
	}
}

// awaitGrants waits for all grants that the model makes now.
func (p *slotPlayer) awaitGrants(e Engine, semaphore string) error {
	for _, holder := range p.model.grantWaiting(semaphore) {
		if err := p.awaitGrant(semaphore + " " + holder); err != nil {
			return err
		}
	}
	return p.use(e, semaphore)
}

func (p *slotPlayer) release(e Engine, s step) error {
	// Mostly a held slot, otherwise few requests would be granted.
	holder, _ := s.holder()
	if held := slices.Sorted(maps.Keys(p.model.semaphore(s.semaphore()).held)); len(held) > 0 && s.Wrong == 0 {
		holder = held[s.N%len(held)]
	}
	if p.waiters[s.semaphore()+" "+holder] != nil {
		return nil // releasing the slot of a waiting request is undefined, too
	}
	slot := store.Slot{Semaphore: s.semaphore(), Holder: holder, TTL: p.ttl(s.N)}
	p.model.releaseSlot(slot)
	if err := e.Semaphores.ReleaseSlot(p.ctx, slot); err != nil {
		return fmt.Errorf("ReleaseSlot: %w", err)
	}
	return p.awaitGrants(e, slot.Semaphore)
}

func (p *slotPlayer) renew(e Engine, s step) error {
	q := p.request(s)
	slot := store.Slot{Semaphore: q.Semaphore, Holder: q.Holder, TTL: q.TTL}
	return compareResults("RenewSlot of "+q.Holder, nil, nil, e.Semaphores.RenewSlot(p.ctx, slot), p.model.renewSlot(slot))
}

func (p *slotPlayer) count(e Engine, s step) error { return p.use(e, s.semaphore()) }

func (p *slotPlayer) use(e Engine, semaphore string) error {
	got, err := e.Semaphores.Slots(p.ctx, semaphore)
	return compareResults("Slots of "+semaphore, got, p.model.slots(semaphore), err, nil)
}

func (p *slotPlayer) cancelWait(e Engine, s step) error {
	w := waiter{request: p.request(s)}
	if p.waiters[w.name()] == nil {
		return nil
	}
	return p.cancelWaiter(e, w.name())
}

func (p *slotPlayer) cancelWaiter(e Engine, name string) error {
	w := p.waiters[name]
	delete(p.waiters, name)
	w.cancel()
	p.model.removeWaiter(w.request.Semaphore, w.request.Holder)
	if err := <-w.done; !errors.Is(err, context.Canceled) {
		return fmt.Errorf("Acquire of %s, which gave up, ended with error %w", name, err)
	}
	return p.use(e, w.request.Semaphore)
}

func (p *slotPlayer) cancelWaiters() error {
	for _, name := range slices.Sorted(maps.Keys(p.waiters)) {
		if err := p.cancelWaiter(p.waiters[name].engine, name); err != nil {
			return err
		}
	}
	return nil
}

// cleanUp cancels the requests that a program left waiting.
func (p *slotPlayer) cleanUp() {
	for _, w := range p.waiters {
		w.cancel()
		<-w.done
	}
}
