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

// What the user wants to happen by itself happens: when a desktop begins, once,
// and again when it is reset; and whenever a tool is used.
func TestHooks(t *testing.T) {
	t.Parallel()
	for name, open := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			o := agentHub(t, s, hubConfig{})
			d := o.newDesktop(t, "ses-1")
			d.say(first, "m1",
				`/call system:set_config {"section":"hooks","event":"launch","label":"L","action":{"type":"interaction","payload":"/say good morning"}}`,
				hook, opening("w"))
			for range 2 {
				for len(d.snapshot().Dialogs) == 0 {
					settled(t, d.handle)
				}
				d.send("", wire.DialogFeedback{DialogID: d.snapshot().Dialogs[0].DialogID, Confirmed: true})
				for len(d.snapshot().Dialogs) != 0 {
					settled(t, d.handle)
				}
			}
			d.rest()
			if n := len(d.snapshot().Badges); n != 1 { // which opening a window has set
				t.Errorf("there are %d badges after\n%s", n, d.said("m1"))
			}
			greeted := func() (n int) {
				for _, r := range find[wire.AgentResponse](history(t, s)) {
					if strings.Contains(r.Delta, "good morning") {
						n++
					}
				}
				return n
			}
			if greeted() != 0 {
				t.Error("the desktop had begun before there was a hook")
			}
			d.send("", wire.Reset{})
			when(t, d.diary, func(r wire.AgentResponse) bool { return strings.Contains(r.Delta, "good morning") })
			d.rest()
			other := o.newDesktop(t, "ses-2")
			when(t, other.diary, func(r wire.AgentResponse) bool { return strings.Contains(r.Delta, "good morning") })
			other.rest()
			o = o.again(t, hubConfig{})
			d = o.enter(t, "ses-1") // it does not begin again
			d.say(first, "m2", "/say hi")
			d.rest()
			if n := greeted(); n != 1 {
				t.Errorf("it was greeted %d times", n)
			}
		})
	}
}

// What was done for a message is offered when the message comes again; the user
// can say that it did not work.
func TestDoneAgain(t *testing.T) {
	t.Parallel()
	for name, open := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			o := agentHub(t, s, hubConfig{})
			d := o.newDesktop(t, "ses-1")
			const text = "open my notes, please\n/window notes Notes | hello"
			d.say(first, "m1", text)
			d.ends("m1")
			d.ask("e", emit(wire.WindowClose{WindowID: "notes"}))
			d.say(first, "m2", text+"\n/say again")
			d.ends("m2")
			if told := d.conversation(s, "main-monitor-0"); !strings.Contains(told, "<reload_options>") || !strings.Contains(told, `"cacheId":"reload-1"`) {
				t.Errorf("the agent was told\n%s", told)
			}
			d.ask("e2", emit(wire.WindowClose{WindowID: "notes"}))
			d.say("monitor-1", "m3", `/call system:reload_cached {"cacheId":"reload-1"}`)
			d.ends("m3")
			if got := d.windows("monitor-1"); fmt.Sprint(got) != "[notes]" {
				t.Errorf("after doing it again there are %v and the agent says %q", got, d.said("m3"))
			}
			toast := when(t, d.diary, func(p wire.Actions) bool {
				show, is := p.Actions[0].(wire.ToastShow)
				return is && show.ID == "reload-feedback-reload-1" && show.Action != nil && show.Action.EventID == "reload-1"
			})
			if toast.MonitorID != "monitor-1" || toast.AgentID != "main-monitor-1-m3" {
				t.Errorf("the toast is %+v", toast)
			}
			d.send("", wire.ToastAction{ToastID: "reload-feedback-reload-1", EventID: "reload-1"})
			d.rest()
			if now := d.snapshot(); len(now.Toasts) != 0 {
				t.Errorf("the toast is still there: %+v", now.Toasts)
			}
		})
	}
}

// A drawing comes with its message, and what is no picture is refused.
func TestPicturesInMessages(t *testing.T) {
	t.Parallel()
	o := agentHub(t, onFiles(t), hubConfig{})
	d := o.newDesktop(t, "ses-1")
	draw := func(data string) wire.UserMessage {
		return wire.UserMessage{Content: "look", Interactions: []wire.UserInteraction{{Type: wire.DidDraw, ImageData: data}}}
	}
	for i, bad := range []string{"http://example.com/x.png", "data:image/png;base64,?", "data:text/plain;base64,aGk="} {
		id := wire.MessageID(fmt.Sprintf("bad%d", i))
		if r, _ := d.ask(id, draw(bad)).(wire.MessageRejected); r.Code != wire.CodeInvalidMessage {
			t.Errorf("%s is answered with %+v", bad, r)
		}
	}
	d.send("m", draw("data:image/png;base64,aGk="))
	d.rest()
	if got := d.conversation(o.site, "main-monitor-0"); !strings.Contains(got, "<ui:draw>[image attached]</ui:draw>") {
		t.Errorf("the agent was told %q", got)
	}
	row := when(t, d.diary, func(u wire.MessageUpdated) bool { return u.Message.MessageID == "m" })
	if len(row.Message.Images) != 1 || row.Message.Images[0] != "data:image/png;base64,aGk=" {
		t.Errorf("people see %+v", row.Message)
	}
}

// Who thinks better of it takes a message out of the queue; the others move up.
func TestTakenOutOfTheQueue(t *testing.T) {
	t.Parallel()
	for name, open := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			o := agentHub(t, s, hubConfig{limits: agentpool.Limits{Agents: 1}})
			d := o.newDesktop(t, "ses-1")
			d.say(first, "m", "/nosteer", "/say busy", "/hang")
			d.begins("m")
			for i := range 3 {
				d.ask(wire.MessageID(fmt.Sprintf("q%d", i)), wire.UserMessage{Content: fmt.Sprintf("/say %d", i)})
			}
			d.send("", wire.DeleteQueuedMessage{Target: "q1"})
			if r := when(t, d.diary, about[wire.MessageRejected]("q1")); r.Code != wire.CodeSessionInvalidState {
				t.Errorf("it is told %+v", r)
			}
			for id, target := range map[wire.MessageID]wire.MessageID{"d1": "q1", "d2": "m", "d3": "nothing"} {
				d.send(id, wire.DeleteQueuedMessage{Target: target})
				if r := when(t, d.diary, about[wire.MessageRejected](id)); r.To != "conn" {
					t.Errorf("%s is answered with %+v", id, r)
				}
			}
			queue := d.snapshot().Queues[0].Value
			if len(queue) != 2 || queue[0].ID != "q0" || queue[1].ID != "q2" {
				t.Errorf("the queue is %+v", queue)
			}
			// What the next owner knows is the same.
			o = o.again(t, hubConfig{limits: agentpool.Limits{Agents: 1}})
			d = o.enter(t, "ses-1")
			got, is := d.askAs("other", "q2", wire.UserMessage{Content: "/say 2"}).(wire.MessageQueued)
			if !is || !got.Duplicate || got.Position != 3 {
				t.Errorf("who sends it again is told %+v", got)
			}
			d.send("", wire.Interrupt{})
			d.rest()
			var order []wire.MessageID
			for _, a := range find[wire.MessageAccepted](d.all()) {
				if !a.Duplicate {
					order = append(order, a.MessageID)
				}
			}
			if !slices.Equal(order, []wire.MessageID{"m", "q0", "q2"}) {
				t.Errorf("they began as %v", order)
			}
		})
	}
}

// Background monitors share two places. Who waits longest is next, wherever it
// waits, and the first monitor waits for nobody.
func TestBackgroundPlaces(t *testing.T) {
	t.Parallel()
	for name, open := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			o := agentHub(t, s, hubConfig{})
			d := o.newDesktop(t, "ses-1")
			var commands []session.Command
			for _, m := range []struct {
				id      wire.MessageID
				monitor wire.MonitorID
			}{{"a1", "monitor-1"}, {"b1", "monitor-2"}, {"c1", "monitor-3"}, {"a2", "monitor-1"}, {"b2", "monitor-2"}, {"c2", "monitor-3"}} {
				commands = append(commands, says("conn", m.id, wire.UserMessage{MonitorID: m.monitor, Content: "/nosteer\n/say busy\n/hang"}))
			}
			_, err := d.handle.DeliverAll(t.Context(), commands)
			ok(t, err)
			d.begins("a1")
			d.begins("b1")
			for _, id := range []wire.MessageID{"c1", "a2", "b2", "c2"} {
				when(t, d.diary, about[wire.MessageQueued](id))
			}
			d.say(first, "m", "/say hi")
			d.ends("m")
			// a1 ends: c1 has waited longest. b1 ends: a2 has. c1 ends: b2 has.
			for _, step := range []struct {
				monitor wire.MonitorID
				ended   wire.MessageID
				next    wire.MessageID
			}{{"monitor-1", "a1", "c1"}, {"monitor-2", "b1", "a2"}, {"monitor-3", "c1", "b2"}, {"monitor-1", "a2", "c2"}} {
				d.send("", wire.Interrupt{Scope: wire.ScopeMonitor, MonitorID: step.monitor})
				d.ends(step.ended)
				d.begins(step.next)
			}
			d.send("", wire.Interrupt{})
			d.rest()
			var order []wire.MessageID
			for _, a := range find[wire.MessageAccepted](d.all()) {
				order = append(order, a.MessageID)
			}
			if !slices.Equal(order, []wire.MessageID{"a1", "b1", "m", "c1", "a2", "b2", "c2"}) {
				t.Errorf("they began as %v", order)
			}
		})
	}
}
