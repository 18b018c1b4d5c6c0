package rest

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/gateway/openapi"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// plans serve the plans of sessions.
type plans struct {
	requests   *sessionRequests
	frameBytes int64
}

type planView struct {
	Status       wire.SessionStatus `json:"status" doc:"The state of the session."`
	CurrentLayer wire.Layer         `json:"current_layer,omitempty" doc:"The current layer of the plan."`
	Plan         *wire.PlanState    `json:"plan,omitempty" doc:"The newest plan, if any."`
	Todos        []wire.Todo        `json:"todos" doc:"The todos of the plan."`
	HITLRequests []wire.HITLRequest `json:"hitl_requests" doc:"The open questions, oldest first."`
}

// planReply is the answer to a question of the plan.
type planReply struct {
	Type      string         `json:"type" doc:"hitl_plan_response, hitl_approval_response, hitl_input_response or hitl_clarification_response."`
	MessageID wire.MessageID `json:"messageId,omitempty" doc:"The idempotency key."`
	RequestID wire.RequestID `json:"request_id" doc:"The id of the question."`
	// Action answers a plan or a todo, Value a question.
	Action      string          `json:"action,omitempty" doc:"Of a plan: approve, modify or reject. Of a todo: approve, skip or reject."`
	Value       json.RawMessage `json:"value,omitempty" doc:"The answer to hitl_input_request or hitl_clarification."`
	TodoID      wire.TodoID     `json:"todo_id,omitempty"`
	Field       string          `json:"field,omitempty"`
	Instruction string          `json:"instruction,omitempty" doc:"What to change, with the action modify."`
	Comment     string          `json:"comment,omitempty"`
	Reason      string          `json:"reason,omitempty"`
}

// planOrder is a command for the plan.
type planOrder struct {
	MessageID     wire.MessageID    `json:"messageId,omitempty" doc:"The idempotency key."`
	Action        string            `json:"action" doc:"pause, resume, cancel, retry or skip."`
	TodoID        wire.TodoID       `json:"todo_id,omitempty" doc:"The todo to retry or to skip."`
	Reason        string            `json:"reason,omitempty"`
	Modifications []json.RawMessage `json:"modifications,omitempty" doc:"What to change, with resume; see control_resume."`
}

var (
	planForm      = httpio.FormOf[planView]()
	planReplyForm = httpio.FormOf[planReply]()
	planOrderForm = httpio.FormOf[planOrder]()
)

func (p *plans) routes() []openapi.Route {
	const tag = "plans"
	event := &openapi.Content{Media: echo.MIMEApplicationJSON, Ref: "ServerEvent"}
	return []openapi.Route{
		{
			Method: http.MethodGet, Path: "/api/sessions/:session/plan", Guard: openapi.GuardIdentity, Handler: p.get, Tag: tag,
			Summary: "The plan, its todos and its open questions",
			Detail:  "A message with mode plan starts a plan.",
			Answers: openapi.Success(http.StatusOK, "The current plan.", openapi.JSONBody(planForm)),
		},
		{
			Method: http.MethodPost, Path: "/api/sessions/:session/plan/answers", Guard: openapi.GuardIdentity, Handler: p.postAnswer, Tag: tag,
			Summary: "Answer a question of the plan", Headers: []openapi.Param{idempotency}, Body: openapi.JSONBody(planReplyForm),
			Detail:  "The first valid answer counts. A later or an invalid one gets a problem with code and field.",
			Answers: openapi.Success(http.StatusOK, "The result: hitl_closed, or MESSAGE_ACCEPTED for a repeated answer.", event),
		},
		{
			Method: http.MethodPost, Path: "/api/sessions/:session/plan/control", Guard: openapi.GuardIdentity, Handler: p.postControl, Tag: tag,
			Summary: "Pause, resume, change or cancel the plan, or retry or skip a todo", Headers: []openapi.Param{idempotency}, Body: openapi.JSONBody(planOrderForm),
			Answers: openapi.Success(http.StatusOK, "The result: the first event that names the message, or MESSAGE_ACCEPTED.", event),
		},
	}
}

func (p *plans) get(c echo.Context) error {
	info, err := p.requests.require(c, access.Viewer)
	if err != nil {
		return err
	}
	var now wire.SessionState
	if err := p.requests.withHandle(c, info, func(ctx context.Context, h *session.Handle) (err error) {
		now, err = h.Snapshot(ctx, nil)
		return err
	}); err != nil {
		return err
	}
	view := planView{
		Status: now.Status, CurrentLayer: now.CurrentLayer, Plan: now.Plan, Todos: now.Todos, HITLRequests: now.HITLRequests,
	}
	if view.HITLRequests == nil {
		view.HITLRequests = []wire.HITLRequest{}
	}
	return planForm.Answer(c, http.StatusOK, &view)
}

func (p *plans) postAnswer(c echo.Context) error {
	info, err := p.requests.require(c, access.Operator)
	if err != nil {
		return err
	}
	r, err := planReplyForm.Read(c, p.frameBytes)
	if err != nil {
		return err
	}
	answer := r.message()
	if answer == nil {
		return problem.Query("type", "Want hitl_plan_response, hitl_approval_response, hitl_input_response or hitl_clarification_response.")
	}
	return p.send(c, info, r.MessageID, answer)
}

// message returns the answer as the message that a WebSocket client sends.
func (r *planReply) message() wire.ClientPayload {
	switch r.Type {
	case "hitl_plan_response":
		return wire.HITLPlanResponse{
			RequestID: r.RequestID, Action: wire.PlanAnswer(r.Action), Comment: r.Comment, Instruction: r.Instruction,
		}
	case "hitl_approval_response":
		return wire.HITLApprovalResponse{
			RequestID: r.RequestID, TodoID: r.TodoID, Action: wire.TodoAnswer(r.Action), Comment: r.Comment, Reason: r.Reason,
		}
	case "hitl_input_response":
		return wire.HITLInputResponse{RequestID: r.RequestID, Field: r.Field, Value: r.Value}
	case "hitl_clarification_response":
		return wire.HITLClarificationResponse{RequestID: r.RequestID, Value: r.Value}
	}
	return nil
}

func (p *plans) postControl(c echo.Context) error {
	info, err := p.requests.require(c, access.Operator)
	if err != nil {
		return err
	}
	in, err := planOrderForm.Read(c, p.frameBytes)
	if err != nil {
		return err
	}
	var order wire.ClientPayload
	switch in.Action {
	case "pause":
		order = wire.ControlPause{Reason: in.Reason}
	case "resume":
		order = wire.ControlResume{Modifications: in.Modifications}
	case "cancel":
		order = wire.ControlCancel{Reason: in.Reason}
	case "retry":
		order = wire.ControlRetry{TodoID: in.TodoID}
	case "skip":
		order = wire.ControlSkip{TodoID: in.TodoID, Reason: in.Reason}
	default:
		return problem.Query("action", "Want pause, resume, cancel, retry or skip.")
	}
	return p.send(c, info, in.MessageID, order)
}

// send sends a message to the plan and responds with its answer.
func (p *plans) send(c echo.Context, info session.Info, named wire.MessageID, order wire.ClientPayload) error {
	id, err := messageID(c, named)
	if err != nil {
		return err
	}
	m, err := wire.Native{}.DecodeMessage(wire.Native{}.AppendMessage(nil, wire.Message{Session: info.ID, ID: id, Data: order}))
	if err != nil {
		return err // the same error as over a WebSocket
	}
	answer, err := p.requests.deliverAndWait(c, info.ID, m)
	if err != nil {
		return err
	}
	frame := wire.AppendEvent(nil, wire.Event{Session: info.ID, At: answer.At, Time: time.Now(), Data: answer.Data})
	return c.JSONBlob(http.StatusOK, frame)
}
