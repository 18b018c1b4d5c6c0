package approval_test

import (
	"strings"
	"testing"

	"github.com/everdesk/everdesk/approval"
	"github.com/everdesk/everdesk/wire"
)

func TestExplainCommand(t *testing.T) {
	t.Parallel()
	on := wire.AutoApproval{
		AutoApprovalEnabled: true, AlwaysAllowExecute: true,
		AllowedCommands: []string{"git status", "git log", "ls"}, DeniedCommands: []string{"git push", "rm"},
	}
	off, noCommands := on, on
	off.AutoApprovalEnabled, noCommands.AlwaysAllowExecute = false, false
	for _, tt := range []struct {
		rules wire.AutoApproval
		line  string
		want  approval.Explanation
	}{
		{on, "git status -s", approval.Explanation{Verdict: approval.Approve, Reason: approval.ReasonAllowed, Rule: "git status"}},
		{on, "git push", approval.Explanation{Verdict: approval.Deny, Reason: approval.ReasonDenied, Command: "git push", Rule: "git push"}},
		{on, "ls && sudo rm -r x", approval.Explanation{Verdict: approval.Deny, Reason: approval.ReasonDenied, Command: "sudo rm -r x", Rule: "rm"}},
		{on, "git fetch", approval.Explanation{Verdict: approval.AskUser, Reason: approval.ReasonNoRule, Command: "git fetch"}},
		{on, "gitk", approval.Explanation{Verdict: approval.AskUser, Reason: approval.ReasonNoRule, Command: "gitk"}},
		{on, "ls; make", approval.Explanation{Verdict: approval.AskUser, Reason: approval.ReasonNoRule, Command: "make"}},
		{on, "ls > /etc/passwd", approval.Explanation{Verdict: approval.AskUser, Reason: approval.ReasonUnclear}},
		{on, "ls $(rm x)", approval.Explanation{Verdict: approval.Deny, Reason: approval.ReasonDenied}},
		{on, " ", approval.Explanation{Verdict: approval.AskUser, Reason: approval.ReasonEmpty}},
		{on, strings.Repeat("a", 5000), approval.Explanation{Verdict: approval.AskUser, Reason: approval.ReasonTooLong}},
		{off, "ls", approval.Explanation{Verdict: approval.AskUser, Reason: approval.ReasonOff}},
		{noCommands, "ls", approval.Explanation{Verdict: approval.AskUser, Reason: approval.ReasonKind}},
	} {
		if got := approval.ExplainCommand(tt.rules, tt.line); got != tt.want {
			t.Errorf("%.40q: got %+v, want %+v", tt.line, got, tt.want)
		}
	}
}
