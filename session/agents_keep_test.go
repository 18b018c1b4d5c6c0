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

// A hub that starts again knows everything: who said what, what happened
// meanwhile, which windows share an agent, what can be done again and how much of
// a budget is used up. Queues and questions are in TestTurnsOutliveACrash.
func TestDefect18NothingIsForgotten(t *testing.T) {
	t.Parallel()
	for name, open := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			cfg := hubConfig{session: session.Config{Budget: policies.BudgetLimits{Concurrent: 2, ActionsPerMin: 2, OutputPerMin: 10_000}}}
			o := agentHub(t, s, cfg)
			d := o.newDesktop(t, "ses-1")
			lines := []string{"please open the parent window now", "/call system:list_reload_options {}", opening("parent"), "/say the word is xyzzy"}
			d.say(first, "m1", lines...)
			d.ends("m1")
			d.send("w1", wire.WindowMessage{WindowID: "parent", Content: "/say the window's word is plugh\n" + opening("child")})
			d.ends("w1")
			d.say("monitor-1", "b1", opening("a"), opening("b"), opening("c"))
			d.ends("b1")
			d.send("", wire.UserInteractions{Interactions: []wire.UserInteraction{
				{Type: wire.DidMoveWindow, WindowID: "child", Bounds: &wire.Bounds{X: 77, Y: 1, W: 200, H: 200}},
			}})
			settled(t, d.handle)
			o = o.again(t, cfg)
			d = o.enter(t, "ses-1")
			if q, is := d.ask("b2", wire.UserMessage{MonitorID: "monitor-1", Content: "/say hi"}).(wire.MessageQueued); !is {
				t.Errorf("the budget is forgotten: %+v", q)
			}
			d.send("w2", wire.WindowMessage{WindowID: "child", Content: "/recall"})
			d.ends("w2")
			if got := d.said("w2"); !strings.Contains(got, "plugh") || !strings.Contains(got, "<recent_conversation>") || !strings.Contains(got, "xyzzy") {
				t.Errorf("the agent of both windows remembers %q", got)
			}
			d.say(first, "m2", "/recall")
			d.ends("m2")
			got := d.said("m2")
			for _, want := range []string{"xyzzy", "<ui:move>child {x:77,", `<ai agent="window-parent">Created window "child"`, "<open_windows>parent, child</open_windows>"} {
				if !strings.Contains(got, want) {
					t.Errorf("the main agent was not told %q but %q", want, got)
				}
			}
			d.ask("e", emit(wire.WindowClose{WindowID: "parent"}, wire.WindowClose{WindowID: "child"}))
			d.say(first, "m3", lines...)
			d.ends("m3")
			if got := d.said("m3"); !strings.Contains(got, "reload-1") {
				t.Errorf("to be done again there is %q", got)
			}
			d.send("", wire.Interrupt{Queues: wire.QueuesDrop})
			d.rest()
		})
	}
}

// A session that nobody uses is not in memory, and is as it was when somebody
// does. One that works stays.
func TestDefect19SessionsSleep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := inBubble(t)
		o := agentHub(t, s, hubConfig{session: session.Config{DormantAfter: time.Minute}})
		create(t, o.Hub, "ses-1")
		r, err := o.Open(t.Context(), "ses-1")
		ok(t, err)
		d := &testDesktop{t: t, id: "ses-1", handle: r, diary: keepDiary(t, s, "ses-1")}
		d.say(first, "m1", "/say the word is xyzzy", "/sleep 30m", "/say done")
		d.begins("m1")
		r.Close()
		owner := func() wire.ReplicaID {
			info, err := s.Session(t.Context(), "ses-1")
			ok(t, err)
			return info.Owner
		}
		time.Sleep(29 * time.Minute)
		if owner() != "a" {
			t.Error("a session that works was unloaded")
		}
		d.ends("m1") // though nobody looks
		time.Sleep(2 * time.Minute)
		if owner() != "" {
			t.Error("a session that nobody uses is still loaded")
		}
		d = o.enter(t, "ses-1")
		d.say(first, "m2", "/recall")
		d.rest()
		if got := d.said("m2"); !strings.Contains(got, "the word is xyzzy") {
			t.Errorf("the agent remembers %q", got)
		}
	})
}

// What clients make up leaves nothing behind.
func TestMadeUpMonitorsAreNotKept(t *testing.T) {
	t.Parallel()
	o := agentHub(t, onFiles(t), hubConfig{})
	d := o.newDesktop(t, "ses-1")
	d.ask("e", emit(window("w")))
	for i := range 100 {
		monitor := wire.MonitorID(fmt.Sprintf("made-up-%d", i))
		d.send("", wire.UserInteractions{MonitorID: monitor, Interactions: []wire.UserInteraction{{Type: wire.DidFocusWindow, WindowID: "w"}}})
		d.send("", wire.WindowMessage{MonitorID: monitor, WindowID: "w", Content: "/say hi"})
		d.send("", wire.ComponentAction{MonitorID: monitor, WindowID: "w", Action: "x"})
		d.send("", wire.AppProtocolReady{MonitorID: monitor, WindowID: "w"})
		d.send("", wire.AppProtocolResponse{RequestID: wire.RequestID(monitor), WindowID: "w", Response: wire.AppQueryResponse{Error: "x"}})
		d.send("", wire.RenderingFeedback{RequestID: wire.RequestID(monitor), WindowID: "w", Error: "x"})
	}
	settled(t, d.handle)
	kept, err := o.store.Load(t.Context(), "ses-1")
	ok(t, err)
	for name := range kept.Lists {
		if strings.Contains(name, "made-up") {
			t.Errorf("there is a list %s", name)
		}
	}
	for name, table := range kept.Tables {
		for field := range table {
			if strings.Contains(name+field, "made-up") {
				t.Errorf("there is a field %s of %s", field, name)
			}
		}
	}
	if n := len(d.snapshot().Monitors); n != 1 {
		t.Errorf("there are %d monitors", n)
	}
}

// An agent of a window knows the last three turns of the main conversation at
// first, and its own from then on; nothing of other windows.
func TestWindowAgentsBeginWithThreeTurns(t *testing.T) {
	t.Parallel()
	for name, open := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			o := agentHub(t, s, hubConfig{})
			d := o.newDesktop(t, "ses-1")
			d.ask("e", emit(window("w"), window("other")))
			d.send("o", wire.WindowMessage{WindowID: "other", Content: "/say elsewhere"})
			d.ends("o")
			for i := range 5 {
				id := wire.MessageID(fmt.Sprintf("m%d", i))
				d.say(first, id, fmt.Sprintf("/say number-%d", i))
				d.ends(id)
			}
			for i := range 2 {
				id := wire.MessageID(fmt.Sprintf("w%d", i))
				d.send(id, wire.WindowMessage{WindowID: "w", Content: "/recall"})
				d.ends(id)
			}
			got := d.said("w0")
			for i := range 5 {
				if has := strings.Contains(got, fmt.Sprintf("number-%d", i)); has != (i >= 2) {
					t.Errorf("turn %d is known: %v", i, has)
				}
			}
			if strings.Contains(got, "elsewhere") || strings.Count(d.said("w1"), "<recent_conversation>") != 1+strings.Count(got, "<recent_conversation>") {
				t.Errorf("it remembers %q and then %q", got, d.said("w1"))
			}
			d.rest()
		})
	}
}

// Tasks run side by side on copies of the conversation, with the tools of their
// profile; what comes of them is told to who wanted them.
func TestTasksOfATurn(t *testing.T) {
	t.Parallel()
	for name, open := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			o := agentHub(t, s, hubConfig{})
			d := o.newDesktop(t, "ses-1")
			d.say(first, "m0", "/say the word is xyzzy")
			d.ends("m0")
			d.say(first, "m1", "/nosteer",
				"/task default /recall; "+opening("t1"),
				`/task code /call storage:write {"path":"a.txt","content":"x"}; /task web /say never`,
				"/task web /fail invalid: no luck",
				"/say all done", `/call storage:read {"path":"a.txt"}`)
			d.rest()
			outcomes := map[wire.Outcome]int{}
			for _, r := range find[wire.AgentResponse](d.all()) {
				if r.IsComplete && strings.HasPrefix(string(r.AgentID), "task-m1-") {
					outcomes[r.Outcome]++
					if r.MessageID != "" || r.MonitorID != first {
						t.Errorf("a task ended with %+v", r)
					}
				}
			}
			if outcomes[wire.OutcomeCompleted] != 2 || outcomes[wire.OutcomeFailed] != 1 {
				t.Errorf("the tasks ended as %v", outcomes)
			}
			said := d.said("m1")
			for _, want := range []string{
				`"status":"completed"`, "the word is xyzzy", `"windowId":"t1"`, `"status":"failed"`, "no luck", "all done", "I do not have the tool task_run here",
			} {
				if !strings.Contains(said, want) {
					t.Errorf("the turn does not say %q but %q", want, said)
				}
			}
			opened := when(t, d.diary, func(p wire.Actions) bool { return p.AgentID != "" })
			if c, _ := opened.Actions[0].(wire.WindowCreate); c.WindowID != "t1" || !strings.HasPrefix(string(opened.AgentID), "task-m1-") {
				t.Errorf("the window was opened by %+v", opened)
			}
		})
	}
}
