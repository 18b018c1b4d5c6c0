package session_test

import (
	"context"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/demo"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// commandDemo is a demo provider whose own tool runs commands.
type commandDemo struct{ renamedDemo }

func (r commandDemo) Open(ctx context.Context, spec providers.Spec) (providers.Session, error) {
	hear := spec.OnEvent
	spec.OnEvent = func(e providers.Event) {
		if e.Kind == providers.EventApproval {
			e.Tool.Name = "execute_command"
		}
		hear(e)
	}
	return r.renamedDemo.Open(ctx, spec)
}

// Rules deny a command without a question: the agent and a row get the reason. Unknown commands are
// asked about, and allowed ones run.
func TestApprovalRulesDeny(t *testing.T) {
	t.Parallel()
	for name, open := range deployments() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := startAgentHub(t, open(t), hubConfig{otherProviders: []providers.Provider{commandDemo{renamedDemo{demo.New(demo.Config{}), "runner"}}}})
			d := o.newDesktop(t, "ses-1")
			d.send("", wire.SetProvider{Provider: "runner"})
			d.send("r1", wire.SetAutoApproval{Rules: &wire.AutoApproval{
				AutoApprovalEnabled: true, AlwaysAllowExecute: true, AllowedCommands: []string{"git"}, DeniedCommands: []string{"git push"},
			}})
			run := func(id wire.MessageID, command string) {
				d.sendText(firstMonitor, id, `/call reports_delete {"command":"`+command+`"}`)
			}
			for _, c := range []struct {
				id            wire.MessageID
				command, said string
				verdict       string
			}{
				{"m1", "git push --force", "The rules of this session deny it.", "deny"},
				{"m2", "git status && git push", "The rules of this session deny it.", "deny"},
				{"m3", "git status", "The user allowed it.", "approve"},
			} {
				run(c.id, c.command)
				if e := d.waitTurnEnd(c.id); e.Outcome != wire.OutcomeCompleted || !strings.Contains(d.turnText(c.id), c.said) {
					t.Errorf("%s: the agent says %q and ends with %+v, want %q and %s", c.command, d.turnText(c.id), e, c.said, wire.OutcomeCompleted)
				}
				row := waitEvent(t, d.eventLog, func(u wire.MessageUpdated) bool {
					return u.Message.Ask == wire.AskCommand && u.Message.MessageID == c.id
				}).Message
				if text := rowAnswer(t, row); !row.IsAnswered || text["rules"] != c.verdict || text["command"] != c.command {
					t.Errorf("%s: the row is %+v, want it answered, with the verdict %s", c.command, row, c.verdict)
				}
			}
			if n := len(payloads[wire.ApprovalRequest](d.all())) + len(payloads[wire.DialogClosed](d.all())); n != 0 {
				t.Errorf("%d questions were asked, want none", n)
			}
			o = o.restart(t, hubConfig{otherProviders: []providers.Provider{commandDemo{renamedDemo{demo.New(demo.Config{}), "runner"}}}})
			d = o.openDesktop(t, "ses-1")
			run("m4", "git push")
			if d.waitTurnEnd("m4"); !strings.Contains(d.turnText("m4"), "deny it") {
				t.Errorf("the next owner's agent says %q, want that the rules deny it", d.turnText("m4"))
			}
			// Users are not asked about what is too long to be checked.
			long := strings.Repeat("x", tools.MaxQuestion)
			run("m6", "gitk "+long)
			if d.waitTurnEnd("m6"); !strings.Contains(d.turnText("m6"), "more than 64 KiB") || len(payloads[wire.ApprovalRequest](d.all())) != 0 {
				t.Errorf("the agent says %q, want that a long command cannot be checked, and no question", d.turnText("m6"))
			}
			run("m5", "gitk")
			q := waitEvent(t, d.eventLog, anyOf[wire.ApprovalRequest])
			d.send("", wire.DialogFeedback{DialogID: q.DialogID})
			d.waitTurnEnd("m5")
			d.waitIdle()
		})
	}
}
