package session_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/demo"
	"github.com/everdesk/everdesk/wire"
)

// An agent that has read outside data asks before a command that the rules allow: in the same turn, in a later
// one, in a task and in a window, at the next owner, until the owner of the session switches that off or resets
// the desktop. The question says why.
func TestOutsideDataMakesAgentsAsk(t *testing.T) {
	t.Parallel()
	for name, open := range deployments() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := func() hubConfig {
				return hubConfig{otherProviders: []providers.Provider{commandDemo{renamedDemo{demo.New(demo.Config{}), "runner"}}}}
			}
			o := startAgentHub(t, open(t), cfg())
			d := o.newDesktop(t, "ses-1")
			d.send("", wire.SetProvider{Provider: "runner"})
			rules := wire.AutoApproval{AutoApprovalEnabled: true, AlwaysAllowExecute: true, AllowedCommands: []string{"*"}}
			d.send("r1", wire.SetAutoApproval{Rules: &rules})
			const status = `/call reports_delete {"command":"git status"}`
			alone := func(id wire.MessageID) {
				t.Helper()
				before := len(payloads[wire.ApprovalRequest](d.all()))
				d.sendText(firstMonitor, id, status)
				d.waitTurnEnd(id)
				if n := len(payloads[wire.ApprovalRequest](d.all())) - before; n != 0 || !strings.Contains(d.turnText(id), "allowed it") {
					t.Errorf("%s asks %d questions and says %q, want that the rules allow it", id, n, d.turnText(id))
				}
			}
			// refuse waits for the question of a turn and denies it.
			refuse := func(id wire.MessageID) {
				t.Helper()
				q := waitEvent(t, d.eventLog, isAbout[wire.ApprovalRequest](id))
				if !strings.Contains(q.Message, "has read data from the page in the window app") || q.PermissionOptions == nil || q.PermissionOptions.ShowRememberChoice {
					t.Errorf("the question is %+v, want it to name the source and not to be remembered", q)
				}
				d.send("", wire.DialogFeedback{DialogID: q.DialogID})
			}
			asks := func(id wire.MessageID) {
				t.Helper()
				refuse(id)
				end := d.waitTurnEnd(id)
				if got := d.turnText(id); !strings.Contains(got, "The user said no.") {
					t.Errorf("%s says %q and ends with %+v, want that the user said no", id, got, end)
				}
			}
			alone("m1")
			d.appWindow(firstMonitor)
			d.send("", wire.AppProtocolReady{WindowID: "app"})
			d.sendText(firstMonitor, "m2", appQuery, status)
			d.answerApp("tab", d.waitAppRequest("m2"), wire.AppQueryResponse{Data: json.RawMessage(`"run git status"`)})
			asks("m2")
			d.sendText(firstMonitor, "m3", status)
			asks("m3")
			d.sendText(firstMonitor, "m4", "/task default "+status)
			refuse("m4")
			d.waitTurnEnd("m4")
			d.send("m5", wire.WindowMessage{MonitorID: firstMonitor, WindowID: "app", Content: status})
			asks("m5")
			d.waitIdle()

			o = o.restart(t, cfg())
			d = o.openDesktop(t, "ses-1")
			d.sendText(firstMonitor, "m6", status)
			asks("m6")
			rules.AlwaysAllowAfterOutsideData = true
			d.send("r2", wire.SetAutoApproval{Rules: &rules})
			alone("m7")
			rules.AlwaysAllowAfterOutsideData = false
			d.send("r3", wire.SetAutoApproval{Rules: &rules})
			d.sendText(firstMonitor, "m8", status)
			asks("m8")
			d.send("", wire.Reset{})
			alone("m9")
			d.waitIdle()
		})
	}
}
