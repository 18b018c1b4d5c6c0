package storetest

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/everdesk/everdesk/store"
)

func semaphoreChecks() []check {
	return []check{
		{name: "slots up to the limit", run: slotsUpToLimit},
		{name: "an unused semaphore is empty", run: slotsUnused},
		{name: "semaphores do not share slots", run: slotsSeparate},
		{name: "a holder that asks again keeps its slot", run: slotsAskAgain},
		{name: "releasing is idempotent", run: slotsReleaseTwice},
		{name: "a holder that does not renew loses its slot", run: slotsExpire},
		{name: "a holder that renews keeps its slot", run: slotsRenew},
		{name: "asking again renews", run: slotsAskAgainRenews},
		{name: "a waiter gets the slot of a dead holder", run: slotsWaitForDead},
		{name: "a waiter gets a slot that was renewed for less", run: slotsRenewForLess},
		{name: "a waiter gets a released slot", run: slotsWaitForRelease},
		{name: "waiters of a key are served in order", run: slotsInOrder},
		{name: "the key with the fewest slots is served first", run: slotsFair},
		{name: "a busy key does not starve another", run: slotsNoStarvation},
		{name: "a waiter that gives up leaves nothing behind", run: slotsGiveUp},
		{name: "giving up beside a grant loses no slot", run: slotsGiveUpRace},
		{name: "who may not wait is refused where others wait", run: slotsNoWait},
		{name: "a lowered limit takes nothing away", run: slotsLowered},
		{name: "never more holders than the limit", run: slotsContention},
		{name: "requests that make no sense are refused", run: slotsInvalid},
		{name: "awkward names", run: slotsNames},
	}
}

// ask returns a request for a slot of the semaphore that most checks use.
func (r *rig) ask(holder, key string, limit int) store.SlotRequest {
	return store.SlotRequest{Semaphore: "sem", Limit: limit, Holder: holder, Key: key, TTL: r.long()}
}

// take acquires a slot that must be free.
func (r *rig) take(q store.SlotRequest) store.Slot {
	r.Helper()
	s, err := r.Semaphores.Acquire(r.ctx, q)
	r.ok(err)
	if s.Semaphore != q.Semaphore || s.Holder != q.Holder || s.TTL != q.TTL {
		r.Fatalf("slot is %+v, want that of %+v", s, q)
	}
	return s
}

// full fails the check if a request is granted or waits.
func (r *rig) full(q store.SlotRequest) {
	r.Helper()
	_, err := r.Semaphores.Acquire(r.ctx, q)
	r.is(err, store.ErrFull, "Acquire of "+q.Holder)
}

func (r *rig) uses(held, waiting int) {
	r.Helper()
	u, err := r.Semaphores.Slots(r.ctx, "sem")
	r.ok(err)
	if want := (store.SlotUse{Held: held, Waiting: waiting}); u != want {
		r.Fatalf("semaphore is %+v, want %+v", u, want)
	}
}

// queue is a sequence of waiting requests, each of which waits before the next is made.
type queue struct {
	*rig
	granted chan store.Slot
	failed  chan error
	wg      sync.WaitGroup
	waiting int
}

func (r *rig) queue() *queue {
	q := &queue{rig: r, granted: make(chan store.Slot, 100), failed: make(chan error, 100)}
	r.Cleanup(q.wg.Wait)
	return q
}

// wait adds a request that cannot be granted now and returns a function that cancels it.
func (q *queue) wait(s store.SlotRequest) context.CancelFunc {
	q.Helper()
	cancel := q.request(s)
	q.waiting++
	q.untilWaiting(q.waiting)
	return cancel
}

// request adds a request that may be granted at any time and returns a function that cancels it.
func (q *queue) request(s store.SlotRequest) context.CancelFunc {
	q.Helper()
	ctx, cancel := context.WithCancel(q.ctx)
	s.Wait = true
	h := q.secondHandle()
	q.wg.Go(func() {
		slot, err := h.Semaphores.Acquire(ctx, s)
		if err != nil {
			q.failed <- err
			return
		}
		q.granted <- slot
	})
	q.Cleanup(cancel)
	return cancel
}

func (q *queue) untilWaiting(n int) {
	q.Helper()
	q.eventually(fmt.Sprintf("%d requests wait", n), func() bool {
		u, err := q.Semaphores.Slots(q.ctx, "sem")
		q.ok(err)
		return u.Waiting == n
	})
}

// next waits for the next grant.
func (q *queue) next() store.Slot {
	q.Helper()
	select {
	case s := <-q.granted:
		q.waiting--
		return s
	case err := <-q.failed:
		q.Fatalf("a waiting request ended with %v, want a slot", err)
	case <-q.ctx.Done():
		q.Fatal("no waiting request was granted before the deadline, want one")
	}
	return store.Slot{}
}

func slotsUpToLimit(r *rig) {
	other := r.secondHandle()
	for i := range 5 {
		h := r
		if i%2 == 1 {
			h = other
		}
		h.take(r.ask(fmt.Sprint("h", i), "k", 5))
		r.uses(i+1, 0)
	}
	r.full(r.ask("h5", "k", 5))
	other.full(r.ask("h6", "other", 5))
	r.uses(5, 0)
	r.take(r.ask("h7", "k", 6))
}

func slotsUnused(r *rig) { r.uses(0, 0) }

func slotsSeparate(r *rig) {
	q := r.ask("h", "k", 1)
	r.take(q)
	q.Semaphore = "other"
	r.take(q)
	r.ok(r.Semaphores.ReleaseSlot(r.ctx, store.Slot{Semaphore: "other", Holder: "h"}))
	r.uses(1, 0)
}

func slotsAskAgain(r *rig) {
	r.take(r.ask("h", "k", 1))
	r.secondHandle().take(r.ask("h", "k", 1))
	q := r.ask("h", "k", 1)
	q.Wait = true
	r.take(q)
	r.uses(1, 0)
	r.full(r.ask("i", "k", 1))
}

func slotsReleaseTwice(r *rig) {
	s := r.take(r.ask("h", "k", 1))
	for range 3 {
		r.ok(r.Semaphores.ReleaseSlot(r.ctx, s))
	}
	r.ok(r.Semaphores.ReleaseSlot(r.ctx, store.Slot{Semaphore: "never", Holder: "was"}))
	r.uses(0, 0)
	r.is(r.Semaphores.RenewSlot(r.ctx, s), store.ErrFenced, "RenewSlot of a released slot")
	r.take(r.ask("i", "k", 1))
	r.ok(r.Semaphores.ReleaseSlot(r.ctx, s))
	r.uses(1, 0)
}

func slotsExpire(r *rig) {
	q := r.ask("h", "k", 2)
	q.TTL = r.short()
	s := r.take(q)
	r.take(r.ask("i", "k", 2))
	r.expire()
	r.uses(1, 0)
	r.is(r.Semaphores.RenewSlot(r.ctx, s), store.ErrFenced, "RenewSlot of an expired slot")
	r.uses(1, 0)
	r.ok(r.Semaphores.ReleaseSlot(r.ctx, s))
	r.take(r.ask("j", "k", 2))
}

func slotsRenew(r *rig) {
	q := r.ask("h", "k", 1)
	q.TTL = r.renewed()
	s := r.take(q)
	for range 2 {
		r.env.Advance(q.TTL * 5 / 8)
		r.ok(r.secondHandle().Semaphores.RenewSlot(r.ctx, s))
	}
	r.uses(1, 0)
	r.env.Advance(q.TTL + r.env.Unit)
	r.uses(0, 0)
}

func slotsAskAgainRenews(r *rig) {
	q := r.ask("h", "k", 1)
	q.TTL = r.renewed()
	r.take(q)
	for range 2 {
		r.env.Advance(q.TTL * 5 / 8)
		r.take(q)
	}
	r.uses(1, 0)
}

func slotsWaitForDead(r *rig) {
	dead := r.ask("dead", "k", 1)
	dead.TTL = 3 * r.env.Unit
	r.take(dead)
	q := r.queue()
	q.request(r.ask("h", "k", 1)) // on a slow machine the slot may be free already
	r.env.Advance(2 * dead.TTL)
	if s := q.next(); s.Holder != "h" {
		r.Errorf("slot went to %s, want h", s.Holder)
	}
	r.uses(1, 0)
}

func slotsRenewForLess(r *rig) {
	s := r.take(r.ask("first", "k", 1))
	q := r.queue()
	q.wait(r.ask("h", "k", 1))
	s.TTL = 0
	r.is(r.Semaphores.RenewSlot(r.ctx, s), store.ErrInvalid, "RenewSlot for no time")
	s.TTL = r.short()
	r.ok(r.Semaphores.RenewSlot(r.ctx, s))
	r.expire()
	if s := q.next(); s.Holder != "h" {
		r.Errorf("slot went to %s, want h", s.Holder)
	}
	r.uses(1, 0)
}

func slotsWaitForRelease(r *rig) {
	s := r.take(r.ask("first", "k", 1))
	q := r.queue()
	for i := range 5 {
		holder := fmt.Sprint("h", i)
		q.wait(r.ask(holder, "k", 1))
		r.uses(1, 1)
		r.ok(r.secondHandle().Semaphores.ReleaseSlot(r.ctx, s))
		if s = q.next(); s.Holder != holder || s.TTL != r.long() {
			r.Fatalf("slot is %+v, want that of %s", s, holder)
		}
		r.ok(r.Semaphores.RenewSlot(r.ctx, s))
	}
	r.uses(1, 0)
}

func slotsInOrder(r *rig) {
	s := r.take(r.ask("first", "k", 1))
	q := r.queue()
	for i := range 8 {
		q.wait(r.ask(fmt.Sprint("h", 7-i), "k", 1)) // holders sort in the reverse order
	}
	for i := range 8 {
		r.ok(r.Semaphores.ReleaseSlot(r.ctx, s))
		if s = q.next(); s.Holder != fmt.Sprint("h", 7-i) {
			r.Fatalf("grant %d went to %s, want h%d", i, s.Holder, 7-i)
		}
	}
}

// slotsFair follows one schedule of two slots grant by grant.
func slotsFair(r *rig) {
	held := map[string]store.Slot{
		"a1": r.take(r.ask("a1", "a", 2)),
		"a2": r.take(r.ask("a2", "a", 2)),
	}
	q := r.queue()
	for _, h := range []string{"a3", "a4", "b1", "a5", "c1", "b2", "b3"} {
		q.wait(r.ask(h, h[:1], 2))
	}
	for _, step := range []struct{ release, grant, because string }{
		{"a1", "b1", "a holds one, b and c none, and b1 is older than c1"},
		{"a2", "a3", "a and c hold none, and a3 is older than c1"},
		{"b1", "c1", "b and c hold none, and c1 is older than b2"},
		{"a3", "a4", "a and b hold none, and a4 is older than b2"},
		{"c1", "b2", "only b of those who wait holds none"},
		{"b2", "b3", "only b of those who wait holds none"},
		{"a4", "a5", "no other waits"},
	} {
		r.ok(r.Semaphores.ReleaseSlot(r.ctx, held[step.release]))
		s := q.next()
		if s.Holder != step.grant {
			r.Fatalf("after release of %s the slot went to %s, want %s: %s", step.release, s.Holder, step.grant, step.because)
		}
		held[s.Holder] = s
		r.uses(2, q.waiting)
	}
}

func slotsNoStarvation(r *rig) {
	busy := []store.Slot{r.take(r.ask("busy-a", "busy", 2)), r.take(r.ask("busy-b", "busy", 2))}
	q := r.queue()
	for i := range 10 {
		q.wait(r.ask(fmt.Sprint("busy-", i), "busy", 2))
	}
	q.wait(r.ask("quiet", "quiet", 2))
	r.ok(r.Semaphores.ReleaseSlot(r.ctx, busy[0]))
	if s := q.next(); s.Holder != "quiet" {
		r.Errorf("slot went to %s, want the key that holds none", s.Holder)
	}
	r.ok(r.Semaphores.ReleaseSlot(r.ctx, busy[1]))
	if s := q.next(); s.Holder != "busy-0" {
		r.Errorf("slot went to %s, want the oldest of those left", s.Holder)
	}
}

func slotsGiveUp(r *rig) {
	s := r.take(r.ask("first", "k", 1))
	q := r.queue()
	q.wait(r.ask("h1", "k", 1))
	giveUp := q.wait(r.ask("h2", "k", 1))
	q.wait(r.ask("h3", "k", 1))
	giveUp()
	select {
	case err := <-q.failed:
		r.is(err, context.Canceled, "Acquire")
	case <-r.ctx.Done():
		r.Fatal("a cancelled Acquire goes on waiting, want it to end with context.Canceled")
	}
	q.waiting--
	q.untilWaiting(2)
	for _, want := range []string{"h1", "h3"} {
		r.ok(r.Semaphores.ReleaseSlot(r.ctx, s))
		if s = q.next(); s.Holder != want {
			r.Fatalf("slot went to %s, want %s", s.Holder, want)
		}
	}
	r.ok(r.Semaphores.ReleaseSlot(r.ctx, s))
	r.uses(0, 0)
}

func slotsGiveUpRace(r *rig) {
	for i := range 30 {
		s := r.take(r.ask("first", "k", 1))
		q := r.queue()
		giveUp := q.wait(r.ask(fmt.Sprint("h", i), "k", 1))
		switch i % 3 {
		case 0:
			q.wg.Go(giveUp)
		case 1:
			giveUp()
		}
		r.ok(r.Semaphores.ReleaseSlot(r.ctx, s))
		giveUp()
		q.wg.Wait()
		select {
		case s := <-q.granted:
			r.ok(r.Semaphores.ReleaseSlot(r.ctx, s))
		case err := <-q.failed:
			r.is(err, context.Canceled, "Acquire")
		}
		q.eventually("the semaphore is empty", func() bool {
			u, err := r.Semaphores.Slots(r.ctx, "sem")
			r.ok(err)
			return u == store.SlotUse{}
		})
	}
}

func slotsNoWait(r *rig) {
	s := r.take(r.ask("first", "k", 1))
	q := r.queue()
	q.wait(r.ask("h1", "k", 1))
	r.full(r.ask("h2", "other", 1))
	r.uses(1, 1) // the refused request does not wait
	r.ok(r.Semaphores.ReleaseSlot(r.ctx, s))
	if s = q.next(); s.Holder != "h1" {
		r.Errorf("slot went to %s, want h1", s.Holder)
	}
}

func slotsLowered(r *rig) {
	var held []store.Slot
	for i := range 3 {
		held = append(held, r.take(r.ask(fmt.Sprint("h", i), "k", 3)))
	}
	r.full(r.ask("new", "k", 2))
	r.uses(3, 0)
	for _, s := range held {
		r.ok(r.Semaphores.RenewSlot(r.ctx, s))
	}
	r.ok(r.Semaphores.ReleaseSlot(r.ctx, held[0]))
	r.full(r.ask("new", "k", 2))
	r.ok(r.Semaphores.ReleaseSlot(r.ctx, held[1]))
	r.take(r.ask("new", "k", 2))
	r.uses(2, 0)
}

func slotsContention(r *rig) {
	const workers, rounds, limit = 16, 6, 3
	var now, grants atomic.Int64
	var wg sync.WaitGroup
	for w := range workers {
		h := r.secondHandle()
		wg.Go(func() {
			for i := range rounds {
				q := r.ask(fmt.Sprintf("%d-%d", w, i), strconv.Itoa(w%4), limit)
				q.Wait = true
				s, err := h.Semaphores.Acquire(r.ctx, q)
				if err != nil {
					r.Errorf("worker %d: %v", w, err)
					return
				}
				if n := now.Add(1); n > limit {
					r.Errorf("%d holders at once, limit %d, want at most that", n, limit)
				}
				if u, err := h.Semaphores.Slots(r.ctx, "sem"); err != nil || u.Held > limit {
					r.Errorf("semaphore is %+v, limit %d, error %v, want at most that", u, limit, err)
				}
				now.Add(-1)
				grants.Add(1)
				if err := h.Semaphores.ReleaseSlot(r.ctx, s); err != nil {
					r.Errorf("worker %d: %v", w, err)
				}
			}
		})
	}
	wg.Wait()
	if grants.Load() != workers*rounds {
		r.Errorf("%d grants, want %d", grants.Load(), workers*rounds)
	}
	r.uses(0, 0)
}

func slotsInvalid(r *rig) {
	for what, change := range map[string]func(*store.SlotRequest){
		"no limit":     func(q *store.SlotRequest) { q.Limit = 0 },
		"no ttl":       func(q *store.SlotRequest) { q.TTL = 0 },
		"negative ttl": func(q *store.SlotRequest) { q.TTL = -1 },
		"no semaphore": func(q *store.SlotRequest) { q.Semaphore = "" },
		"no holder":    func(q *store.SlotRequest) { q.Holder = "" },
		"no key":       func(q *store.SlotRequest) { q.Key = "" },
		"line break":   func(q *store.SlotRequest) { q.Holder = "a\nb" },
	} {
		for _, wait := range []bool{false, true} {
			q := r.ask("h", "k", 1)
			q.Wait = wait
			change(&q)
			_, err := r.Semaphores.Acquire(r.ctx, q)
			r.is(err, store.ErrInvalid, what)
		}
	}
	r.uses(0, 0)
}

func slotsNames(r *rig) {
	for _, n := range trickyNames() {
		q := store.SlotRequest{Semaphore: n, Limit: 1, Holder: n, Key: n, TTL: r.long()}
		s := r.take(q)
		q.Holder = "other"
		r.full(q)
		r.ok(r.Semaphores.RenewSlot(r.ctx, s))
		r.ok(r.Semaphores.ReleaseSlot(r.ctx, s))
		if u, err := r.Semaphores.Slots(r.ctx, n); err != nil || u != (store.SlotUse{}) {
			r.Errorf("semaphore %q is %+v, error %v, want it unused", n, u, err)
		}
	}
}
