package hubtest_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/internal/hubtest"
	"github.com/everdesk/everdesk/wire"
)

// testHistory is a constructed history: two tabs, one session, two owners and some turns.
type testHistory []hubtest.Entry

func at(epoch, seq uint64) wire.Position { return wire.Position{Epoch: epoch, Seq: seq} }

// validHistory returns the history without violations.
func validHistory() testHistory {
	const monitor = "monitor-0"
	owner := func(epoch uint64, replica wire.ReplicaID, prev wire.Position) hubtest.Event {
		return hubtest.Event{At: at(epoch, 0), Type: "OWNER_CHANGED", Replica: replica, Prev: prev}
	}
	accepted := func(p wire.Position, id wire.MessageID, agent wire.AgentID, how wire.Taken) hubtest.Event {
		return hubtest.Event{At: p, Type: "MESSAGE_ACCEPTED", Message: id, Monitor: monitor, Agent: agent, How: how}
	}
	queued := func(p wire.Position, id wire.MessageID) hubtest.Event {
		return hubtest.Event{At: p, Type: "MESSAGE_QUEUED", Message: id, Monitor: monitor}
	}
	response := func(p wire.Position, id wire.MessageID, offset int, text string, outcome wire.Outcome) hubtest.Event {
		return hubtest.Event{
			At: p, Type: "AGENT_RESPONSE", Message: id, Monitor: monitor, Agent: wire.AgentID("main-monitor-0-" + id),
			Offset: offset, Text: text, Outcome: outcome,
		}
	}
	log := []hubtest.Event{
		owner(1, "a-1", wire.Position{}),
		accepted(at(1, 1), "m1", "main-monitor-0-m1", wire.TakenDirect),
		queued(at(1, 2), "m2"),
		queued(at(1, 3), "m3"),
		response(at(1, 4), "m1", 0, "one ", ""),
		// 1-5 is an answer for one connection.
		response(at(1, 6), "m1", 4, "two", ""),
		owner(2, "b-1", at(1, 6)),
		response(at(2, 1), "m1", 4, "two", ""), // from the last committed offset
		response(at(2, 2), "m1", 0, "", wire.OutcomeCompleted),
		accepted(at(2, 3), "m2", "main-monitor-0-m2", wire.TakenDirect),
		accepted(at(2, 4), "m4", "main-monitor-0-m2", wire.TakenSteered),
		response(at(2, 5), "m2", 0, "하나", wire.OutcomeCompleted),
		{At: at(2, 6), Type: "AGENT_RESPONSE", Message: "m4", Monitor: monitor, Agent: "main-monitor-0-m2", Outcome: wire.OutcomeCompleted},
		accepted(at(2, 7), "m3", "main-monitor-0-m3", wire.TakenDirect),
		response(at(2, 8), "m3", 0, "half", wire.OutcomeInterrupted),
	}
	var t testHistory
	t = append(t, hubtest.Entry{Kind: hubtest.KindHead, Test: "TestCheck", Seed: 7})
	for i, id := range []wire.MessageID{"m1", "m2", "m3", "m4"} {
		expect := []string{"one two", "하나", "all of it", ""}[i]
		t = append(t,
			hubtest.Entry{Kind: hubtest.KindSend, Source: "one", Session: "s", Message: id, Expect: expect},
			hubtest.Entry{Kind: hubtest.KindAck, Source: "one", Session: "s", Message: id, Event: &hubtest.Event{At: at(1, 1)}})
	}
	for _, who := range []string{"one", "two"} {
		t = append(t, hubtest.Entry{Kind: hubtest.KindSnapshot, Source: who, Session: "s", Event: &hubtest.Event{At: at(1, 0)}})
		for _, e := range log[1:] {
			e.Hash = e.At.String()
			t = append(t, hubtest.Entry{Kind: hubtest.KindEvent, Source: who, Session: "s", Event: &e})
		}
	}
	t = append(t, hubtest.Entry{Kind: hubtest.KindFault, Note: "kill a-1"}, hubtest.Entry{Kind: hubtest.KindAgents, Count: 2})
	for _, e := range log {
		e.Hash = e.At.String()
		t = append(t, hubtest.Entry{Kind: hubtest.KindLog, Session: "s", Event: &e})
	}
	for _, who := range []string{"one", "two"} {
		t = append(t, hubtest.Entry{Kind: hubtest.KindFinal, Source: who, Session: "s", Event: &hubtest.Event{At: at(2, 8), Hash: "same"}})
	}
	t = append(t, hubtest.Entry{Kind: hubtest.KindServer, Source: "b", Session: "s", Event: &hubtest.Event{At: at(2, 9), Hash: "same"}})
	for i := range t {
		t[i].T = time.Duration(i) * time.Second
	}
	return t
}

// find returns the index of the first entry of a kind and a tab or hub at a position; a zero
// position means any.
func (t testHistory) find(kind hubtest.Kind, who string, p wire.Position) int {
	return slices.IndexFunc(t, func(e hubtest.Entry) bool {
		return e.Kind == kind && e.Source == who && (p.IsZero() || e.Event != nil && e.Event.At == p)
	})
}

// without removes all entries of the given kinds.
func (t testHistory) without(kinds ...hubtest.Kind) testHistory {
	return slices.DeleteFunc(t, func(e hubtest.Entry) bool { return slices.Contains(kinds, e.Kind) })
}

// changeEvent changes the event at a position in the log and at all tabs.
func (t testHistory) changeEvent(p wire.Position, change func(e *hubtest.Event)) testHistory {
	for i, e := range t {
		if (e.Kind == hubtest.KindEvent || e.Kind == hubtest.KindLog) && e.Event.At == p {
			change(t[i].Event)
		}
	}
	return t
}

// appendEvent adds an event to the end of the log and to both tabs.
func (t testHistory) appendEvent(e hubtest.Event) testHistory {
	e.Hash = e.At.String()
	for _, who := range []string{"one", "two"} {
		last := t.find(hubtest.KindLog, "", at(1, 0))
		t = slices.Insert(t, last, hubtest.Entry{Kind: hubtest.KindEvent, Source: who, Session: "s", Event: &e})
	}
	t = slices.Insert(t, t.find(hubtest.KindFinal, "one", wire.Position{}), hubtest.Entry{Kind: hubtest.KindLog, Session: "s", Event: &e})
	for i := range t {
		if t[i].Kind == hubtest.KindFinal || t[i].Kind == hubtest.KindServer {
			t[i].Event.At = e.At
		}
	}
	return t
}

// Newer events that tabs receive after the log was read are ignored.
func TestCheckIgnoresEventsAfterLogRead(t *testing.T) {
	t.Parallel()
	late := hubtest.Entry{Kind: hubtest.KindEvent, T: time.Hour, Source: "one", Session: "s", Event: &hubtest.Event{At: at(2, 10), Hash: "2-10"}}
	if got := hubtest.Check(append(validHistory(), late), hubtest.Rules{}); len(got) > 0 {
		t.Errorf("an event after the log was read: got violations %v, want none", got)
	}
	early := late
	early.T = time.Second
	if got := hubtest.Check(append(validHistory(), early), hubtest.Rules{}); len(got) == 0 {
		t.Error("an event that is not in the log: got no violation")
	}
}

func TestCheckAcceptsValidHistory(t *testing.T) {
	t.Parallel()
	for _, r := range []hubtest.Rules{{}, {StoreMayLose: true}, {MaxAgents: 2}, {MaxAgents: 1, Slack: 2 * time.Second}} {
		if got := hubtest.Check(validHistory(), r); len(got) > 0 {
			t.Errorf("rules %+v: got violations %v, want none", r, got)
		}
	}
	// A log whose beginning was trimmed, with tabs that have received it.
	short := validHistory()
	short = slices.DeleteFunc(short, func(e hubtest.Entry) bool {
		return e.Kind == hubtest.KindLog && e.Event.At.Compare(at(1, 3)) < 0
	})
	if got := hubtest.Check(short, hubtest.Rules{}); len(got) > 0 {
		t.Errorf("a trimmed log: got violations %v, want none", got)
	}
}

func TestCheckFindsViolations(t *testing.T) {
	t.Parallel()
	for _, test := range violationCases() {
		t.Run(test.property+"/"+test.name, func(t *testing.T) {
			t.Parallel()
			got := hubtest.Check(test.inject(validHistory()), test.rules)
			if len(got) == 0 {
				t.Fatalf("got no violation, want %s with %q", test.property, test.want)
			}
			for _, v := range got {
				if v.Property == test.property && strings.Contains(v.What, test.want) {
					return
				}
			}
			t.Errorf("want %s with %q, got %v", test.property, test.want, got)
		})
	}
}
