package acp

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/wire"
)

// sessionLog is a session whose log a test writes, with a client that may be away.
type sessionLog struct {
	t       *testing.T
	state   *desktop.State
	archive []wire.UIRow
	n       uint64
	isAway  bool
	tr      *translator
	got     []string // what the client got, texts of a kind joined
}

func newSessionLog(t *testing.T) *sessionLog {
	t.Helper()
	l := &sessionLog{t: t, state: desktop.New("ses-aaaaaaaaaaaaaaaaaaaaaaaaaa")}
	l.tr = newTranslator("", &url.URL{}, func(id wire.MessageID) bool { return id == "m1" }, l.take)
	s := l.state.Snapshot()
	l.tr.restart(&s, nil, false)
	return l
}

func (l *sessionLog) take(u update) {
	if b, ok := u.Content.(block); ok {
		if last := len(l.got) - 1; last >= 0 && strings.HasPrefix(l.got[last], u.Kind+": ") {
			l.got[last] += b.Text
			return
		}
		l.got = append(l.got, u.Kind+": "+b.Text)
		return
	}
	l.got = append(l.got, strings.TrimSpace(u.Kind+" "+u.ToolCallID+" "+u.Title+" "+u.Status))
}

func (l *sessionLog) log(all ...wire.ServerPayload) {
	for _, data := range all {
		l.n++
		l.state.Apply(wire.Event{Session: l.state.Session(), At: wire.Position{Epoch: 1, Seq: l.n}, Time: time.UnixMilli(int64(l.n)), Data: data})
		if row, ok := data.(wire.MessageUpdated); ok {
			if i := slices.IndexFunc(l.archive, func(r wire.UIRow) bool { return r.ID == row.Message.ID }); i >= 0 {
				l.archive[i] = row.Message
			} else {
				l.archive = append(l.archive, row.Message)
			}
		}
		if !l.isAway {
			l.tr.event(data, func() wire.SessionState { return l.state.Snapshot() })
		}
	}
}

func agentOfTurn(turn wire.MessageID) wire.AgentID {
	return "main-monitor-0-" + wire.AgentID(turn)
}

func (l *sessionLog) row(turn wire.MessageID, say wire.Say, text string) {
	l.log(wire.MessageUpdated{Action: wire.RowCreated, MonitorID: monitor, Message: wire.UIRow{
		ID: wire.RowID(l.n + 1), TS: wire.Millis(l.n + 1), Type: wire.RowSay, Say: say, Text: text, MonitorID: monitor, AgentID: agentOfTurn(turn), MessageID: turn,
	}})
}

func (l *sessionLog) begin(turn wire.MessageID) {
	l.row(turn, wire.SayUserFeedback, "question "+string(turn)+" ")
	l.log(wire.MessageAccepted{MessageID: turn, AgentID: agentOfTurn(turn), MonitorID: monitor, How: wire.TakenDirect})
}

func (l *sessionLog) say(turn wire.MessageID, offset int, text string) {
	l.log(wire.AgentResponse{Offset: offset, Delta: text, AgentID: agentOfTurn(turn), MonitorID: monitor, MessageID: turn})
}

// think logs thinking of the turn m1.
func (l *sessionLog) think(offset int, text string) {
	const turn = "m1"
	l.log(wire.AgentThinking{Offset: offset, Delta: text, AgentID: agentOfTurn(turn), MonitorID: monitor, MessageID: turn})
}

// call begins a tool call of the turn m1; end ends it.
func (l *sessionLog) call(id string) (end func()) {
	const turn = "m1"
	p := wire.ToolProgress{ToolName: "look", ToolUseID: id, Status: wire.ToolRunning, AgentID: agentOfTurn(turn), MonitorID: monitor, MessageID: turn}
	l.log(p)
	return func() {
		l.row(turn, wire.SayTool, fmt.Sprintf(`{"id":%q,"tool":"look","status":"complete","result":"seen"}`, id))
		p.Status, p.Message = wire.ToolComplete, "seen"
		l.log(p)
	}
}

func (l *sessionLog) end(turn wire.MessageID, text string) {
	if text != "" {
		l.row(turn, wire.SayText, text)
	}
	l.row(turn, wire.SayAPIReqFinished, `{"outcome":"completed"}`)
	l.log(wire.AgentResponse{IsComplete: true, Outcome: wire.OutcomeCompleted, AgentID: agentOfTurn(turn), MonitorID: monitor, MessageID: turn})
}

// comeBack gives the client the present state, with the rows that it asks for.
func (l *sessionLog) comeBack() {
	l.isAway = false
	s := l.state.Snapshot()
	first := l.tr.firstMissing()
	l.tr.restart(&s, slices.DeleteFunc(slices.Clone(l.archive), func(r wire.UIRow) bool { return r.ID < first }), false)
}

// A client was away for so long that it gets a state instead of the events. It gets what it missed of each turn, once,
// and what follows.
func TestASnapshotSendsWhatTheEditorMissed(t *testing.T) {
	t.Parallel()
	const manyRows = 2 * desktop.MaxRows
	for name, c := range map[string]struct {
		before, away, after func(l *sessionLog)
		want                []string
	}{
		"a new turn that runs": {
			away: func(l *sessionLog) {
				l.begin("m2")
				l.say("m2", 0, "one ")
				l.row("m2", wire.SayText, "one ")
				l.say("m2", 4, "two ")
			},
			after: func(l *sessionLog) { l.say("m2", 8, "three"); l.end("m2", "two three") },
			want:  []string{"user_message_chunk: question m2 ", "agent_message_chunk: one two three"},
		},
		"a new turn that has ended": {
			away:  func(l *sessionLog) { l.begin("m2"); l.say("m2", 0, "one"); l.end("m2", "one") },
			after: func(l *sessionLog) { l.begin("m3"); l.say("m3", 0, "two"); l.end("m3", "two") },
			want: []string{
				"user_message_chunk: question m2 ", "agent_message_chunk: one", "user_message_chunk: question m3 ", "agent_message_chunk: two",
			},
		},
		"the end of a turn": {
			before: func(l *sessionLog) {
				l.begin("m1")
				l.say("m1", 0, "one ")
				l.row("m1", wire.SayText, "one ")
				l.say("m1", 4, "tw")
			},
			away: func(l *sessionLog) { l.say("m1", 6, "o"); l.end("m1", "two") },
			want: []string{"agent_message_chunk: one two"},
		},
		"a long turn": {
			before: func(l *sessionLog) { l.begin("m1"); l.say("m1", 0, "말 "); l.row("m1", wire.SayText, "말 ") },
			away: func(l *sessionLog) {
				for i := range manyRows {
					l.say("m1", 2+i, "x")
					l.row("m1", wire.SayText, "x")
				}
				l.end("m1", "")
			},
			want: []string{"agent_message_chunk: 말 " + strings.Repeat("x", manyRows)},
		},
		"a long turn that runs": {
			before: func(l *sessionLog) { l.begin("m1"); l.say("m1", 0, "a") },
			away: func(l *sessionLog) {
				l.row("m1", wire.SayText, "a")
				for i := range manyRows {
					l.say("m1", 1+i, "x")
					l.row("m1", wire.SayText, "x")
				}
				l.say("m1", 1+manyRows, "y")
			},
			after: func(l *sessionLog) { l.say("m1", 2+manyRows, "z"); l.end("m1", "yz") },
			want:  []string{"agent_message_chunk: a" + strings.Repeat("x", manyRows) + "yz"},
		},
		"many turns": {
			before: func(l *sessionLog) { l.begin("m1"); l.say("m1", 0, "one"); l.end("m1", "one") },
			away: func(l *sessionLog) {
				for i := range manyRows {
					turn := wire.MessageID(fmt.Sprint("n", i))
					l.row(turn, wire.SayText, "x")
					l.row(turn, wire.SayAPIReqFinished, "{}")
				}
			},
			want: []string{"agent_message_chunk: one" + strings.Repeat("x", manyRows)},
		},
		"calls": {
			before: func(l *sessionLog) { l.begin("m1"); l.call("c1") },
			away: func(l *sessionLog) {
				l.row("m1", wire.SayTool, `{"id":"c1","tool":"look","status":"complete","result":"seen"}`)
				l.call("c2")()
				l.call("c3")
			},
			after: func(l *sessionLog) {
				l.log(wire.ToolProgress{ToolName: "look", ToolUseID: "c3", Status: wire.ToolError, AgentID: agentOfTurn("m1"), MonitorID: monitor, MessageID: "m1"})
				l.end("m1", "")
			},
			want: []string{
				"tool_call m1.c1 look in_progress", "tool_call_update m1.c1  completed", "tool_call m1.c2 look completed", "tool_call m1.c3 look failed",
			},
		},
		"calls of a turn that has ended": {
			before: func(l *sessionLog) { l.begin("m1"); l.call("c1"); l.call("c2") },
			away: func(l *sessionLog) {
				l.row("m1", wire.SayTool, `{"id":"c2","tool":"look","status":"error"}`)
				l.end("m1", "")
			},
			want: []string{
				"tool_call m1.c1 look in_progress", "tool_call m1.c2 look in_progress", "tool_call_update m1.c2  failed", "tool_call_update m1.c1  completed",
			},
		},
		"thinking": {
			before: func(l *sessionLog) { l.begin("m1"); l.think(0, "a") },
			away: func(l *sessionLog) {
				l.think(1, "b")
				l.row("m1", wire.SayReasoning, "ab")
				l.think(2, "cd")
			},
			after: func(l *sessionLog) { l.think(4, "e"); l.row("m1", wire.SayReasoning, "cde"); l.end("m1", "") },
			want:  []string{"agent_thought_chunk: abcde"},
		},
		"thinking in a row that grows": {
			before: func(l *sessionLog) {
				l.begin("m1")
				l.think(0, "a")
				l.log(wire.MessageUpdated{Action: wire.RowCreated, MonitorID: monitor, Message: wire.UIRow{
					ID: 100, TS: 100, Type: wire.RowSay, Say: wire.SayReasoning, Text: "a", Partial: new(true), MonitorID: monitor, AgentID: agentOfTurn("m1"), MessageID: "m1",
				}})
				l.n = 100
			},
			away: func(l *sessionLog) {
				row := l.archive[len(l.archive)-1]
				l.think(1, "b")
				row.Text, row.Partial = "ab", new(false)
				l.log(wire.MessageUpdated{Action: wire.RowUpdated, MonitorID: monitor, Message: row})
				l.think(2, "c")
				l.row("m1", wire.SayReasoning, "c")
				l.end("m1", "")
			},
			want: []string{"agent_thought_chunk: abc"},
		},
		"nothing": {
			before: func(l *sessionLog) { l.begin("m1"); l.think(0, "hm"); l.say("m1", 0, "one "); l.call("c1") },
			after:  func(l *sessionLog) { l.say("m1", 4, "two"); l.end("m1", "one two") },
			want:   []string{"agent_thought_chunk: hm", "agent_message_chunk: one ", "tool_call m1.c1 look in_progress", "agent_message_chunk: two"},
		},
		"a text that changes": {
			before: func(l *sessionLog) { l.begin("m1"); l.say("m1", 0, "one "); l.say("m1", 4, "two") },
			away:   func(l *sessionLog) { l.say("m1", 4, "2 ") },
			after:  func(l *sessionLog) { l.say("m1", 6, "three"); l.say("m1", 6, "3"); l.end("m1", "one 2 3") },
			want:   []string{"agent_message_chunk: one two\none 2 three\none 2 3"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newSessionLog(t)
			for _, part := range []func(*sessionLog){c.before, func(*sessionLog) { l.isAway = true }, c.away, func(*sessionLog) { l.comeBack() }, c.after} {
				if part != nil {
					part(l)
				}
			}
			if !slices.Equal(l.got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(l.got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// Prompts end that were removed from the queue, or whose turn has ended, while the client was away.
func TestPromptsThatEndedMeanwhileEnd(t *testing.T) {
	t.Parallel()
	state := wire.SessionState{
		Agents: []wire.AgentState{{Role: "main-monitor-0-m3", Kind: wire.AgentMain, Status: wire.AgentStatusRunning, MessageID: "m3"}},
		Queues: wire.Object[wire.MonitorID, []wire.QueuedMessage]{{Key: monitor, Value: []wire.QueuedMessage{{ID: "m4"}}}},
	}
	user := func(id wire.MessageID) wire.UIRow {
		return wire.UIRow{Type: wire.RowSay, Say: wire.SayUserFeedback, MessageID: id}
	}
	removed := user("m2")
	removed.ProgressStatus = &wire.ProgressStatus{Icon: "discard", Text: "removed from the queue"}
	rows := []wire.UIRow{user("m1"), {Type: wire.RowSay, Say: wire.SayAPIReqFinished, Text: `{"outcome":"failed"}`, MessageID: "m1"}, removed, user("m3"), user("m4"), user("m5")}
	o := &openSession{prompts: map[wire.MessageID]*prompt{}, own: map[wire.MessageID]bool{}}
	all := map[wire.MessageID]*prompt{}
	for _, id := range []wire.MessageID{"m1", "m2", "m3", "m4", "m5", "m6"} {
		all[id] = &prompt{ended: make(chan wire.AgentResponse, 1)}
		o.prompts[id] = all[id]
	}
	o.endPrompts(&state, rows)
	want := map[wire.MessageID]wire.Outcome{"m1": wire.OutcomeFailed, "m2": wire.OutcomeInterrupted}
	for id, p := range all {
		var got wire.Outcome
		select {
		case end := <-p.ended:
			got = end.Outcome
		default:
		}
		if got != want[id] {
			t.Errorf("prompt %s ended with %q, want %q", id, got, want[id])
		}
	}
	if p := all["m5"]; p.agent != "main-monitor-0-m3" || !p.hasJoined {
		t.Errorf("the prompt that joined the running turn is %+v, want it with the agent of that", p)
	}
}
