package session_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/contextpool"
	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/demo"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// Four turns run and three messages are queued. An interrupt ends what it names, with its tasks,
// and nothing else.
func TestInterruptScopes(t *testing.T) {
	t.Parallel()
	const busy = "/nosteer\n/say busy\n/hang"
	for _, test := range []struct {
		name      string
		interrupt wire.ClientPayload
		ended     []wire.MessageID
		began     []wire.MessageID
		rejected  []wire.MessageID
	}{
		{"agent", wire.Interrupt{Scope: wire.ScopeAgent, AgentID: "main-monitor-0-m0"}, []wire.MessageID{"m0"}, []wire.MessageID{"q0"}, nil},
		{"agent of the older message", wire.InterruptAgent{AgentID: "window-w"}, []wire.MessageID{"w1"}, []wire.MessageID{"qw"}, nil},
		{
			"agent, drop",
			wire.Interrupt{Scope: wire.ScopeAgent, AgentID: "window-w", Queues: wire.QueuesDrop},
			[]wire.MessageID{"w1"},
			nil,
			[]wire.MessageID{"qw"},
		},
		{"monitor", wire.Interrupt{Scope: wire.ScopeMonitor, MonitorID: "monitor-1"}, []wire.MessageID{"m1", "w1"}, []wire.MessageID{"q1", "qw"}, nil},
		{
			"monitor, drop",
			wire.Interrupt{Scope: wire.ScopeMonitor, MonitorID: "monitor-1", Queues: wire.QueuesDrop},
			[]wire.MessageID{"m1", "w1"},
			nil,
			[]wire.MessageID{"q1", "qw"},
		},
		{"sender", wire.Interrupt{Scope: wire.ScopeSender, MonitorID: "monitor-1"}, []wire.MessageID{"m1", "w1"}, []wire.MessageID{"q1", "qw"}, nil},
		{
			"sender, first the queue",
			wire.Interrupt{Scope: wire.ScopeSender, MonitorID: "monitor-1", Queues: wire.QueuesFirst},
			nil,
			nil,
			[]wire.MessageID{"q1", "qw"},
		},
		{"session", wire.Interrupt{}, []wire.MessageID{"m0", "m1", "t0", "w1"}, []wire.MessageID{"q0", "q1", "qw"}, nil},
		{
			"session, drop",
			wire.Interrupt{Queues: wire.QueuesDrop},
			[]wire.MessageID{"m0", "m1", "t0", "w1"},
			nil,
			[]wire.MessageID{"q0", "q1", "qw"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			o := startAgentHub(t, newFileDeployment(t), hubConfig{limits: agentpool.Limits{PerSession: 5}, session: session.Config{Budget: roomyBudget}})
			d := o.newDesktop(t, "ses-1")
			d.sendAndWait("e", wire.Emit{MonitorID: "monitor-1", Actions: []wire.Action{window("w")}})
			d.sendText("monitor-2", "t0", "/nosteer", "/say busy", "/task default /say I am a task; /hang")
			d.waitTurnOutput("t0")
			waitEvent(t, d.eventLog, func(r wire.AgentResponse) bool { return r.AgentID == "task-t0-1" })
			d.sendText(firstMonitor, "m0", busy)
			d.sendText("monitor-1", "m1", busy)
			d.send("w1", wire.WindowMessage{MonitorID: "monitor-1", WindowID: "w", Content: busy})
			for _, id := range []wire.MessageID{"m0", "m1", "w1"} {
				d.waitTurnOutput(id)
			}
			// All five agents are busy now, so these have to wait.
			d.sendAndWait("q0", wire.UserMessage{MonitorID: firstMonitor, Content: busy})
			d.sendAndWait("q1", wire.UserMessage{MonitorID: "monitor-1", Content: busy})
			d.sendAndWait("qw", wire.WindowMessage{MonitorID: "monitor-1", WindowID: "w", Content: busy})
			d.send("", test.interrupt)
			for _, id := range test.ended {
				if e := d.waitTurnEnd(id); e.Outcome != wire.OutcomeInterrupted || e.Reason == "" || !strings.HasPrefix(d.turnText(id), "busy") {
					t.Errorf(`%s said %q and ended with %+v, want a text from "busy" and %s with a reason`, id, d.turnText(id), e, wire.OutcomeInterrupted)
				}
			}
			for _, id := range test.began {
				d.waitTurnOutput(id)
			}
			for _, id := range test.rejected {
				waitEvent(t, d.eventLog, isAbout[wire.MessageRejected](id))
			}
			deliverBarrier(t, d.handle)
			var ended []wire.MessageID
			for _, r := range payloads[wire.AgentResponse](readLog(t, o.deployment)) {
				if r.IsComplete && r.MessageID != "" {
					ended = append(ended, r.MessageID)
				}
			}
			slices.Sort(ended)
			if !slices.Equal(ended, test.ended) {
				t.Errorf("the turns %v have ended, want %v", ended, test.ended)
			}
			d.send("", wire.Interrupt{Queues: wire.QueuesDrop})
			d.waitIdle()
			if e := waitEvent(t, d.eventLog, func(r wire.AgentResponse) bool { return r.IsComplete && r.AgentID == "task-t0-1" }); e.Outcome != wire.OutcomeInterrupted {
				t.Errorf("the task ended with %+v, want outcome %s", e, wire.OutcomeInterrupted)
			}
		})
	}
}

// An interrupt of something that does not exist is refused.
func TestInterruptWithoutTarget(t *testing.T) {
	t.Parallel()
	o := startAgentHub(t, newFileDeployment(t), hubConfig{})
	d := o.newDesktop(t, "ses-1")
	for id, data := range map[wire.MessageID]wire.ClientPayload{
		"i1": wire.InterruptAgent{AgentID: "main-monitor-0-x"}, "i2": wire.Interrupt{Scope: wire.ScopeAgent},
		"i3": wire.Interrupt{Scope: wire.ScopeMonitor, MonitorID: "monitor-9"},
	} {
		d.send(id, data)
		if r := waitEvent(t, d.eventLog, isAbout[wire.MessageRejected](id)); r.To != "conn" {
			t.Errorf("%s is answered with %+v, want a rejection to conn", id, r)
		}
	}
	d.send("i4", wire.Interrupt{}) // of a session without turns
	d.sendText(firstMonitor, "m", "/say hi")
	d.waitTurnEnd("m")
}

// A reset ends everything in one step and deletes all conversations. Monitors and reload options
// stay.
func TestResetOfAgents(t *testing.T) {
	t.Parallel()
	for name, open := range deployments() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			o := startAgentHub(t, s, hubConfig{limits: agentpool.Limits{Agents: 4}})
			d := o.newDesktop(t, "ses-1")
			d.sendText(firstMonitor, "m0", "open the window, please", openWindowDirective("w"))
			d.waitTurnEnd("m0")
			d.send("w0", wire.WindowMessage{WindowID: "w", Content: "/nosteer\n" + openWindowDirective("w2") + "\n/say busy\n/hang"})
			d.sendText(firstMonitor, "m1", "/nosteer", "/say busy", `/call window:lock {"windowId":"w"}`, "/task default /say I am a task; /hang")
			waitEvent(t, d.eventLog, func(r wire.AgentResponse) bool { return r.AgentID == "task-m1-1" })
			d.sendText("monitor-1", "m2", "/nosteer", "/say busy", "/hang")
			d.waitTurnOutput("w0")
			d.waitTurnOutput("m2")
			d.sendAndWait("q", wire.UserMessage{MonitorID: "monitor-1", Content: "/say never"})
			d.send("", wire.Reset{})
			d.waitIdle()
			for _, id := range []wire.MessageID{"w0", "m1", "m2"} {
				if e := d.waitTurnEnd(id); e.Outcome != wire.OutcomeInterrupted || !strings.Contains(e.Reason, "reset") {
					t.Errorf("%s ended with %+v, want outcome %s because of the reset", id, e, wire.OutcomeInterrupted)
				}
			}
			if f := messageOutcomes(d.all())["q"]; f.rejected != 1 {
				t.Errorf("the queued message has the outcome %+v, want it rejected once", f)
			}
			now := d.snapshot()
			if len(now.Windows) != 0 || len(now.Monitors) != 2 || len(now.Queues) != 0 {
				t.Errorf("after the reset there are windows %+v, monitors %+v and queues %+v, want no windows, two monitors and no queues", now.Windows, now.Monitors, now.Queues)
			}
			for _, a := range now.Agents {
				if a.Status == wire.AgentStatusRunning {
					t.Errorf("after the reset the agent %+v runs, want none", a)
				}
			}
			kept, err := s.Load(t.Context(), "ses-1")
			requireNoError(t, err)
			for name, items := range kept.Lists {
				if strings.HasPrefix(name, "api:") || strings.HasPrefix(name, "tape") || strings.HasPrefix(name, "timeline:") {
					t.Errorf("after the reset list %s holds %s, want no such list", name, items)
				}
			}
			for _, name := range []string{"turns", "turns.prompt", "queue", "queue.said", "threads", "asks", "apps"} {
				if len(kept.Tables[name]) != 0 {
					t.Errorf("after the reset table %s holds %s, want it empty", name, kept.Tables[name])
				}
			}
			checkNoTurnData(t, kept)
			if len(kept.Tables["reload"]) < 2 {
				t.Errorf("the reload cache has %s, want its entry besides the next number", kept.Tables["reload"])
			}
			// The same window and button: nothing of the old ones is left.
			d.sendText(firstMonitor, "m3", "/recall", openWindowDirective("w"))
			d.waitTurnEnd("m3")
			if got := d.turnText("m3"); strings.Contains(got, "busy") || strings.Contains(got, "<timeline>") {
				t.Errorf("the agent remembers %q, want nothing from before the reset", got)
			}
			d.send("w3", wire.WindowMessage{WindowID: "w", Content: "/recall"})
			d.waitIdle()
			if got := d.turnText("w3"); strings.Contains(got, "busy") {
				t.Errorf("the window's agent remembers %q, want nothing from before the reset", got)
			}
		})
	}
}

// A monitor is removed with everything on it, however often that is repeated; other monitors are
// not affected.
func TestRemoveMonitorOfAgents(t *testing.T) {
	t.Parallel()
	for name, open := range deployments() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			o := startAgentHub(t, s, hubConfig{limits: agentpool.Limits{Agents: 3}, session: session.Config{Budget: roomyBudget}})
			d := o.newDesktop(t, "ses-1")
			for i, monitor := range []wire.MonitorID{firstMonitor, "monitor-1"} {
				d.sendAndWait(wire.MessageID(fmt.Sprintf("e%d", i)), wire.Emit{MonitorID: monitor, Actions: []wire.Action{window("w")}})
				d.sendText(monitor, wire.MessageID(fmt.Sprintf("m%d", i)), "/nosteer", "/say busy", "/hang")
				d.waitTurnOutput(wire.MessageID(fmt.Sprintf("m%d", i)))
			}
			d.send("w1", wire.WindowMessage{MonitorID: "monitor-1", WindowID: "w", Content: "/nosteer\n/say busy\n/hang"})
			d.waitTurnOutput("w1")
			d.sendAndWait("q0", wire.UserMessage{MonitorID: firstMonitor, Content: "/say zero"})
			d.sendAndWait("q1", wire.UserMessage{MonitorID: "monitor-1", Content: "/say one"})
			for range 4 {
				d.send("", wire.RemoveMonitor{MonitorID: "monitor-1"})
			}
			for _, id := range []wire.MessageID{"m1", "w1"} {
				if e := d.waitTurnEnd(id); e.Outcome != wire.OutcomeInterrupted || !strings.Contains(e.Reason, "monitor was removed") {
					t.Errorf("%s ended with %+v, want outcome %s because the monitor was removed", id, e, wire.OutcomeInterrupted)
				}
			}
			waitEvent(t, d.eventLog, isAbout[wire.MessageRejected]("q1"))
			deliverBarrier(t, d.handle)
			kept, err := s.Load(t.Context(), "ses-1")
			requireNoError(t, err)
			for name := range kept.Lists {
				if strings.Contains(name, "monitor-1") {
					t.Errorf("after the removal of monitor-1 list %s holds %s, want no such list", name, kept.Lists[name])
				}
			}
			for name, table := range kept.Tables {
				for field := range table {
					if strings.Contains(name+field, "monitor-1") && name != "ledger" {
						t.Errorf("after the removal of monitor-1 field %s of %s holds %s, want no such field", field, name, table[field])
					}
				}
			}
			if got := d.windows(firstMonitor); len(got) != 1 {
				t.Errorf("on the first monitor are the windows %v, want one", got)
			}
			// A new monitor with the same id starts empty.
			d.sendText("monitor-1", "m2", "/recall")
			d.waitTurnEnd("m2")
			if got := d.turnText("m2"); strings.Contains(got, "busy") {
				t.Errorf("the new monitor's agent remembers %q, want nothing of the old one", got)
			}
			d.send("", wire.Interrupt{Scope: wire.ScopeMonitor, MonitorID: firstMonitor})
			d.waitIdle()
			if d.turnText("q0") != "zero" {
				t.Errorf(`on the first monitor the agent said %q, want "zero"`, d.turnText("q0"))
			}
		})
	}
}

// A new provider is used from the next turn on; the running turn is not disturbed, and the
// conversation continues.
func TestSetProviderOfAgents(t *testing.T) {
	t.Parallel()
	for name, open := range deployments() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			cfg := hubConfig{otherProviders: []providers.Provider{renamedDemo{demo.New(demo.Config{}), "other"}}}
			o := startAgentHub(t, s, cfg)
			d := o.newDesktop(t, "ses-1")
			d.sendText(firstMonitor, "m1", "/say the word is xyzzy", "/hang")
			d.waitTurnOutput("m1")
			d.send("p1", wire.SetProvider{Provider: "unknown"})
			if r := waitEvent(t, d.eventLog, isAbout[wire.MessageRejected]("p1")); r.Code != wire.CodeProviderUnavailable {
				t.Errorf("a provider that is not there is refused with %+v, want code %s", r, wire.CodeProviderUnavailable)
			}
			d.send("p2", wire.SetProvider{Provider: "other"})
			waitEvent(t, d.eventLog, func(p wire.ProviderChanged) bool { return p.Provider == "other" })
			d.sendText(firstMonitor, "m2", "/say two") // is for the turn that runs
			if e := d.waitTurnEnd("m1"); e.Outcome != wire.OutcomeCompleted || d.turnText("m1") != "the word is xyzzy\ntwo" {
				t.Errorf("it said %q and ended with %+v, want both texts and %s", d.turnText("m1"), e, wire.OutcomeCompleted)
			}
			d.sendText("monitor-1", "m3", "/call system:get_info {}")
			d.sendText(firstMonitor, "m4", "/recall")
			d.waitIdle()
			if got := d.turnText("m3"); !strings.Contains(got, `"other"`) {
				t.Errorf(`the provider says %q, want "other"`, got)
			}
			if got := d.turnText("m4"); !strings.Contains(got, "the word is xyzzy") {
				t.Errorf("after the switch the agent remembers %q, want the word xyzzy", got)
			}
			if got := d.snapshot().Provider; got != "other" {
				t.Errorf(`the snapshot has the provider %q, want "other"`, got)
			}
			// A hub without the provider uses its default and publishes that.
			o = o.restart(t, hubConfig{})
			d = o.openDesktop(t, "ses-1")
			d.sendText(firstMonitor, "m5", "/call system:get_info {}")
			d.waitTurnEnd("m5")
			if got := d.turnText("m5"); !strings.Contains(got, `"demo"`) || d.snapshot().Provider != "demo" {
				t.Errorf(`the provider says %q, and the state has %q, want "demo" in both`, got, d.snapshot().Provider)
			}
			d.send("", wire.SetProvider{Provider: demo.Name})
			d.sendText(firstMonitor, "m6", "/recall")
			d.waitIdle()
			if got := d.turnText("m6"); !strings.Contains(got, "the word is xyzzy") {
				t.Errorf("after the switch back the agent remembers %q, want the word xyzzy", got)
			}
			// A hub that has the provider uses it again.
			o = o.restart(t, cfg)
			if got := o.openDesktop(t, "ses-1").snapshot().Provider; got != "demo" {
				t.Errorf(`after the restart the snapshot has the provider %q, want "demo"`, got)
			}
		})
	}
}

// slowInterruptRunner is a session runner that delays interrupts.
type slowInterruptRunner struct{ contextpool.Runner }

func (c slowInterruptRunner) Interrupt(run, reason string) {
	time.Sleep(time.Minute)
	c.Runner.Interrupt(run, reason)
}

// A turn that exceeds its budget is interrupted before its call returns, so it cannot end by
// itself.
func TestOverBudgetIsInterrupted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := startAgentHub(t, newSyncDeployment(t), hubConfig{
			session:    session.Config{Budget: policies.BudgetLimits{Concurrent: 1, ActionsPerMin: 1, OutputPerMin: 1000}},
			wrapRunner: func(c contextpool.Runner) contextpool.Runner { return slowInterruptRunner{c} },
		})
		d := o.newDesktop(t, "ses-1")
		d.sendText("monitor-1", "m", openWindowDirective("a"), openWindowDirective("b"))
		if end := d.waitTurnEnd("m"); end.Outcome != wire.OutcomeInterrupted || !strings.Contains(end.Reason, "over its budget of actions") {
			t.Errorf("it ended with %+v, want outcome %s because of the budget of actions", end, wire.OutcomeInterrupted)
		}
	})
}
