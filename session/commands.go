package session

import (
	"cmp"
	"slices"
	"strings"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// firstMonitor is the default monitor. It cannot be removed.
const firstMonitor wire.MonitorID = "monitor-0"

// Placeholders for the id of a message without one and for the connection of a sender without one:
// events need both.
const (
	unnamedMessage wire.MessageID    = "unnamed"
	noConnection   wire.ConnectionID = "nobody"
)

// applyCommand executes a client's command and answers it. A command with an id is executed once,
// however often it is sent.
func (l *owner) applyCommand(c *Command) {
	l.answered = false
	if c.Message.ID == "" {
		if r := l.execute(c); !l.answered {
			l.emitReply(c, r, false)
		}
		return
	}
	if r, again := l.applyOnce(c.Message.ID, c); !l.answered {
		l.emitReply(c, r, again)
	}
}

// applyOnce executes a command unless the ledger has its id, and reports whether it was answered
// before.
func (l *owner) applyOnce(id wire.MessageID, c *Command) (r reply, again bool) {
	hash := digest(c.Message.Data)
	if known, ok := l.ledger.find(id); ok {
		if known.Hash != hash {
			return refused(wire.CodeSessionInvalidState, "the message id %q was used for another message", c.Message.ID), false
		}
		l.observer().Repeated()
		return known.Reply, true
	}
	r = l.execute(c)
	if r.Code != wire.CodeRateLimited && r.Code != wire.CodeStoreUnavailable { // these are temporary and must not stick to the id
		l.ledger.add(id, entry{Hash: hash, Time: wire.Millis(l.now.UnixMilli()), Reply: r}, &l.step.ops)
	}
	return r, false
}

// emitReply emits the answer to a command. Most commands emit their own event the first time and
// need a reply only when they are repeated.
func (l *owner) emitReply(c *Command, r reply, duplicate bool) {
	id := cmp.Or(c.Message.ID, unnamedMessage)
	switch r.Verdict {
	case verdictAccepted:
		if duplicate {
			l.emit(wire.MessageAccepted{
				MessageID: id, AgentID: r.Agent, MonitorID: r.Monitor, How: r.How,
				Duplicate: true, To: cmp.Or(c.From.Connection, noConnection),
			})
		}
	case verdictQueued:
		if duplicate {
			l.emit(wire.MessageQueued{
				MessageID: id, Position: r.Place, MonitorID: r.Monitor,
				Duplicate: true, To: cmp.Or(c.From.Connection, noConnection),
			})
		}
	case verdictPending:
		if duplicate && l.agents != nil {
			l.agents.addLateSender(id, c.From.Connection)
		}
	case verdictRejected:
		rejected := wire.MessageRejected{
			MessageID: id, Code: r.Code, Reason: r.Reason, Field: r.Field, MonitorID: r.Monitor, By: c.From.Connection,
			Duplicate: duplicate && r.Public, // else it is the same error for the same sender
		}
		if !r.Public || duplicate {
			rejected.To = cmp.Or(c.From.Connection, noConnection)
		}
		l.emit(rejected)
	case verdictEmitted:
		if duplicate {
			l.emit(wire.MessageRepeated{
				MessageID: id, MonitorID: r.Monitor, First: r.At, To: cmp.Or(c.From.Connection, noConnection),
			})
		}
	case verdictPlanned:
		if duplicate {
			l.emitPlanAccepted(c, r)
		}
	case verdictDialog:
		if end, ok := l.questions.find(dialogName(wire.DialogID(r.Question))); duplicate && ok {
			l.emitQuestionClosed(id, r, end)
		}
	case verdictPrompt:
		if end, ok := l.questions.find(promptName(wire.PromptID(r.Question))); duplicate && ok {
			l.emitQuestionClosed(id, r, end)
		}
	}
}

// refuseCommand emits MESSAGE_REJECTED for a command that was not executed.
func (l *owner) refuseCommand(c *Command, e *Error) {
	l.emitReply(c, reply{Verdict: verdictRejected, Code: e.Code, Reason: e.Reason}, false)
}

// execute executes a command and returns its reply.
func (l *owner) execute(c *Command) reply {
	l.recordUserActivity(c)
	switch m := c.Message.Data.(type) {
	case wire.Emit:
		return l.doEmit(c, m)
	case wire.UserInteractions:
		l.doInteractions(c, m)
	case wire.UserMessage:
		return l.doUserMessage(c, m)
	case wire.WindowMessage:
		return l.doWindowMessage(c, m)
	case wire.ComponentAction:
		return l.doComponentAction(c, m)
	case wire.SubscribeMonitor:
		return l.ensureMonitor(m.MonitorID)
	case wire.RemoveMonitor:
		return l.doRemoveMonitor(m)
	case wire.ToastAction:
		l.doToastAction(c, m)
	case wire.Reset:
		l.doReset(c)
	case wire.RenderingFeedback:
		l.handleTabAnswer(showName(m.RequestID), m, m.Success)
	case wire.AppProtocolResponse:
		l.handleAppResponse(m)
	case wire.AppProtocolReady:
		l.handleAppReady(c, m)
	default:
		return l.executeRare(c)
	}
	return reply{}
}

// executeRare executes the less frequent commands about questions, agents, plans and conversations.
func (l *owner) executeRare(c *Command) reply {
	switch m := c.Message.Data.(type) {
	case wire.DialogFeedback:
		if !l.allowAnswer() {
			return tooManyAnswers()
		}
		return l.answerDialog(c, m, "")
	case wire.UserPromptResponse:
		if !l.allowAnswer() {
			return tooManyAnswers()
		}
		return l.answerPrompt(c, m)
	case wire.HITLPlanResponse, wire.HITLApprovalResponse, wire.HITLInputResponse, wire.HITLClarificationResponse:
		return l.answerPlan(c)
	case wire.Interrupt:
		return l.doInterrupt(c, m)
	case wire.InterruptAgent:
		return l.doInterrupt(c, wire.Interrupt{Scope: wire.ScopeAgent, AgentID: m.AgentID})
	case wire.SetProvider:
		if l.agents == nil || !l.agents.poolForUpdate().SetProvider(m.Provider) {
			return refused(wire.CodeProviderUnavailable, "there is no provider %q", m.Provider)
		}
		return reply{}
	case wire.ControlPause, wire.ControlResume, wire.ControlCancel, wire.ControlRetry, wire.ControlSkip:
		return l.controlPlan(c)
	case wire.SetAutoApproval:
		return l.setApproval(c, m)
	case wire.AskResponse:
		return l.answerRow(c, m)
	case wire.Rewind:
		return l.doRewind(c, m)
	case wire.EditMessage:
		return l.doEdit(c, m)
	case wire.DeleteQueuedMessage:
		if c.From.isAdmin {
			return l.removeQueuedMessage(m.Target)
		}
		if l.agents != nil && l.agents.poolForUpdate().Withdraw(m.Target) {
			return reply{}
		}
		return refused(wire.CodeSessionInvalidState, "no such message is queued")
	case wire.Condense:
		return l.doCondense(c, m)
	}
	return refused(wire.CodeInvalidMessage, "messages of this type are not for a session")
}

func tooManyAnswers() reply {
	return refused(wire.CodeRateLimited, "too many answers within a minute")
}

// emitActions changes the desktop on behalf of the sender of a command. It leaves out the message's
// id: ACTIONS with an id answer EMIT.
func (l *owner) emitActions(c *Command, monitor wire.MonitorID, actions ...wire.Action) {
	l.emit(wire.Actions{Actions: actions, MonitorID: monitor, By: c.From.Connection})
}

// ensureMonitor creates a monitor if it does not exist. The reply is a rejection if that is not
// possible.
func (l *owner) ensureMonitor(m wire.MonitorID) reply {
	if l.state.HasMonitor(m) {
		return reply{}
	}
	if err := m.Validate(); err != nil {
		return refused(wire.CodeInvalidMessage, "%v", err)
	}
	if len(l.state.Monitors()) >= desktop.MaxMonitors {
		return refused(wire.CodeMonitorLimit, "a session has at most %d monitors", desktop.MaxMonitors)
	}
	l.emit(wire.MonitorStatus{MonitorID: m, State: wire.MonitorIdle})
	return reply{}
}

// usesAgentQuestionID reports whether an action of a program uses an id that is reserved for the
// questions of agents.
func usesAgentQuestionID(a wire.Action) bool {
	id := ""
	switch a := a.(type) {
	case wire.DialogConfirm:
		id = string(a.ID)
	case wire.PromptShow:
		id = string(a.ID)
	}
	return strings.HasPrefix(id, tools.QuestionPrefix)
}

// posesAsAgent reports whether an action of a program would look like a question of an agent or ask
// for a permission, which has no meaning without an agent.
func posesAsAgent(a wire.Action) bool {
	switch a := a.(type) {
	case wire.DialogConfirm:
		return a.PermissionOptions != nil || a.AgentID != ""
	case wire.PromptShow:
		return a.AgentID != ""
	}
	return false
}

// doEmit shows the actions of an outside program, all of them or none.
func (l *owner) doEmit(c *Command, m wire.Emit) reply {
	monitor := cmp.Or(m.MonitorID, c.From.Monitor, firstMonitor)
	if len(l.geometry) > 0 {
		for _, a := range m.Actions {
			if id := windowOf(a); id != "" {
				if w, ok := l.state.Window(monitor, id); ok { // which may be on another monitor
					l.flushMove(windowKey{w.MonitorID, w.WindowID})
				}
			}
		}
	}
	if slices.ContainsFunc(m.Actions, usesAgentQuestionID) {
		return refused(wire.CodeForbidden, "question ids that begin with %q are reserved for agents", tools.QuestionPrefix)
	}
	if slices.ContainsFunc(m.Actions, posesAsAgent) {
		return refused(wire.CodeForbidden, "only agents can ask on behalf of an agent or for permissions")
	}
	if r := l.state.CheckAll(monitor, m.Actions); r != nil {
		return refused(r.Code, "%s", r.Reason)
	}
	if r := l.ensureMonitor(monitor); r.Verdict == verdictRejected {
		return r
	}
	at := l.nextPosition()
	l.emit(wire.Actions{Actions: m.Actions, MonitorID: monitor, MessageID: c.Message.ID, By: c.From.Connection})
	for _, a := range m.Actions {
		switch a := a.(type) {
		case wire.PromptDismiss:
			end := ending{Time: wire.Millis(l.now.UnixMilli()), Reason: wire.ClosedCancelled, Monitor: monitor}
			l.questions.add(promptName(a.ID), end, &l.step.ops)
			l.updateQuestionRow("", a.ID, end)
			l.answerAfterCommit(promptName(a.ID), wire.UserPromptResponse{PromptID: a.ID, Dismissed: true})
		case wire.WindowClose:
			l.windowClosed(windowKey{monitor, a.WindowID})
		}
	}
	return reply{Verdict: verdictEmitted, Monitor: monitor, At: at}
}
