package session_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// roomyBudget is a budget that background monitors of a test never exhaust.
var roomyBudget = policies.BudgetLimits{Concurrent: 50, ActionsPerMin: 10_000, OutputPerMin: 10_000_000}

// workingScript is a turn that opens a window, changes it, reads the desktop and waits.
func workingScript(id wire.MessageID) string {
	return strings.Join([]string{
		"/window own-" + string(id) + " Mine | hello",
		fmt.Sprintf(`/call window:update {"windowId":"own-%s","operation":"append","content":" more"}`, id),
		"/call window:list {}",
		"/say ready",
		"/hang",
	}, "\n")
}

// checkWorkers checks that the agents' actions name their own windows, monitors and messages.
func checkWorkers(t *testing.T, events []wire.Event, monitors map[wire.MessageID]wire.MonitorID) {
	t.Helper()
	turns := map[wire.AgentID]wire.MessageAccepted{}
	for _, a := range payloads[wire.MessageAccepted](events) {
		if other, taken := turns[a.AgentID]; taken {
			t.Errorf("%s and %s have the same agent %s, want one agent for each", other.MessageID, a.MessageID, a.AgentID)
		}
		turns[a.AgentID] = a
	}
	actions, progress := map[wire.AgentID]int{}, map[wire.AgentID]int{}
	for _, p := range payloads[wire.Actions](events) {
		if p.AgentID == "" {
			continue // an action of a program
		}
		turn := turns[p.AgentID]
		actions[p.AgentID]++
		if p.MonitorID != turn.MonitorID {
			t.Errorf("an action of %s is said to be on %s, want %s", p.AgentID, p.MonitorID, turn.MonitorID)
		}
		for _, a := range p.Actions {
			var id wire.WindowID
			switch a := a.(type) {
			case wire.WindowCreate:
				id = a.WindowID
			case wire.WindowUpdateContent:
				id = a.WindowID
			}
			if id != "own-"+wire.WindowID(turn.MessageID) {
				t.Errorf("%s did %+v, want only actions on its window own-%s", p.AgentID, a, turn.MessageID)
			}
		}
	}
	for _, p := range payloads[wire.ToolProgress](events) {
		turn := turns[p.AgentID]
		progress[p.AgentID]++
		if p.MonitorID != turn.MonitorID || p.MessageID != turn.MessageID || p.AgentID == "" || p.Status == wire.ToolError {
			t.Errorf("a tool of %+v is shown as %+v, want the same monitor and message, and no error", turn, p)
		}
		if p.ToolName != "window:list" {
			continue
		}
		for id, monitor := range monitors {
			if monitor != turn.MonitorID && strings.Contains(p.Message, `own-`+string(id)+`"`) {
				t.Errorf("%s sees the window of %s: %s, want only windows of %s", p.AgentID, id, p.Message, turn.MonitorID)
			}
		}
	}
	for agent, turn := range turns {
		if actions[agent] != 2 || progress[agent] != 6 || turn.MonitorID != monitors[turn.MessageID] {
			t.Errorf("%s did %d actions and showed %d steps of tools on %s, want 2 actions and 6 steps on %s", agent, actions[agent], progress[agent], turn.MonitorID, monitors[turn.MessageID])
		}
	}
}

// Four main agents and six window agents run at the same time; two windows have the same id on
// different monitors. Their actions are not mixed up.
func TestMonitorsAndWindowsAreIsolated(t *testing.T) {
	t.Parallel()
	for name, open := range deployments() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			o := startAgentHub(t, s, hubConfig{limits: agentpool.Limits{Agents: 10}, session: session.Config{Budget: roomyBudget}})
			d := o.newDesktop(t, "ses-1")
			monitors := map[wire.MessageID]wire.MonitorID{}
			for i := range 4 {
				monitor := wire.MonitorID(fmt.Sprintf("monitor-%d", i))
				monitors[wire.MessageID(fmt.Sprintf("main%d", i))] = monitor
				d.sendAndWait(wire.MessageID(fmt.Sprintf("e%d", i)), wire.Emit{MonitorID: monitor, Actions: []wire.Action{window("same"), window(wire.WindowID(monitor))}})
			}
			var commands []session.Command
			for id, monitor := range monitors {
				commands = append(commands, command("conn", id, wire.UserMessage{MonitorID: monitor, Content: workingScript(id)}))
			}
			for i, w := range []struct {
				monitor wire.MonitorID
				window  wire.WindowID
			}{
				{"monitor-0", "same"},
				{"monitor-0", "monitor-0"},
				{"monitor-1", "same"},
				{"monitor-1", "monitor-1"},
				{"monitor-2", "monitor-2"},
				{"monitor-3", "same"},
			} {
				id := wire.MessageID(fmt.Sprintf("win%d", i))
				monitors[id] = w.monitor
				commands = append(commands, command("conn", id, wire.WindowMessage{MonitorID: w.monitor, WindowID: w.window, Content: workingScript(id)}))
			}
			_, err := d.handle.DeliverAll(t.Context(), commands)
			requireNoError(t, err)
			for id := range monitors {
				waitEvent(t, d.eventLog, func(r wire.AgentResponse) bool { return r.MessageID == id && strings.Contains(r.Delta, "ready") })
			}
			use, err := o.limiter.Use(t.Context())
			requireNoError(t, err)
			if use.Held != 10 {
				t.Errorf("ten agents hold %+v, want 10 slots", use)
			}
			checkWorkers(t, d.all(), monitors)
			for id, monitor := range monitors {
				found := 0
				for _, w := range d.snapshot().Windows {
					if w.WindowID == "own-"+wire.WindowID(id) {
						found++
						if w.MonitorID != monitor || w.Content != (wire.MarkdownContent{Data: "hello more"}) {
							t.Errorf(`the window of %s is %+v, want "hello more" on %s`, id, w, monitor)
						}
					}
				}
				if found != 1 {
					t.Errorf("there are %d windows of %s, want 1", found, id)
				}
			}
			d.send("", wire.Interrupt{})
			d.waitIdle()
		})
	}
}

// Two sessions use the same monitor, window, message and file ids at the same time. Neither sees
// anything of the other.
func TestSessionsAreIsolated(t *testing.T) {
	t.Parallel()
	for name, open := range deployments() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			o := startAgentHub(t, s, hubConfig{})
			both := []*testDesktop{o.newDesktop(t, "ses-a"), o.newDesktop(t, "ses-b")}
			for _, d := range both {
				d.sendText(firstMonitor, "m1", openWindowDirective(wire.WindowID(d.id)), openWindowDirective("same"),
					fmt.Sprintf(`/task default /call storage:write {"path":"note.txt","content":"%s"}`, d.id), "/say ready", "/hang")
			}
			for _, d := range both {
				waitEvent(t, d.eventLog, func(r wire.AgentResponse) bool { return r.MessageID == "m1" && strings.Contains(r.Delta, "ready") })
				d.sendText(firstMonitor, "m2", "/call window:list {}", `/call storage:read {"path":"note.txt"}`)
			}
			for i, d := range both {
				d.waitIdle()
				other := string(both[1-i].id)
				if got := d.windows(firstMonitor); len(got) != 2 || got[0] != "same" || got[1] != wire.WindowID(d.id) {
					t.Errorf("%s has the windows %v, want same and %s", d.id, got, d.id)
				}
				if said := d.turnText("m1"); strings.Contains(said, other) || strings.Count(said, string(d.id)) < 2 {
					t.Errorf("the agent of %s says %q, want its own id at least twice and nothing of %s", d.id, said, other)
				}
				if strings.Contains(d.dump(), other) {
					t.Errorf("the log of %s has something of %s:\n%s", d.id, other, d.dump())
				}
				kept, err := o.store.Load(t.Context(), d.id)
				requireNoError(t, err)
				if strings.Contains(fmt.Sprintf("%s %s", kept.Tables, kept.Lists), other) {
					t.Errorf("the tables and lists of %s have something of %s, want nothing", d.id, other)
				}
			}
		})
	}
}
