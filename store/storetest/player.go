package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// RunModel compares an engine with a pure model of the contract over random sequences of
// calls. The flag -rapid.checks sets their number.
func RunModel(t *testing.T, around Around, setup Setup) {
	t.Helper()
	programs := program()
	rapid.Check(t, func(rt *rapid.T) {
		// The program is drawn in real time and executed inside the Around: rapid
		// measures its own deadlines and unwinds by panics, and neither works in a
		// synctest bubble.
		steps := programs.Draw(rt, "program")
		var verdict error
		t.Run("program", func(t *testing.T) {
			around(t, func(t *testing.T) {
				t.Helper()
				verdict = play(t, setup(t, Options{Limits: modelLimits()}), steps)
			})
		})
		if verdict != nil {
			rt.Fatal(verdict)
		}
	})
}

// player executes the steps of a program on an engine and on the model.
type player struct {
	ctx     context.Context
	env     Env
	engines []Engine // one per replica
	model   *model
	// leases are all leases of each session so far, newest last.
	leases  map[wire.SessionID][]store.Lease
	waiters map[string]*waiter // by semaphore and holder
}

// play returns the first difference, with the steps that led to it.
func play(t *testing.T, env Env, steps []step) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), max(1000*env.Unit, time.Minute))
	defer cancel()
	p := &player{
		ctx: ctx, env: env, model: newModel(modelLimits(), time.Now),
		leases: map[wire.SessionID][]store.Lease{}, waiters: map[string]*waiter{},
	}
	for range programReplicas {
		p.engines = append(p.engines, env.Open(t))
	}
	defer p.cleanUp()
	// Most steps need a session, and most of those need an owner.
	opening := []step{{Do: "create"}, {Do: "create", Session: 1}, {Do: "claim"}, {Do: "claim", Session: 1, Replica: 1}}
	steps = slices.DeleteFunc(append(opening, steps...), func(s step) bool { return s.Do == "rest" })
	for i, s := range steps {
		if err := p.runStep(s); err != nil {
			var story strings.Builder
			for n, s := range steps[:i+1] {
				fmt.Fprintf(&story, "%3d %v\n", n, s)
			}
			return fmt.Errorf("step %d: %w\n%s", i, err, story.String())
		}
	}
	if err := p.cancelWaiters(); err != nil {
		return err
	}
	return p.compareAll()
}

func (p *player) runStep(s step) error {
	action, ok := map[string]func(Engine, step) error{
		"create": p.create, "claim": p.claim, "renew": p.renew, "release": p.release, "delete": p.delete, "discard": p.discard,
		"commit": p.commit, "retry": p.retry, "load": p.load, "read": p.read, "readList": p.readList,
		"session": p.session, "sessions": p.sessions, "unattended": p.unattended,
		"quarantine": p.quarantine, "lift": p.quarantine, "send": p.send, "receive": p.receive,
		"put": p.put, "get": p.get, "remove": p.remove, "documents": p.documents,
		"acquire": p.acquire, "wait": p.wait, "giveUp": p.cancelWait, "renewSlot": p.renewSlot,
		"releaseSlot": p.releaseSlot, "slots": p.slots, "advance": p.advance,
	}[s.Do]
	if !ok {
		return fmt.Errorf("no such step: %s", s.Do)
	}
	return action(p.engines[s.Replica], s)
}

// ttl returns a lifetime that expires only with virtual time, so that with real time
// nothing depends on the speed of the machine.
func (p *player) ttl(n int) time.Duration {
	if !p.env.Virtual {
		return 1000 * p.env.Unit
	}
	return time.Duration(1+n%5) * p.env.Unit
}

// lease returns the lease that a step selects, if there is any.
func (p *player) lease(s step) (store.Lease, bool) {
	all := p.leases[s.id()]
	if len(all) == 0 {
		return store.Lease{}, false
	}
	return all[max(0, len(all)-1-s.Old)], true
}

func (p *player) advance(_ Engine, s step) error {
	if !p.env.Virtual {
		return nil
	}
	// The recipient of an expired slot depends on when the engine checks, so no request
	// waits while time passes.
	if err := p.cancelWaiters(); err != nil {
		return err
	}
	// A few ms more prevent two lifetimes from expiring at the same instant.
	p.env.Advance(time.Duration(s.N%4)*p.env.Unit + 7*time.Millisecond)
	return nil
}

// compareResults returns an error if an engine's result is neither the model's nor one of
// the alternative errors.
func compareResults(what string, got, want any, gotErr, wantErr error, orErrs ...error) error {
	if !slices.ContainsFunc(append(orErrs, wantErr), func(want error) bool { return sameError(gotErr, want) }) {
		return fmt.Errorf("%s: got error %v, want %v", what, gotErr, wantErr) //nolint:errorlint // a verdict wraps neither
	}
	if gotErr != nil {
		return nil //nolint:nilerr // both say the same error, so they agree
	}
	if d := diff(got, want); d != "" {
		return fmt.Errorf("%s: (-want +got)\n%s", what, d)
	}
	return nil
}

// sameError reports whether two errors are equivalent for a caller.
func sameError(got, want error) bool {
	if got == nil || want == nil {
		return got == nil && want == nil
	}
	if w, ok := errors.AsType[*store.GapError](want); ok {
		g, ok := errors.AsType[*store.GapError](got)
		return ok && *g == *w
	}
	if w, ok := errors.AsType[*store.QuarantinedError](want); ok {
		g, ok := errors.AsType[*store.QuarantinedError](got)
		return ok && *g == *w
	}
	if w, ok := errors.AsType[*store.OwnedError](want); ok {
		g, ok := errors.AsType[*store.OwnedError](got)
		return ok && g.By == w.By
	}
	return slices.ContainsFunc([]error{
		store.ErrNotFound, store.ErrExists, store.ErrFenced, store.ErrTrimmed, store.ErrUnknownPosition, store.ErrAhead,
		store.ErrConflict, store.ErrFull, store.ErrTooLarge, store.ErrInvalid, wire.ErrID,
	}, func(e error) bool { return errors.Is(want, e) && errors.Is(got, e) })
}
