package gateway_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/agui/aguitest"
	"github.com/everdesk/everdesk/wire"
)

// aguiInput is the body of a request for a run.
type aguiInput struct {
	ThreadID        string             `json:"threadId"`
	RunID           string             `json:"runId"`
	ProtocolVersion string             `json:"protocolVersion,omitempty"`
	Messages        []aguitest.Message `json:"messages"`
	Tools           []map[string]any   `json:"tools,omitempty"`
	Resume          []map[string]any   `json:"resume,omitempty"`
	ForwardedProps  map[string]any     `json:"forwardedProps,omitempty"`
}

// everdeskProps returns forwardedProps with options of the hub.
func everdeskProps(options map[string]any) map[string]any { return map[string]any{"everdesk": options} }

func jsonRaw(v any) json.RawMessage { return json.RawMessage(jsonText(v)) }

// aguiThread is a client of AG-UI with one conversation.
type aguiThread struct {
	*aguitest.Client
	h                   *testHub
	path, token, thread string
}

func (h *testHub) aguiThread(path, token, thread string) *aguiThread {
	return &aguiThread{Client: &aguitest.Client{}, h: h, path: path, token: token, thread: thread}
}

// say adds a message of the user to the conversation and reads its run.
func (x *aguiThread) say(run, text string, until func(aguitest.Event) bool) {
	x.h.t.Helper()
	content, err := json.Marshal(text)
	if err != nil {
		x.h.t.Fatal(err)
	}
	x.Messages = append(x.Messages, aguitest.Message{ID: "user-" + run, Role: "user", Content: content})
	x.run(aguiInput{RunID: run}, until)
}

// run sends a request with the conversation so far and reads the run, until a condition holds: then it
// closes the connection.
func (x *aguiThread) run(in aguiInput, until func(aguitest.Event) bool) {
	x.h.t.Helper()
	in.ThreadID, in.Messages = x.thread, append([]aguitest.Message{}, x.Messages...)
	body, err := json.Marshal(in)
	if err != nil {
		x.h.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(x.h.t.Context(), http.MethodPost, "http://"+x.h.addr+x.path, bytes.NewReader(body))
	if err != nil {
		x.h.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+x.token)
	req.Header.Set("Content-Type", "application/json")
	transport := x.h.transport()
	defer transport.CloseIdleConnections()
	res, err := (&http.Client{Transport: transport, Timeout: x.h.wait}).Do(req)
	if err != nil {
		x.h.t.Fatal(err)
	}
	defer res.Body.Close()
	if got := res.Header.Get("Content-Type"); res.StatusCode != http.StatusOK || got != "text/event-stream; charset=utf-8" {
		x.h.t.Fatalf("run %s: status %d, type %q, want a stream", in.RunID, res.StatusCode, got)
	}
	x.Begin()
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		if err := x.Apply([]byte(data)); err != nil {
			x.h.t.Fatalf("run %s: %v, at %s", in.RunID, err, data)
		}
		if until != nil && until(x.Events[len(x.Events)-1]) {
			return
		}
	}
	if err := x.End(); err != nil {
		x.h.t.Fatalf("run %s: %v, after %v", in.RunID, err, x.Types())
	}
}

func TestAGUIRunShowsTextsToolsAndWindows(t *testing.T) {
	t.Parallel()
	for name, start := range agentHubs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := start(t)
			x := h.aguiThread("/agui", h.userToken("ann"), "6fa0a0a4-8a52-4f0c-9b53-a thread of any name")
			x.say("run-1", `/call window:create {"windowId":"w1","title":"Notes","content":{"renderer":"markdown","content":"hello"}}`+"\n/say The window is open.", nil)
			if got := x.Texts("assistant"); len(got) != 1 || !strings.HasSuffix(got[0], "The window is open.") {
				t.Errorf("texts %q, want one that ends with %q; events %v", got, "The window is open.", x.Types())
			}
			for _, typ := range []string{"STATE_SNAPSHOT", "TOOL_CALL_START", "TOOL_CALL_RESULT", "ACTIVITY_SNAPSHOT", "STATE_DELTA", "TEXT_MESSAGE_CONTENT"} {
				if !slices.Contains(x.Types(), typ) {
					t.Errorf("no %s in %v", typ, x.Types())
				}
			}
			if got := x.State["windows"]; len(got) != 1 {
				t.Errorf("windows of the state %v, want one", got)
			}
			x.say("run-2", "/say Again.", nil)
			if got := x.Texts("assistant"); len(got) != 2 || got[1] != "Again." {
				t.Errorf("texts %q, want two, the second %q", got, "Again.")
			}

			other := h.aguiThread("/agui", h.userToken("bob"), x.thread)
			other.say("run-1", "/say Another session.", nil)
			if got := other.State["windows"]; len(got) != 0 {
				t.Errorf("another user's thread of the same name has windows %v, want none", got)
			}
		})
	}
}

func TestAGUIRepeatedRunIsTheSameRun(t *testing.T) {
	t.Parallel()
	h := newAgentHub(t, false)
	x := h.aguiThread("/agui", h.userToken("ann"), "thread")
	x.say("run-1", "/toast Once.\n/say Done.", nil)
	before, texts := len(x.Messages), x.Texts("assistant")
	x.run(aguiInput{RunID: "run-1"}, nil) // its conversation ends with the answer
	if got := len(x.Messages); got != before || !slices.Equal(x.Texts("assistant"), texts) {
		t.Errorf("%d messages %q, want the same %d", got, x.Texts("assistant"), before)
	}
	x.Messages = x.Messages[:1]
	x.run(aguiInput{RunID: "run-1"}, nil) // as if the client had never seen the answer
	if got := len(x.Messages); got != before || !slices.Equal(x.Texts("assistant"), texts) {
		t.Errorf("%d messages %q, want the same %d", got, x.Texts("assistant"), before)
	}
	fresh := h.aguiThread("/agui/agent/desktop/connect", x.token, x.thread)
	fresh.run(aguiInput{RunID: "connect-1"}, nil)
	if got := len(fresh.Messages); got != before {
		t.Errorf("the conversation has %d messages, want %d: %+v", got, before, fresh.Messages)
	}
}

func TestAGUICutStreamGoesOnWithoutLosingOrRepeatingText(t *testing.T) {
	t.Parallel()
	h := newAgentHub(t, true)
	x := h.aguiThread("/agui", h.userToken("ann"), "thread")
	cut := func(after int) func(aguitest.Event) bool {
		n := 0
		return func(e aguitest.Event) bool {
			if e.Type == "TEXT_MESSAGE_CONTENT" {
				n++
			}
			return n >= after
		}
	}
	x.say("run-1", "/stream 400 200", cut(3))
	for range 3 {
		x.run(aguiInput{RunID: "run-1"}, cut(4))
	}
	x.run(aguiInput{RunID: "run-1"}, nil)
	fresh := h.aguiThread("/agui/agent/desktop/connect", x.token, x.thread)
	fresh.run(aguiInput{RunID: "connect-1"}, nil)
	got, want := x.Texts("assistant"), fresh.Texts("assistant")
	if len(want) != 1 || len(strings.Fields(want[0])) != 400 || !slices.Equal(got, want) {
		t.Errorf("the client has %q, want %q with 400 words", got, want)
	}
	if got := x.Messages[0]; got.Role != "user" || got.ID != "user-run-1" {
		t.Errorf("first message %+v, want that of the user", got)
	}
}

func TestAGUIQuestionEndsTheRunAndAnAnswerGoesOn(t *testing.T) {
	t.Parallel()
	h := newAgentHub(t, false)
	x := h.aguiThread("/agui", h.userToken("ann"), "thread")
	x.say("run-1", "/say Before. \n/ask Which one? | red | blue\n/say After.", nil)
	if len(x.Interrupts) != 1 || !strings.Contains(x.Interrupts[0].Message, "Which one?") {
		t.Fatalf("interrupts %+v, want the question; events %v", x.Interrupts, x.Types())
	}
	question := x.Interrupts[0].ID
	answer := aguiInput{RunID: "run-2", Resume: []map[string]any{{"interruptId": question, "status": "resolved", "payload": "blue"}}}
	x.run(answer, nil)
	texts := x.Texts("assistant")
	if len(texts) != 1 || !strings.HasPrefix(texts[0], "Before.") || !strings.HasSuffix(texts[0], "After.") || !strings.Contains(texts[0], "blue") {
		t.Errorf("texts %q, want one with the answer", texts)
	}
	x.run(answer, nil) // once more: it was answered
	if got := x.Texts("assistant"); !slices.Equal(got, texts) {
		t.Errorf("after the repeated answer texts %q, want %q", got, texts)
	}
}

func TestAGUIFrontendToolEndsTheRunAndItsResultGoesOn(t *testing.T) {
	t.Parallel()
	tools := []map[string]any{{"name": "pick_colour", "description": "Lets the user pick a colour.", "parameters": map[string]any{"type": "object"}}}
	for _, version := range []string{"", "1.0"} {
		t.Run("version "+version, func(t *testing.T) {
			t.Parallel()
			h := newAgentHub(t, false)
			x := h.aguiThread("/agui", h.userToken("ann"), "thread")
			x.Messages = []aguitest.Message{{ID: "user-run-1", Role: "user", Content: json.RawMessage(`"/say Before. \n/call client:pick_colour {\"of\":\"the door\"}\n/say After."`)}}
			first := aguiInput{RunID: "run-1", ProtocolVersion: version, Tools: tools}
			var calls []aguitest.ToolCall
			for range 2 { // a client that lost the end of the run repeats its request
				x.run(first, nil)
				calls = x.Messages[len(x.Messages)-1].ToolCalls
				if len(calls) != 1 || calls[0].Function.Name != "pick_colour" || calls[0].Function.Arguments != `{"of":"the door"}` {
					t.Fatalf("last message %+v, want the call with its input; events %v", x.Messages[len(x.Messages)-1], x.Types())
				}
				var pending []string
				if last := x.Events[len(x.Events)-1]; last.Outcome != nil {
					pending = last.Outcome.PendingToolCallIDs
				}
				if want := version != ""; want != slices.Equal(pending, []string{calls[0].ID}) || len(x.Interrupts) > 0 {
					t.Errorf("pending %q, interrupts %v, want the call only for clients that know the field", pending, x.Interrupts)
				}
			}
			x.Messages = append(x.Messages, aguitest.Message{ID: "result", Role: "tool", ToolCallID: calls[0].ID, Content: json.RawMessage(`"green"`)})
			second := aguiInput{RunID: "run-2", ProtocolVersion: version, Tools: tools}
			for range 2 { // the result is taken once
				x.run(second, nil)
				texts := x.Texts("assistant")
				if len(texts) != 1 || !strings.HasPrefix(texts[0], "Before.") || !strings.HasSuffix(texts[0], "After.") || strings.Count(texts[0], "green") != 1 {
					t.Fatalf("texts %q, want one with the result", texts)
				}
				var roles []string
				for _, m := range x.Messages {
					roles = append(roles, m.Role)
				}
				if want := []string{"assistant", "assistant", "tool", "user"}; !slices.Equal(slices.Sorted(slices.Values(roles)), want) {
					t.Errorf("messages of %q, want one call and one result", roles)
				}
			}
		})
	}
}

func TestAGUIConnectKeepsTheOrderOfAClientsMessages(t *testing.T) {
	t.Parallel()
	h := newAgentHub(t, false)
	x := h.aguiThread("/agui", h.userToken("ann"), "thread")
	x.say("run-1", "/say One.", nil)
	x.say("run-2", "/say Two.", nil)
	x.path = "/agui/agent/desktop/connect"
	x.run(aguiInput{RunID: "connect-1"}, nil)
	var got []string
	for _, m := range x.Messages {
		got = append(got, m.Role+" "+m.Text())
	}
	if want := []string{"user /say One.", "assistant One.", "user /say Two.", "assistant Two."}; !slices.Equal(got, want) {
		t.Errorf("messages %q, want %q", got, want)
	}
}

func TestAGUIConnectFollowsLaterTurns(t *testing.T) {
	t.Parallel()
	h := newAgentHub(t, false)
	x := h.aguiThread("/agui", h.userToken("ann"), "thread")
	x.say("run-0", "/say Zero.", nil)
	follower := h.aguiThread("/agui/agent/desktop/connect", x.token, "thread")
	var runs []string
	var question string
	follower.run(aguiInput{RunID: "connect-1", ForwardedProps: map[string]any{"everdesk": map[string]any{"follow": true}}}, func(e aguitest.Event) bool {
		if e.Type != "RUN_FINISHED" {
			return false
		}
		switch runs = append(runs, e.RunID); len(runs) {
		case 1:
			x.say("run-1", "/say Before. \n/ask Which one? | red | blue\n/say After.", nil)
			question = x.Interrupts[0].ID
		case 2:
			if len(follower.Interrupts) != 1 || follower.Interrupts[0].ID != question {
				t.Errorf("interrupts of the follower %+v, want %q", follower.Interrupts, question)
			}
			x.run(aguiInput{RunID: "run-2", Resume: []map[string]any{{"interruptId": question, "status": "resolved", "payload": "blue"}}}, nil)
		}
		return len(runs) == 3
	})
	if want := []string{"connect-1", "run-1", "run-1"}; !slices.Equal(runs, want) {
		t.Errorf("runs %q, want %q", runs, want)
	}
	if got, want := follower.Texts("assistant"), x.Texts("assistant"); !slices.Equal(got, want) || len(got) != 2 || !strings.HasSuffix(got[1], "After.") {
		t.Errorf("texts of the follower %q, want those of the client that asks: %q", got, want)
	}
	if got, want := follower.Texts("user"), x.Texts("user"); !slices.Equal(got, want) {
		t.Errorf("messages of the user %q, want %q", got, want)
	}
}

// A turn that asks a question is interrupted. A client that follows gets the state without the question, in
// a run of its own with the id of its request.
func TestAGUIFollowerGetsChangesBetweenTurns(t *testing.T) {
	t.Parallel()
	h := newAgentHub(t, false)
	x := h.aguiThread("/agui", h.userToken("ann"), "thread")
	x.say("run-0", "/say Zero.", nil)
	follower := h.aguiThread("/agui/agent/desktop/connect", x.token, "thread")
	asked := false
	follower.run(aguiInput{RunID: "connect-1", ForwardedProps: map[string]any{"everdesk": map[string]any{"follow": true}}}, func(e aguitest.Event) bool {
		switch {
		case e.Type != "RUN_FINISHED":
		case e.RunID == "run-1" && len(follower.Interrupts) == 1:
			h.post("/agui/agent/desktop/stop/thread", x.token, "").wantStatus(http.StatusNoContent)
		case e.RunID == "run-1":
			h.rest(http.MethodPatch, "/api/sessions/thread", request{token: x.token, body: `{"title":"Renamed"}`}).wantStatus(http.StatusOK)
		case string(follower.State["session"]["title"]) == `"Renamed"`:
			return true
		case !asked:
			asked = true
			x.say("run-1", "/ask Which one? | red | blue", nil)
		}
		return false
	})
	if last := follower.Events[len(follower.Events)-1]; last.RunID != "connect-1" || len(follower.State["questions"]) > 0 {
		t.Errorf("the last run is %q with the questions %v, want one of the request without questions", last.RunID, follower.State["questions"])
	}
}

// A client that follows gets the review of a plan as an interrupt, and the todos when another client has
// approved the plan.
func TestAGUIFollowerShowsAPlanThatAnotherClientApproves(t *testing.T) {
	t.Parallel()
	h := newAgentHub(t, false)
	x := h.aguiThread("/agui", h.userToken("ann"), "thread")
	x.say("run-0", "/say Zero.", nil)
	follower := h.aguiThread("/agui/agent/desktop/connect", x.token, "thread")
	planned, reviewed := false, false
	follower.run(aguiInput{RunID: "connect-1", ForwardedProps: map[string]any{"everdesk": map[string]any{"follow": true}}}, func(e aguitest.Event) bool {
		switch {
		case e.Type != "RUN_FINISHED":
			return false
		case !planned:
			planned = true
			x.Messages = append(x.Messages, aguitest.Message{ID: "user-run-1", Role: "user", Content: json.RawMessage(`"/plan {\"todos\":[{\"id\":\"one\",\"task\":\"/say 1\"}]}"`)})
			x.run(aguiInput{RunID: "run-1", ForwardedProps: map[string]any{"everdesk": map[string]any{"plan": true}}}, nil)
		case !reviewed && len(follower.Interrupts) == 1:
			reviewed = true
			x.run(aguiInput{RunID: "run-2", Resume: []map[string]any{{"interruptId": follower.Interrupts[0].ID, "status": "resolved", "payload": map[string]any{"action": "approve"}}}}, nil)
		}
		return reviewed && strings.Contains(string(follower.State["todos"]["one"]), `"completed"`)
	})
	if !slices.Contains(follower.Types(), "STEP_FINISHED") {
		t.Errorf("events of the follower %v, want the step of the todo", follower.Types())
	}
}

func TestAGUIStopInterruptsTheTurn(t *testing.T) {
	t.Parallel()
	h := newAgentHub(t, false)
	x := h.aguiThread("/agui", h.userToken("ann"), "thread")
	x.say("run-1", "/stream 100000 100", func(e aguitest.Event) bool { return e.Type == "TEXT_MESSAGE_CONTENT" })
	h.post("/agui/agent/desktop/stop/thread", x.token, "").wantStatus(http.StatusNoContent)
	x.run(aguiInput{RunID: "run-1", ProtocolVersion: "1.0"}, nil)
	last := x.Events[len(x.Events)-1]
	if last.Type != "RUN_FINISHED" || last.Outcome == nil || last.Outcome.Type != "cancelled" {
		t.Errorf("last event %+v, want RUN_FINISHED that is cancelled", last)
	}
}

func TestAGUIFailedTurnIsARunError(t *testing.T) {
	t.Parallel()
	h := newAgentHub(t, false)
	x := h.aguiThread("/agui/"+string(h.newSession("ann")), h.userToken("ann"), "thread")
	x.say("run-1", "/fail It broke.", nil)
	if x.Error == nil || !strings.Contains(x.Error.Message, "It broke.") {
		t.Errorf("error %+v, want the reason; events %v", x.Error, x.Types())
	}
}

func TestAGUIBadRequests(t *testing.T) {
	t.Parallel()
	h := newAgentHub(t, false)
	ann, bob := h.userToken("ann"), h.userToken("bob")
	id := h.newSession("ann")
	for name, c := range map[string]struct {
		path, token, body string
		status            int
		text              string
	}{
		"no JSON":                 {"/agui", ann, "{", http.StatusBadRequest, "body"},
		"no thread":               {"/agui", ann, `{"runId":"r","messages":[]}`, http.StatusBadRequest, "threadId"},
		"no run":                  {"/agui", ann, `{"threadId":"t","messages":[]}`, http.StatusBadRequest, "runId"},
		"bad resume":              {"/agui", ann, `{"threadId":"t","runId":"r","messages":[],"resume":[{}]}`, http.StatusBadRequest, "resume[0]"},
		"bad content":             {"/agui", ann, `{"threadId":"t","runId":"r","messages":[{"id":"u","role":"user","content":7}]}`, http.StatusBadRequest, "messages"},
		"unknown part":            {"/agui", ann, `{"threadId":"t","runId":"r","messages":[{"id":"u","role":"user","content":[{"type":"video"}]}]}`, http.StatusBadRequest, "part 0"},
		"empty text":              {"/agui", ann, `{"threadId":"t","runId":"r","messages":[{"id":"u","role":"user","content":" "}]}`, http.StatusBadRequest, "content"},
		"session of another user": {"/agui/" + string(id), bob, `{"threadId":"t","runId":"r","messages":[]}`, http.StatusNotFound, "3"},
		"unknown monitor":         {"/agui", ann, `{"threadId":"t","runId":"r","messages":[],"forwardedProps":{"everdesk":{"monitor":"no monitor"}}}`, http.StatusBadRequest, "monitor"},
		"two tools of one name":   {"/agui", ann, `{"threadId":"t","runId":"r","messages":[],"tools":[{"name":"a"},{"name":"a"}]}`, http.StatusBadRequest, "two tools"},
		"too large a result":      {"/agui", ann, `{"threadId":"t","runId":"r","messages":[{"id":"x","role":"tool","toolCallId":"m.c","content":"` + strings.Repeat("x", 70_000) + `"}]}`, http.StatusBadRequest, "at most"},
		"unknown agent":           {"/agui/agent/nobody/run", ann, `{"threadId":"t","runId":"r","messages":[]}`, http.StatusNotFound, "nobody"},
		"a wrong type":            {"/agui", ann, `{"threadId":7}`, http.StatusBadRequest, "threadId"},
		"too large":               {"/agui", ann, `{"threadId":"` + strings.Repeat("x", 5<<20), http.StatusRequestEntityTooLarge, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := h.post(c.path, c.token, c.body).wantStatus(c.status)
			var p problem
			r.decode(&p) // as plain JSON, which clients parse
			if p.Code == 0 || !strings.Contains(string(r.body), c.text) {
				t.Errorf("answer %s, want a code and %q", r.body, c.text)
			}
		})
	}
}

func TestAGUIStreamOfAHubThatStopsTellsTheClientToReconnect(t *testing.T) {
	t.Parallel()
	h := newAgentHub(t, false)
	x := h.aguiThread("/agui", h.userToken("ann"), "thread")
	var once bool
	x.say("run-1", "/stream 100000 100", func(e aguitest.Event) bool {
		if e.Type == "TEXT_MESSAGE_CONTENT" && !once {
			once = true
			go func() { _ = h.server.Shutdown(t.Context()) }()
		}
		return false
	})
	if x.Error == nil || x.Error.Code != "reconnect" {
		t.Errorf("error %+v, want one with code reconnect", x.Error)
	}
}

func TestAGUIMessageToABusyAgentShowsTheTurnItJoined(t *testing.T) {
	t.Parallel()
	h := newAgentHub(t, false)
	x := h.aguiThread("/agui", h.userToken("ann"), "thread")
	x.say("run-1", "/stream 300 200", func(e aguitest.Event) bool { return e.Type == "TEXT_MESSAGE_CONTENT" })
	x.say("run-2", "/say Joined.", nil)
	all := strings.Join(x.Texts("assistant"), "\n")
	if x.Error != nil || !strings.Contains(all, "Joined.") {
		t.Errorf("error %+v, texts %.300q, want the answer to the second message", x.Error, all)
	}
	fresh := h.aguiThread("/agui/agent/desktop/connect", x.token, x.thread)
	fresh.run(aguiInput{RunID: "connect-1"}, nil)
	if got, want := fresh.Texts("user"), []string{"/stream 300 200", "/say Joined."}; !slices.Equal(got, want) {
		t.Errorf("messages of the user %q, want %q", got, want)
	}
}

func TestAGUIInfo(t *testing.T) {
	t.Parallel()
	h := newAgentHub(t, false)
	var info struct {
		Mode   string                     `json:"mode"`
		Agents map[string]json.RawMessage `json:"agents"`
	}
	h.get("/agui/info", h.userToken("ann")).wantStatus(http.StatusOK).decode(&info)
	if info.Mode != "sse" || info.Agents["desktop"] == nil {
		t.Errorf("info %+v, want the agent desktop over sse", info)
	}
	h.get("/agui/info", "").wantProblem(http.StatusUnauthorized, wire.CodeAuthRequired)
}
