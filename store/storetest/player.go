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

// comparison is the state that the players of one program share: the environment of the
// engine and the model it is compared with.
type comparison struct {
	ctx   context.Context
	env   Env
	model *model
}

// player executes the steps of a program on an engine and on the model.
type player struct {
	*comparison
	engines   []Engine // one per replica
	sessions  *sessionPlayer
	documents *documentPlayer
	slots     *slotPlayer
}

// play returns the first difference, with the steps that led to it.
func play(t *testing.T, env Env, steps []step) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), max(1000*env.Unit, time.Minute))
	defer cancel()
	c := &comparison{ctx: ctx, env: env, model: newModel(modelLimits(), time.Now)}
	p := &player{
		comparison: c,
		sessions:   &sessionPlayer{comparison: c, leases: map[wire.SessionID][]store.Lease{}},
		documents:  &documentPlayer{comparison: c},
		slots:      &slotPlayer{comparison: c, waiters: map[string]*waiter{}},
	}
	for range programReplicas {
		p.engines = append(p.engines, env.Open(t))
	}
	defer p.slots.cleanUp()
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
	if err := p.slots.cancelWaiters(); err != nil {
		return err
	}
	return p.compareAll()
}

func (p *player) runStep(s step) error {
	action, ok := map[string]func(Engine, step) error{
		"create": p.sessions.create, "claim": p.sessions.claim, "renew": p.sessions.renew,
		"claimShared": p.sessions.claimShared, "renewShared": p.sessions.renewShared,
		"release": p.sessions.release, "delete": p.sessions.delete, "discard": p.sessions.discard,
		"commit": p.sessions.commit, "retry": p.sessions.retry, "load": p.sessions.load, "read": p.sessions.read, "readList": p.sessions.readList,
		"session": p.sessions.session, "sessions": p.sessions.list, "unattended": p.sessions.unattended,
		"quarantine": p.sessions.quarantine, "lift": p.sessions.quarantine, "send": p.sessions.send, "receive": p.sessions.receive,
		"put": p.documents.put, "get": p.documents.get, "remove": p.documents.remove, "documents": p.documents.list,
		"acquire": p.slots.acquire, "wait": p.slots.wait, "giveUp": p.slots.cancelWait, "renewSlot": p.slots.renew,
		"releaseSlot": p.slots.release, "slots": p.slots.count, "advance": p.advance,
	}[s.Do]
	if !ok {
		return fmt.Errorf("no such step: %s", s.Do)
	}
	return action(p.engines[s.Replica], s)
}

// ttl returns a lifetime that expires only with virtual time, so that with real time
// nothing depends on the speed of the machine.
func (c *comparison) ttl(n int) time.Duration {
	if !c.env.Virtual {
		return 1000 * c.env.Unit
	}
	return time.Duration(1+n%5) * c.env.Unit
}

func (p *player) advance(_ Engine, s step) error {
	if !p.env.Virtual {
		return nil
	}
	// The recipient of an expired slot depends on when the engine checks, so no request
	// waits while time passes.
	if err := p.slots.cancelWaiters(); err != nil {
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
		return ok && g.By == w.By && g.Incarnation == w.Incarnation
	}
	return slices.ContainsFunc([]error{
		store.ErrNotFound, store.ErrExists, store.ErrFenced, store.ErrTrimmed, store.ErrUnknownPosition, store.ErrAhead,
		store.ErrConflict, store.ErrFull, store.ErrTooLarge, store.ErrInvalid, wire.ErrID,
	}, func(e error) bool { return errors.Is(want, e) && errors.Is(got, e) })
}

// compareAll compares the whole state at the end.
func (p *player) compareAll() error {
	for r := range programReplicas {
		e, s := p.engines[r], step{Session: r % 2, N: r}
		if err := errors.Join(p.sessions.list(e, s), p.sessions.unattended(e, s), p.documents.list(e, s)); err != nil {
			return fmt.Errorf("in the end: %w", err)
		}
	}
	for i := range programSessions {
		id := step{Session: i}.id()
		for _, check := range []func(Engine, wire.SessionID) error{p.sessions.loadOf, p.sessions.sessionOf, p.sessions.compareLog, p.sessions.compareLists, p.sessions.compareInbox} {
			if err := check(p.engines[i%programReplicas], id); err != nil {
				return fmt.Errorf("in the end, session %s: %w", id, err)
			}
		}
	}
	return nil
}
