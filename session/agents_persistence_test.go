package session_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// A restarted hub has everything: conversations, events since then, window agents, reload options
// and used budgets. TestTurnsSurviveACrash covers queues and questions.
func TestStateSurvivesARestart(t *testing.T) {
	t.Parallel()
	for name, open := range deployments() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			cfg := hubConfig{session: session.Config{Budget: policies.BudgetLimits{Concurrent: 2, ActionsPerMin: 2, OutputPerMin: 10_000}}}
			o := startAgentHub(t, s, cfg)
			d := o.newDesktop(t, "ses-1")
			lines := []string{"please open the parent window now", "/call system:list_reload_options {}", openWindowDirective("parent"), "/say the word is xyzzy"}
			d.sendText(firstMonitor, "m1", lines...)
			d.waitTurnEnd("m1")
			d.send("w1", wire.WindowMessage{WindowID: "parent", Content: "/say the window's word is plugh\n" + openWindowDirective("child")})
			d.waitTurnEnd("w1")
			d.sendText("monitor-1", "b1", openWindowDirective("a"), openWindowDirective("b"), openWindowDirective("c"))
			d.waitTurnEnd("b1")
			d.send("", wire.UserInteractions{Interactions: []wire.UserInteraction{
				{Type: wire.DidMoveWindow, WindowID: "child", Bounds: &wire.Bounds{X: 77, Y: 1, W: 200, H: 200}},
			}})
			deliverBarrier(t, d.handle)
			o = o.restart(t, cfg)
			d = o.openDesktop(t, "ses-1")
			if q, is := d.sendAndWait("b2", wire.UserMessage{MonitorID: "monitor-1", Content: "/say hi"}).(wire.MessageQueued); !is {
				t.Errorf("a message on a monitor over its budget is not queued after a restart: got %+v, want a MessageQueued", q)
			}
			d.send("w2", wire.WindowMessage{WindowID: "child", Content: "/recall"})
			d.waitTurnEnd("w2")
			if got := d.turnText("w2"); !strings.Contains(got, "plugh") || !strings.Contains(got, "<recent_conversation>") || !strings.Contains(got, "xyzzy") {
				t.Errorf("the agent of both windows remembers %q, want plugh of the window and xyzzy of the recent conversation", got)
			}
			d.sendText(firstMonitor, "m2", "/recall")
			d.waitTurnEnd("m2")
			got := d.turnText("m2")
			for _, want := range []string{"xyzzy", "<ui:move>child {x:77,", `<ai agent="window-parent">Created window "child"`, `<open_windows>parent (markdown "parent" 460×320), child (markdown "child" 200×200)</open_windows>`} {
				if !strings.Contains(got, want) {
					t.Errorf("the main agent got %q, want %q in it", got, want)
				}
			}
			d.sendAndWait("e", emit(wire.WindowClose{WindowID: "parent"}, wire.WindowClose{WindowID: "child"}))
			d.sendText(firstMonitor, "m3", lines...)
			d.waitTurnEnd("m3")
			if got := d.turnText("m3"); !strings.Contains(got, "reload-1") {
				t.Errorf("the reload cache offers %q, want reload-1", got)
			}
			d.send("", wire.Interrupt{Queues: wire.QueuesDrop})
			d.waitIdle()
		})
	}
}

// A session without handles is unloaded, and unchanged when it is opened again. A session with work
// stays loaded.
func TestIdleSessionsAreUnloaded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSyncDeployment(t)
		o := startAgentHub(t, s, hubConfig{session: session.Config{DormantAfter: time.Minute}})
		createSession(t, o.Hub, "ses-1")
		r, err := o.Open(t.Context(), "ses-1")
		requireNoError(t, err)
		d := &testDesktop{t: t, id: "ses-1", handle: r, eventLog: tailLog(t, s, "ses-1")}
		d.sendText(firstMonitor, "m1", "/say the word is xyzzy", "/sleep 30m", "/say done")
		d.waitTurnOutput("m1")
		r.Close()
		owner := func() wire.ReplicaID {
			info, err := s.Session(t.Context(), "ses-1")
			requireNoError(t, err)
			return info.Owner
		}
		time.Sleep(29 * time.Minute)
		if owner() != "a" {
			t.Errorf("got owner %q of a session that works, want a", owner())
		}
		d.waitTurnEnd("m1") // without any handle
		time.Sleep(2 * time.Minute)
		if owner() != "" {
			t.Errorf("got owner %q of an unused session, want none", owner())
		}
		d = o.openDesktop(t, "ses-1")
		d.sendText(firstMonitor, "m2", "/recall")
		d.waitIdle()
		if got := d.turnText("m2"); !strings.Contains(got, "the word is xyzzy") {
			t.Errorf("the agent remembers %q, want the word xyzzy", got)
		}
	})
}

// Monitor ids that clients invent leave nothing in the store.
func TestUnknownMonitorsAreNotStored(t *testing.T) {
	t.Parallel()
	o := startAgentHub(t, newFileDeployment(t), hubConfig{})
	d := o.newDesktop(t, "ses-1")
	d.sendAndWait("e", emit(window("w")))
	for i := range 100 {
		monitor := wire.MonitorID(fmt.Sprintf("made-up-%d", i))
		d.send("", wire.UserInteractions{MonitorID: monitor, Interactions: []wire.UserInteraction{{Type: wire.DidFocusWindow, WindowID: "w"}}})
		d.send("", wire.WindowMessage{MonitorID: monitor, WindowID: "w", Content: "/say hi"})
		d.send("", wire.ComponentAction{MonitorID: monitor, WindowID: "w", Action: "x"})
		d.send("", wire.AppProtocolReady{MonitorID: monitor, WindowID: "w"})
		d.send("", wire.AppProtocolResponse{RequestID: wire.RequestID(monitor), WindowID: "w", Response: wire.AppQueryResponse{Error: "x"}})
		d.send("", wire.RenderingFeedback{RequestID: wire.RequestID(monitor), WindowID: "w", Error: "x"})
	}
	deliverBarrier(t, d.handle)
	kept, err := o.store.Load(t.Context(), "ses-1")
	requireNoError(t, err)
	for name := range kept.Lists {
		if strings.Contains(name, "made-up") {
			t.Errorf("there is a list %s, want none of the made-up monitors", name)
		}
	}
	for name, table := range kept.Tables {
		for field := range table {
			if strings.Contains(name+field, "made-up") {
				t.Errorf("there is a field %s of %s, want none of the made-up monitors", field, name)
			}
		}
	}
	if n := len(d.snapshot().Monitors); n != 1 {
		t.Errorf("there are %d monitors, want 1", n)
	}
}

// A window agent starts with the last three turns of the main conversation and has its own from
// then on; it knows nothing of other windows.
func TestWindowAgentStartsWithThreeTurns(t *testing.T) {
	t.Parallel()
	for name, open := range deployments() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			o := startAgentHub(t, s, hubConfig{})
			d := o.newDesktop(t, "ses-1")
			d.sendAndWait("e", emit(window("w"), window("other")))
			d.send("o", wire.WindowMessage{WindowID: "other", Content: "/say elsewhere"})
			d.waitTurnEnd("o")
			for i := range 5 {
				id := wire.MessageID(fmt.Sprintf("m%d", i))
				d.sendText(firstMonitor, id, fmt.Sprintf("/say number-%d", i))
				d.waitTurnEnd(id)
			}
			for i := range 2 {
				id := wire.MessageID(fmt.Sprintf("w%d", i))
				d.send(id, wire.WindowMessage{WindowID: "w", Content: "/recall"})
				d.waitTurnEnd(id)
			}
			got := d.turnText("w0")
			for i := range 5 {
				if has := strings.Contains(got, fmt.Sprintf("number-%d", i)); has != (i >= 2) {
					t.Errorf("turn %d is known: %v, want %v", i, has, i >= 2)
				}
			}
			if strings.Contains(got, "elsewhere") || strings.Count(d.turnText("w1"), "<recent_conversation>") != 1+strings.Count(got, "<recent_conversation>") {
				t.Errorf("it remembers %q and then %q, want nothing of elsewhere, and in the second one recent conversation more", got, d.turnText("w1"))
			}
			d.waitIdle()
		})
	}
}

// Tasks run in parallel on copies of the conversation, with the tools of their profile; their
// results go to the turn that delegated them.
func TestTasksOfATurn(t *testing.T) {
	t.Parallel()
	for name, open := range deployments() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			o := startAgentHub(t, s, hubConfig{})
			d := o.newDesktop(t, "ses-1")
			d.sendText(firstMonitor, "m0", "/say the word is xyzzy")
			d.waitTurnEnd("m0")
			d.sendText(firstMonitor, "m1", "/nosteer",
				"/task default /recall; "+openWindowDirective("t1"),
				`/task code /call storage:write {"path":"a.txt","content":"x"}; /task web /say never`,
				"/task web /fail invalid: no luck",
				"/say all done", `/call storage:read {"path":"a.txt"}`)
			d.waitIdle()
			outcomes := map[wire.Outcome]int{}
			for _, r := range payloads[wire.AgentResponse](d.all()) {
				if r.IsComplete && strings.HasPrefix(string(r.AgentID), "task-m1-") {
					outcomes[r.Outcome]++
					if r.MessageID != "" || r.MonitorID != firstMonitor {
						t.Errorf("a task ended with %+v, want no message, on %s", r, firstMonitor)
					}
				}
			}
			if outcomes[wire.OutcomeCompleted] != 2 || outcomes[wire.OutcomeFailed] != 1 {
				t.Errorf("the tasks ended as %v, want two completed and one failed", outcomes)
			}
			said := d.turnText("m1")
			for _, want := range []string{
				`"status":"completed"`, "the word is xyzzy", `"windowId":"t1"`, `"status":"failed"`, "no luck", "all done", "I do not have the tool task_run here",
			} {
				if !strings.Contains(said, want) {
					t.Errorf("the turn says %q, want %q in it", said, want)
				}
			}
			opened := waitEvent(t, d.eventLog, func(p wire.Actions) bool { return p.AgentID != "" })
			if c, _ := opened.Actions[0].(wire.WindowCreate); c.WindowID != "t1" || !strings.HasPrefix(string(opened.AgentID), "task-m1-") {
				t.Errorf("the window was opened by %+v, want t1 by a task of m1", opened)
			}
		})
	}
}
