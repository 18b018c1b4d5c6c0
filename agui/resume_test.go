package agui_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/agui"
	"github.com/everdesk/everdesk/agui/aguitest"
	"github.com/everdesk/everdesk/wire"
)

// ask logs the beginning of a turn that asks a question.
func (w *world) ask(id wire.PromptID) {
	w.t.Helper()
	w.begin()
	w.log(wire.Actions{AgentID: testAgent, MonitorID: testMonitor, Actions: []wire.Action{wire.PromptShow{Prompt: wire.Prompt{ID: id, Title: "Which?"}}}})
}

// The run that sent an answer goes on until the answer is refused. Refusals for other connections change nothing.
func TestARefusedAnswerBringsTheQuestionAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ask("p")
	w.start("m2")
	w.run.Answered("p", "conn-2")
	w.attach("m1")
	for _, other := range []wire.MessageRejected{{MessageID: "unnamed", To: "conn-1"}, {MessageID: "m1", To: "conn-1"}} {
		w.log(other)
		if w.run.Ended() {
			t.Fatalf("after %+v, which is for another connection, the run has ended; events %v", other, w.client.Types())
		}
	}
	w.log(wire.MessageRejected{MessageID: "unnamed", Code: wire.CodeForbidden, Reason: "not yours", To: "conn-2"})
	if got := w.client.Interrupts; len(got) != 1 || got[0].ID != "p" {
		t.Fatalf("interrupts %+v, want p again; events %v", got, w.client.Types())
	}
	value := ""
	for _, e := range w.client.Events {
		if e.Name == "everdesk.rejected" {
			value = string(e.Value)
		}
	}
	if want := `{"code":"WS_FORBIDDEN","interruptId":"p","reason":"not yours"}`; value != want {
		t.Errorf("refusal %s, want %s", value, want)
	}
}

// A refusal because another client has answered meanwhile changes nothing.
func TestARefusedAnswerToAClosedQuestionChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ask("p")
	w.start("m2")
	w.run.Answered("p", "conn-2")
	w.attach("m1")
	w.log(wire.PromptClosed{PromptID: "p", MonitorID: testMonitor, Reason: wire.ClosedAnswered})
	w.log(wire.MessageRejected{MessageID: "unnamed", Code: wire.CodeHITLRequestExpired, Reason: "too late", To: "conn-2"})
	w.log(answer(0, "text"))
	w.end("text", wire.OutcomeCompleted, "")
	if last := w.client.Events[len(w.client.Events)-1]; last.Type != "RUN_FINISHED" || last.Outcome != nil {
		t.Errorf("the run ends with %+v, want RUN_FINISHED; events %v", last, w.client.Types())
	}
}

// The refused result of a frontend's tool ends the run with an error: the frontend would execute the tool again.
func TestARefusedResultOfAFrontendToolIsAnError(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.begin()
	w.log(wire.Actions{AgentID: testAgent, MonitorID: testMonitor, Actions: []wire.Action{wire.PromptShow{Prompt: wire.Prompt{ID: "p", ClientTool: &wire.ClientToolCall{Name: "pick", ToolUseID: "c"}}}}})
	w.tools = []wire.ClientTool{{Name: "pick"}}
	w.start("m2")
	w.run.Answered("p", "conn-2")
	w.attach("m1")
	w.log(wire.MessageRejected{MessageID: "unnamed", Code: wire.CodeRateLimited, Reason: "too many", To: "conn-2"})
	if w.client.Error == nil || w.client.Error.Message != "too many" {
		t.Errorf("error %+v, want RUN_ERROR with the reason; events %v", w.client.Error, w.client.Types())
	}
}

// The refusal of another message with the id of the run is not the run's.
func TestTheRefusalOfAnotherSenderDoesNotEndTheRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start("m1")
	w.run.Expect("m1")
	w.begin()
	w.log(wire.MessageRejected{MessageID: "m1", Code: wire.CodeInvalidMessage, Reason: "the id is taken", To: "conn-9"}, answer(0, "text"))
	w.end("text", wire.OutcomeCompleted, "")
	if last := w.client.Events[len(w.client.Events)-1]; last.Type != "RUN_FINISHED" {
		t.Errorf("the run ends with %+v, want RUN_FINISHED", last)
	}
	w = newWorld(t)
	w.start("m1")
	w.run.Expect("m1")
	w.log(wire.MessageRejected{MessageID: "m1", Code: wire.CodeSessionInvalidState, Reason: "removed from the queue"})
	if w.client.Error == nil || w.client.Error.Message != "removed from the queue" {
		t.Errorf("error %+v, want the refusal that is for all", w.client.Error)
	}
}

// A run keeps no more of the client's conversation than a snapshot may have.
func TestARunKeepsAPartOfALargeConversation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.begin()
	w.log(answer(0, "one "))
	large, err := json.Marshal(strings.Repeat("x", 100_000))
	if err != nil {
		t.Fatal(err)
	}
	for range 35 {
		w.client.Messages = append(w.client.Messages, aguitest.Message{ID: "u", Role: "user", Content: large})
	}
	w.client.Messages = append(w.client.Messages, aguitest.Message{ID: "u2", Role: "user", Content: []byte(`"and?"`)})
	w.start("m2")
	w.run.Expect("m2")
	w.log(wire.MessageAccepted{MessageID: "m2", AgentID: testAgent, MonitorID: testMonitor, How: wire.TakenSteered})
	size := 0
	for _, e := range w.client.Events {
		if e.Type != "MESSAGES_SNAPSHOT" {
			continue
		}
		for _, m := range *e.Messages {
			size += len(m.Content)
		}
	}
	if size == 0 || size > agui.MaxInput/2 {
		t.Errorf("the snapshot has %d bytes, want some and at most %d", size, agui.MaxInput/2)
	}
}

// userRow logs the row of a user's message.
func (w *world) userRow(id wire.MessageID, text string) {
	w.t.Helper()
	w.log(wire.MessageUpdated{Action: wire.RowCreated, MonitorID: testMonitor, Message: wire.UIRow{
		ID: wire.RowID(w.n + 1), TS: wire.Millis(w.n + 1), Type: wire.RowSay, Say: wire.SayUserFeedback, Text: text, MonitorID: testMonitor, MessageID: id,
	}})
}

// The last message of a request with answers is new, or was sent with an earlier request. "user TEXT" is a message with an
// id of the client, "of TURN" one of an agent.
func TestNewMessageBesideAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rows     []string // "ID TEXT" of the users' messages that the hub has
		turn     wire.MessageID
		messages []string
		want     string
	}{
		"the question's own message":          {[]string{"m1 hello"}, "m1", []string{"user hello"}, "known"},
		"with parts":                          {[]string{"m1 a\nb"}, "m1", []string{"parts a b"}, "known"},
		"a new text":                          {[]string{"m1 hello"}, "m1", []string{"user hello", "of m1", "user no"}, "new"},
		"a new text without an answer before": {[]string{"m1 hello"}, "m1", []string{"user hello", "user no"}, "new"},
		"the same text again":                 {[]string{"m1 hello"}, "m1", []string{"user hello", "of m1", "user hello"}, "new"},
		"a message that joined":               {[]string{"m1 hello", "m2 and?"}, "m1", []string{"user hello", "of m1", "user and?"}, "known"},
		"one that joined with the same text":  {[]string{"m1 go", "m2 go"}, "m1", []string{"user go", "of m1", "user go"}, "known"},
		"after one that joined":               {[]string{"m1 go", "m2 go"}, "m1", []string{"user go", "of m1", "user go", "user go"}, "new"},
		"the same text in each turn":          {[]string{"m1 go", "m2 go"}, "m2", []string{"user go", "of m1", "user go"}, "known"},
		"and once more":                       {[]string{"m1 go", "m2 go"}, "m2", []string{"user go", "of m1", "user go", "of m2", "user go"}, "new"},
		"older rows are gone":                 {[]string{"m9 go"}, "m9", []string{"user go", "of m1", "user go", "of m2", "user go"}, "known"},
		"a turn that failed without a text":   {[]string{"m1 go", "m2 go"}, "m2", []string{"user go", "user go"}, "known"},
		"later turns than that of a plan":     {[]string{"m1 plan", "m2 hi"}, "m1", []string{"user plan", "user hi", "of m2", "user plan"}, "new"},
		"an id of the hub":                    {[]string{"m1 hello"}, "m1", []string{"id m1 hello"}, "known"},
		"a repeated request":                  {[]string{"m1 hello", "run no"}, "m1", []string{"user hello", "of m1", "user no"}, "new"},
		"with the id of the turn that asks":   {[]string{"run hello", "m2 and?"}, "run", []string{"user hello", "of run", "user and?"}, "known"},
		"a turn that is not known":            {[]string{"m1 hello"}, "", []string{"user no"}, "undecided"},
		"one with a text that is known":       {[]string{"m1 hello"}, "", []string{"user hello"}, "known"},
		"agents with ids of the client":       {[]string{"m2 go"}, "m2", []string{"user go", "agent", "user go"}, "undecided"},
		"these and a new text":                {[]string{"m2 go"}, "m2", []string{"user go", "agent", "user no"}, "new"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for _, row := range c.rows {
				id, text, _ := strings.Cut(row, " ")
				w.userRow(wire.MessageID(id), text)
			}
			var messages []map[string]any
			for _, m := range c.messages {
				kind, rest, _ := strings.Cut(m, " ")
				switch kind {
				case "user":
					messages = append(messages, map[string]any{"id": "u", "role": "user", "content": rest})
				case "parts":
					var parts []map[string]string
					for text := range strings.FieldsSeq(rest) {
						parts = append(parts, map[string]string{"type": "text", "text": text})
					}
					messages = append(messages, map[string]any{"id": "u", "role": "user", "content": parts})
				case "id":
					id, text, _ := strings.Cut(rest, " ")
					messages = append(messages, map[string]any{"id": id, "role": "user", "content": text})
				case "of":
					messages = append(messages, map[string]any{"id": rest + ".text", "role": "assistant", "content": "said"})
				case "agent":
					messages = append(messages, map[string]any{"id": "client-id", "role": "assistant", "content": "said"})
				}
			}
			body, err := json.Marshal(map[string]any{"threadId": "t", "runId": "run", "messages": messages})
			if err != nil {
				t.Fatal(err)
			}
			in, err := agui.ParseInput(body)
			if err != nil {
				t.Fatal(err)
			}
			isNew, err := agui.IsNew(agui.NewRun(&in, testSession, w.state.Snapshot()), &in, c.turn)
			got := map[bool]string{true: "new", false: "known"}[isNew]
			if bad, ok := errors.AsType[*agui.InputError](err); ok && bad.Field == "messages" {
				got = "undecided"
			}
			if got != c.want {
				t.Errorf("the last message is %s (error %v), want %s", got, err, c.want)
			}
		})
	}
}

// An approval is shown at the tool call that asks for it, also if another one began later. Logs of older hubs do not
// name the call.
func TestAnApprovalNamesItsCall(t *testing.T) {
	t.Parallel()
	for use, want := range map[string]string{"c1": "m1.c1", "c2": "m1.c2", "": "m1.c2", "unknown": "m1.c2"} {
		w := newWorld(t)
		w.start("m1")
		w.run.Expect("m1")
		w.begin()
		for _, id := range []string{"c1", "c2"} {
			w.log(wire.ToolProgress{ToolName: "shell", ToolUseID: id, Status: wire.ToolRunning, AgentID: testAgent, MonitorID: testMonitor, MessageID: "m1"})
		}
		w.log(wire.ApprovalRequest{DialogID: "d", Title: "May it?", PermissionOptions: &wire.PermissionOptions{}, ToolUseID: use, AgentID: testAgent, MonitorID: testMonitor, MessageID: "m1"})
		if got := w.client.Interrupts; len(got) != 1 || got[0].ToolCallID != want {
			t.Errorf("asked by %q: interrupts %+v, want one at the call %s", use, got, want)
		}
	}
}

// The questions of a task, on which an agent of its own works, are those of the turn that delegated it.
func TestAQuestionOfATaskIsOneOfItsTurn(t *testing.T) {
	t.Parallel()
	const task = "task-m1-1"
	for name, ask := range map[string]wire.ServerPayload{
		"q": wire.ApprovalRequest{DialogID: "q", Title: "May it?", AgentID: task, MonitorID: testMonitor, MessageID: "m1"},
		"p": wire.Actions{AgentID: task, MonitorID: testMonitor, MessageID: "m1", Actions: []wire.Action{wire.PromptShow{Prompt: wire.Prompt{ID: "p", Title: "Which?"}}}},
	} {
		w := newWorld(t)
		w.start("m1")
		w.run.Expect("m1")
		w.begin()
		w.log(ask)
		if got := w.client.Interrupts; len(got) != 1 || got[0].ID != name {
			t.Errorf("interrupts %+v, want %s; events %v", got, name, w.client.Types())
		}
	}
}
