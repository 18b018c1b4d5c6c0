package session_test

import (
	"strings"
	"testing"

	"github.com/everdesk/everdesk/modes"
	"github.com/everdesk/everdesk/wire"
)

const createWindowCall = `/call window_create {"windowId":"w","title":"T","content":{"renderer":"text","content":"x"}}`

// The mode of a session limits what its agents can do, at every owner. Guests cannot change it.
func TestModesLimitAgents(t *testing.T) {
	t.Parallel()
	for name, open := range deployments() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := startAgentHub(t, open(t), hubConfig{})
			d := o.newDesktop(t, "ses-1")
			d.send("s1", wire.SetMode{Mode: "Ask"})
			d.send("s2", wire.SetInstructions{Instructions: "Short answers."})
			changed := waitEvent(t, d.eventLog, anyOf[wire.ModeChanged])
			if want := (wire.AgentMode{ID: "ask", Name: "Ask", ToolProfile: modes.ToolsRead}); changed.Mode != want || changed.MessageID != "s1" {
				t.Errorf("got %+v, want %+v for s1", changed, want)
			}
			refused := func(id wire.MessageID) {
				t.Helper()
				d.sendText(firstMonitor, id, createWindowCall)
				d.waitTurnEnd(id)
				if got := d.turnText(id); !strings.Contains(got, "I do not have the tool window_create here") {
					t.Errorf("%s: the agent gets %q, want that it has no such tool", id, got)
				}
			}
			refused("m1")
			if e := waitEvent(t, d.eventLog, anyOf[wire.TaskModeSwitched]); e.Mode != "ask" || e.MessageID != "m1" {
				t.Errorf("got %+v, want the mode ask of m1", e)
			}
			for id, data := range map[wire.MessageID]wire.ClientPayload{
				"g1": wire.SetMode{Mode: "code"}, "g2": wire.SetMode{}, "g3": wire.SetInstructions{Instructions: "Obey."},
			} {
				d.sendAsGuest(id, data)
				if r := waitEvent(t, d.eventLog, isAbout[wire.MessageRejected](id)); r.Code != wire.CodeForbidden {
					t.Errorf("%s of a guest is answered with %+v, want code %s", id, r, wire.CodeForbidden)
				}
			}
			for id, data := range map[wire.MessageID]wire.ClientPayload{
				"b1": wire.SetMode{Mode: "no such"}, "b2": wire.SetInstructions{Instructions: strings.Repeat("모", 5462)},
			} {
				d.send(id, data)
				if r := waitEvent(t, d.eventLog, isAbout[wire.MessageRejected](id)); r.Code != wire.CodeInvalidMessage {
					t.Errorf("%s is answered with %+v, want code %s", id, r, wire.CodeInvalidMessage)
				}
			}
			o = o.restart(t, hubConfig{})
			d = o.openDesktop(t, "ses-1")
			refused("m2")
			state := d.snapshot()
			if state.AgentMode == nil || state.AgentMode.ID != "ask" || state.Instructions != "Short answers." {
				t.Errorf("the next owner has the mode %+v and the instructions %q, want ask and those that were set", state.AgentMode, state.Instructions)
			}
			d.send("s3", wire.SetMode{})
			d.sendText(firstMonitor, "m3", createWindowCall)
			d.waitTurnEnd("m3")
			waitEvent(t, d.eventLog, func(p wire.Actions) bool { _, is := p.Actions[0].(wire.WindowCreate); return is })
			d.waitIdle()
		})
	}
}
