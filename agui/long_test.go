package agui_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/agui"
	"github.com/everdesk/everdesk/agui/aguitest"
	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/wire"
)

// manyTurns are so many that the hub does not hold the rows of the first ones.
const manyTurns = desktop.MaxRows / 2

// turn logs a whole turn with as many tool calls and a text after each.
func (w *world) turn(n, calls int) {
	w.t.Helper()
	w.turnWith(n, calls, func(int) {})
}

// turnWith logs a turn as turn does, and calls before with the number of each call and at last with the number of
// calls.
func (w *world) turnWith(n, calls int, before func(call int)) {
	w.t.Helper()
	id := wire.MessageID("m" + strconv.Itoa(n))
	agent := wire.AgentID("main-monitor-0-" + string(id))
	row := func(say wire.Say, text string) {
		w.log(wire.MessageUpdated{Action: wire.RowCreated, MonitorID: testMonitor, Message: wire.UIRow{
			ID: wire.RowID(w.n + 1), TS: wire.Millis(w.n + 1), Type: wire.RowSay, Say: say, Text: text, MonitorID: testMonitor, AgentID: agent, MessageID: id,
		}})
	}
	row(wire.SayUserFeedback, fmt.Sprint("question ", n))
	w.log(wire.MessageAccepted{MessageID: id, AgentID: agent, MonitorID: testMonitor, How: wire.TakenDirect})
	text := ""
	say := func(piece string) {
		w.log(wire.AgentResponse{Offset: len(text), Delta: piece, AgentID: agent, MonitorID: testMonitor, MessageID: id})
		row(wire.SayText, piece)
		text += piece
	}
	say(fmt.Sprint("answer ", n))
	for i := range calls {
		before(i)
		call := wire.ToolProgress{ToolName: "x:y", ToolUseID: fmt.Sprint("call-", i), Status: wire.ToolRunning, AgentID: agent, MonitorID: testMonitor, MessageID: id}
		w.log(call)
		row(wire.SayTool, fmt.Sprintf(`{"id":"call-%d","tool":"x:y","result":"done"}`, i))
		call.Status, call.Message = wire.ToolComplete, "done"
		w.log(call)
		say(fmt.Sprint(" ", i))
	}
	before(calls)
	row(wire.SayAPIReqFinished, `{"outcome":"completed"}`)
	w.log(wire.AgentResponse{IsComplete: true, Outcome: wire.OutcomeCompleted, AgentID: agent, MonitorID: testMonitor, MessageID: id})
}

// connect attaches the client to the session, with its conversation so far.
func (w *world) connect(follow bool) {
	w.t.Helper()
	w.start("connect")
	if follow {
		w.run.Follow()
	}
	w.attach("")
}

// wantTurns fails the test if the client has not exactly the conversation of all turns up to last.
func (w *world) wantTurns(last int) {
	w.t.Helper()
	var want, got []string
	for n := range last + 1 {
		want = append(want, fmt.Sprint("question ", n), fmt.Sprint("answer ", n))
	}
	for _, m := range w.client.Messages {
		if text := m.Text(); m.Role != "tool" && len(m.ToolCalls) == 0 {
			got = append(got, text)
		}
	}
	if !slices.Equal(got, want) {
		w.t.Fatalf("the client has %d texts, %q to %q; want %d, %q to %q", len(got), slices.Concat(got, []string{"none"})[0], slices.Concat([]string{"none"}, got)[len(got)], len(want), want[0], want[len(want)-1])
	}
}

// The hub has the newest rows only, and clients drop what a snapshot of the messages leaves out.
func TestAClientThatFollowsALongConversationKeepsIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.connect(true)
	for n := range manyTurns {
		w.turn(n, 0)
		w.wantTurns(n)
	}
}

func TestAClientThatConnectsAgainKeepsOlderMessages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.connect(true)
	for n := range manyTurns {
		w.turn(n, 0)
	}
	w.run = nil
	w.turn(manyTurns, 0) // while the client is away
	w.connect(false)
	w.wantTurns(manyTurns)
}

// A turn may have more rows than the hub holds.
func TestAClientKeepsTheMessagesBeforeAVeryLongTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.connect(true)
	w.turn(1, 0)
	w.turn(2, desktop.MaxRows)
	before := slices.Clone(w.client.Messages)
	w.turn(3, 0)
	if got := w.client.Messages[:min(len(before), len(w.client.Messages))]; len(got) != len(before) || !slices.EqualFunc(got, before, sameMessage) {
		t.Fatalf("after the next turn the client has %d messages, want the %d of before, and new ones", len(got), len(before))
	}
	w.connect(false)
	if got := w.client.Messages; len(got) != len(before)+2 || !slices.EqualFunc(got[:len(before)], before, sameMessage) {
		t.Errorf("after connecting again the client has %d messages, want %d with the same texts", len(got), len(before)+2)
	}
}

func sameMessage(a, b aguitest.Message) bool { return a.ID == b.ID && a.Text() == b.Text() }

// What was removed from the conversation goes from clients, too.
func TestAClientDropsMessagesThatWereRewound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.connect(true)
	for n := range manyTurns {
		w.turn(n, 0)
	}
	rows := w.state.Rows().On(testMonitor)
	from := slices.IndexFunc(rows, func(r wire.UIRow) bool { return r.MessageID == "m95" })
	w.log(wire.HistoryRewound{MonitorID: testMonitor, TS: rows[from].TS})
	w.connect(false)
	w.wantTurns(94)
}

// A client that was away for more rows than a state holds gets all that it missed.
func TestAClientThatWasAwayForLongMissesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.connect(true)
	w.turn(0, 0)
	w.run = nil
	for n := range manyTurns {
		w.turn(n+1, 0)
	}
	w.connect(false)
	w.wantTurns(manyTurns)
}

// A conversation that does not continue what the client has replaces it. A run reads older rows up to a bound.
func TestAConversationThatTheClientHasNothingOfReplacesIts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.connect(true)
	w.turn(0, 0)
	w.run = nil
	const turns = 500 // with 1500 rows
	for n := range turns {
		w.turn(n+1, 0)
	}
	w.connect(false)
	last := w.client.Messages[len(w.client.Messages)-1]
	if first := w.client.Messages[0]; first.ID == "m0" || last.ID != fmt.Sprintf("m%d.text", turns) {
		t.Errorf("messages %s to %s, want the newest ones", first.ID, last.ID)
	}
}

// A client is cut in a turn that has more rows than a state holds. Whether it repeats its request or connects, in
// the turn or after it, it ends with the whole text and each call.
func TestACutInAVeryLongTurnLosesNothing(t *testing.T) {
	t.Parallel()
	const calls = desktop.MaxRows
	var want strings.Builder
	want.WriteString("answer 2")
	for n := range calls {
		fmt.Fprint(&want, " ", n)
	}
	for _, request := range []wire.MessageID{"m2", ""} {
		for _, cut := range []int{1, calls / 2, calls - 1} {
			for _, back := range []int{cut + 1, calls, -1} { // -1 is after the turn and others
				t.Run(fmt.Sprintf("request %q, cut at %d, back at %d", request, cut, back), func(t *testing.T) {
					t.Parallel()
					w := newWorld(t)
					w.connect(true)
					w.turn(1, 0)
					again := func() {
						w.start("again")
						w.attach(request)
					}
					w.turnWith(2, calls, func(n int) {
						switch n {
						case cut:
							w.run = nil
						case back:
							again()
						}
					})
					if back < 0 {
						w.turn(3, 0)
						again()
					}
					var texts []string
					ended := map[string]int{}
					for _, m := range w.client.Messages {
						if m.ID == "m2.text" {
							texts = append(texts, m.Text())
						}
						if m.ToolCallID != "" {
							ended[m.ToolCallID]++
						}
					}
					if len(texts) != 1 || texts[0] != want.String() {
						t.Errorf("texts of the turn %q, want %q", texts, want.String())
					}
					if len(ended) != calls {
						t.Errorf("%d calls have a result, want %d", len(ended), calls)
					}
				})
			}
		}
	}
}

// What the hub sends of a conversation has at most the size of a request, which has it as well.
func TestTheConversationOfAClientIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.turn(1, 0)
	content := []byte(`"` + strings.Repeat("x", agui.MaxInput/8) + `"`)
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		w.client.Messages = append(w.client.Messages, aguitest.Message{ID: id, Role: "assistant", Content: content})
	}
	w.client.Messages = append(w.client.Messages, aguitest.Message{ID: "m1", Role: "user", Content: []byte(`"question 1"`)})
	w.connect(false)
	var got []string
	for _, m := range w.client.Messages {
		got = append(got, m.ID)
	}
	if want := []string{"c", "d", "e", "m1", "m1.text"}; !slices.Equal(got, want) {
		t.Errorf("messages %q, want %q", got, want)
	}
}
