package agentpool_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// expectSessions checks how many provider sessions were opened in total and are open now.
func (r *rig) expectSessions(t *testing.T, total, now int) {
	t.Helper()
	synctest.Wait()
	specs, _, open := r.provider.received()
	if len(specs) != total || open != now {
		t.Fatalf("%d provider sessions were opened, %d are open, want %d and %d", len(specs), open, total, now)
	}
}

func TestProviderSessionIsReused(t *testing.T) {
	t.Parallel()
	bubble(t, agentpool.Limits{}, func(r *rig) {
		t := r.t
		r.Start(mainRun("1"))
		r.expectSessions(t, 1, 1)
		r.Start(mainRun("2"))
		r.expectSessions(t, 1, 1)
		other := mainRun("3")
		other.Agent = "main-monitor-1"
		r.Start(other)
		r.expectSessions(t, 2, 2)
		fork := mainRun("4")
		fork.Fork, fork.From.ID = true, "thread"
		r.Start(fork)
		r.expectSessions(t, 3, 2)
		specs, _, _ := r.provider.received()
		if !specs[2].Fork || specs[2].From.ID != "thread" {
			t.Errorf("spec of the fork is %+v, want a fork of thread", specs[2])
		}
		short := ephemeralRun("5")
		r.Start(short)
		r.expectSessions(t, 4, 2)
		changed := mainRun("6")
		changed.Provider = "other"
		r.Start(changed)
		r.expectSessions(t, 5, 2)
		changed = mainRun("7")
		changed.Provider, changed.Profile = "other", "web"
		r.Start(changed)
		r.expectSessions(t, 6, 2)
		r.Dispose("main-monitor-1")
		r.expectSessions(t, 6, 1)
		r.provider.runTurn = fails(errFake)
		changed.ID = "8"
		r.Start(changed)
		r.expectSessions(t, 6, 0)
		r.expectFree()
	})
}

// Disposing of an agent at the end of its run leaves no session open and causes no further
// report.
func TestDisposeAtTheEnd(t *testing.T) {
	t.Parallel()
	for _, moment := range []string{`1 output "b" ""`, "1 refused m"} {
		t.Run(moment, func(t *testing.T) {
			t.Parallel()
			bubble(t, agentpool.Limits{}, func(r *rig) {
				r.provider.runTurn = func(p *turn) (providers.Outcome, error) {
					<-p.steers
					p.emitText("a")
					p.emitText("b")
					return providers.Completed, nil
				}
				r.on = func(report agentpool.Report) error {
					if formatReport(report) == moment {
						r.Dispose("main-monitor-0")
					}
					return nil
				}
				r.Start(mainRun("1"))
				r.Steer(steering("1", "m"))
				r.expectSessions(r.t, 1, 0)
				if lines := r.lines(); lines[len(lines)-1] != moment {
					r.t.Errorf("reports are %v, want no further ones", lines)
				}
			})
		})
	}
}

func TestIdleProviderSessionIsClosed(t *testing.T) {
	t.Parallel()
	bubble(t, agentpool.Limits{}, func(r *rig) {
		t := r.t
		r.Start(mainRun("1"))
		r.expectSessions(t, 1, 1)
		time.Sleep(4 * time.Minute)
		r.Start(mainRun("2"))
		time.Sleep(4 * time.Minute)
		r.expectSessions(t, 1, 1)
		time.Sleep(2 * time.Minute)
		r.expectSessions(t, 1, 0)
		r.Start(mainRun("3"))
		r.expectSessions(t, 2, 1)
	})
}

// A provider session that the backend ended is opened again, whether or not that was noticed.
func TestProviderSessionEndedByBackend(t *testing.T) {
	t.Parallel()
	bubble(t, agentpool.Limits{}, func(r *rig) {
		t := r.t
		r.Start(mainRun("1"))
		r.expectSessions(t, 1, 1)
		r.provider.latest.exit()
		r.expectSessions(t, 1, 0)
		r.Start(mainRun("2"))
		r.expectSessions(t, 2, 1)
		r.provider.latest.mu.Lock()
		r.provider.latest.closed = true
		r.provider.latest.mu.Unlock()
		r.Start(mainRun("3"))
		r.expectSessions(t, 3, 1)
		r.expect(t, "1 began", "1 completed", "2 began", "2 completed", "3 began", "3 completed")
		spec := r.provider.latest.spec
		spec.OnEvent(providers.Event{Kind: providers.EventText, Text: "after the end"})
		if result := spec.Call(t.Context(), providers.ToolCall{}); !result.IsError {
			t.Error("a tool call without a turn succeeded, want an error as result")
		}
		synctest.Wait()
		if len(r.recorded()) != 6 {
			t.Errorf("reports are %v, want no further ones", r.lines())
		}
	})
}

// A backend that is a process holds its slot while it is open.
func TestProcessHoldsItsSlot(t *testing.T) {
	t.Parallel()
	bubble(t, agentpool.Limits{}, func(r *rig) {
		t := r.t
		r.provider.caps.Process = true
		r.Start(mainRun("1"))
		r.expectSessions(t, 1, 1)
		if r.held() != 1 {
			t.Errorf("%d slots are held by an idle process, want 1", r.held())
		}
		again := mainRun("2")
		again.Slot = r.TryReserve()
		r.Start(again)
		r.expectSessions(t, 1, 1)
		if r.held() != 1 {
			t.Errorf("%d slots are held after the second turn, want 1", r.held())
		}
		time.Sleep(4 * time.Minute)
		if r.held() != 1 {
			t.Errorf("%d slots are held after 4m, want the renewed one", r.held())
		}
		time.Sleep(2 * time.Minute)
		r.expectSessions(t, 1, 0)
		r.expectFree()
		r.Start(ephemeralRun("3"))
		r.expectSessions(t, 2, 0)
		r.expectFree()
		r.Start(mainRun("4"))
		r.expectSessions(t, 3, 1)
		r.takeSlots()
		time.Sleep(10 * time.Second)
		r.expectSessions(t, 3, 0)
		r.releaseTaken()
	})
}

func TestReserve(t *testing.T) {
	t.Parallel()
	bubble(t, agentpool.Limits{Agents: 2}, func(r *rig) {
		t := r.t
		a, b := r.TryReserve(), r.TryReserve()
		if a == nil || b == nil || r.TryReserve() != nil {
			t.Fatal("want two reserved slots and a refused third")
		}
		r.Cancel(a)
		r.Cancel(a)
		r.Cancel(nil)
		synctest.Wait()
		if r.held() != 1 {
			t.Errorf("%d slots are held, want the reserved ones", r.held())
		}
		r.provider.runTurn = hang
		run := ephemeralRun("1")
		run.Slot = b
		r.Start(run)
		synctest.Wait()
		r.Cancel(b) // which is in use
		synctest.Wait()
		if r.held() != 1 {
			t.Errorf("%d slots are held, want the reserved ones", r.held())
		}
		r.Interrupt("1", "enough")
		synctest.Wait()
		r.expectFree()
	})
}

// An idle process is closed when another agent, on any replica, waits for a slot.
func TestIdleProcessIsClosedForWaitingAgent(t *testing.T) {
	t.Parallel()
	bubble(t, agentpool.Limits{Agents: 2, PerSession: 1}, func(r *rig) {
		t := r.t
		r.provider.caps.Process = true
		r.Start(mainRun("1"))
		r.expectSessions(t, 1, 1)
		time.Sleep(time.Minute)
		r.expectSessions(t, 1, 1)
		r.Start(ephemeralRun("2")) // exceeds the limit of the session
		r.expectSessions(t, 1, 1)
		time.Sleep(2 * time.Second)
		r.expectSessions(t, 2, 0)
		for i, id := range []wire.SessionID{"ses-2", "ses-3"} {
			r.runner(id, &reportRecorder{}).Start(mainRun("1"))
			r.expectSessions(t, 3+i, 1+i)
		}
		replica := newLimiter(t, r.store, agentpool.Limits{Agents: 2})
		next := acquired(t.Context(), replica, claim("ses-4"))
		time.Sleep(2 * time.Second)
		slot := <-next
		defer slot.Release()
		if _, _, open := r.provider.received(); open > 1 {
			t.Errorf("%d processes are open beside another agent, want at most 1", open)
		}
		next = acquired(t.Context(), replica, claim("ses-5"))
		time.Sleep(2 * time.Second)
		slot = <-next
		defer slot.Release()
		r.expectSessions(t, 4, 0)
		// A process whose run ends while another agent waits is not kept.
		r.provider.runTurn = hang
		c := r.runner("ses-6", r.reportRecorder)
		last := mainRun("6")
		c.Start(last)
		synctest.Wait()
		slot.Release()
		r.expectSessions(t, 5, 1)
		next = acquired(t.Context(), replica, claim("ses-7"))
		synctest.Wait()
		c.Interrupt("6", "enough")
		r.expectSessions(t, 5, 0)
		slot = <-next
		defer slot.Release()
	})
}
