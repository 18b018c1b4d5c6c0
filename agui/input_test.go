package agui_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everdesk/everdesk/agui"
	"github.com/everdesk/everdesk/wire"
)

func TestUserMessageOfARequest(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		messages string
		want     wire.UserMessage
		none     bool
	}{
		"text":       {messages: `[{"id":"u","role":"user","content":"hi"}]`, want: wire.UserMessage{Content: "hi"}},
		"last only":  {messages: `[{"id":"u","role":"user","content":"a"},{"id":"v","role":"user","content":"b"}]`, want: wire.UserMessage{Content: "b"}},
		"parts":      {messages: `[{"id":"u","role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]`, want: wire.UserMessage{Content: "a\nb"}},
		"picture":    {messages: `[{"id":"u","role":"user","content":[{"type":"image","source":{"type":"data","value":"AA==","mimeType":"image/png"}}]}]`, want: wire.UserMessage{Interactions: []wire.UserInteraction{{Type: wire.DidDraw, ImageData: "data:image/png;base64,AA=="}}}},
		"binary":     {messages: `[{"id":"u","role":"user","content":[{"type":"binary","mimeType":"image/png","data":"AA=="}]}]`, want: wire.UserMessage{Interactions: []wire.UserInteraction{{Type: wire.DidDraw, ImageData: "data:image/png;base64,AA=="}}}},
		"an answer":  {messages: `[{"id":"u","role":"user","content":"a"},{"id":"v","role":"assistant","content":"b"}]`, none: true},
		"no message": {messages: `[]`, none: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, err := agui.ParseInput([]byte(`{"threadId":"t","runId":"r","messages":` + c.messages + `}`))
			if err != nil {
				t.Fatal(err)
			}
			got, ok, err := in.UserMessage()
			if err != nil || ok == c.none {
				t.Fatalf("message %+v, ok %v, error %v, want ok %v", got, ok, err, !c.none)
			}
			if c.none {
				return
			}
			c.want.MessageID, c.want.MonitorID = "r", "monitor-0"
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("message (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnswersToQuestions(t *testing.T) {
	t.Parallel()
	state := wire.SessionState{
		Dialogs: []wire.ApprovalRequest{{DialogID: "d", Title: "May I?", AgentID: "a"}},
		Prompts: []wire.OpenPrompt{{Prompt: wire.Prompt{ID: "p", Title: "Which?", Options: []wire.PromptOption{{Value: "red"}}}, AgentID: "a"}},
		Plan:    &wire.PlanState{MessageID: "m"},
		HITLRequests: []wire.HITLRequest{
			wire.HITLPlanReview{RequestID: "review"},
			wire.HITLApprovalRequest{RequestID: "todo", TodoID: "t1"},
			wire.HITLInputRequest{RequestID: "input", Field: "f"},
			wire.HITLClarification{RequestID: "clarify"},
		},
	}
	for _, c := range []struct {
		id, status, payload string
		want                wire.ClientPayload
	}{
		{"d", "resolved", `true`, wire.DialogFeedback{DialogID: "d", Confirmed: true}},
		{"d", "resolved", `{"approved":true}`, wire.DialogFeedback{DialogID: "d", Confirmed: true}},
		{"d", "resolved", `{"action":"approve"}`, wire.DialogFeedback{DialogID: "d", Confirmed: true}},
		{"d", "resolved", `"yes"`, wire.DialogFeedback{DialogID: "d"}},
		{"d", "resolved", `"approve"`, wire.DialogFeedback{DialogID: "d"}},
		{"d", "resolved", `{"confirmed":true}`, wire.DialogFeedback{DialogID: "d"}},
		{"d", "resolved", `{"decision":"approve"}`, wire.DialogFeedback{DialogID: "d"}},
		{"d", "resolved", `{"approved":"true"}`, wire.DialogFeedback{DialogID: "d"}},
		{"d", "resolved", `{"approved":false,"action":"approve"}`, wire.DialogFeedback{DialogID: "d"}},
		{"d", "resolved", `{"approved":false}`, wire.DialogFeedback{DialogID: "d"}},
		{"d", "resolved", ``, wire.DialogFeedback{DialogID: "d"}},
		{"d", "resolved", `{"text":"whatever"}`, wire.DialogFeedback{DialogID: "d"}},
		{"d", "cancelled", `true`, wire.DialogFeedback{DialogID: "d"}},
		{"p", "resolved", `"red"`, wire.UserPromptResponse{PromptID: "p", SelectedValues: []string{"red"}}},
		{"p", "resolved", `"green"`, wire.UserPromptResponse{PromptID: "p", Text: "green"}},
		{"p", "resolved", `["red"]`, wire.UserPromptResponse{PromptID: "p", SelectedValues: []string{"red"}}},
		{"p", "resolved", `{"text":"x","selectedValues":["red"]}`, wire.UserPromptResponse{PromptID: "p", Text: "x", SelectedValues: []string{"red"}}},
		{"p", "cancelled", ``, wire.UserPromptResponse{PromptID: "p", Dismissed: true}},
		{"review", "resolved", `{"action":"approve"}`, wire.HITLPlanResponse{RequestID: "review", Action: wire.PlanApprove}},
		{"review", "resolved", `{"action":"modify","instruction":"shorter"}`, wire.HITLPlanResponse{RequestID: "review", Action: wire.PlanModify, Instruction: "shorter"}},
		{"review", "cancelled", ``, wire.HITLPlanResponse{RequestID: "review", Action: wire.PlanReject}},
		{"todo", "resolved", `{"action":"skip"}`, wire.HITLApprovalResponse{RequestID: "todo", TodoID: "t1", Action: wire.TodoSkip}},
		{"todo", "resolved", `true`, wire.HITLApprovalResponse{RequestID: "todo", TodoID: "t1", Action: wire.TodoApprove}},
		{"todo", "resolved", `7`, wire.HITLApprovalResponse{RequestID: "todo", TodoID: "t1", Action: wire.TodoReject}},
		{"input", "resolved", `{"value":7}`, wire.HITLInputResponse{RequestID: "input", Field: "f", Value: json.RawMessage("7")}},
		{"clarify", "resolved", `"this one"`, wire.HITLClarificationResponse{RequestID: "clarify", Value: json.RawMessage(`"this one"`)}},
		{"input", "cancelled", ``, wire.HITLInputResponse{RequestID: "input", Field: "f", Value: json.RawMessage("null")}},
		{"clarify", "cancelled", `"this one"`, wire.HITLClarificationResponse{RequestID: "clarify", Value: json.RawMessage("null")}},
		{"gone", "resolved", `true`, nil},
	} {
		in := agui.Input{Resume: []agui.Resumption{{InterruptID: c.id, Status: c.status, Payload: json.RawMessage(c.payload)}}}
		var want []agui.Answer
		if c.want != nil {
			want = []agui.Answer{{Question: c.id, Message: c.want}}
		}
		if diff := cmp.Diff(want, in.Answers(&state)); diff != "" {
			t.Errorf("%s %s %s (-want +got):\n%s", c.id, c.status, c.payload, diff)
		}
	}
}

// The field and the reason are for people who write clients in any language.
func TestWrongTypesAreRefusedWithTheirField(t *testing.T) {
	t.Parallel()
	for body, field := range map[string]string{
		`[]`:             "body",
		`{"threadId":7}`: "threadId",
		`{"threadId":"t","runId":"r","messages":[7]}`:                                           "messages",
		`{"threadId":"t","runId":"r","messages":[{"id":"u","role":7}]}`:                         "messages",
		`{"threadId":"t","runId":"r","resume":[{"interruptId":7}]}`:                             "resume.interruptId",
		`{"threadId":"t","runId":"r","forwardedProps":{"everdesk":{"follow":"yes"}}}`:           "forwardedProps.everdesk.follow",
		`{"threadId":"t","runId":"r","messages":[{"id":"u","role":"user","content":"hi"}],"t":`: "body",
	} {
		_, err := agui.ParseInput([]byte(body))
		bad, ok := errors.AsType[*agui.InputError](err)
		if !ok || bad.Field != field || strings.Contains(bad.Reason, "Go ") {
			t.Errorf("%s: error %v, want one of the field %s", body, err, field)
		}
	}
}

// Whatever a client sends, the request is refused with a field or understood.
func FuzzParseInput(f *testing.F) {
	f.Add([]byte(`{"threadId":"t","runId":"r","messages":[{"id":"u","role":"user","content":"hi"}],"resume":[{"interruptId":"i","status":"resolved","payload":{}}]}`))
	f.Add([]byte(`{"threadId":"t","runId":"r","messages":[{"id":"u","role":"user","content":[{"type":"text","text":"a"}]}]}`))
	f.Add([]byte(`{"messages":[null]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		in, err := agui.ParseInput(body)
		if err == nil {
			_, _, err = in.UserMessage()
			run := agui.NewRun(&in, testSession, wire.SessionState{Mode: wire.StateSnapshot})
			run.Attach(in.Turn(&wire.SessionState{}), false)
			if events := run.Take(); !run.Ended() || len(events) == 0 {
				t.Errorf("a run in an empty session has not ended: %s", events)
			}
		}
		if bad, ok := errors.AsType[*agui.InputError](err); err != nil && (!ok || bad.Field == "") {
			t.Errorf("error %v, want an InputError with a field", err)
		}
	})
}
