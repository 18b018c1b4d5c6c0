package contextpool

import (
	"fmt"

	"github.com/everdesk/everdesk/approval"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// The rules of a session say what its agents may do without asking.
const (
	spentTable = "approval.spent"
	spentField = "window"
)

// SetApproval changes the rules. What was spent so far does not count any more.
func (p *Pool) SetApproval(rules wire.AutoApproval, by wire.ConnectionID, message wire.MessageID) {
	p.setSpent(p.spent.Reset())
	p.step.Emit(wire.AutoApprovalChanged{Rules: rules, By: by, MessageID: message})
}

func (p *Pool) setSpent(w approval.Window) {
	p.spent = w
	p.step.Keep(store.Set(spentTable, spentField, encode(&p.spent)))
}

// spend counts a request to a model, if somebody has limited them.
func (p *Pool) spend(u providers.Usage) {
	rules := p.step.Desk().AutoApproval()
	if rules.AutoApprovalEnabled && (rules.AllowedMaxRequests > 0 || rules.AllowedMaxCost > 0) {
		p.setSpent(p.spent.Spend(u.USD))
	}
}

func (p *Pool) restoreSpent(tables map[string]map[string][]byte) error {
	if data, ok := tables[spentTable][spentField]; ok {
		if err := decode(data, &p.spent); err != nil {
			return fmt.Errorf("what was spent: %w", err)
		}
	}
	return nil
}

// Judge says what the rules say to a call of a turn. If they allow it and too much
// was spent, somebody is to be asked, and the limit says which. They allow nothing
// to a turn of a guest: it is not the guest's to allow.
func (p *Pool) Judge(c tools.Caller, call providers.ToolCall) (approval.Verdict, *approval.Limit) {
	rules := p.step.Desk().AutoApproval()
	v := approval.Decide(rules, approval.NewQuestion(call.Name, call.Input))
	switch {
	case v != approval.Approve:
		return v, nil
	case c.Guest:
		return approval.AskUser, nil
	}
	if limit, over := p.spent.Exceeds(rules); over {
		return approval.AskUser, &limit
	}
	return approval.Approve, nil
}

// Judged adds the row that says what the rules have decided.
func (p *Pool) Judged(c tools.Caller, q Inquiry, v approval.Verdict) {
	t := p.of(c)
	if t == nil {
		return
	}
	row, text := p.rowOf(t, q)
	text.DialogID = "" // there is none
	text.Rules, text.Outcome, text.Response = v, wire.ClosedAnswered, wire.AnswerNo
	if v == approval.Approve {
		text.Response = wire.AnswerYes
	}
	row.Text, row.IsAnswered = string(encode(text)), true
	p.step.Row(row)
}
