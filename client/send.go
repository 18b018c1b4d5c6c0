package client

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// Answer is the hub's answer to a message.
type Answer struct {
	// At is the position of the answer; zero when it is not in the log.
	At wire.Position
	// Data is the event that answers: MESSAGE_ACCEPTED or MESSAGE_QUEUED, EMITTED, DIALOG_CLOSED,
	// PROMPT_CLOSED, hitl_closed, or another that names the message.
	Data wire.ServerPayload
}

// RefusedError is the error for a message that the hub rejected.
type RefusedError struct {
	Code   wire.Code
	Reason string
	// Field is the invalid part of the message, if any.
	Field string
	// RetryAfter is how long to wait before the same message may be accepted.
	RetryAfter time.Duration
}

// Error implements error.
func (r *RefusedError) Error() string { return fmt.Sprintf("%s: %s", r.Code, r.Reason) }

// Send sends a message and waits for its answer, over as many connections as it takes. The message
// has the id in the payload, or a random one. The error is a [*RefusedError] when the hub rejected
// the message (an error that only asks to wait makes the client send it again), an [*Error] when
// the hub closed the connection because of the message, the cause of ctx when that ended, after
// which the message is not sent again, or [ErrClosed].
//
// When it returns, the mirror contains the answer and [Config.OnEvent] has been called with it.
//
// The hub answers messages to agents, EMIT, answers to dialogs, prompts and plans, commands for
// plans, and all messages that cause an event with their id. Use [Client.Post] for other messages.
func (c *Client) Send(ctx context.Context, payload wire.ClientPayload) (Answer, error) {
	p, err := c.Submit(ctx, payload)
	if err != nil {
		return Answer{}, err
	}
	a, err := p.Wait(ctx)
	if ctx.Err() != nil {
		c.outbox.finish(p, Answer{}, context.Cause(ctx))
	}
	return a, err
}

// Submit is Send without waiting for the answer. It blocks only while there are too many unanswered
// messages.
func (c *Client) Submit(ctx context.Context, payload wire.ClientPayload) (*Pending, error) {
	id := cmp.Or(wire.MessageOf(payload), wire.MessageID(rand.Text()))
	p := &Pending{
		id: id, awaitsAnswer: true, data: payload,
		frame: wire.Native{}.AppendMessage(nil, wire.Message{ID: id, Data: payload}),
	}
	if err := c.outbox.add(ctx, p); err != nil {
		return nil, err
	}
	return p, nil
}

// Post sends a message that has no answer, such as a user's interaction with a window. It returns
// when the message was written to a connection; whether it arrived is unknown.
func (c *Client) Post(ctx context.Context, payload wire.ClientPayload) error {
	frame := wire.Native{}.AppendMessage(nil, wire.Message{Data: payload})
	return c.post(ctx, &Pending{data: payload, frame: frame})
}

// Forward sends a native frame unchanged, for programs that relay messages. A message with an id is
// kept until it is answered, as with [Client.Submit]; other messages are posted. The hub reports
// errors in the frame.
func (c *Client) Forward(ctx context.Context, frame []byte) (*Pending, error) {
	p := &Pending{frame: frame}
	if m, err := (wire.Native{}).DecodeMessage(frame); err == nil {
		p.data = m.Data
		if m.ID != "" && hasAnswer(m.Data) {
			p.id, p.awaitsAnswer = m.ID, true
			if err := c.outbox.add(ctx, p); err != nil {
				return nil, err
			}
			return p, nil
		}
	}
	if err := c.post(ctx, p); err != nil {
		return nil, err
	}
	return p, nil
}

func (c *Client) post(ctx context.Context, p *Pending) error {
	if err := c.outbox.add(ctx, p); err != nil {
		return err
	}
	_, err := p.Wait(ctx)
	if ctx.Err() != nil {
		c.outbox.finish(p, Answer{}, context.Cause(ctx))
	}
	return err
}

// hasAnswer reports whether the hub answers every message of the type.
func hasAnswer(p wire.ClientPayload) bool {
	switch p.(type) {
	case wire.UserMessage, wire.WindowMessage, wire.ComponentAction, wire.Emit,
		wire.DialogFeedback, wire.UserPromptResponse:
		return true
	}
	return isForPlan(p)
}

// isForPlan reports whether a message is an answer to or a command for the plan. The first event
// that names it is the answer.
func isForPlan(p wire.ClientPayload) bool {
	switch p.(type) {
	case wire.HITLPlanResponse, wire.HITLApprovalResponse, wire.HITLInputResponse, wire.HITLClarificationResponse,
		wire.ControlPause, wire.ControlResume, wire.ControlCancel, wire.ControlRetry, wire.ControlSkip:
		return true
	}
	return false
}

// answerTo reports whether e, an event with the message id id, answers p.
func answerTo(p *Pending, id wire.MessageID, e Event) (Answer, bool) {
	mine := p.awaitsAnswer && id != "" && id == p.id
	a := Answer{At: e.At, Data: e.Data}
	switch d := e.Data.(type) {
	case wire.MessageAccepted, wire.MessageQueued, wire.MessageRejected, wire.Emitted, wire.ErrorNotice:
		return a, mine
	case wire.DialogClosed:
		f, ok := p.data.(wire.DialogFeedback)
		return a, mine || ok && p.awaitsAnswer && f.DialogID == d.DialogID
	case wire.PromptClosed:
		r, ok := p.data.(wire.UserPromptResponse)
		return a, mine || ok && p.awaitsAnswer && r.PromptID == d.PromptID
	case wire.Actions:
		if _, ok := p.data.(wire.Emit); ok {
			// The equivalent of the EMITTED that the connection which sent the message gets.
			return Answer{At: e.At, Data: wire.Emitted{MessageID: id, At: e.At}}, mine
		}
	}
	return a, mine && (!hasAnswer(p.data) || isForPlan(p.data))
}

// refusal returns the error of an answer that rejects a message, or nil.
func refusal(p wire.ServerPayload) error {
	switch d := p.(type) {
	case wire.MessageRejected:
		return &RefusedError{Code: d.Code, Reason: d.Reason, Field: d.Field}
	case wire.ErrorNotice:
		wait := time.Duration(d.RetryAfterMS) * time.Millisecond
		return &RefusedError{Code: d.Code, Reason: d.Message, Field: d.Field, RetryAfter: wait}
	}
	return nil
}
