package agentpool_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/tools"
)

// faultInjector lets the n-th step of a run fail.
type faultInjector struct {
	how func() error
	// ttl is the TTL of slots. It is long, so that expiry does not hide a leak, except
	// in cases in which the release takes too long.
	ttl time.Duration

	mu    sync.Mutex // guards the following
	steps []string
	wrong int // which one goes wrong, counted from 1; 0 is none
}

// step is called at every step and returns an error if the step must fail.
func (s *faultInjector) step(name string) error {
	s.mu.Lock()
	s.steps = append(s.steps, name)
	bad := len(s.steps) == s.wrong
	s.mu.Unlock()
	if bad {
		return s.how()
	}
	return nil
}

// runAgents runs a main turn, a second one in the same provider session, one that is steered and
// interrupted, and a reserved ephemeral one, and closes the session runner. Every call is a step.
func (s *faultInjector) runAgents(t *testing.T, process bool) {
	t.Helper()
	bubble(t, agentpool.Limits{Agents: 2, PerSession: 2, PerUser: 2, TTL: s.ttl}, func(r *rig) {
		t := r.t
		s.intercept(r)
		r.provider.caps.Process = process
		r.provider.onOpen = func(context.Context, providers.Spec) error { return s.step("open") }
		r.provider.onClose = func() error { return s.step("close") }
		r.provider.onSend = func(_ context.Context, m providers.Message) error { return s.step("send " + string(m.Mode)) }
		r.provider.onInterrupt = func(context.Context) error { return s.step("interrupt") }
		r.tools.brief = func() (string, error) { return "", s.step("brief") }
		r.tools.tools = func() []providers.Tool { _ = s.step("tools"); return nil }
		r.tools.tool = func(context.Context, tools.Caller, providers.ToolCall) providers.ToolResult {
			return providers.ToolResult{IsError: s.step("tool") != nil}
		}
		r.on = func(report agentpool.Report) error { return s.step(strings.Fields(formatReport(report))[1]) }
		r.provider.runTurn = func(p *turn) (providers.Outcome, error) {
			p.emitText("x")
			p.emit(providers.Event{Kind: providers.EventEntries})
			p.call("tool")
			if strings.HasSuffix(p.message.ID, "long") {
				return hang(p)
			}
			if s.step("turn") != nil {
				return providers.Failed, errFake
			}
			return providers.Completed, nil
		}
		r.Start(mainRun("1"))
		s.pause()
		r.Start(mainRun("2"))
		s.pause()
		r.Start(mainRun("long"))
		s.pause()
		r.Steer(steering("long", "m"))
		s.pause()
		r.Interrupt("long", "enough")
		s.pause()
		run := ephemeralRun("4")
		if run.Slot = r.TryReserve(); run.Slot != nil {
			r.Start(run)
		}
		s.pause()
		if u, err := r.store.Slots(t.Context(), "agents"); err != nil || !process && u != (store.SlotUse{}) {
			t.Errorf("slots of agents that have ended: %+v, error %v, want none", u, err)
		}
		r.Close()
		time.Sleep(time.Minute)
		r.expectFree()
	})
}

func (s *faultInjector) pause() {
	time.Sleep(time.Minute)
	synctest.Wait()
}

// intercept turns store calls into steps, which fail before or after their effect.
func (s *faultInjector) intercept(r *rig) {
	hook := func(what string, do func() error) error {
		if err := s.step(what); err != nil {
			return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
		}
		if err := do(); err != nil {
			return err
		}
		if err := s.step("answer of " + what); err != nil {
			return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
		}
		return nil
	}
	r.meddler.acquire = func(q store.SlotRequest, do func() error) error { return hook("acquire "+q.Semaphore, do) }
	r.meddler.release = func(q store.Slot, do func() error) error { return hook("release "+q.Semaphore, do) }
}

// No slot leaks, whichever step fails in whichever way.
func TestFailedStepsLeakNoSlot(t *testing.T) {
	t.Parallel()
	for how, fail := range map[string]func() error{
		"error": func() error { return errFake },
		"panic": func() error { panic("sabotage") },
		"slow":  func() error { time.Sleep(30 * time.Second); return errFake },
	} {
		for _, process := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, process %v", how, process), func(t *testing.T) {
				t.Parallel()
				ttl := 24 * time.Hour
				if how == "slow" {
					ttl = 10 * time.Second
				}
				first := &faultInjector{how: fail, ttl: ttl}
				first.runAgents(t, process)
				if len(first.steps) < 40 {
					t.Fatalf("the run has %d steps, want at least 40: %v", len(first.steps), first.steps)
				}
				for i, name := range first.steps {
					if how == "panic" && !mayPanic(name) {
						continue
					}
					t.Run(fmt.Sprintf("%d %s", i+1, name), func(t *testing.T) {
						t.Parallel()
						(&faultInjector{how: fail, ttl: ttl, wrong: i + 1}).runAgents(t, process)
					})
				}
			})
		}
	}
}

// mayPanic reports whether a step may panic: calls into backends and tools may, calls into the
// store and the session and those on the backend's own goroutine may not, because that panic
// cannot be recovered.
func mayPanic(step string) bool {
	for _, ours := range []string{"acquire", "release", "answer", "turn", "began", "output", "entries", "accepted", "refused", "completed", "interrupted", "failed"} {
		if strings.HasPrefix(step, ours) {
			return false
		}
	}
	return true
}
