package providertest

import (
	"context"
	"sync"

	"github.com/everdesk/everdesk/providers"
)

func closeChecks() []check {
	return []check{
		{"nothing is heard afterwards", closeSilent},
		{"in the middle of a turn", closeMidTurn},
		{"in the middle of a tool call", closeMidCall},
		{"while the listener is busy", closeSlow},
		{"twice, and several at once", closeTwice},
		{"a closed session refuses", closeRefuses},
		{"closing the provider closes its sessions", closeProvider},
		{"a closed provider opens nothing", closeOpens},
		{"opening and closing at once", closeRace},
	}
}

func closeSilent(r *rig) {
	t := r.open()
	t.turn("m-1", Say("done"))
	t.ok(t.Close())
	t.ear.closed.Store(true) // events after this are faults
}

func closeMidTurn(r *rig) {
	t := r.open()
	t.begin("m-1", Say("so far"), Hang())
	t.saying("m-1", "so far")
	t.ok(t.Close())
	t.ear.closed.Store(true)
	t.requireInterrupted()
}

// requireInterrupted fails the check unless the first turn has already ended exactly once, as
// interrupted.
func (t *testSession) requireInterrupted() {
	t.Helper()
	all, _ := t.ear.eventsSoFar()
	if count(all, providers.EventTurnEnd, "m-1") != 1 {
		t.Fatalf("the session is closed and turn m-1 has no end, want one: %s", outline(all))
	}
	t.end("m-1", providers.Interrupted)
}

func closeMidCall(r *rig) {
	hold := newStuck("never said")
	t := r.open(with(hold.tool))
	t.begin("m-1", Call(use("hold", "a")), Say("after it"))
	t.await("the tool runs", hold.began)
	t.ok(t.Close())
	t.ear.closed.Store(true)
	t.await("the tool is stopped", hold.stopped)
	t.requireInterrupted()
}

func closeSlow(r *rig) {
	t := r.open()
	release := t.ear.slow()
	t.Cleanup(release)
	t.begin("m-1", Say("a b c d e f g"))
	t.until("something is heard", func(all []providers.Event) bool { return len(all) > 0 })
	closed := make(chan error, 1)
	go func() { closed <- t.Close() }()
	release()
	select {
	case err := <-closed:
		t.ok(err)
	case <-t.ctx.Done():
		t.Fatalf("close does not return, want it to")
	}
	t.ear.closed.Store(true)
}

func closeTwice(r *rig) {
	t := r.open()
	t.begin("m-1", Hang())
	errs := make([]error, 4)
	var wg sync.WaitGroup
	for n := range errs {
		wg.Go(func() { errs[n] = t.Close() })
	}
	wg.Wait()
	for _, err := range append(errs, t.Close()) {
		t.ok(err)
	}
}

func closeRefuses(r *rig) {
	t := r.open()
	t.ok(t.Close())
	t.ear.closed.Store(true)
	for _, mode := range []providers.Mode{providers.Start, providers.Steer, providers.Continue} {
		t.is(t.Send(t.ctx, providers.Message{ID: "m-1", Text: "x", Mode: mode}), providers.ErrClosed, string(mode))
	}
	t.ok(t.Interrupt(t.ctx))
}

func closeProvider(r *rig) {
	idle, busy := r.open(), r.open()
	busy.begin("m-1", Say("so far"), Hang())
	busy.saying("m-1", "so far")
	r.ok(r.provider.Close())
	for _, t := range []*testSession{idle, busy} {
		t.ear.closed.Store(true)
		t.is(t.Send(t.ctx, t.prompt("m-2", Say("no"))), providers.ErrClosed, "send")
		t.ok(t.Close())
	}
	busy.requireInterrupted()
	r.ok(r.provider.Close())
}

func closeOpens(r *rig) {
	r.ok(r.provider.Close())
	_, err := r.provider.Open(r.ctx, r.spec())
	r.is(err, providers.ErrClosed, "open")
}

func closeRace(r *rig) {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			s, err := r.provider.Open(context.WithoutCancel(r.ctx), r.spec())
			if err != nil {
				return
			}
			if s.Send(r.ctx, r.prompt("m", Hang())) == nil {
				if err := s.Interrupt(r.ctx); err != nil {
					r.Errorf("interrupt beside close: %v", err)
				}
			}
			if err := s.Close(); err != nil {
				r.Errorf("close beside close: %v", err)
			}
		})
	}
	wg.Go(func() {
		if err := r.provider.Close(); err != nil {
			r.Errorf("close beside open: %v", err)
		}
	})
	wg.Wait()
}
