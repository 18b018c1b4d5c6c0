package session

import (
	"cmp"

	"github.com/everdesk/everdesk/contextpool"
	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/wire"
)

// rewinds reports whether an item rewinds a conversation. It reads the conversation from the store,
// so earlier steps must be committed before.
func (it *item) rewinds() bool {
	switch it.cmd.Message.Data.(type) {
	case wire.Rewind, wire.EditMessage:
		return true
	}
	return false
}

// doRewind removes a row and everything that followed from it.
func (cv *conversation) doRewind(c *Command, m wire.Rewind) reply {
	hash, r := cv.mayRewind(c, m.RestoreCheckpoint, m.TS)
	if r.Verdict == verdictRejected {
		return r
	}
	u := contextpool.RewindRequest{
		Monitor: cv.monitorOfRow(c, m.MonitorID, m.TS), TS: m.TS, Include: m.IncludeTarget, Revision: m.Revision,
		Message: c.Message.ID, By: c.From.Connection, Checkpoint: hash,
	}
	at := cv.w.nextPosition()
	if why := cv.agents.poolForUpdate().Rewind(u); why != nil {
		return refusedBy(why)
	}
	cv.agents.planRewound(c, u.Monitor)
	if hash != "" {
		cv.agents.checkpoints.beginRestore(&checkpointOp{Monitor: u.Monitor, Hash: hash, By: c.From.Connection})
	}
	return reply{Verdict: verdictEmitted, Monitor: u.Monitor, At: at}
}

// doEdit replaces a message of the user: it rewinds the conversation to it and submits the new
// text.
func (cv *conversation) doEdit(c *Command, m wire.EditMessage) reply {
	hash, r := cv.mayRewind(c, m.RestoreCheckpoint, m.TS)
	if r.Verdict == verdictRejected {
		return r
	}
	if isBlank(m.Text) && len(m.Images) == 0 {
		return blankReply("text", cv.monitorOfRow(c, m.MonitorID, m.TS))
	}
	message := contextpool.Message{ID: messageIDOf(c), By: c.From.Connection, User: c.From.User, Guest: c.isGuestOf(cv.w.user), Text: m.Text}
	for _, url := range m.Images {
		image, err := readImage(url)
		if err != nil {
			return refused(wire.CodeInvalidMessage, "%v", err)
		}
		message.Images = append(message.Images, image)
	}
	u := contextpool.RewindRequest{
		Monitor: cv.monitorOfRow(c, m.MonitorID, m.TS), TS: m.TS, Revision: m.Revision, By: c.From.Connection, Checkpoint: hash,
	}
	if row, ok := cv.w.state.Rows().Row(m.TS); ok && row.MessageID != "" && row.MessageID == cv.agents.plan.Message() {
		if hash != "" {
			return refused(wire.CodeSessionInvalidState, "the message of a plan cannot be edited together with the files: restore the checkpoint first")
		}
		return cv.plans.replan(c, u, wire.UserMessage{Content: m.Text, Mode: wire.ModePlan}, len(m.Images) > 0)
	}
	var why *desktop.Refusal
	if hash != "" {
		return cv.editAfterRestore(c, u, message, m.Images)
	}
	r = cv.replies.submitToAgent(message, func() { why = cv.agents.poolForUpdate().Edit(u, message) })
	if why != nil {
		cv.replies.answered = false
		return refusedBy(why)
	}
	cv.agents.planRewound(c, u.Monitor)
	return r
}

// editAfterRestore rewinds the conversation, restores the files, and then submits the new text.
func (cv *conversation) editAfterRestore(c *Command, u contextpool.RewindRequest, m contextpool.Message, images []string) reply {
	m, why := cv.agents.poolForUpdate().BeginEdit(u, m)
	if why != nil {
		return refusedBy(why)
	}
	cv.agents.planRewound(c, u.Monitor)
	cv.agents.checkpoints.beginRestore(&checkpointOp{Monitor: u.Monitor, Hash: u.Checkpoint, By: c.From.Connection, Then: &checkpointMessage{
		ID: m.ID, By: m.By, Monitor: m.Monitor, Window: m.Window, User: m.User, Guest: m.Guest, Text: m.Text, Images: images,
	}})
	return reply{Verdict: verdictPending, Monitor: m.Monitor}
}

// mayRewind returns a rejection if the session cannot be rewound, and otherwise the checkpoint to
// restore, if that is requested.
func (cv *conversation) mayRewind(c *Command, restore bool, ts wire.Millis) (string, reply) {
	if cv.agents == nil {
		return "", refused(wire.CodeSessionInvalidState, "no agent is available in this session")
	}
	if !restore {
		return "", reply{}
	}
	return cv.checkpointFor(c, ts)
}

// monitorOfRow returns the monitor of a row that a command names.
func (cv *conversation) monitorOfRow(c *Command, named wire.MonitorID, ts wire.Millis) wire.MonitorID {
	if named == "" {
		if row, ok := cv.w.state.Rows().Row(ts); ok {
			return cmp.Or(row.MonitorID, firstMonitor)
		}
	}
	return cmp.Or(named, c.From.Monitor, firstMonitor)
}
