package session_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// Hooks run when a desktop is created, again when it is reset, and whenever a tool is used.
func TestHooks(t *testing.T) {
	t.Parallel()
	for name, open := range deployments() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			o := startAgentHub(t, s, hubConfig{})
			d := o.newDesktop(t, "ses-1")
			d.sendText(firstMonitor, "m1",
				`/call system:set_config {"section":"hooks","event":"launch","label":"L","action":{"type":"interaction","payload":"/say good morning"}}`,
				setHookCall, openWindowDirective("w"))
			for range 2 {
				for len(d.snapshot().Dialogs) == 0 {
					deliverBarrier(t, d.handle)
				}
				d.send("", wire.DialogFeedback{DialogID: d.snapshot().Dialogs[0].DialogID, Confirmed: true})
				for len(d.snapshot().Dialogs) != 0 {
					deliverBarrier(t, d.handle)
				}
			}
			d.waitIdle()
			if n := len(d.snapshot().Badges); n != 1 { // set by the hook of opening a window
				t.Errorf("there are %d badges, want the one of the hook, after\n%s", n, d.turnText("m1"))
			}
			greeted := func() (n int) {
				for _, r := range payloads[wire.AgentResponse](readLog(t, s)) {
					if strings.Contains(r.Delta, "good morning") {
						n++
					}
				}
				return n
			}
			if greeted() != 0 {
				t.Errorf("got %d greetings before there was a hook, want 0", greeted())
			}
			d.send("", wire.Reset{})
			waitEvent(t, d.eventLog, func(r wire.AgentResponse) bool { return strings.Contains(r.Delta, "good morning") })
			d.waitIdle()
			other := o.newDesktop(t, "ses-2")
			waitEvent(t, other.eventLog, func(r wire.AgentResponse) bool { return strings.Contains(r.Delta, "good morning") })
			other.waitIdle()
			o = o.restart(t, hubConfig{})
			d = o.openDesktop(t, "ses-1") // does not run the hook again
			d.sendText(firstMonitor, "m2", "/say hi")
			d.waitIdle()
			if n := greeted(); n != 1 {
				t.Errorf("it was greeted %d times, want 1", n)
			}
		})
	}
}

// The actions of a message are offered for reload when the message is sent again; the user can
// report that the reload failed.
func TestReload(t *testing.T) {
	t.Parallel()
	for name, open := range deployments() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			o := startAgentHub(t, s, hubConfig{})
			d := o.newDesktop(t, "ses-1")
			const text = "open my notes, please\n/window notes Notes | hello"
			d.sendText(firstMonitor, "m1", text)
			d.waitTurnEnd("m1")
			d.sendAndWait("e", emit(wire.WindowClose{WindowID: "notes"}))
			d.sendText(firstMonitor, "m2", text+"\n/say again")
			d.waitTurnEnd("m2")
			if told := d.conversation(s, "main-monitor-0"); !strings.Contains(told, "<reload_options>") || !strings.Contains(told, `"cacheId":"reload-1"`) {
				t.Errorf("the agent got no reload option with the cacheId reload-1, want one in\n%s", told)
			}
			d.sendAndWait("e2", emit(wire.WindowClose{WindowID: "notes"}))
			d.sendText("monitor-1", "m3", `/call system:reload_cached {"cacheId":"reload-1"}`)
			d.waitTurnEnd("m3")
			if got := d.windows("monitor-1"); fmt.Sprint(got) != "[notes]" {
				t.Errorf("after doing it again there are %v and the agent says %q, want [notes]", got, d.turnText("m3"))
			}
			toast := waitEvent(t, d.eventLog, func(p wire.Actions) bool {
				show, is := p.Actions[0].(wire.ToastShow)
				return is && show.ID == "reload-feedback-reload-1" && show.Action != nil && show.Action.EventID == "reload-1"
			})
			if toast.MonitorID != "monitor-1" || toast.AgentID != "main-monitor-1-m3" {
				t.Errorf("the toast is %+v, want it on monitor-1 by main-monitor-1-m3", toast)
			}
			d.send("", wire.ToastAction{ToastID: "reload-feedback-reload-1", EventID: "reload-1"})
			d.waitIdle()
			if now := d.snapshot(); len(now.Toasts) != 0 {
				t.Errorf("after its action the toasts are %+v, want none", now.Toasts)
			}
		})
	}
}

// An image comes with its message, and invalid images are refused.
func TestPicturesInMessages(t *testing.T) {
	t.Parallel()
	o := startAgentHub(t, newFileDeployment(t), hubConfig{})
	d := o.newDesktop(t, "ses-1")
	draw := func(data string) wire.UserMessage {
		return wire.UserMessage{Content: "look", Interactions: []wire.UserInteraction{{Type: wire.DidDraw, ImageData: data}}}
	}
	for i, bad := range []string{"http://example.com/x.png", "data:image/png;base64,?", "data:text/plain;base64,aGk=", "data:image/png;base64,aGk="} {
		id := wire.MessageID(fmt.Sprintf("bad%d", i))
		if r, _ := d.sendAndWait(id, draw(bad)).(wire.MessageRejected); r.Code != wire.CodeInvalidMessage {
			t.Errorf("%s is answered with %+v, want code %s", bad, r, wire.CodeInvalidMessage)
		}
	}
	d.send("m", draw(onePixel))
	d.waitIdle()
	if got := d.conversation(o.deployment, "main-monitor-0"); !strings.Contains(got, "<ui:draw>[image attached]</ui:draw>") {
		t.Errorf("the agent got %q, want a drawing with an attached image", got)
	}
	row := waitEvent(t, d.eventLog, func(u wire.MessageUpdated) bool { return u.Message.MessageID == "m" })
	if len(row.Message.Images) != 1 || row.Message.Images[0] != onePixel {
		t.Errorf("the row has %+v, want the drawing as its one image", row.Message)
	}
}

// A message is deleted from the queue; the others move up.
func TestDeleteQueuedMessage(t *testing.T) {
	t.Parallel()
	for name, open := range deployments() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			o := startAgentHub(t, s, hubConfig{limits: agentpool.Limits{Agents: 1}})
			d := o.newDesktop(t, "ses-1")
			d.sendText(firstMonitor, "m", "/nosteer", "/say busy", "/hang")
			d.waitTurnOutput("m")
			for i := range 3 {
				d.sendAndWait(wire.MessageID(fmt.Sprintf("q%d", i)), wire.UserMessage{Content: fmt.Sprintf("/say %d", i)})
			}
			d.send("", wire.DeleteQueuedMessage{Target: "q1"})
			if r := waitEvent(t, d.eventLog, isAbout[wire.MessageRejected]("q1")); r.Code != wire.CodeSessionInvalidState {
				t.Errorf("a deleted queued message is answered with %+v, want code %s", r, wire.CodeSessionInvalidState)
			}
			for id, target := range map[wire.MessageID]wire.MessageID{"d1": "q1", "d2": "m", "d3": "nothing"} {
				d.send(id, wire.DeleteQueuedMessage{Target: target})
				if r := waitEvent(t, d.eventLog, isAbout[wire.MessageRejected](id)); r.To != "conn" {
					t.Errorf("%s is answered with %+v, want a rejection to conn", id, r)
				}
			}
			queue := d.snapshot().Queues[0].Value
			if len(queue) != 2 || queue[0].ID != "q0" || queue[1].ID != "q2" {
				t.Errorf("the queue is %+v, want q0 and q2", queue)
			}
			// The next owner has the same queue.
			o = o.restart(t, hubConfig{limits: agentpool.Limits{Agents: 1}})
			d = o.openDesktop(t, "ses-1")
			got, is := d.sendAndWaitAs("other", "q2", wire.UserMessage{Content: "/say 2"}).(wire.MessageQueued)
			if !is || !got.Duplicate || got.Position != 3 {
				t.Errorf("the repeated message gets %+v, want a duplicate at position 3", got)
			}
			d.send("", wire.Interrupt{})
			d.waitIdle()
			var order []wire.MessageID
			for _, a := range payloads[wire.MessageAccepted](d.all()) {
				if !a.Duplicate {
					order = append(order, a.MessageID)
				}
			}
			if !slices.Equal(order, []wire.MessageID{"m", "q0", "q2"}) {
				t.Errorf("they began as %v, want m, q0 and q2", order)
			}
		})
	}
}

// Background monitors share two slots. The message that has waited longest is next, on whichever
// monitor, and the first monitor never waits for them.
func TestBackgroundMonitorsShareTwoSlots(t *testing.T) {
	t.Parallel()
	for name, open := range deployments() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			o := startAgentHub(t, s, hubConfig{})
			d := o.newDesktop(t, "ses-1")
			var commands []session.Command
			for _, m := range []struct {
				id      wire.MessageID
				monitor wire.MonitorID
			}{{"a1", "monitor-1"}, {"b1", "monitor-2"}, {"c1", "monitor-3"}, {"a2", "monitor-1"}, {"b2", "monitor-2"}, {"c2", "monitor-3"}} {
				commands = append(commands, command("conn", m.id, wire.UserMessage{MonitorID: m.monitor, Content: "/nosteer\n/say busy\n/hang"}))
			}
			_, err := d.handle.DeliverAll(t.Context(), commands)
			requireNoError(t, err)
			d.waitTurnOutput("a1")
			d.waitTurnOutput("b1")
			for _, id := range []wire.MessageID{"c1", "a2", "b2", "c2"} {
				waitEvent(t, d.eventLog, isAbout[wire.MessageQueued](id))
			}
			d.sendText(firstMonitor, "m", "/say hi")
			d.waitTurnEnd("m")
			// a1 ends: c1 has waited longest. b1 ends: a2 has. c1 ends: b2 has.
			for _, step := range []struct {
				monitor wire.MonitorID
				ended   wire.MessageID
				next    wire.MessageID
			}{{"monitor-1", "a1", "c1"}, {"monitor-2", "b1", "a2"}, {"monitor-3", "c1", "b2"}, {"monitor-1", "a2", "c2"}} {
				d.send("", wire.Interrupt{Scope: wire.ScopeMonitor, MonitorID: step.monitor})
				d.waitTurnEnd(step.ended)
				d.waitTurnOutput(step.next)
			}
			d.send("", wire.Interrupt{})
			d.waitIdle()
			var order []wire.MessageID
			for _, a := range payloads[wire.MessageAccepted](d.all()) {
				order = append(order, a.MessageID)
			}
			if !slices.Equal(order, []wire.MessageID{"a1", "b1", "m", "c1", "a2", "b2", "c2"}) {
				t.Errorf("they began as %v, want a1, b1, m, c1, a2, b2 and c2", order)
			}
		})
	}
}
