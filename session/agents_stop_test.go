package session_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/demo"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// Four turns run and three messages wait. An interrupt ends what it names, with
// its tasks, and the rest goes on.
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
			o := agentHub(t, onFiles(t), hubConfig{limits: agentpool.Limits{PerSession: 5}, session: session.Config{Budget: roomyBudget}})
			d := o.newDesktop(t, "ses-1")
			d.ask("e", wire.Emit{MonitorID: "monitor-1", Actions: []wire.Action{window("w")}})
			d.say("monitor-2", "t0", "/nosteer", "/say busy", "/task default /say I am a task; /hang")
			d.begins("t0")
			when(t, d.diary, func(r wire.AgentResponse) bool { return r.AgentID == "task-t0-1" })
			d.say(first, "m0", busy)
			d.say("monitor-1", "m1", busy)
			d.send("w1", wire.WindowMessage{MonitorID: "monitor-1", WindowID: "w", Content: busy})
			for _, id := range []wire.MessageID{"m0", "m1", "w1"} {
				d.begins(id)
			}
			// All five agents are busy now, so these have to wait.
			d.ask("q0", wire.UserMessage{MonitorID: first, Content: busy})
			d.ask("q1", wire.UserMessage{MonitorID: "monitor-1", Content: busy})
			d.ask("qw", wire.WindowMessage{MonitorID: "monitor-1", WindowID: "w", Content: busy})
			d.send("", test.interrupt)
			for _, id := range test.ended {
				if e := d.ends(id); e.Outcome != wire.OutcomeInterrupted || e.Reason == "" || !strings.HasPrefix(d.said(id), "busy") {
					t.Errorf("%s said %q and ended with %+v", id, d.said(id), e)
				}
			}
			for _, id := range test.began {
				d.begins(id)
			}
			for _, id := range test.rejected {
				when(t, d.diary, about[wire.MessageRejected](id))
			}
			settled(t, d.handle)
			var ended []wire.MessageID
			for _, r := range find[wire.AgentResponse](history(t, o.site)) {
				if r.IsComplete && r.MessageID != "" {
					ended = append(ended, r.MessageID)
				}
			}
			slices.Sort(ended)
			if !slices.Equal(ended, test.ended) {
				t.Errorf("ended have %v", ended)
			}
			d.send("", wire.Interrupt{Queues: wire.QueuesDrop})
			d.rest()
			if e := when(t, d.diary, func(r wire.AgentResponse) bool { return r.IsComplete && r.AgentID == "task-t0-1" }); e.Outcome != wire.OutcomeInterrupted {
				t.Errorf("the task ended with %+v", e)
			}
		})
	}
}

// What is not there cannot be interrupted, and who tries is told so.
func TestInterruptOfNothing(t *testing.T) {
	t.Parallel()
	o := agentHub(t, onFiles(t), hubConfig{})
	d := o.newDesktop(t, "ses-1")
	for id, data := range map[wire.MessageID]wire.ClientPayload{
		"i1": wire.InterruptAgent{AgentID: "main-monitor-0-x"}, "i2": wire.Interrupt{Scope: wire.ScopeAgent},
		"i3": wire.Interrupt{Scope: wire.ScopeMonitor, MonitorID: "monitor-9"},
	} {
		d.send(id, data)
		if r := when(t, d.diary, about[wire.MessageRejected](id)); r.To != "conn" {
			t.Errorf("%s is answered with %+v", id, r)
		}
	}
	d.send("i4", wire.Interrupt{}) // of everything there is, which is nothing
	d.say(first, "m", "/say hi")
	d.ends("m")
}

// A reset ends everything at once, in one step, and forgets all conversations.
// Monitors stay, and so does what can be done again.
func TestResetOfAgents(t *testing.T) {
	t.Parallel()
	for name, open := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			o := agentHub(t, s, hubConfig{limits: agentpool.Limits{Agents: 4}})
			d := o.newDesktop(t, "ses-1")
			d.say(first, "m0", "open the window, please", opening("w"))
			d.ends("m0")
			d.send("w0", wire.WindowMessage{WindowID: "w", Content: "/nosteer\n" + opening("w2") + "\n/say busy\n/hang"})
			d.say(first, "m1", "/nosteer", "/say busy", `/call window:lock {"windowId":"w"}`, "/task default /say I am a task; /hang")
			when(t, d.diary, func(r wire.AgentResponse) bool { return r.AgentID == "task-m1-1" })
			d.say("monitor-1", "m2", "/nosteer", "/say busy", "/hang")
			d.begins("w0")
			d.begins("m2")
			d.ask("q", wire.UserMessage{MonitorID: "monitor-1", Content: "/say never"})
			d.send("", wire.Reset{})
			d.rest()
			for _, id := range []wire.MessageID{"w0", "m1", "m2"} {
				if e := d.ends(id); e.Outcome != wire.OutcomeInterrupted || !strings.Contains(e.Reason, "reset") {
					t.Errorf("%s ended with %+v", id, e)
				}
			}
			if f := fates(d.all())["q"]; f.rejected != 1 {
				t.Errorf("what waited is %+v", f)
			}
			now := d.snapshot()
			if len(now.Windows) != 0 || len(now.Monitors) != 2 || len(now.Queues) != 0 {
				t.Errorf("what is there is %+v %+v %+v", now.Windows, now.Monitors, now.Queues)
			}
			for _, a := range now.Agents {
				if a.Status == wire.AgentStatusRunning {
					t.Errorf("%+v runs", a)
				}
			}
			kept, err := s.Load(t.Context(), "ses-1")
			ok(t, err)
			for name, items := range kept.Lists {
				if strings.HasPrefix(name, "api:") || strings.HasPrefix(name, "tape") || strings.HasPrefix(name, "timeline:") {
					t.Errorf("left is %s: %s", name, items)
				}
			}
			for _, name := range []string{"turns", "turns.prompt", "queue", "queue.said", "threads", "asks", "apps"} {
				if len(kept.Tables[name]) != 0 {
					t.Errorf("left is %s: %s", name, kept.Tables[name])
				}
			}
			noParts(t, kept)
			if len(kept.Tables["reload"]) < 2 {
				t.Errorf("what can be done again is %s", kept.Tables["reload"])
			}
			// The same window, the same button: nothing of the old ones is there.
			d.say(first, "m3", "/recall", opening("w"))
			d.ends("m3")
			if got := d.said("m3"); strings.Contains(got, "busy") || strings.Contains(got, "<timeline>") {
				t.Errorf("the agent remembers %q", got)
			}
			d.send("w3", wire.WindowMessage{WindowID: "w", Content: "/recall"})
			d.rest()
			if got := d.said("w3"); strings.Contains(got, "busy") {
				t.Errorf("the window's agent remembers %q", got)
			}
		})
	}
}

// A monitor goes with all that is on it, however often that is said; the others
// do not notice.
func TestRemoveMonitorOfAgents(t *testing.T) {
	t.Parallel()
	for name, open := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			o := agentHub(t, s, hubConfig{limits: agentpool.Limits{Agents: 3}, session: session.Config{Budget: roomyBudget}})
			d := o.newDesktop(t, "ses-1")
			for i, monitor := range []wire.MonitorID{first, "monitor-1"} {
				d.ask(wire.MessageID(fmt.Sprintf("e%d", i)), wire.Emit{MonitorID: monitor, Actions: []wire.Action{window("w")}})
				d.say(monitor, wire.MessageID(fmt.Sprintf("m%d", i)), "/nosteer", "/say busy", "/hang")
				d.begins(wire.MessageID(fmt.Sprintf("m%d", i)))
			}
			d.send("w1", wire.WindowMessage{MonitorID: "monitor-1", WindowID: "w", Content: "/nosteer\n/say busy\n/hang"})
			d.begins("w1")
			d.ask("q0", wire.UserMessage{MonitorID: first, Content: "/say zero"})
			d.ask("q1", wire.UserMessage{MonitorID: "monitor-1", Content: "/say one"})
			for range 4 {
				d.send("", wire.RemoveMonitor{MonitorID: "monitor-1"})
			}
			for _, id := range []wire.MessageID{"m1", "w1"} {
				if e := d.ends(id); e.Outcome != wire.OutcomeInterrupted || !strings.Contains(e.Reason, "monitor was removed") {
					t.Errorf("%s ended with %+v", id, e)
				}
			}
			when(t, d.diary, about[wire.MessageRejected]("q1"))
			settled(t, d.handle)
			kept, err := s.Load(t.Context(), "ses-1")
			ok(t, err)
			for name := range kept.Lists {
				if strings.Contains(name, "monitor-1") {
					t.Errorf("left is %s: %s", name, kept.Lists[name])
				}
			}
			for name, table := range kept.Tables {
				for field := range table {
					if strings.Contains(name+field, "monitor-1") && name != "ledger" {
						t.Errorf("left is %s/%s: %s", name, field, table[field])
					}
				}
			}
			if got := d.windows(first); len(got) != 1 {
				t.Errorf("on the first monitor are %v", got)
			}
			// It may come again, and knows nothing then.
			d.say("monitor-1", "m2", "/recall")
			d.ends("m2")
			if got := d.said("m2"); strings.Contains(got, "busy") {
				t.Errorf("the new monitor's agent remembers %q", got)
			}
			d.send("", wire.Interrupt{Scope: wire.ScopeMonitor, MonitorID: first})
			d.rest()
			if d.said("q0") != "zero" {
				t.Errorf("on the first monitor the agent said %q", d.said("q0"))
			}
		})
	}
}

// Another provider thinks from the next turn on; the one that runs is not
// disturbed, and the conversation goes on.
func TestSetProviderOfAgents(t *testing.T) {
	t.Parallel()
	for name, open := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			cfg := hubConfig{others: []providers.Provider{namesake{demo.New(demo.Config{}), "other"}}}
			o := agentHub(t, s, cfg)
			d := o.newDesktop(t, "ses-1")
			d.say(first, "m1", "/say the word is xyzzy", "/hang")
			d.begins("m1")
			d.send("p1", wire.SetProvider{Provider: "nobody"})
			if r := when(t, d.diary, about[wire.MessageRejected]("p1")); r.Code != wire.CodeProviderUnavailable {
				t.Errorf("what is not there is refused with %+v", r)
			}
			d.send("p2", wire.SetProvider{Provider: "other"})
			when(t, d.diary, func(p wire.ProviderChanged) bool { return p.Provider == "other" })
			d.say(first, "m2", "/say two") // is for the turn that runs
			if e := d.ends("m1"); e.Outcome != wire.OutcomeCompleted || d.said("m1") != "the word is xyzzy\ntwo" {
				t.Errorf("it said %q and ended with %+v", d.said("m1"), e)
			}
			d.say("monitor-1", "m3", "/call system:get_info {}")
			d.say(first, "m4", "/recall")
			d.rest()
			if got := d.said("m3"); !strings.Contains(got, `"other"`) {
				t.Errorf("who thinks says %q", got)
			}
			if got := d.said("m4"); !strings.Contains(got, "the word is xyzzy") {
				t.Errorf("it remembers %q", got)
			}
			if got := d.snapshot().Provider; got != "other" {
				t.Errorf("shown is %q", got)
			}
			// A hub that does not have the provider thinks with its usual one, and
			// shows that.
			o = o.again(t, hubConfig{})
			d = o.enter(t, "ses-1")
			d.say(first, "m5", "/call system:get_info {}")
			d.ends("m5")
			if got := d.said("m5"); !strings.Contains(got, `"demo"`) || d.snapshot().Provider != "demo" {
				t.Errorf("who thinks says %q, and shown is %q", got, d.snapshot().Provider)
			}
			d.send("", wire.SetProvider{Provider: demo.Name})
			d.say(first, "m6", "/recall")
			d.rest()
			if got := d.said("m6"); !strings.Contains(got, "the word is xyzzy") {
				t.Errorf("it remembers %q", got)
			}
			// Who chose that one has it where there are others, too.
			o = o.again(t, cfg)
			if got := o.enter(t, "ses-1").snapshot().Provider; got != "demo" {
				t.Errorf("shown is %q", got)
			}
		})
	}
}

// slowToStop is a session runner that takes its time with interrupts.
type slowToStop struct{ session.Runner }

func (c slowToStop) Interrupt(run, reason string) {
	time.Sleep(time.Minute)
	c.Runner.Interrupt(run, reason)
}

// A turn that is over its budget is interrupted before it hears of it: it has no time
// to come to an end by itself.
func TestOverBudgetIsInterrupted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := agentHub(t, inBubble(t), hubConfig{
			session: session.Config{Budget: policies.BudgetLimits{Concurrent: 1, ActionsPerMin: 1, OutputPerMin: 1000}},
			runner:  func(c session.Runner) session.Runner { return slowToStop{c} },
		})
		d := o.newDesktop(t, "ses-1")
		d.say("monitor-1", "m", opening("a"), opening("b"))
		if end := d.ends("m"); end.Outcome != wire.OutcomeInterrupted || !strings.Contains(end.Reason, "over its budget of actions") {
			t.Errorf("it ended with %+v", end)
		}
	})
}
