package gateway_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/agui/aguitest"
)

// answer returns a request that answers the open question.
func (x *aguiThread) answer(run, status string, payload any) aguiInput {
	x.h.t.Helper()
	if len(x.Interrupts) != 1 {
		x.h.t.Fatalf("interrupts %+v, want one; events %v", x.Interrupts, x.Types())
	}
	return aguiInput{RunID: run, Resume: []map[string]any{{"interruptId": x.Interrupts[0].ID, "status": status, "payload": payload}}}
}

// rejections returns the codes of the answers that the hub refused.
func (x *aguiThread) rejections() (codes []string) {
	for _, e := range x.Events {
		var value struct {
			Code string `json:"code"`
		}
		if e.Name == "everdesk.rejected" && json.Unmarshal(e.Value, &value) == nil {
			codes = append(codes, value.Code)
		}
	}
	return codes
}

// An answer that the hub refuses leaves the question open, and the run ends with it again.
func TestAGUIRefusedAnswerBringsTheQuestionAgain(t *testing.T) {
	t.Parallel()
	h := newAgentHub(t, false)
	id := h.newSession("ann")
	h.share(id, "operator")
	path := "/agui/" + string(id)
	ann, bob := h.aguiThread(path, h.userToken("ann"), "thread"), h.aguiThread(path, h.userToken("bob"), "thread")
	ann.say("run-1", `/call shell {"command":"git push"}`+"\n/say After.", nil)
	question := ann.answer("run-2", "resolved", true)
	bob.run(question, nil)
	if again := bob.answer("", "", nil).Resume[0]["interruptId"]; again != question.Resume[0]["interruptId"] {
		t.Errorf("after the refused answer the question is %v, want %v", again, question.Resume[0]["interruptId"])
	}
	if got, want := bob.rejections(), []string{"WS_FORBIDDEN"}; !slices.Equal(got, want) {
		t.Errorf("refused answers with the codes %q, want %q", got, want)
	}
	question.RunID = "run-3"
	ann.run(question, nil)
	if got := strings.Join(ann.Texts("assistant"), "|"); !strings.HasSuffix(got, "After.") {
		t.Errorf("texts %q, want the end of the turn after the owner's answer", got)
	}

	ann.say("run-4", "/ask Which one? | red | blue\n/say Chosen.", nil)
	ann.run(ann.answer("run-5", "resolved", "green"), nil)
	if got, want := ann.rejections(), []string{"WS_HITL_INVALID_RESPONSE"}; !slices.Equal(got, want) {
		t.Errorf("after a text for a choice the refused answers have the codes %q, want %q", got, want)
	}
	ann.run(ann.answer("run-6", "resolved", "blue"), nil)
	if got := strings.Join(ann.Texts("assistant"), "|"); !strings.HasSuffix(got, "Chosen.") {
		t.Errorf("texts %q, want the end of the second turn", got)
	}
}

// A question of a plan for a value can be cancelled unless its answer is required.
func TestAGUICancelledQuestionOfAPlan(t *testing.T) {
	t.Parallel()
	for typ, isRequired := range map[string]bool{"text": false, "text!": true} {
		t.Run(typ, func(t *testing.T) {
			t.Parallel()
			h := newAgentHub(t, false)
			x := h.aguiThread("/agui", h.userToken("ann"), "thread")
			plan := `/plan {"todos":[{"id":"one","task":"/input day ` + typ + ` Which day?"}]}`
			x.Messages = []aguitest.Message{{ID: "u1", Role: "user", Content: jsonRaw(plan)}}
			x.run(aguiInput{RunID: "run-1", ForwardedProps: everdeskProps(map[string]any{"plan": true})}, nil)
			x.run(x.answer("run-2", "resolved", map[string]any{"action": "approve"}), nil)
			x.run(x.answer("run-3", "cancelled", nil), nil)
			if isRequired {
				x.run(x.answer("run-4", "resolved", map[string]any{"value": "monday"}), nil)
			}
			if got := string(x.State["todos"]["one"]); x.Error != nil || len(x.Interrupts) > 0 || !strings.Contains(got, `"completed"`) {
				t.Errorf("error %+v, interrupts %+v, todo %s, want it completed", x.Error, x.Interrupts, got)
			}
			if got := len(x.rejections()) > 0; got != isRequired {
				t.Errorf("the cancelled answer was refused: %v, want %v", got, isRequired)
			}
		})
	}
}

// A person who writes while a question is open dismisses it with the same request. The message is sent once, however
// often the request is repeated.
func TestAGUINewMessageBesideAnAnswerIsSent(t *testing.T) {
	t.Parallel()
	h := newAgentHub(t, false)
	x := h.aguiThread("/agui", h.userToken("ann"), "thread")
	x.say("run-1", "/say Before. \n/ask Which one? | red | blue\n/say After.", nil)
	in := x.answer("run-2", "cancelled", nil)
	x.Messages = append(x.Messages, aguitest.Message{ID: "u2", Role: "user", Content: jsonRaw("/say New.")})
	for range 2 {
		x.run(in, nil)
		if got := strings.Join(x.Texts("assistant"), "|"); strings.Count(got, "New.") != 1 {
			t.Errorf("texts %q, want the answer to the new message once; events %v", got, x.Types())
		}
	}
	fresh := h.aguiThread("/agui/agent/desktop/connect", x.token, x.thread)
	fresh.run(aguiInput{RunID: "connect-1"}, nil)
	if got := fresh.Texts("user"); len(got) != 2 || got[1] != "/say New." {
		t.Errorf("messages of the user %q, want two, the second %q", got, "/say New.")
	}
}

// A request that answers the review of a plan ends with the message that asked for the plan. It is not sent again.
func TestAGUIAnswerSendsNoMessageTwice(t *testing.T) {
	t.Parallel()
	h := newAgentHub(t, false)
	x := h.aguiThread("/agui", h.userToken("ann"), "thread")
	x.Messages = []aguitest.Message{{ID: "u1", Role: "user", Content: jsonRaw(`/plan {"todos":[{"id":"one","task":"/say 1"}]}`)}}
	x.run(aguiInput{RunID: "run-1", ForwardedProps: everdeskProps(map[string]any{"plan": true})}, nil)
	x.Messages = x.Messages[:1] // a client may keep no thinking
	x.run(x.answer("run-2", "resolved", map[string]any{"action": "approve"}), nil)
	fresh := h.aguiThread("/agui/agent/desktop/connect", x.token, x.thread)
	fresh.run(aguiInput{RunID: "connect-1"}, nil)
	if got := fresh.Texts("user"); x.Error != nil || len(got) != 1 {
		t.Errorf("error %+v, messages of the user %q, want one", x.Error, got)
	}
}
