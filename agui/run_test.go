package agui_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/everdesk/everdesk/agui"
	"github.com/everdesk/everdesk/agui/aguitest"
	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/wire"
)

const (
	testSession = wire.SessionID("ses-aaaaaaaaaaaaaaaaaaaaaaaaaa")
	testAgent   = wire.AgentID("main-monitor-0-m1")
	testMonitor = wire.MonitorID("monitor-0")
)

// world is a session whose log a test writes, with a client of AG-UI.
type world struct {
	t       *testing.T
	archive []wire.UIRow // all rows
	state   *desktop.State
	n       uint64
	run     *agui.Run
	client  aguitest.Client
	// version is the protocol version of the client; modern sets 1.0.
	version string
	modern  bool
	tools   []wire.ClientTool // of the client
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return &world{t: t, state: desktop.New(testSession)}
}

// start begins a run of the client with its conversation so far.
func (w *world) start(id string) {
	w.t.Helper()
	in := agui.Input{ThreadID: "thread", RunID: id, Tools: w.tools, ProtocolVersion: w.version}
	if w.modern {
		in.ProtocolVersion = "1.0"
	}
	for _, m := range w.client.Messages {
		data, err := json.Marshal(m)
		if err != nil {
			w.t.Fatal(err)
		}
		var copied agui.Message
		if err := json.Unmarshal(data, &copied); err != nil {
			w.t.Fatal(err)
		}
		in.Messages = append(in.Messages, copied)
	}
	w.client.Begin()
	w.run = agui.NewRun(&in, testSession, w.state.Snapshot())
	w.take()
}

// take passes the events of the run to the client.
func (w *world) take() {
	w.t.Helper()
	for _, data := range w.run.Take() {
		if err := w.client.Apply(data); err != nil {
			w.t.Fatalf("%s: %v", data, err)
		}
	}
}

// log appends events to the log.
func (w *world) log(all ...wire.ServerPayload) {
	w.t.Helper()
	for _, data := range all {
		w.n++
		e := wire.Event{Session: testSession, At: wire.Position{Epoch: 1, Seq: w.n}, Time: time.UnixMilli(int64(w.n)), Data: data}
		w.state.Apply(e)
		if row, ok := data.(wire.MessageUpdated); ok && row.Action == wire.RowCreated {
			w.archive = append(w.archive, row.Message)
		}
		if w.run != nil {
			w.run.Apply(e)
			w.take()
		}
	}
}

// row appends a row of the turn.
func (w *world) row(say wire.Say, text string) {
	w.t.Helper()
	w.log(wire.MessageUpdated{Action: wire.RowCreated, MonitorID: testMonitor, Message: wire.UIRow{
		ID: wire.RowID(w.n + 1), TS: wire.Millis(w.n + 1), Type: wire.RowSay, Say: say, Text: text, MonitorID: testMonitor, AgentID: testAgent, MessageID: "m1",
	}})
}

// attach makes the run show the turn of a message, with the older rows that it needs.
func (w *world) attach(message wire.MessageID) {
	w.t.Helper()
	for {
		before, ok := w.run.NeedsRows(message)
		if !ok {
			break
		}
		end := slices.IndexFunc(w.archive, func(r wire.UIRow) bool { return r.ID == before })
		begin := max(0, end-50)
		w.run.AddRows(w.archive[begin:end])
		if begin == 0 {
			break
		}
	}
	w.run.Attach(message, false)
	w.take()
}

// begin logs a message and the beginning of its turn.
func (w *world) begin() {
	w.t.Helper()
	w.row(wire.SayUserFeedback, "hello")
	w.log(wire.MessageAccepted{MessageID: "m1", AgentID: testAgent, MonitorID: testMonitor, How: wire.TakenDirect})
}

func answer(offset int, delta string) wire.AgentResponse {
	return wire.AgentResponse{Offset: offset, Delta: delta, AgentID: testAgent, MonitorID: testMonitor, MessageID: "m1"}
}

// end logs the end of the turn.
func (w *world) end(text string, outcome wire.Outcome, reason string) {
	w.t.Helper()
	if text != "" {
		w.row(wire.SayText, text)
	}
	data, err := json.Marshal(map[string]any{"outcome": outcome, "reason": reason})
	if err != nil {
		w.t.Fatal(err)
	}
	w.row(wire.SayAPIReqFinished, string(data))
	w.log(wire.AgentResponse{
		IsComplete: true, Outcome: outcome, Reason: reason, AgentID: testAgent, MonitorID: testMonitor, MessageID: "m1",
		Usage: &wire.Usage{InputTokens: 5, OutputTokens: 2},
	})
}

func units(text string) (n int) {
	for _, c := range text {
		n++
		if c > 0xffff {
			n++
		}
	}
	return n
}

// However often the connection is lost, at whatever event, the client ends with the text of the turn,
// each tool call once, and no rule broken.
func TestARunWithLostConnectionsIsWhole(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(seed, 1))
			w := newWorld(t)
			w.modern = rnd.IntN(2) == 0
			w.client.Messages = []aguitest.Message{{ID: "u1", Role: "user", Content: []byte(`"hello"`)}}
			w.start("m1")
			w.run.Expect("m1")
			w.begin()
			var text, unsaved strings.Builder
			var thoughts thinker
			calls := 0
			for range rnd.IntN(40) {
				switch rnd.IntN(5) {
				case 0, 1:
					piece := []string{"word ", "말 ", "😀", "\n", "e\u0301 "}[rnd.IntN(5)]
					w.log(answer(units(text.String()), piece))
					text.WriteString(piece)
					unsaved.WriteString(piece)
				case 2:
					thoughts.think(w, []string{"hm", "흠 ", "😀", "so\n"}[rnd.IntN(4)])
					if rnd.IntN(2) == 0 {
						thoughts.write(w, new(true))
					}
				case 3:
					calls++
					id := fmt.Sprint("call-", calls)
					call := wire.ToolProgress{ToolName: "x:y", ToolUseID: id, Status: wire.ToolRunning, ToolInput: []byte(`{"a":1}`), AgentID: testAgent, MonitorID: testMonitor, MessageID: "m1"}
					thoughts.commit(w)
					if unsaved.Len() > 0 {
						w.row(wire.SayText, unsaved.String())
						unsaved.Reset()
					}
					w.log(call)
					call.Status, call.Message = wire.ToolComplete, "done"
					w.row(wire.SayTool, `{"id":"`+id+`","tool":"x:y","status":"complete","input":{"a":1},"result":"done"}`)
					w.log(call)
				case 4: // the connection is lost, and the client repeats its request
					w.start("m1")
					w.run.Attach("m1", false)
					w.take()
				}
			}
			thoughts.commit(w)
			w.end(unsaved.String(), wire.OutcomeCompleted, "")
			if err := w.client.End(); err != nil {
				t.Fatal(err)
			}
			if got := w.client.Texts("reasoning"); !slices.Equal(got, thoughts.done) {
				t.Errorf("thinking %q, want %q", got, thoughts.done)
			}
			if got := strings.Join(w.client.Texts("assistant"), ""); got != text.String() {
				t.Errorf("text %q, want %q", got, text.String())
			}
			got := 0
			for _, m := range w.client.Messages {
				got += len(m.ToolCalls)
			}
			if got != calls {
				t.Errorf("%d tool calls, want %d", got, calls)
			}
			if first := w.client.Messages[0]; first.ID != "u1" {
				t.Errorf("the first message is %s, want that of the user", first.ID)
			}
		})
	}
}

func TestTextThatChangesIsSentAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start("m1")
	w.run.Expect("m1")
	w.begin()
	w.log(answer(0, "one "), answer(4, "two "), answer(0, "one "), answer(4, "2"), answer(5, " three"))
	w.end("one 2 three", wire.OutcomeCompleted, "")
	if got, want := w.client.Texts("assistant"), []string{"one 2 three"}; !slices.Equal(got, want) {
		t.Errorf("texts %q, want %q; events %v", got, want, w.client.Types())
	}
}

func TestEndOfARun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		modern  bool
		outcome wire.Outcome
		reason  string
		want    string
	}{
		"completed":             {true, wire.OutcomeCompleted, "", "RUN_FINISHED"},
		"interrupted":           {true, wire.OutcomeInterrupted, "stopped", "RUN_FINISHED cancelled"},
		"interrupted, old":      {false, wire.OutcomeInterrupted, "stopped", "RUN_FINISHED"},
		"failed":                {true, wire.OutcomeFailed, "it broke", "RUN_ERROR it broke"},
		"failed without a word": {true, wire.OutcomeFailed, "", "RUN_ERROR The run failed."},
	} {
		for _, repeated := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " repeated ", repeated), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.modern = c.modern
				w.start("m1")
				w.run.Expect("m1")
				w.begin()
				w.log(answer(0, "text"))
				w.end("text", c.outcome, c.reason)
				if repeated {
					w.start("m1")
					w.run.Attach("m1", false)
					w.take()
				}
				last := w.client.Events[len(w.client.Events)-1]
				got := last.Type
				if last.Outcome != nil {
					got += " " + last.Outcome.Type
				}
				if last.Message != "" {
					got += " " + last.Message
				}
				if got != c.want {
					t.Errorf("the run ends with %q, want %q", got, c.want)
				}
			})
		}
	}
}

// The document that a client has after all patches is the one that a new client gets.
func TestDocumentFollowsTheDesktop(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(7, 1))
	w := newWorld(t)
	w.start("m1")
	w.run.Expect("m1")
	w.begin()
	deltas := 0
	for i := range 260 { // more than two whole documents
		id := wire.WindowID(fmt.Sprint("a/b~", rnd.IntN(5))) // characters that paths of patches escape
		switch rnd.IntN(4) {
		case 0:
			w.log(wire.SessionRenamed{Title: fmt.Sprint("Title ", i)})
		case 1:
			w.log(wire.Actions{MonitorID: testMonitor, Actions: []wire.Action{wire.WindowCreate{WindowID: id, Title: "Notes", Bounds: wire.Bounds{W: 300, H: 200}, Content: wire.MarkdownContent{Data: "hi"}}}})
		case 2:
			w.log(wire.Actions{MonitorID: testMonitor, Actions: []wire.Action{wire.WindowSetTitle{WindowID: id, Title: fmt.Sprint("Title ", i)}}})
		case 3:
			w.log(wire.Actions{MonitorID: testMonitor, Actions: []wire.Action{wire.WindowClose{WindowID: id}}})
		}
		if w.client.Events[len(w.client.Events)-1].Type == "STATE_DELTA" {
			deltas++
		}
		fresh := aguitest.Client{}
		fresh.Begin()
		for _, data := range agui.NewRun(&agui.Input{ThreadID: "thread", RunID: "m2"}, testSession, w.state.Snapshot()).Take() {
			if err := fresh.Apply(data); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(fresh.State, w.client.State); diff != "" {
			t.Fatalf("after %d changes the patched document differs from a new one (-new +patched):\n%s", i+1, diff)
		}
	}
	snapshots := 0
	for _, e := range w.client.Events {
		if e.Type == "STATE_SNAPSHOT" {
			snapshots++
		}
	}
	if deltas < 50 || snapshots < 2 {
		t.Errorf("%d patches and %d whole documents, want many patches and sometimes a whole one", deltas, snapshots)
	}
}

func TestAnUnknownRunEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start("m9")
	w.run.Attach("m9", false)
	w.take()
	if err := w.client.End(); err != nil {
		t.Error(err)
	}
}

// What only AG-UI 1.0 knows is sent to clients that name that version, and to no others.
func TestShapesOf10AreOnlyForClientsThatNameIt(t *testing.T) {
	t.Parallel()
	for version, modern := range map[string]bool{"": false, "0.0.59": false, "0.9": false, "next": false, "1.0": true, "1": true, "2.1.0": true} {
		for _, outcome := range []wire.Outcome{wire.OutcomeCompleted, wire.OutcomeInterrupted} {
			w := newWorld(t)
			w.version = version
			w.start("m1")
			w.run.Expect("m1")
			w.begin()
			w.log(answer(0, "text"))
			w.end("text", outcome, "")
			last := w.client.Events[len(w.client.Events)-1]
			cancelled := last.Outcome != nil && last.Outcome.Type == "cancelled"
			if last.Type != "RUN_FINISHED" || (last.Usage != nil) != modern || cancelled != (modern && outcome == wire.OutcomeInterrupted) {
				t.Errorf("version %q, %s: last event %+v, want shapes of 1.0: %v", version, outcome, last, modern)
			}
		}
	}
}

// The schema of a question has its choices, how many of them an answer may have, and whether it may be a text.
func TestSchemaOfAQuestionDescribesItsAnswer(t *testing.T) {
	t.Parallel()
	options := []wire.PromptOption{{Value: "r", Label: "Red"}, {Value: "b"}}
	const items = `"items":{"oneOf":[{"const":"r","title":"Red"},{"const":"b","title":"b"}]}`
	for _, c := range []struct {
		prompt wire.Prompt
		want   string
	}{
		{wire.Prompt{}, `{"text":{"type":"string"}}`},
		{wire.Prompt{Options: options}, `{"selectedValues":{` + items + `,"maxItems":1,"type":"array"}}`},
		{wire.Prompt{Options: options, MultiSelect: true}, `{"selectedValues":{` + items + `,"type":"array"}}`},
		{wire.Prompt{Options: options, InputField: &wire.PromptInput{}}, `{"selectedValues":{` + items + `,"maxItems":1,"type":"array"},"text":{"type":"string"}}`},
	} {
		w := newWorld(t)
		w.start("m1")
		w.run.Expect("m1")
		w.begin()
		c.prompt.ID, c.prompt.Title = "p", "Which?"
		w.log(wire.Actions{AgentID: testAgent, MonitorID: testMonitor, Actions: []wire.Action{wire.PromptShow{Prompt: c.prompt}}})
		if len(w.client.Interrupts) != 1 {
			t.Fatalf("interrupts %+v, want the prompt", w.client.Interrupts)
		}
		if got, want := string(w.client.Interrupts[0].ResponseSchema), `{"properties":`+c.want+`,"type":"object"}`; got != want {
			t.Errorf("schema of %+v: got %s, want %s", c.prompt, got, want)
		}
	}
}

// A message that was removed from the queue while its client was away is an error, not a success.
func TestARunOfARefusedMessageIsAnError(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.log(wire.MessageUpdated{Action: wire.RowCreated, MonitorID: testMonitor, Message: wire.UIRow{
		TS: 5, Type: wire.RowSay, Say: wire.SayUserFeedback, Text: "hello", MonitorID: testMonitor, MessageID: "m1",
		ProgressStatus: &wire.ProgressStatus{Icon: "circle-slash", Text: "removed from the queue"},
	}})
	w.start("m1")
	w.run.Attach("m1", false)
	w.take()
	if err := w.client.End(); err != nil || w.client.Error == nil || w.client.Error.Message != "removed from the queue" {
		t.Errorf("end %v, error %+v, want RUN_ERROR with the reason", err, w.client.Error)
	}
}

// The hub has the newest rows only. A client that repeats the request of an older turn keeps its answer.
func TestARepeatedRunThatTheHubForgotKeepsWhatTheClientHas(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.client.Messages = []aguitest.Message{{ID: "u1", Role: "user", Content: []byte(`"hello"`)}, {ID: "m1.text", Role: "assistant", Content: []byte(`"the answer"`)}}
	w.start("m1")
	w.run.Attach("m1", false)
	w.take()
	if got, want := w.client.Texts("assistant"), []string{"the answer"}; !slices.Equal(got, want) {
		t.Errorf("texts %q, want %q", got, want)
	}
}

// The client repeats the request of a message that joined a turn, while the turn runs or after its end, with or
// without a row of the turn after the message.
func TestACutRunThatJoinedATurnIsWhole(t *testing.T) {
	t.Parallel()
	for _, hasRow := range []bool{false, true} {
		for _, ended := range []bool{false, true} {
			t.Run(fmt.Sprintf("row %v, ended %v", hasRow, ended), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.begin()
				w.log(answer(0, "one "))
				w.start("m2")
				w.run.Expect("m2")
				w.log(wire.MessageUpdated{Action: wire.RowCreated, MonitorID: testMonitor, Message: wire.UIRow{
					ID: wire.RowID(w.n + 1), TS: wire.Millis(w.n + 1), Type: wire.RowSay, Say: wire.SayUserFeedback, Text: "and?", MonitorID: testMonitor, MessageID: "m2",
				}})
				rest := "one "
				if hasRow {
					w.row(wire.SayText, rest)
					rest = ""
				}
				w.log(wire.MessageAccepted{MessageID: "m2", AgentID: testAgent, MonitorID: testMonitor, How: wire.TakenSteered}, answer(4, "two "))
				w.run = nil
				w.log(answer(8, "three "))
				rest += "two three "
				end := func() {
					w.end(rest, wire.OutcomeCompleted, "")
					w.log(wire.AgentResponse{IsComplete: true, Outcome: wire.OutcomeCompleted, AgentID: testAgent, MonitorID: testMonitor, MessageID: "m2"})
				}
				if ended {
					end()
				}
				w.start("m2")
				w.attach("m2")
				if !ended {
					end()
				}
				if err := w.client.End(); err != nil {
					t.Fatal(err)
				}
				if got, want := w.client.Texts("assistant"), []string{"one two three "}; !slices.Equal(got, want) {
					t.Errorf("texts %q, want %q; events %v", got, want, w.client.Types())
				}
			})
		}
	}
}
