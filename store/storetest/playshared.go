package storetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

func (p *player) sessions(e Engine, s step) error {
	for _, user := range []string{"", s.user()} {
		var want []store.Info
		for id, m := range p.model.sessions {
			if user == "" || m.info.User == user {
				i, _ := p.model.session(id)
				want = append(want, p.info(i))
			}
		}
		var got []store.Info
		q := store.Query{User: user, Limit: 1 + s.N%3}
		for {
			page, err := e.Directory.Sessions(p.ctx, q)
			if err != nil {
				return fmt.Errorf("Sessions: %w", err)
			}
			for _, i := range page.Items {
				got = append(got, p.info(i))
			}
			if q.After = page.Next; q.After == "" {
				break
			}
		}
		byID := func(a, b store.Info) int { return cmp.Compare(a.ID, b.ID) }
		slices.SortFunc(got, byID)
		slices.SortFunc(want, byID)
		if err := compareResults("Sessions of "+user, got, want, nil, nil); err != nil {
			return err
		}
	}
	return nil
}

func (p *player) unattended(e Engine, _ step) error {
	got, err := e.Directory.Unattended(p.ctx, 0)
	slices.Sort(got)
	return compareResults("Unattended", got, p.model.unattended(), err, nil)
}

func (p *player) put(e Engine, s step) error {
	d := store.Document{Data: []byte(s.Text)}
	d.Collection, d.Name = s.document()
	if m := p.model.document(d.Collection, d.Name); m != nil {
		d.Version = m.Version
	}
	switch s.Wrong {
	case 1:
		d.Version++
	case 2:
		d.Version = 0
	case 3:
		d.Data = make([]byte, modelLimits().DocumentBytes+1)
	}
	if s.N%3 == 0 {
		d.TTL = p.ttl(s.N)
	}
	got, gotErr := e.Documents.Put(p.ctx, d)
	want, wantErr := p.model.put(d)
	return compareResults("Put", got, want, gotErr, wantErr)
}

func (p *player) get(e Engine, s step) error {
	c, n := s.document()
	got, gotErr := e.Documents.Get(p.ctx, c, n)
	want, wantErr := p.model.get(c, n)
	return compareResults("Get", p.comparable(got), p.comparable(want), gotErr, wantErr)
}

// comparable returns a document without the values that depend on the engine's clock.
func (p *player) comparable(d store.Document) store.Document {
	if p.env.Virtual {
		d.TTL = d.TTL.Truncate(time.Second)
	} else if d.TTL > 0 {
		d.TTL = 1
	}
	return d
}

func (p *player) remove(e Engine, s step) error {
	c, n := s.document()
	version := uint64(1)
	if m := p.model.document(c, n); m != nil {
		version = m.Version
	}
	if s.Wrong > 0 {
		version++
	}
	return compareResults("Remove", nil, nil, e.Documents.Remove(p.ctx, c, n, version), p.model.remove(c, n, version))
}

func (p *player) documents(e Engine, s step) error {
	c, _ := s.document()
	var got, want []store.Document
	for after := ""; ; {
		page, err := e.Documents.Documents(p.ctx, c, after, 1+s.N%3)
		if err != nil {
			return fmt.Errorf("Documents: %w", err)
		}
		for _, d := range page.Items {
			got = append(got, p.comparable(d))
		}
		if after = page.Next; after == "" {
			break
		}
	}
	for _, d := range p.model.collection(c) {
		want = append(want, p.comparable(d))
	}
	byName := func(a, b store.Document) int { return cmp.Compare(a.Name, b.Name) }
	slices.SortFunc(got, byName)
	slices.SortFunc(want, byName)
	return compareResults("Documents", got, want, nil, nil)
}

// waiter is a request that waits for a slot of the engine.
type waiter struct {
	request store.SlotRequest
	engine  Engine
	cancel  context.CancelFunc
	done    chan error
}

func (p *player) request(s step) store.SlotRequest {
	q := store.SlotRequest{Semaphore: s.semaphore(), Limit: s.slotLimit(), TTL: p.ttl(s.N)}
	q.Holder, q.Key = s.holder()
	return q
}

func (q waiter) name() string { return q.request.Semaphore + " " + q.request.Holder }

func (p *player) acquire(e Engine, s step) error {
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

func (p *player) wait(e Engine, s step) error {
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
func (p *player) awaitGrant(name string) error {
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
func (p *player) awaitGrants(e Engine, semaphore string) error {
	for _, holder := range p.model.grantWaiting(semaphore) {
		if err := p.awaitGrant(semaphore + " " + holder); err != nil {
			return err
		}
	}
	return p.use(e, semaphore)
}

func (p *player) releaseSlot(e Engine, s step) error {
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

func (p *player) renewSlot(e Engine, s step) error {
	q := p.request(s)
	slot := store.Slot{Semaphore: q.Semaphore, Holder: q.Holder, TTL: q.TTL}
	return compareResults("RenewSlot of "+q.Holder, nil, nil, e.Semaphores.RenewSlot(p.ctx, slot), p.model.renewSlot(slot))
}

func (p *player) slots(e Engine, s step) error { return p.use(e, s.semaphore()) }

func (p *player) use(e Engine, semaphore string) error {
	got, err := e.Semaphores.Slots(p.ctx, semaphore)
	return compareResults("Slots of "+semaphore, got, p.model.slots(semaphore), err, nil)
}

func (p *player) cancelWait(e Engine, s step) error {
	w := waiter{request: p.request(s)}
	if p.waiters[w.name()] == nil {
		return nil
	}
	return p.cancelWaiter(e, w.name())
}

func (p *player) cancelWaiter(e Engine, name string) error {
	w := p.waiters[name]
	delete(p.waiters, name)
	w.cancel()
	p.model.removeWaiter(w.request.Semaphore, w.request.Holder)
	if err := <-w.done; !errors.Is(err, context.Canceled) {
		return fmt.Errorf("Acquire of %s, which gave up, ended with error %w", name, err)
	}
	return p.use(e, w.request.Semaphore)
}

func (p *player) cancelWaiters() error {
	for _, name := range slices.Sorted(maps.Keys(p.waiters)) {
		if err := p.cancelWaiter(p.waiters[name].engine, name); err != nil {
			return err
		}
	}
	return nil
}

// cleanUp cancels the requests that a program left waiting.
func (p *player) cleanUp() {
	for _, w := range p.waiters {
		w.cancel()
		<-w.done
	}
}

// compareAll compares the whole state at the end.
func (p *player) compareAll() error {
	for r := range programReplicas {
		e, s := p.engines[r], step{Session: r % 2, N: r}
		if err := errors.Join(p.sessions(e, s), p.unattended(e, s), p.documents(e, s)); err != nil {
			return fmt.Errorf("in the end: %w", err)
		}
	}
	for i := range programSessions {
		id := step{Session: i}.id()
		for _, check := range []func(Engine, wire.SessionID) error{p.loadOf, p.sessionOf, p.compareLog, p.compareLists, p.compareInbox} {
			if err := check(p.engines[i%programReplicas], id); err != nil {
				return fmt.Errorf("in the end, session %s: %w", id, err)
			}
		}
	}
	return nil
}

func (p *player) compareLog(e Engine, id wire.SessionID) error {
	cursors := []wire.Position{{}}
	for _, ev := range p.model.sessionLog(id) {
		cursors = append(cursors, ev.At)
	}
	for i, c := range cursors {
		if i%5 == 0 || i == len(cursors)-1 {
			if err := p.readAfter(e, id, c, 1000); err != nil {
				return err
			}
		}
	}
	return p.compareTail(e, id)
}

// compareTail follows the log from its oldest event to its newest.
func (p *player) compareTail(e Engine, id wire.SessionID) error {
	i, err := p.model.session(id)
	if err != nil || i.Oldest == i.Top {
		return nil // a deleted session has no tail
	}
	want := p.model.sessions[id].log.held()[1:]
	var got []store.Event
	for news, err := range e.Contents.Tail(p.ctx, id, i.Oldest) {
		if err != nil {
			return fmt.Errorf("Tail: %w", err)
		}
		if got = append(got, news.Events...); len(got) >= len(want) {
			break
		}
	}
	if err := sameEvents(got, want); err != nil {
		return fmt.Errorf("Tail: %w", err)
	}
	return nil
}

func (p *player) compareLists(e Engine, id wire.SessionID) error {
	for n := range 3 {
		list := step{N: n}.list()
		if err := errors.Join(p.readListOf(e, id, list, 0, 1000), p.readListOf(e, id, list, -1, 1)); err != nil {
			return err
		}
	}
	return nil
}

// compareInbox claims the session, because only an owner can receive, and sends one more
// command, so that Receive does not wait.
func (p *player) compareInbox(e Engine, id wire.SessionID) error {
	m := p.model.sessions[id]
	if m == nil {
		return nil
	}
	s := step{Session: int(id[1] - '0')}
	if err := p.quarantine(e, step{Session: s.Session, Do: "lift"}); err != nil {
		return err
	}
	for s.Replica = range programReplicas {
		if m.info.Owner == "" || m.info.Owner == s.replica() {
			break
		}
	}
	if err := p.claim(e, s); err != nil {
		return err
	}
	if err := p.sendTo(e, id, store.Command{ID: "in-the-end"}); err != nil {
		return err
	}
	return p.receive(e, s)
}
