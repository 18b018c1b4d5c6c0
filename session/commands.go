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

// commands executes the commands of clients and admins. Its parts have one group of messages each
// and call only those above them in this list.
type commands struct {
	w      *stepWriter
	agents *agents

	questions    questions
	replies      replies
	plans        plans
	desktop      desktopCommands
	conversation conversation

	card card
}

// connect gives the parts what they share. agents is nil if the session has none.
func (cs *commands) connect(w *stepWriter, a *agents) {
	cs.w, cs.agents = w, a
	cs.questions.w, cs.questions.agents = w, a
	cs.replies.w, cs.replies.agents, cs.replies.questions = w, a, &cs.questions
	cs.plans = plans{w: w, agents: a, questions: &cs.questions, replies: &cs.replies}
	cs.desktop.w, cs.desktop.agents, cs.desktop.questions = w, a, &cs.questions
	cs.conversation = conversation{
		w: w, agents: a, questions: &cs.questions, replies: &cs.replies, plans: &cs.plans, desktop: &cs.desktop,
	}
}

// applyCommand executes a client's command and answers it. A command with an id is executed once,
// however often it is sent.
func (cs *commands) applyCommand(c *Command) {
	cs.replies.answered = false
	if c.Message.ID == "" {
		if r := cs.execute(c); !cs.replies.answered {
			cs.replies.emitReply(c, r, false)
		}
		return
	}
	if r, again := cs.applyOnce(c.Message.ID, c); !cs.replies.answered {
		cs.replies.emitReply(c, r, again)
	}
}

// applyOnce executes a command unless the ledger has its id, and reports whether it was answered
// before.
func (cs *commands) applyOnce(id wire.MessageID, c *Command) (r reply, again bool) {
	hash := digest(c.Message.Data)
	if known, ok := cs.replies.ledger.find(id); ok {
		if known.Hash != hash {
			return refused(wire.CodeSessionInvalidState, "the message id %q was used for another message", c.Message.ID), false
		}
		cs.w.observer.Repeated()
		return known.Reply, true
	}
	r = cs.execute(c)
	if r.Code != wire.CodeRateLimited && r.Code != wire.CodeStoreUnavailable { // these are temporary and must not stick to the id
		cs.replies.ledger.add(id, entry{Hash: hash, Time: wire.Millis(cs.w.now.UnixMilli()), Reply: r}, &cs.w.step.ops)
	}
	return r, false
}

// execute executes a command and returns its reply.
func (cs *commands) execute(c *Command) reply {
	cs.recordUserActivity(c)
	before := cs.w.lastTS + 1
	r := cs.executeFrequent(c)
	cs.saveForMessage(c, r, before)
	return r
}

// saveForMessage saves a checkpoint for a message of a user that was not rejected. ts is at or before
// the first row of it.
func (cs *commands) saveForMessage(c *Command, r reply, ts wire.Millis) {
	if cs.agents == nil || r.Verdict == verdictRejected {
		return
	}
	switch m := c.Message.Data.(type) {
	case wire.UserMessage, wire.WindowMessage, wire.ComponentAction:
	case wire.EditMessage:
		if m.RestoreCheckpoint {
			return // it arrives when the files are restored
		}
	default:
		return
	}
	cs.agents.checkpoints.messageArrived(messageIDOf(c), r.Monitor, ts)
}

// executeFrequent executes the most frequent commands.
func (cs *commands) executeFrequent(c *Command) reply {
	switch m := c.Message.Data.(type) {
	case wire.Emit:
		return cs.desktop.doEmit(c, m)
	case wire.UserInteractions:
		cs.desktop.doInteractions(c, m)
	case wire.UserMessage:
		return cs.conversation.doUserMessage(c, m)
	case wire.WindowMessage:
		return cs.conversation.doWindowMessage(c, m)
	case wire.ComponentAction:
		return cs.conversation.doComponentAction(c, m)
	case wire.SubscribeMonitor:
		return cs.desktop.ensureMonitor(m.MonitorID)
	case wire.RemoveMonitor:
		return cs.desktop.doRemoveMonitor(m)
	case wire.ToastAction:
		cs.desktop.doToastAction(c, m)
	case wire.Reset:
		cs.desktop.doReset(c)
	case wire.RenderingFeedback:
		cs.desktop.handleTabAnswer(showName(m.RequestID), m, m.Success)
	case wire.AppProtocolResponse:
		cs.desktop.handleAppResponse(m)
	case wire.AppProtocolReady:
		cs.desktop.handleAppReady(c, m)
	case wire.ViewUsed:
		return cs.desktop.handleViewUsed(c, m)
	default:
		return cs.executeRare(c)
	}
	return reply{}
}

// executeRare executes the less frequent commands about questions, agents, plans and conversations.
func (cs *commands) executeRare(c *Command) reply {
	switch m := c.Message.Data.(type) {
	case wire.DialogFeedback:
		if !cs.questions.allowAnswer() {
			return tooManyAnswers()
		}
		return cs.questions.answerDialog(c, m, "")
	case wire.UserPromptResponse:
		if !cs.questions.allowAnswer() {
			return tooManyAnswers()
		}
		return cs.questions.answerPrompt(c, m)
	case wire.HITLPlanResponse, wire.HITLApprovalResponse, wire.HITLInputResponse, wire.HITLClarificationResponse:
		return cs.plans.answerPlan(c)
	case wire.Interrupt:
		return cs.conversation.doInterrupt(c, m)
	case wire.InterruptAgent:
		return cs.conversation.doInterrupt(c, wire.Interrupt{Scope: wire.ScopeAgent, AgentID: m.AgentID})
	case wire.SetProvider:
		if cs.agents == nil || !cs.agents.poolForUpdate().SetProvider(m.Provider) {
			return refused(wire.CodeProviderUnavailable, "there is no provider %q", m.Provider)
		}
		return reply{}
	case wire.ControlPause, wire.ControlResume, wire.ControlCancel, wire.ControlRetry, wire.ControlSkip:
		return cs.plans.controlPlan(c)
	case wire.SetMode:
		return cs.conversation.setMode(c, m)
	case wire.SetInstructions:
		return cs.conversation.setInstructions(c, m)
	case wire.SetAutoApproval:
		return cs.questions.setApproval(c, m)
	case wire.AskResponse:
		return cs.questions.answerRow(c, m)
	case wire.Rewind:
		return cs.conversation.doRewind(c, m)
	case wire.EditMessage:
		return cs.conversation.doEdit(c, m)
	case wire.NotebookEditMessage:
		return cs.conversation.editNotebook(c, m)
	case wire.RunCells:
		return cs.conversation.runCells(c, m)
	case wire.ControlKernel:
		return cs.conversation.controlKernel(c, m)
	case wire.RestoreCheckpoint:
		return cs.conversation.doRestoreCheckpoint(c, m)
	case wire.SetCheckpoints:
		return cs.conversation.setCheckpoints(c, m)
	case wire.DeleteQueuedMessage:
		if c.From.isAdmin {
			return cs.removeQueuedMessage(m.Target)
		}
		if cs.agents != nil && cs.agents.poolForUpdate().Messages.Withdraw(m.Target) {
			return reply{}
		}
		return refused(wire.CodeSessionInvalidState, "no such message is queued")
	case wire.Condense:
		return cs.conversation.doCondense(c, m)
	}
	return refused(wire.CodeInvalidMessage, "messages of this type are not for a session")
}

func tooManyAnswers() reply {
	return refused(wire.CodeRateLimited, "too many answers within a minute")
}

// emitActions changes the desktop on behalf of the sender of a command. It leaves out the message's
// id: ACTIONS with an id answer EMIT.
func (dc *desktopCommands) emitActions(c *Command, monitor wire.MonitorID, actions ...wire.Action) {
	dc.w.Emit(wire.Actions{Actions: actions, MonitorID: monitor, By: c.From.Connection})
}

// ensureMonitor creates a monitor if it does not exist. The reply is a rejection if that is not
// possible.
func (dc *desktopCommands) ensureMonitor(m wire.MonitorID) reply {
	if dc.w.state.HasMonitor(m) {
		return reply{}
	}
	if err := m.Validate(); err != nil {
		return refused(wire.CodeInvalidMessage, "%v", err)
	}
	if len(dc.w.state.Monitors()) >= desktop.MaxMonitors {
		return refused(wire.CodeMonitorLimit, "a session has at most %d monitors", desktop.MaxMonitors)
	}
	dc.w.Emit(wire.MonitorStatus{MonitorID: m, State: wire.MonitorIdle})
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
func (dc *desktopCommands) doEmit(c *Command, m wire.Emit) reply {
	monitor := cmp.Or(m.MonitorID, c.From.Monitor, firstMonitor)
	if len(dc.geometry) > 0 {
		for _, a := range m.Actions {
			if id := windowOf(a); id != "" {
				if w, ok := dc.w.state.Window(monitor, id); ok { // which may be on another monitor
					dc.flushMove(windowKey{w.MonitorID, w.WindowID})
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
	about := ""
	if edit, ok := editOf(m); ok {
		set, sentence, why := dc.w.state.Edited(monitor, edit)
		if why != nil {
			return refusedBy(why)
		}
		m.Actions, about = []wire.Action{set}, sentence
	} else if r := dc.w.state.CheckAll(monitor, m.Actions); r != nil {
		return refused(r.Code, "%s", r.Reason)
	}
	if r := dc.ensureMonitor(monitor); r.Verdict == verdictRejected {
		return r
	}
	at := dc.w.nextPosition()
	dc.w.Emit(wire.Actions{Actions: m.Actions, MonitorID: monitor, MessageID: c.Message.ID, By: c.From.Connection})
	if about != "" {
		dc.recordEdit(monitor, m.Actions[0], about)
	}
	for _, a := range m.Actions {
		switch a := a.(type) {
		case wire.PromptDismiss:
			end := ending{Time: wire.Millis(dc.w.now.UnixMilli()), Reason: wire.ClosedCancelled, Monitor: monitor}
			dc.questions.closed.add(promptName(a.ID), end, &dc.w.step.ops)
			dc.questions.updateQuestionRow("", a.ID, end)
			dc.agents.answerAfterCommit(promptName(a.ID), wire.UserPromptResponse{PromptID: a.ID, Dismissed: true})
		case wire.WindowClose:
			dc.windowClosed(windowKey{monitor, a.WindowID})
		}
	}
	return reply{Verdict: verdictEmitted, Monitor: monitor, At: at}
}
