package session_test

import (
	"context"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/demo"
	"github.com/everdesk/everdesk/wire"
)

// runner is a demo whose own tool runs commands.
type runner struct{ namesake }

func (r runner) Open(ctx context.Context, spec providers.Spec) (providers.Session, error) {
	hear := spec.Hear
	spec.Hear = func(e providers.Event) {
		if e.Kind == providers.EventApproval {
			e.Tool.Name = "execute_command"
		}
		hear(e)
	}
	return r.namesake.Open(ctx, spec)
}

// Rules deny a command, and nobody is asked: the agent hears why, and a row says it.
// What they do not know is asked, and what they allow is done.
func TestRulesDeny(t *testing.T) {
	t.Parallel()
	for name, open := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := agentHub(t, open(t), hubConfig{others: []providers.Provider{runner{namesake{demo.New(demo.Config{}), "runner"}}}})
			d := o.newDesktop(t, "ses-1")
			d.send("", wire.SetProvider{Provider: "runner"})
			d.send("r1", wire.SetAutoApproval{Rules: wire.AutoApproval{
				AutoApprovalEnabled: true, AlwaysAllowExecute: true, AllowedCommands: []string{"git"}, DeniedCommands: []string{"git push"},
			}})
			run := func(id wire.MessageID, command string) {
				d.say(first, id, `/call reports_delete {"command":"`+command+`"}`)
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
				if e := d.ends(c.id); e.Outcome != wire.OutcomeCompleted || !strings.Contains(d.said(c.id), c.said) {
					t.Errorf("%s: the agent says %q and ends with %+v", c.command, d.said(c.id), e)
				}
				row := when(t, d.diary, func(u wire.MessageUpdated) bool {
					return u.Message.Ask == wire.AskCommand && u.Message.MessageID == c.id
				}).Message
				if text := saysRow(t, row); !row.IsAnswered || text["rules"] != c.verdict || text["command"] != c.command {
					t.Errorf("%s: the row is %+v", c.command, row)
				}
			}
			if n := len(find[wire.ApprovalRequest](d.all())) + len(find[wire.DialogClosed](d.all())); n != 0 {
				t.Errorf("somebody was asked: %d", n)
			}
			o = o.again(t, hubConfig{others: []providers.Provider{runner{namesake{demo.New(demo.Config{}), "runner"}}}})
			d = o.enter(t, "ses-1")
			run("m4", "git push")
			if d.ends("m4"); !strings.Contains(d.said("m4"), "deny it") {
				t.Errorf("the next owner's agent says %q", d.said("m4"))
			}
			run("m5", "gitk")
			q := when(t, d.diary, any1[wire.ApprovalRequest])
			d.send("", wire.DialogFeedback{DialogID: q.DialogID})
			d.ends("m5")
			d.rest()
		})
	}
}
