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
	// late says that the backend does not react to the interrupt.
	late bool
	// kept says that the provider session is reused for the next turn.
	kept bool
}

// stuck blocks until the test is over.
func stuck(t *testing.T) func() {
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
					r.t.Fatal("no slot")
				}
			}
		}},
		"opening": {prepare: func(r *rig) {
			r.puppet.opening = func(ctx context.Context, _ providers.Spec) error { <-ctx.Done(); return ctx.Err() }
		}, before: []string{"1 began"}},
		"opening for ever": {prepare: func(r *rig) {
			hold := stuck(r.t)
			r.puppet.opening = func(context.Context, providers.Spec) error { hold(); return errPuppet }
		}, before: []string{"1 began"}, late: true},
		"opening for ever, and it works": {prepare: func(r *rig) {
			hold := stuck(r.t)
			r.puppet.opening = func(context.Context, providers.Spec) error { hold(); return nil }
		}, before: []string{"1 began"}, late: true},
		"opening, and it works": {prepare: func(r *rig) {
			r.puppet.opening = func(ctx context.Context, _ providers.Spec) error { <-ctx.Done(); return nil }
		}, before: []string{"1 began"}},
		"sending": {prepare: func(r *rig) {
			r.puppet.sending = func(ctx context.Context, _ providers.Message) error { <-ctx.Done(); return ctx.Err() }
		}, before: []string{"1 began"}},
		"sending for ever": {prepare: func(r *rig) {
			hold := stuck(r.t)
			r.puppet.sending = func(context.Context, providers.Message) error { hold(); return errPuppet }
		}, before: []string{"1 began"}},
		"the turn": {prepare: func(r *rig) {
			r.puppet.play = func(p *turn) (providers.Outcome, error) { p.say("x"); return hang(p) }
		}, before: []string{"1 began", `1 said "x" ""`}, kept: true},
		"a turn that says it failed": {prepare: func(r *rig) {
			r.puppet.play = func(p *turn) (providers.Outcome, error) { <-p.ctx.Done(); return providers.Failed, p.ctx.Err() }
		}, before: []string{"1 began"}, kept: true},
		"a turn that does not end": {prepare: func(r *rig) {
			r.puppet.play = func(p *turn) (providers.Outcome, error) { <-p.s.life.Done(); return "", nil }
		}, before: []string{"1 began"}, late: true},
		"interrupting fails": {prepare: func(r *rig) {
			r.puppet.play = hang
			r.puppet.stopping = func(context.Context) error { return errPuppet }
		}, before: []string{"1 began"}},
		"interrupting for ever": {prepare: func(r *rig) {
			hold := stuck(r.t)
			r.puppet.play = hang
			r.puppet.stopping = func(context.Context) error { hold(); return nil }
		}, before: []string{"1 began"}, late: true},
		"interrupting breaks": {prepare: func(r *rig) {
			r.puppet.play = hang
			r.puppet.stopping = func(context.Context) error { panic("interrupt") }
		}, before: []string{"1 began"}},
		"a tool": {prepare: func(r *rig) {
			r.hands.tool = func(ctx context.Context, _ tools.Caller, _ providers.ToolCall) providers.ToolResult {
				<-ctx.Done()
				return providers.ToolResult{IsError: true}
			}
			r.puppet.play = func(p *turn) (providers.Outcome, error) { p.say("x"); p.call("slow"); return hang(p) }
		}, before: []string{"1 began", `1 said "x" ""`}, kept: true},
		"a tool that does not end": {prepare: func(r *rig) {
			hold := stuck(r.t)
			r.hands.tool = func(context.Context, tools.Caller, providers.ToolCall) providers.ToolResult {
				hold()
				return providers.ToolResult{}
			}
			r.puppet.play = func(p *turn) (providers.Outcome, error) {
				go p.call("stuck") // ends with the test
				return hang(p)
			}
		}, before: []string{"1 began"}},
		"closing for ever": {prepare: func(r *rig) {
			hold := stuck(r.t)
			r.puppet.play = hang
			r.puppet.stopping = func(context.Context) error { return errPuppet }
			r.puppet.closing = func() error { hold(); return nil }
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
				r.wants(r.t, s.before...)
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
		r.Interrupt("1", "the user said so")
		r.Interrupt("1", "somebody else did")
		if s.late {
			time.Sleep(4 * time.Second)
			synctest.Wait()
			r.wants(t, s.before...)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		r.wants(t, append(s.before, "1 spurned m", "1 interrupted the user said so")...)
		if _, _, open := r.puppet.look(); open > 0 != s.kept {
			t.Errorf("%d conversations are open", open)
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
		r.wants(t, s.before...)
		r.Dispose("main-monitor-0")
		time.Sleep(20 * time.Second)
		synctest.Wait()
		r.wants(t, s.before...)
		if _, _, open := r.puppet.look(); open != 0 {
			t.Errorf("%d conversations are open", open)
		}
	})
}

func TestCloseInEveryState(t *testing.T) {
	t.Parallel()
	inEveryState(t, func(r *rig, s state) {
		t := r.t
		r.Steer(steering("1", "m"))
		if slot := r.TryReserve(); slot != nil {
			r.Start(agentpool.Run{ID: "2", Agent: "x", Provider: "puppet", Slot: slot})
			synctest.Wait()
		}
		r.TryReserve()
		heard := len(r.heard())
		r.Close()
		r.Close()
		r.pool.Close() // ends what the preparation holds
		r.free()
		r.Start(mainRun("3"))
		r.Steer(steering("3", "m"))
		r.Interrupt("3", "")
		r.Dispose("main-monitor-0")
		if r.TryReserve() != nil {
			t.Error("a closed session runner has slots")
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := len(r.heard()); n != heard {
			t.Errorf("a closed session runner reports %v", r.lines()[heard:])
		}
		r.free()
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
		r.wants(t, s.before...)
	})
}

// An end of the turn before the interrupt counts.
func TestInterruptTooLate(t *testing.T) {
	t.Parallel()
	bubble(t, agentpool.Limits{}, func(r *rig) {
		t := r.t
		r.puppet.play = func(p *turn) (providers.Outcome, error) { <-p.ctx.Done(); return providers.Completed, nil }
		r.Start(mainRun("1"))
		synctest.Wait()
		r.Interrupt("1", "too late")
		synctest.Wait()
		r.wants(t, "1 began", "1 completed")
	})
}

// An agent stops when the store has given its slot to another one.
func TestSlotLost(t *testing.T) {
	t.Parallel()
	bubble(t, agentpool.Limits{Agents: 1}, func(r *rig) {
		t := r.t
		r.puppet.play = hang
		r.Start(mainRun("1"))
		synctest.Wait()
		r.steal()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		r.wants(t, "1 began", "1 interrupted the agent lost its slot")
		r.surrender()
	})
}
