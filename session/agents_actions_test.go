package session_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// An action is published once, with the agent that did it, however many agents there are.
func TestEveryActionOnce(t *testing.T) {
	t.Parallel()
	o := startAgentHub(t, newFileDeployment(t), hubConfig{session: session.Config{Budget: roomyBudget}})
	d := o.newDesktop(t, "ses-1")
	for i := range 4 {
		monitor := wire.MonitorID(fmt.Sprintf("monitor-%d", i))
		id := wire.MessageID(fmt.Sprintf("idle%d", i))
		d.sendText(monitor, id, openWindowDirective("w"))
		d.waitTurnEnd(id)
		d.send("w"+id, wire.WindowMessage{MonitorID: monitor, WindowID: "w", Content: "/say hi"})
		d.waitTurnEnd("w" + id)
	}
	d.sendText("monitor-2", "m", "/toast once", openWindowDirective("once"))
	d.waitIdle()
	var by []wire.AgentID
	for _, p := range payloads[wire.Actions](d.all()) {
		for _, a := range p.Actions {
			switch a := a.(type) {
			case wire.WindowCreate:
				if a.WindowID == "once" {
					by = append(by, p.AgentID, a.AgentID)
				}
			case wire.ToastShow:
				by = append(by, p.AgentID, a.AgentID)
			}
		}
	}
	const agent = "main-monitor-2-m"
	if fmt.Sprint(by) != fmt.Sprint([]wire.AgentID{agent, agent, agent, agent}) {
		t.Errorf("a toast and a window were shown by %v, want %s four times", by, agent)
	}
}

// A tool that needs a permission asks for it in the agent's own session, and the answer counts.
func TestPermissionsAreAsked(t *testing.T) {
	t.Parallel()
	for name, open := range deployments() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			o := startAgentHub(t, s, hubConfig{})
			d := o.newDesktop(t, "ses-1")
			o.newDesktop(t, "ses-0") // another session, which must not be asked
			hook := `/call system:set_config {"section":"hooks","event":"tool_use","label":"L","action":{"type":"os_action","payload":{"type":"app.badge","appId":"x","count":1}}}`
			d.sendText("monitor-1", "m", hook)
			q := waitEvent(t, d.eventLog, anyOf[wire.ApprovalRequest])
			if q.AgentID != "main-monitor-1-m" || q.MonitorID != "monitor-1" || q.MessageID != "m" || q.PermissionOptions == nil || q.Deadline == 0 {
				t.Errorf("the question is %+v, want one of main-monitor-1-m for message m on monitor-1, with options and a deadline", q)
			}
			d.send("", wire.DialogFeedback{DialogID: q.DialogID, Confirmed: true})
			d.waitIdle()
			if got := d.turnText("m"); !strings.Contains(got, "Added hook-1") {
				t.Errorf("the agent says %q, want that hook-1 was added", got)
			}
		})
	}
}

// Buttons that may run in parallel have separate turns.
func TestParallelButtons(t *testing.T) {
	t.Parallel()
	for name, open := range deployments() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			o := startAgentHub(t, s, hubConfig{})
			d := o.newDesktop(t, "ses-1")
			d.sendAndWait("e", emit(window("w")))
			d.send("known", wire.WindowMessage{WindowID: "w", Content: "/say a thing that the agent knows"})
			d.waitTurnEnd("known")
			d.sendText(firstMonitor, "busy", "/say main", "/sleep 1h") // does not block them
			var presses []session.Command
			for n := range 3 {
				presses = append(presses, command("conn", wire.MessageID(fmt.Sprintf("p%d", n)), wire.ComponentAction{
					WindowID: "w", Action: fmt.Sprintf("save%d", n), ActionID: fmt.Sprintf("action-%d", n),
				}))
			}
			_, err := d.handle.DeliverAll(t.Context(), presses) // all arrive before one has ended
			requireNoError(t, err)
			for n := range 3 {
				id := wire.MessageID(fmt.Sprintf("p%d", n))
				agent := wire.AgentID(fmt.Sprintf("window-w/action-%d", n))
				if a := waitEvent(t, d.eventLog, isAbout[wire.MessageAccepted](id)); a.AgentID != agent || a.How != wire.TakenDirect {
					t.Errorf("%s is answered with %+v, want %s to take it directly", id, a, agent)
				}
				if e := d.waitTurnEnd(id); e.Outcome != wire.OutcomeCompleted || e.AgentID != agent {
					t.Errorf("%s ended with %+v, want outcome %s of %s", id, e, wire.OutcomeCompleted, agent)
				}
				if got := d.turnText(id); !strings.Contains(got, fmt.Sprintf("save%d", n)) {
					t.Errorf("%s got %q, want its own action save%d", id, got, n)
				}
				waitEvent(t, d.eventLog, func(p wire.WindowAgentStatus) bool { return p.MessageID == id && p.Status == wire.AgentReleased })
				var states []wire.WindowAgentChange
				for _, p := range payloads[wire.WindowAgentStatus](d.all()) {
					if p.MessageID == id {
						states = append(states, p.Status)
					}
				}
				if fmt.Sprint(states) != "[assigned active released]" {
					t.Errorf("the agent of %s was %v, want [assigned active released]", id, states)
				}
			}
			d.send("", wire.Interrupt{})
			d.waitIdle()
		})
	}
}

// A message to a new monitor waits for a free slot, its sender receives a notice of that, and then it runs.
func TestNewMonitorWithoutAFreeAgent(t *testing.T) {
	t.Parallel()
	for name, open := range deployments() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			o := startAgentHub(t, s, hubConfig{limits: agentpool.Limits{Agents: 1}})
			d := o.newDesktop(t, "ses-1")
			d.sendText(firstMonitor, "m1", "/nosteer", "/say one", "/hang")
			d.waitTurnOutput("m1")
			got, _ := d.sendAndWait("m2", wire.UserMessage{MonitorID: "monitor-1", Content: "/say two"}).(wire.MessageAccepted)
			if got.How != wire.TakenDirect || got.AgentID != "main-monitor-1-m2" {
				t.Errorf("the answer is %+v, want main-monitor-1-m2 to take it directly", got)
			}
			// A tab that watches another monitor gets the status, too.
			waitEvent(t, d.eventLog, func(m wire.MonitorStatus) bool { return m.MonitorID == "monitor-1" && m.State == wire.MonitorRunning })
			d.send("", wire.Interrupt{Scope: wire.ScopeMonitor, MonitorID: firstMonitor})
			if e := d.waitTurnEnd("m2"); e.Outcome != wire.OutcomeCompleted || d.turnText("m2") != "two" {
				t.Errorf(`it ended with %+v and said %q, want %s and "two"`, e, d.turnText("m2"), wire.OutcomeCompleted)
			}
			d.waitIdle()
		})
	}
}

// Every message is answered: on a fifth monitor, during a reset, and while a budget is exhausted.
func TestQueuedAndRefusedMessagesAreAnswered(t *testing.T) {
	t.Parallel()
	for name, open := range deployments() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			o := startAgentHub(t, s, hubConfig{})
			d := o.newDesktop(t, "ses-1")
			var commands []session.Command
			for i := range 5 {
				commands = append(commands, command("conn", wire.MessageID(fmt.Sprintf("m%d", i)), wire.UserMessage{
					MonitorID: wire.MonitorID(fmt.Sprintf("monitor-%d", i)), Content: "/nosteer\n/say x\n/hang",
				}))
			}
			_, err := d.handle.DeliverAll(t.Context(), commands)
			requireNoError(t, err)
			if r := waitEvent(t, d.eventLog, isAbout[wire.MessageRejected]("m4")); r.Code != wire.CodeMonitorLimit || r.MonitorID != firstMonitor {
				t.Errorf("the fifth monitor is refused with %+v, want code %s for %s", r, wire.CodeMonitorLimit, firstMonitor)
			}
			// Two turns of background monitors may run at once.
			if q := waitEvent(t, d.eventLog, isAbout[wire.MessageQueued]("m3")); q.Position != 1 || q.MonitorID != "monitor-3" {
				t.Errorf("the third background monitor waits as %+v, want position 1 of monitor-3", q)
			}
			waitEvent(t, d.eventLog, func(m wire.MonitorStatus) bool {
				return m.MonitorID == "monitor-3" && m.State == wire.MonitorWaiting && m.Budget != nil && m.Budget.Denied == wire.BudgetSlots
			})
			commands = []session.Command{
				command("conn", "before", wire.UserMessage{MonitorID: "monitor-3", Content: "/say before"}),
				command("conn", "", wire.Reset{}),
				command("conn", "after", wire.UserMessage{MonitorID: "monitor-3", Content: "/say after"}),
			}
			_, err = d.handle.DeliverAll(t.Context(), commands)
			requireNoError(t, err)
			d.waitIdle()
			if d.turnText("after") != "after" || d.turnText("before") != "" {
				t.Errorf(`around the reset it said %q and %q, want nothing before it and "after" after it`, d.turnText("before"), d.turnText("after"))
			}
			for id, f := range messageOutcomes(d.all()) {
				if gone := id == "m3" || id == "m4" || id == "before"; gone != (f.rejected == 1) {
					t.Errorf("%s has the outcome %+v, want it rejected once: %v", id, f, gone)
				}
			}
		})
	}
}

// The first monitor cannot be removed, and its main agent stays.
func TestTheFirstMonitorStays(t *testing.T) {
	t.Parallel()
	o := startAgentHub(t, newFileDeployment(t), hubConfig{})
	d := o.newDesktop(t, "ses-1")
	d.sendText(firstMonitor, "m1", "/say one", "/sleep 1h")
	d.waitTurnOutput("m1")
	for range 4 { // the frontend sends the command four times
		d.send("", wire.RemoveMonitor{MonitorID: firstMonitor})
	}
	if r := waitEvent(t, d.eventLog, anyOf[wire.MessageRejected]); r.Code != wire.CodeSessionInvalidState || r.To != "conn" {
		t.Errorf("it is refused with %+v, want code %s to conn", r, wire.CodeSessionInvalidState)
	}
	if got, _ := d.sendAndWait("m2", wire.UserMessage{Content: "/say two"}).(wire.MessageAccepted); got.How != wire.TakenSteered {
		t.Errorf("the next message is answered with %+v, want it steered", got)
	}
	d.send("", wire.Interrupt{})
	d.waitTurnEnd("m1")
	if got, _ := d.sendAndWait("m3", wire.UserMessage{Content: "/recall"}).(wire.MessageAccepted); got.AgentID != "main-monitor-0-m3" {
		t.Errorf("the one after that is answered with %+v, want the agent main-monitor-0-m3", got)
	}
	d.waitIdle()
	if got := d.turnText("m3"); !strings.Contains(got, "/say two") {
		t.Errorf("the agent remembers %q, want the steered message /say two", got)
	}
}
