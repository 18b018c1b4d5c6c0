package session

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"

	"github.com/everdesk/everdesk/contextpool"
	"github.com/everdesk/everdesk/wire"
	"github.com/everdesk/everdesk/workflow"
)

// plans executes the commands about plans.
type plans struct {
	w         *stepWriter
	agents    *agents
	questions *questions
	replies   *replies
}

// replan rewinds the message of the newest plan and starts a plan for another text.
func (pl *plans) replan(c *Command, u contextpool.RewindRequest, m wire.UserMessage, pictures bool) reply {
	switch {
	case pictures:
		return refused(wire.CodeInvalidMessage, "a plan takes no images")
	case strings.TrimSpace(m.Content) == "":
		return refused(wire.CodeInvalidMessage, "there is nothing to plan")
	case len(m.Content) > workflow.MaxRequest:
		return refused(wire.CodeMessageTooLarge, "a plan takes at most %d bytes of text", workflow.MaxRequest)
	}
	if why := pl.agents.poolForUpdate().Rewind(u); why != nil {
		return refusedBy(why)
	}
	pl.agents.planRewound(c, u.Monitor)
	return pl.doPlan(c, m, u.Monitor)
}

// doPlan starts a plan for the user's text.
func (pl *plans) doPlan(c *Command, m wire.UserMessage, monitor wire.MonitorID) reply {
	no := func(code wire.Code, field, reason string) reply {
		return reply{Verdict: verdictRejected, Code: code, Reason: reason, Field: field, Monitor: monitor, Public: true}
	}
	switch {
	case pl.agents == nil:
		return no(wire.CodeProviderUnavailable, "", "no agent is available in this session")
	case strings.TrimSpace(m.Content) == "":
		return no(wire.CodeInvalidMessage, "content", "there is nothing to plan")
	case !pl.agents.runner.Providers.HasProvider(pl.agents.pool.View.Provider()):
		return no(wire.CodeProviderUnavailable, "", fmt.Sprintf("there is no provider %q", pl.agents.pool.View.Provider()))
	case pl.agents.plan.Active():
		return no(wire.CodeSessionInvalidState, "", "a plan is under way")
	}
	for _, i := range m.Interactions {
		if i.ImageData != "" {
			return no(wire.CodeInvalidMessage, "interactions", "a plan takes no images")
		}
	}
	message := contextpool.Message{
		ID: messageIDOf(c), By: c.From.Connection, User: c.From.User, Guest: c.isGuestOf(pl.w.user), Monitor: monitor, Text: m.Content,
	}
	// MESSAGE_ACCEPTED comes before the events of the plan.
	pl.agents.plan.holdJobs, pl.agents.plan.holdEvents = true, true
	defer pl.agents.releaseHeldPlan()
	role, why := pl.agents.plan.Begin(workflow.Request{
		Message: message.ID, By: message.By, Monitor: monitor, Text: m.Content, User: message.User, Guest: message.Guest,
	})
	if why != nil {
		return no(why.Code, why.Field, why.Reason)
	}
	return pl.replies.submitToAgent(message, func() { pl.agents.poolForUpdate().BeginPlan(message, role) })
}

// answerPlan passes an answer to a question of the plan. A guest can approve nothing that costs
// money or could do harm.
func (pl *plans) answerPlan(c *Command) reply {
	if !pl.questions.allowAnswer() {
		return tooManyAnswers()
	}
	if pl.agents == nil {
		return refused(wire.CodeHITLInvalidResponse, "no plan has an open question")
	}
	if pl.exceedsGuestRights(c) {
		return refused(wire.CodeForbidden, "only the owner of the session can answer this")
	}
	pl.agents.tickPlan(pl.w.now) // a deadline counts even if no timer has noticed it yet
	return pl.applyToPlan(c, pl.agents.plan.Answer)
}

// exceedsGuestRights reports whether a guest approves a todo or changes a plan of the session's
// user: the plan runs with the rights of that user.
func (pl *plans) exceedsGuestRights(c *Command) bool {
	if !c.isGuestOf(pl.w.user) {
		return false
	}
	owners := !pl.agents.plan.OfGuest()
	switch m := c.Message.Data.(type) {
	case wire.HITLApprovalResponse:
		return m.Action == wire.TodoApprove
	case wire.HITLPlanResponse:
		return owners && m.Action == wire.PlanModify
	case wire.ControlResume:
		return owners && len(m.Modifications) > 0
	case wire.ControlRetry:
		return owners
	}
	return false
}

// controlPlan executes a control command for the plan: pause, resume, cancel, retry or skip.
func (pl *plans) controlPlan(c *Command) reply {
	if pl.agents == nil {
		return refused(wire.CodeSessionInvalidState, "there is no plan to control")
	}
	if pl.exceedsGuestRights(c) {
		return refused(wire.CodeForbidden, "only the owner of the session can change the plan")
	}
	pl.agents.tickPlan(pl.w.now)
	if pl.agents.plan.Active() {
		return pl.applyToPlan(c, pl.agents.plan.Control)
	}
	// The command may resume a failed plan, which then runs for this message: MESSAGE_ACCEPTED
	// comes before the events of the plan.
	named := *c
	named.Message.ID = messageIDOf(c)
	pl.agents.plan.holdJobs, pl.agents.plan.holdEvents = true, true
	defer pl.agents.releaseHeldPlan()
	if why := pl.agents.plan.Control(c.From.Connection, withMessageID(named.Message.Data, named.Message.ID)); why != nil {
		return refusedPlan(why)
	}
	now, again := pl.agents.plan.Summary()
	if !again {
		r := reply{Verdict: verdictPlanned, Monitor: firstMonitor, Agent: planRole, How: wire.TakenDirect}
		pl.replies.emitPlanAccepted(&named, r)
		return r
	}
	pl.w.Emit(wire.MessageAccepted{
		MessageID: named.Message.ID, AgentID: now.Role, MonitorID: now.Monitor, How: wire.TakenDirect, By: c.From.Connection,
	})
	return reply{Verdict: verdictAccepted, Monitor: now.Monitor, Agent: now.Role, How: wire.TakenDirect}
}

func refusedPlan(why *workflow.Refusal) reply {
	return reply{Verdict: verdictRejected, Code: why.Code, Reason: why.Reason, Field: why.Field}
}

// cancelPlan cancels the plan because its agent is interrupted.
func (pl *plans) cancelPlan(c *Command) reply {
	cancel := *c
	cancel.Message.Data = wire.ControlCancel{Reason: "the user interrupted it"}
	return pl.applyToPlan(&cancel, pl.agents.plan.Control)
}

// applyToPlan passes a command to the plan. The event that results names the message and so answers
// it; if there is none in this step, the sender gets MESSAGE_ACCEPTED.
func (pl *plans) applyToPlan(c *Command, do func(wire.ConnectionID, wire.ClientPayload) *workflow.Refusal) reply {
	before := pl.w.nextPosition()
	if why := do(c.From.Connection, withMessageID(c.Message.Data, c.Message.ID)); why != nil {
		return refusedPlan(why)
	}
	now, _ := pl.agents.plan.Summary()
	r := reply{
		Verdict: verdictPlanned, Monitor: cmp.Or(now.Monitor, firstMonitor), Agent: cmp.Or(now.Role, planRole), How: wire.TakenDirect,
	}
	if c.Message.ID != "" && !pl.namedSince(before, c.Message.ID) {
		pl.replies.emitPlanAccepted(c, r)
	}
	return r
}

// planRole is the agent id in replies about a plan that has ended.
const planRole wire.AgentID = "plan"

// namedSince reports whether an event of the step, from a position on, names a message.
func (pl *plans) namedSince(at wire.Position, id wire.MessageID) bool {
	for _, e := range pl.w.step.events {
		if e.At.Compare(at) >= 0 && wire.MessageOf(e.Data) == id {
			return true
		}
	}
	return false
}

// withMessageID returns a payload whose MessageID field is set, because the id may have been in the
// envelope only.
func withMessageID(p wire.ClientPayload, id wire.MessageID) wire.ClientPayload {
	v := reflect.New(reflect.TypeOf(p)).Elem()
	v.Set(reflect.ValueOf(p))
	v.FieldByName("MessageID").SetString(string(id))
	p, _ = reflect.TypeAssert[wire.ClientPayload](v)
	return p
}
