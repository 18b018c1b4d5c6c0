package session

import (
	"log/slog"

	"github.com/everdesk/everdesk/contextpool"
	"github.com/everdesk/everdesk/wire"
)

// Texts of the conversation for what cannot be restored.
const (
	lostTail    = "The store failed over and lost the newest changes of this session. What their owner knows is restored when it is back; anything else must be done again."
	lostMessage = "The store failed over and lost a message that was accepted. It could not be restored: "
	lostAction  = "The store failed over and lost what an agent had done. A part of it could not be restored: "
)

// restorer restores what the store has lost and a previous owner had accepted.
type restorer struct {
	w        *stepWriter
	agents   *agents
	commands *commands
	log      *slog.Logger
}

// restoreLost restores what a previous owner had accepted and the store has lost. The order may
// arrive more than once, and clients may have repeated their messages already.
func (r *restorer) restoreLost(o *order) {
	if o.Lost {
		r.w.AddRow(lossRow(lostTail))
	}
	var commands []Command
	for _, data := range o.Commands {
		it, err := decodeItem(data)
		if err != nil || it.poison != nil || it.order != nil {
			r.log.Error("lost message not restored", "err", err, "refused", it.poison)
			r.w.AddRow(lossRow(lostMessage + "it cannot be read."))
			continue
		}
		if !r.commands.replies.isAnswered(it.cmd.Message.ID) {
			commands = append(commands, it.cmd)
		}
	}
	if len(o.End) > 0 && r.agents != nil && r.restoreEnd(o, commands) {
		return
	}
	for i := range commands {
		r.restoreMessage(&commands[i])
	}
}

// restoreMessage executes a lost message as if it arrived now.
func (r *restorer) restoreMessage(c *Command) {
	r.commands.questions.restoreAnswer(c)
	r.commands.applyCommand(c)
	if e, ok := r.commands.replies.ledger.find(c.Message.ID); ok && e.Reply.Verdict == verdictRejected {
		r.log.Error("lost message refused on restore", "message", string(c.Message.ID), "reason", e.Reply.Reason)
		r.w.AddRow(lossRow(lostMessage + e.Reply.Reason))
	}
}

// restoreAnswer stores the answer to a question that the store has lost as well, for the agent that
// asks it again.
func (q *questions) restoreAnswer(c *Command) {
	var name string
	e := ending{Reason: wire.ClosedAnswered, By: c.From.Connection, Time: wire.Millis(q.w.now.UnixMilli()), KeptForAgent: true}
	switch m := c.Message.Data.(type) {
	case wire.DialogFeedback:
		if _, open := q.w.state.Notices().Dialog(m.DialogID); open {
			return
		}
		name, e.Confirmed, e.Remember = dialogName(m.DialogID), m.Confirmed, m.RememberChoice
		e.Answer = digest(wire.DialogFeedback{DialogID: m.DialogID, Confirmed: m.Confirmed, RememberChoice: m.RememberChoice})
	case wire.UserPromptResponse:
		if _, open := q.w.state.Notices().Prompt(m.PromptID); open {
			return
		}
		name, e.Selected, e.Text = promptName(m.PromptID), m.SelectedValues, m.Text
		e.Answer = digest(wire.UserPromptResponse{
			PromptID: m.PromptID, SelectedValues: m.SelectedValues, Text: m.Text, Dismissed: m.Dismissed,
		})
		if m.Dismissed {
			e.Reason = wire.ClosedDismissed
		}
	default:
		return
	}
	if _, closed := q.closed.find(name); !closed {
		q.closed.add(name, e, &q.w.step.ops)
	}
}

// restoreEnd ends a turn as it ended at the previous owner, with its actions on the desktop. It
// reports false if the messages of the turn must be executed again: this owner has run a part of
// the turn itself, or cannot decode the turn.
func (r *restorer) restoreEnd(o *order, commands []Command) bool {
	decoded, err := (wire.Native{}).DecodeEvent(o.End)
	end, ok := decoded.Data.(wire.AgentResponse)
	if err != nil || !ok {
		r.log.Error("lost end of a turn cannot be decoded", "err", err)
		return false
	}
	for _, id := range o.Joined {
		if known, ok := r.commands.replies.ledger.find(id); ok && known.Reply.Agent != "" && known.Reply.Agent != end.AgentID {
			return false // another turn has executed it here, and the lost actions contain its part
		}
	}
	over := contextpool.LostTurnEnd{End: end, Joined: o.Joined}
	for i := range commands {
		c := &commands[i]
		m, plain := c.Message.Data.(wire.UserMessage)
		if !plain || m.Mode == wire.ModePlan {
			return false
		}
		message, refused := r.commands.conversation.messageOf(c, m)
		if refused.Verdict == verdictRejected {
			return false
		}
		over.Messages = append(over.Messages, message)
	}
	for _, data := range o.Actions {
		decoded, err := (wire.Native{}).DecodeEvent(data)
		p, ok := decoded.Data.(wire.Actions)
		if err != nil || !ok {
			r.log.Error("lost action of a turn cannot be decoded", "err", err)
			r.w.AddRow(lossRow(lostAction + "it cannot be read."))
			continue
		}
		over.Actions = append(over.Actions, p.Actions...)
	}
	if !r.agents.poolForUpdate().CanRestoreTurnEnd(over) {
		return false
	}
	for i := range commands {
		c := &commands[i]
		r.commands.replies.ledger.add(c.Message.ID, entry{Hash: digest(c.Message.Data), Time: wire.Millis(r.w.now.UnixMilli())}, &r.w.step.ops)
	}
	if refused := r.agents.poolForUpdate().RestoreTurnEnd(over); refused != nil {
		r.log.Error("lost actions of a turn not restored", "message", string(end.MessageID), "reason", refused.Reason)
		r.w.AddRow(lossRow(lostAction + refused.Reason))
	}
	return true
}

// lossRow is a row of the conversation about a loss.
func lossRow(text string) wire.UIRow {
	return wire.UIRow{Type: wire.RowSay, Say: wire.SayError, Text: text, MonitorID: firstMonitor}
}
