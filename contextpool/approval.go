package contextpool

import (
	"fmt"

	"github.com/everdesk/everdesk/approval"
	"github.com/everdesk/everdesk/modes"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// Where the usage under the session's auto-approval rules is stored.
const (
	approvalTable = "approval.spent"
	approvalField = "window"
)

// SetApproval changes the auto-approval rules of the session and resets the usage counted against their
// limits. Without rules the session follows the default of its user.
func (qs *Questions) SetApproval(rules *wire.AutoApproval, by wire.ConnectionID, message wire.MessageID) {
	qs.setApprovalUsage(qs.approvalUsage.Reset())
	changed := wire.AutoApprovalChanged{UseDefault: rules == nil, By: by, MessageID: message}
	if rules != nil {
		changed.Rules = *rules
	}
	qs.step.Emit(changed)
}

func (qs *Questions) setApprovalUsage(w approval.Window) {
	qs.approvalUsage = w
	qs.step.AddOps(store.Set(approvalTable, approvalField, encode(&qs.approvalUsage)))
}

// countRequest counts a model request if the auto-approval rules limit requests or cost.
func (qs *Questions) countRequest(t *turn, u providers.Usage) {
	rules := qs.rulesOf(t)
	if rules.AutoApprovalEnabled && (rules.AllowedMaxRequests > 0 || rules.AllowedMaxCost > 0) {
		qs.setApprovalUsage(qs.approvalUsage.Spend(u.USD, u.Unpriced))
	}
}

// rulesOf returns the auto-approval rules of a turn: those of its mode, else those of the session, else the
// default of its user. While the default cannot be read and is not cached, nothing is allowed. t may be nil.
func (qs *Questions) rulesOf(t *turn) wire.AutoApproval {
	if t != nil && t.prompt.Mode != nil && t.prompt.Mode.Approval != nil {
		return *t.prompt.Mode.Approval
	}
	if rules, own := qs.state.Desktop().AutoApproval(); own || qs.cfg.Modes == nil {
		return rules
	}
	return qs.cfg.Modes.DefaultApproval()
}

// deniesCall reports whether the mode of a turn denies what a program that is an agent asks for. Tools of
// the hub are limited before anything is asked.
func (t *turn) deniesCall(call providers.ToolCall) bool {
	if t == nil || t.prompt.Mode == nil || t.prompt.Mode.Tools == modes.ToolsAll {
		return false
	}
	switch approval.PermissionOf(call.Name) {
	case approval.PermissionReads, approval.PermissionNotes, approval.PermissionDelegates, approval.PermissionSwitches:
		return false
	default:
		return true
	}
}

func (qs *Questions) restoreApprovalUsage(tables map[string]map[string][]byte) error {
	if data, ok := tables[approvalTable][approvalField]; ok {
		if err := decode(data, &qs.approvalUsage); err != nil {
			return fmt.Errorf("usage under the approval rules: %w", err)
		}
	}
	return nil
}

// DecideApproval returns the decision of the auto-approval rules on a tool call. If they allow
// the call but a limit is exceeded, the user must be asked and the limit is returned. They
// allow nothing in a guest's turn, because only the owner may allow it, and no call that leaves the hub after
// outside data was read, whose sources are returned then.
func (qs *Questions) DecideApproval(c tools.Caller, call providers.ToolCall) (approval.Verdict, *approval.Limit, []string) {
	t := qs.turns.ofCaller(c)
	if t.deniesCall(call) {
		return approval.Deny, nil, nil
	}
	rules := qs.rulesOf(t)
	about := approval.NewQuestion(call.Name, call.Input)
	v := approval.Decide(rules, about)
	var outside []string
	if approval.Leaves(about) {
		outside = qs.OutsideSources(c, "")
	}
	switch {
	case v != approval.Approve:
		return v, nil, outside
	case c.Guest, len(outside) > 0:
		return approval.AskUser, nil, outside
	}
	if limit, over := qs.approvalUsage.Exceeds(rules); over {
		return approval.AskUser, &limit, nil
	}
	return approval.Approve, nil, nil
}

// ExceedsLimit returns the limit of the auto-approval rules of the caller's turn that one more model
// request would exceed, if they are switched on.
func (qs *Questions) ExceedsLimit(c tools.Caller) (approval.Limit, bool) {
	rules := qs.rulesOf(qs.turns.ofCaller(c))
	if !rules.AutoApprovalEnabled {
		return approval.Limit{}, false
	}
	return qs.approvalUsage.Exceeds(rules)
}

// AddDecisionRow adds the row with a decision of the auto-approval rules.
func (qs *Questions) AddDecisionRow(c tools.Caller, q Inquiry, v approval.Verdict) {
	t := qs.turns.ofCaller(c)
	if t == nil {
		return
	}
	row, text := qs.questionRow(t, q)
	text.DialogID = "" // no dialog was opened
	text.Rules, text.Outcome, text.Response = v, wire.ClosedAnswered, wire.AnswerNo
	if v == approval.Approve {
		text.Response = wire.AnswerYes
	}
	row.Text, row.IsAnswered = string(encode(text)), true
	qs.rows.AddRow(row)
}
