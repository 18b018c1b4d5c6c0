package session

import (
	"cmp"
	"fmt"
	"time"

	"github.com/everdesk/everdesk/contextpool"
	"github.com/everdesk/everdesk/wire"
)

// replies answers commands and records the answers, so that a repeated message gets the same
// answer and has no second effect.
type replies struct {
	w         *stepWriter
	agents    *agents
	questions *questions
	ledger    ledger
	answered  bool // the agents have answered the current command
}

// emitReply emits the answer to a command. Most commands emit their own event the first time and
// need a reply only when they are repeated.
func (rp *replies) emitReply(c *Command, r reply, duplicate bool) {
	id := cmp.Or(c.Message.ID, unnamedMessage)
	switch r.Verdict {
	case verdictAccepted:
		if duplicate {
			rp.w.Emit(wire.MessageAccepted{
				MessageID: id, AgentID: r.Agent, MonitorID: r.Monitor, How: r.How,
				Duplicate: true, To: cmp.Or(c.From.Connection, noConnection),
			})
		}
	case verdictQueued:
		if duplicate {
			rp.w.Emit(wire.MessageQueued{
				MessageID: id, Position: r.Place, MonitorID: r.Monitor,
				Duplicate: true, To: cmp.Or(c.From.Connection, noConnection),
			})
		}
	case verdictPending:
		if duplicate && rp.agents != nil {
			rp.agents.addLateSender(id, c.From.Connection)
		}
	case verdictRejected:
		rejected := wire.MessageRejected{
			MessageID: id, Code: r.Code, Reason: r.Reason, ReasonCode: r.ReasonCode, Field: r.Field, MonitorID: r.Monitor, By: c.From.Connection,
			Duplicate: duplicate && r.Public, // else it is the same error for the same sender
		}
		if !r.Public || duplicate {
			rejected.To = cmp.Or(c.From.Connection, noConnection)
		}
		rp.w.Emit(rejected)
	case verdictEmitted:
		if duplicate {
			rp.w.Emit(wire.MessageRepeated{
				MessageID: id, MonitorID: r.Monitor, First: r.At, To: cmp.Or(c.From.Connection, noConnection),
			})
		}
	case verdictPlanned:
		if duplicate {
			rp.emitPlanAccepted(c, r)
		}
	case verdictDialog:
		if end, ok := rp.questions.closed.find(dialogName(wire.DialogID(r.Question))); duplicate && ok {
			rp.questions.emitQuestionClosed(id, r, end)
		}
	case verdictPrompt:
		if end, ok := rp.questions.closed.find(promptName(wire.PromptID(r.Question))); duplicate && ok {
			rp.questions.emitQuestionClosed(id, r, end)
		}
	}
}

// refuseCommand emits MESSAGE_REJECTED for a command that was not executed.
func (rp *replies) refuseCommand(c *Command, e *Error) {
	rp.emitReply(c, reply{Verdict: verdictRejected, Code: e.Code, Reason: e.Reason}, false)
}

// emitPlanAccepted emits MESSAGE_ACCEPTED for a message that the plan has accepted.
func (rp *replies) emitPlanAccepted(c *Command, r reply) {
	rp.w.Emit(wire.MessageAccepted{
		MessageID: c.Message.ID, AgentID: r.Agent, MonitorID: r.Monitor, How: r.How,
		Duplicate: true, To: cmp.Or(c.From.Connection, noConnection),
	})
}

// isAnswered reports whether the ledger has a message. An error that occurred after its execution
// does not change its answer.
func (rp *replies) isAnswered(id wire.MessageID) bool {
	_, known := rp.ledger.find(id)
	return known && id != ""
}

// submitToAgent calls submit, which gives message m to the pool, and returns the pool's reply, or
// verdictPending while there is none.
func (rp *replies) submitToAgent(m contextpool.Message, submit func()) reply {
	if rp.agents == nil {
		rp.w.AddRow(wire.UIRow{
			Type: wire.RowSay, Say: wire.SayUserFeedback, Text: m.Text, MonitorID: m.Monitor, MessageID: m.ID,
		})
		return reply{
			Verdict: verdictRejected, Code: wire.CodeProviderUnavailable, Reason: "no agent is available in this session",
			Monitor: m.Monitor, Public: true,
		}
	}
	rp.agents.answered = map[wire.MessageID]reply{}
	submit()
	r, ok := rp.agents.answered[m.ID]
	rp.agents.answered, rp.answered = nil, true
	if !ok {
		return reply{Verdict: verdictPending, Monitor: m.Monitor}
	}
	return r
}

// addReply emits the answer to a message and stores it in the ledger for repetitions of the message.
func (rp *replies) addReply(p wire.ServerPayload) {
	rp.w.Emit(p)
	id := wire.MessageOf(p)
	r := replyOf(p)
	if rp.agents.answered != nil {
		rp.agents.answered[id] = r
	}
	if known, ok := rp.ledger.find(id); ok {
		known.Reply = r
		rp.ledger.update(id, known, &rp.w.step.ops)
	}
	if r.Verdict != verdictQueued {
		for _, to := range rp.agents.lateSenders[id] {
			rp.emitReply(&Command{From: Sender{Connection: to}, Message: wire.Message{ID: id}}, r, true)
		}
		delete(rp.agents.lateSenders, id)
	}
}

// replyOf returns the ledger's form of an answer.
func replyOf(p wire.ServerPayload) reply {
	switch p := p.(type) {
	case wire.MessageAccepted:
		return reply{Verdict: verdictAccepted, Monitor: p.MonitorID, Agent: p.AgentID, How: p.How}
	case wire.MessageQueued:
		return reply{Verdict: verdictQueued, Monitor: p.MonitorID, Place: p.Position}
	case wire.MessageRejected:
		return reply{
			Verdict: verdictRejected, Code: p.Code, Reason: p.Reason, ReasonCode: p.ReasonCode, Monitor: p.MonitorID, Public: true,
		}
	}
	panic(fmt.Sprintf("%T answers no message", p))
}

// observeRunStart reports how long a message waited for the run that begins.
func (rp *replies) observeRunStart(run string) {
	if taken, ok := rp.ledger.find(rp.agents.pool.View.FirstRunMessage(run)); ok {
		rp.w.observer.Began(rp.w.now.Sub(time.UnixMilli(int64(taken.Time))))
	}
}
