package agentpool_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/tools"
)

// state is a state of a run in progress, with the reports before it.
type state struct {
	prepare func(r *rig)
	before  []string
	// unresponsive is set if the backend does not react to the interrupt.
	unresponsive bool
	// reused is set if the provider session is reused for the next turn.
	reused bool
}

// blockUntilEnd returns a function that blocks until the test ends.
func blockUntilEnd(t *testing.T) func() {
	t.Helper()
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	return func() { <-never }
}

// states returns all states of a run, with well-behaved and misbehaving backends.
func states() map[string]state {
	return map[string]state{
		"waiting for a slot": {prepare: func(r *rig) {
			for range 2 {
				if r.runner("ses-2", &reportRecorder{}).TryReserve() == nil {
					r.t.Fatal("TryReserve gives no slot, want one of two")
				}
			}
		}},
		"opening": {prepare: func(r *rig) {
			r.provider.onOpen = func(ctx context.Context, _ providers.Spec) error { <-ctx.Done(); return ctx.Err() }
		}, before: []string{"1 began"}},
		"opening for ever": {prepare: func(r *rig) {
			hold := blockUntilEnd(r.t)
			r.provider.onOpen = func(context.Context, providers.Spec) error { hold(); return errFake }
		}, before: []string{"1 began"}, unresponsive: true},
		"opening for ever, and it works": {prepare: func(r *rig) {
			hold := blockUntilEnd(r.t)
			r.provider.onOpen = func(context.Context, providers.Spec) error { hold(); return nil }
		}, before: []string{"1 began"}, unresponsive: true},
		"opening, and it works": {prepare: func(r *rig) {
			r.provider.onOpen = func(ctx context.Context, _ providers.Spec) error { <-ctx.Done(); return nil }
		}, before: []string{"1 began"}},
		"sending": {prepare: func(r *rig) {
			r.provider.onSend = func(ctx context.Context, _ providers.Message) error { <-ctx.Done(); return ctx.Err() }
		}, before: []string{"1 began"}},
		"sending for ever": {prepare: func(r *rig) {
			hold := blockUntilEnd(r.t)
			r.provider.onSend = func(context.Context, providers.Message) error { hold(); return errFake }
		}, before: []string{"1 began"}},
		"the turn": {prepare: func(r *rig) {
			r.provider.runTurn = func(p *turn) (providers.Outcome, error) { p.emitText("x"); return hang(p) }
		}, before: []string{"1 began", `1 output "x" ""`}, reused: true},
		"a turn that reports a failure": {prepare: func(r *rig) {
			r.provider.runTurn = func(p *turn) (providers.Outcome, error) { <-p.ctx.Done(); return providers.Failed, p.ctx.Err() }
		}, before: []string{"1 began"}, reused: true},
		"a turn that does not end": {prepare: func(r *rig) {
			r.provider.runTurn = func(p *turn) (providers.Outcome, error) { <-p.s.life.Done(); return "", nil }
		}, before: []string{"1 began"}, unresponsive: true},
		"interrupting fails": {prepare: func(r *rig) {
			r.provider.runTurn = hang
			r.provider.onInterrupt = func(context.Context) error { return errFake }
		}, before: []string{"1 began"}},
		"interrupting for ever": {prepare: func(r *rig) {
			hold := blockUntilEnd(r.t)
			r.provider.runTurn = hang
			r.provider.onInterrupt = func(context.Context) error { hold(); return nil }
		}, before: []string{"1 began"}, unresponsive: true},
		"interrupting breaks": {prepare: func(r *rig) {
			r.provider.runTurn = hang
			r.provider.onInterrupt = func(context.Context) error { panic("interrupt") }
		}, before: []string{"1 began"}},
		"a tool": {prepare: func(r *rig) {
			r.tools.tool = func(ctx context.Context, _ tools.Caller, _ providers.ToolCall) providers.ToolResult {
				<-ctx.Done()
				return providers.ToolResult{IsError: true}
			}
			r.provider.runTurn = func(p *turn) (providers.Outcome, error) { p.emitText("x"); p.call("slow"); return hang(p) }
		}, before: []string{"1 began", `1 output "x" ""`}, reused: true},
		"a tool that does not end": {prepare: func(r *rig) {
			hold := blockUntilEnd(r.t)
			r.tools.tool = func(context.Context, tools.Caller, providers.ToolCall) providers.ToolResult {
				hold()
				return providers.ToolResult{}
			}
			r.provider.runTurn = func(p *turn) (providers.Outcome, error) {
				go p.call("stuck") // ends with the test
				return hang(p)
			}
		}, before: []string{"1 began"}},
		"closing for ever": {prepare: func(r *rig) {
			hold := blockUntilEnd(r.t)
			r.provider.runTurn = hang
			r.provider.onInterrupt = func(context.Context) error { return errFake }
			r.provider.onClose = func() error { hold(); return nil }
		}, before: []string{"1 began"}},
	}
}

// inEveryState runs a test for every state of a run.
func inEveryState(t *testing.T, fn func(r *rig, s state)) {
	t.Helper()
	for name, s := range states() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, agentpool.Limits{Agents: 2}, func(r *rig) {
				s.prepare(r)
				r.Start(mainRun("1"))
				synctest.Wait()
				r.expect(r.t, s.before...)
				fn(r, s)
			})
		})
	}
}

func TestInterruptInEveryState(t *testing.T) {
	t.Parallel()
	inEveryState(t, func(r *rig, s state) {
		t := r.t
		r.Steer(steering("1", "m"))
		r.Interrupt("1", "requested by the user")
		r.Interrupt("1", "second request")
		if s.unresponsive {
			time.Sleep(4 * time.Second)
			synctest.Wait()
			r.expect(t, s.before...)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		r.expect(t, append(s.before, "1 refused m", "1 interrupted requested by the user")...)
		if _, _, open := r.provider.received(); open > 0 != s.reused {
			t.Errorf("%d provider sessions are open, want reused: %v", open, s.reused)
		}
		r.Interrupt("1", "it is over")
	})
}

func TestDisposeInEveryState(t *testing.T) {
	t.Parallel()
	inEveryState(t, func(r *rig, s state) {
		t := r.t
		r.Steer(steering("1", "m"))
		r.Dispose("main-monitor-1")
		synctest.Wait()
		r.expect(t, s.before...)
		r.Dispose("main-monitor-0")
		time.Sleep(20 * time.Second)
		synctest.Wait()
		r.expect(t, s.before...)
		if _, _, open := r.provider.received(); open != 0 {
			t.Errorf("%d provider sessions are open, want 0", open)
		}
	})
}

func TestCloseInEveryState(t *testing.T) {
	t.Parallel()
	inEveryState(t, func(r *rig, s state) {
		t := r.t
		r.Steer(steering("1", "m"))
		if slot := r.TryReserve(); slot != nil {
			r.Start(agentpool.Run{ID: "2", Agent: "x", Provider: "fake", Slot: slot})
			synctest.Wait()
		}
		r.TryReserve()
		before := len(r.recorded())
		r.Close()
		r.Close()
		r.pool.Close() // ends what the preparation holds
		r.expectFree()
		r.Start(mainRun("3"))
		r.Steer(steering("3", "m"))
		r.Interrupt("3", "")
		r.Dispose("main-monitor-0")
		if r.TryReserve() != nil {
			t.Error("a closed session runner reserves a slot, want none")
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := len(r.recorded()); n != before {
			t.Errorf("a closed session runner sends reports %v, want none", r.lines()[before:])
		}
		r.expectFree()
	})
}

// After the session is lost, no report is delivered and the run ends.
func TestReportFailsInEveryState(t *testing.T) {
	t.Parallel()
	inEveryState(t, func(r *rig, s state) {
		t := r.t
		r.mu.Lock()
		r.on = func(agentpool.Report) error { return errLost }
		r.mu.Unlock()
		r.Interrupt("1", "now report something")
		time.Sleep(20 * time.Second)
		synctest.Wait()
		r.expect(t, s.before...)
	})
}

// An end of the turn before the interrupt counts.
func TestInterruptAfterTurnEnd(t *testing.T) {
	t.Parallel()
	bubble(t, agentpool.Limits{}, func(r *rig) {
		t := r.t
		r.provider.runTurn = func(p *turn) (providers.Outcome, error) { <-p.ctx.Done(); return providers.Completed, nil }
		r.Start(mainRun("1"))
		synctest.Wait()
		r.Interrupt("1", "too late")
		synctest.Wait()
		r.expect(t, "1 began", "1 completed")
	})
}

// An agent stops when the store has given its slot to another one.
func TestSlotLost(t *testing.T) {
	t.Parallel()
	bubble(t, agentpool.Limits{Agents: 1}, func(r *rig) {
		t := r.t
		r.provider.runTurn = hang
		r.Start(mainRun("1"))
		synctest.Wait()
		r.takeSlots()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		r.expect(t, "1 began", "1 interrupted the agent lost its slot")
		r.releaseTaken()
	})
}
