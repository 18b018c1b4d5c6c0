package demo

import (
	"cmp"
	"context"

	"github.com/everdesk/everdesk/providers"
)

// Tools of the demo itself. They do nothing; they only ask for approval.
const (
	deleteReports = "reports_delete"
	shell         = "shell"
)

func (s *session) has(tool string) bool {
	_, ok := s.tools[tool]
	return ok || isOwn(tool)
}

// isOwn reports whether a tool is one of the demo itself.
func isOwn(tool string) bool { return tool == deleteReports || tool == shell }

// askApproval requests approval of a call and waits for the decision or the end of the turn.
func (t *turn) askApproval(c providers.ToolCall) providers.ToolResult {
	decided := make(chan providers.Decision, 1)
	t.s.mu.Lock()
	t.s.asked[c.ID] = decided
	t.s.mu.Unlock()
	defer func() {
		t.s.mu.Lock()
		defer t.s.mu.Unlock()
		delete(t.s.asked, c.ID)
	}()
	t.emit(providers.Event{Kind: providers.EventApproval, Approval: c.ID, Tool: c})
	select {
	case d := <-decided:
		if !d.Allow {
			return providers.ToolResult{Text: cmp.Or(d.Reason, "The user said no."), IsError: true}
		}
		return providers.ToolResult{Text: "The user allowed it."}
	case <-t.ctx.Done():
		t.emit(providers.Event{Kind: providers.EventApprovalGone, Approval: c.ID})
		return providers.ToolResult{Text: context.Cause(t.ctx).Error(), IsError: true}
	}
}

// Answer answers a pending approval. An unknown approval is no error.
func (s *session) Answer(_ context.Context, approval string, d providers.Decision) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if decided, ok := s.asked[approval]; ok {
		delete(s.asked, approval)
		decided <- d
	}
	return nil
}
