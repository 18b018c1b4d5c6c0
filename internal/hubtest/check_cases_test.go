package hubtest_test

import (
	"slices"
	"time"

	"github.com/everdesk/everdesk/internal/hubtest"
	"github.com/everdesk/everdesk/wire"
)

// violationCase is a way to introduce one violation into a valid history.
type violationCase struct {
	property, name string
	want           string
	rules          hubtest.Rules
	inject         func(testHistory) testHistory
}

// violationCases returns violations of every property.
func violationCases() []violationCase {
	drop := func(kind hubtest.Kind, who string, p wire.Position) func(testHistory) testHistory {
		return func(t testHistory) testHistory {
			i := t.find(kind, who, p)
			return slices.Delete(t, i, i+1)
		}
	}
	return slices.Concat([]violationCase{
		{property: "P0", name: "empty history", want: "no tab received an event", inject: func(testHistory) testHistory { return nil }},
		{
			property: "P0", name: "no events", want: "no tab received an event",
			inject: func(t testHistory) testHistory { return t.without(hubtest.KindEvent) },
		},
		{
			property: "P0", name: "no log", want: "the log was not read",
			inject: func(t testHistory) testHistory { return t.without(hubtest.KindLog) },
		},
		{
			property: "P0", name: "no acknowledgement", want: "4 messages were sent and none was acknowledged",
			inject: func(t testHistory) testHistory { return t.without(hubtest.KindAck) },
		},
		{
			property: "P0", name: "no state", want: "the state of no hub was recorded",
			inject: func(t testHistory) testHistory { return t.without(hubtest.KindServer) },
		},
		{
			property: "P0", name: "no count", want: "running agents was not recorded", rules: hubtest.Rules{MaxAgents: 2},
			inject: func(t testHistory) testHistory { return t.without(hubtest.KindAgents) },
		},
		{
			property: "P0", name: "a hub that exited", want: "hub a exited without a signal of the test",
			inject: func(t testHistory) testHistory {
				return append(t, hubtest.Entry{Kind: hubtest.KindHubFailure, Source: "a", Note: "exited without a signal of the test"})
			},
		},
		{property: "P1", name: "gap", want: "misses 1 events", inject: drop(hubtest.KindEvent, "two", at(1, 4))},
		{property: "P1", name: "gap after a state", want: "misses 1 events", inject: drop(hubtest.KindEvent, "two", at(1, 1))},
		{property: "P1", name: "gap at a new epoch", want: "misses 1 events", inject: drop(hubtest.KindEvent, "one", at(2, 0))},
		{property: "P1", name: "gap with loss", want: "misses 1 events", rules: hubtest.Rules{StoreMayLose: true}, inject: drop(hubtest.KindEvent, "two", at(1, 4))},
		{property: "P1", name: "no snapshot first", want: "before a snapshot", inject: drop(hubtest.KindSnapshot, "one", at(1, 0))},
		{
			property: "P1", name: "twice", want: "receives 1-4 after 1-4",
			inject: func(t testHistory) testHistory {
				i := t.find(hubtest.KindEvent, "one", at(1, 4))
				return slices.Insert(t, i, t[i])
			},
		},
		{
			property: "P1", name: "duplicate counted by the client", want: "duplicate or unreadable events",
			inject: func(t testHistory) testHistory {
				return append(t, hubtest.Entry{Kind: hubtest.KindBadEvents, Source: "one", Session: "s", Count: 1})
			},
		},
		{
			property: "P1", name: "order", want: "receives 1-3 after 1-4",
			inject: func(t testHistory) testHistory {
				i := t.find(hubtest.KindEvent, "one", at(1, 3))
				t[i], t[i+1] = t[i+1], t[i]
				return t
			},
		},
		{property: "P1", name: "not in the log", want: "which is not in the log", inject: drop(hubtest.KindLog, "", at(1, 6))},
		{
			property: "P1", name: "a snapshot that goes back", want: "receives a snapshot at 1-2 after 1-4",
			inject: func(t testHistory) testHistory {
				i := t.find(hubtest.KindEvent, "one", at(1, 4))
				return slices.Insert(t, i+1, hubtest.Entry{Kind: hubtest.KindSnapshot, Source: "one", Session: "s", Event: &hubtest.Event{At: at(1, 2)}})
			},
		},
		{
			property: "P1", name: "lost and no snapshot", want: "receives 2-0 after 1-6, which was lost", rules: hubtest.Rules{StoreMayLose: true},
			inject: drop(hubtest.KindLog, "", at(1, 6)),
		},
		{
			property: "P1", name: "lost at the end", want: "ends at 2-8, which was lost", rules: hubtest.Rules{StoreMayLose: true},
			inject: drop(hubtest.KindLog, "", at(2, 8)),
		},
		{
			property: "P2", name: "a tab and the log", want: "1-4 has hash other",
			inject: func(t testHistory) testHistory {
				t[t.find(hubtest.KindEvent, "two", at(1, 4))].Event.Hash = "other"
				return t
			},
		},
		{
			property: "P2", name: "two tabs", want: "at two and 1-4 at one",
			inject: func(t testHistory) testHistory {
				t[t.find(hubtest.KindEvent, "two", at(1, 4))].Event.Hash = "other"
				return t.without(hubtest.KindLog)
			},
		},
	}, turnViolationCases())
}

// turnViolationCases returns violations of P3 to P11.
func turnViolationCases() []violationCase {
	return []violationCase{
		{
			property: "P3", name: "no end", want: "m3 was acknowledged and has no end",
			inject: func(t testHistory) testHistory {
				return t.changeEvent(at(2, 8), func(e *hubtest.Event) { e.Outcome = "" })
			},
		},
		{
			property: "P3", name: "not in the log at all", want: "m9 was acknowledged",
			inject: func(t testHistory) testHistory {
				return append(t, hubtest.Entry{Kind: hubtest.KindAck, Source: "two", Session: "s", Message: "m9"})
			},
		},
		{
			property: "P3", name: "joined a turn and has no end of its own", want: "m4 was acknowledged",
			inject: func(t testHistory) testHistory {
				return t.changeEvent(at(2, 6), func(e *hubtest.Event) { e.Outcome = "" })
			},
		},
		{
			property: "P4", name: "ends twice", want: "m1 ends 2 times: completed at 2-2 and failed at 2-9",
			inject: func(t testHistory) testHistory {
				return t.appendEvent(hubtest.Event{At: at(2, 9), Type: "AGENT_RESPONSE", Message: "m1", Agent: "main-monitor-0-m1", Outcome: wire.OutcomeFailed})
			},
		},
		{
			property: "P4", name: "ends and is refused", want: "m1 ends 2 times: completed at 2-2 and rejected at 2-9",
			inject: func(t testHistory) testHistory {
				return t.appendEvent(hubtest.Event{At: at(2, 9), Type: "MESSAGE_REJECTED", Message: "m1"})
			},
		},
		{
			property: "P4", name: "the end changes", want: "m1 ends with failed", rules: hubtest.Rules{StoreMayLose: true},
			inject: func(t testHistory) testHistory {
				t[t.find(hubtest.KindEvent, "one", at(2, 2))].Event.Outcome = wire.OutcomeFailed
				return t
			},
		},
		{
			property: "P5", name: "back in the log", want: "1-7 comes after 2-8 in the log",
			inject: func(t testHistory) testHistory { return t.appendEvent(hubtest.Event{At: at(1, 7), Type: "TOAST"}) },
		},
		{
			property: "P5", name: "back within an epoch", want: "2-3 comes after 2-8 in the log",
			inject: func(t testHistory) testHistory { return t.appendEvent(hubtest.Event{At: at(2, 3), Type: "TOAST"}) },
		},
		{
			property: "P5", name: "an epoch without an owner change", want: "epoch 3 begins with TOAST",
			inject: func(t testHistory) testHistory { return t.appendEvent(hubtest.Event{At: at(3, 0), Type: "TOAST"}) },
		},
		{
			property: "P5", name: "an epoch that is gone", want: "c-1 took over at 3-5",
			inject: func(t testHistory) testHistory {
				return t.appendEvent(hubtest.Event{At: at(4, 0), Type: "OWNER_CHANGED", Replica: "c-1", Prev: at(3, 5)})
			},
		},
		{
			property: "P6", name: "a second owner", want: "epoch 2 has a second owner, c-1",
			inject: func(t testHistory) testHistory {
				return t.appendEvent(hubtest.Event{At: at(2, 9), Type: "OWNER_CHANGED", Replica: "c-1"})
			},
		},
		{
			property: "P6", name: "an append after the end", want: "b-1 took over at 1-4 and 1-6 was appended",
			inject: func(t testHistory) testHistory {
				return t.changeEvent(at(2, 0), func(e *hubtest.Event) { e.Prev = at(1, 4) })
			},
		},
		{
			property: "P7", name: "overtaken", want: "m3 starts at 2-3 before m2",
			inject: func(t testHistory) testHistory {
				t.changeEvent(at(2, 3), func(e *hubtest.Event) { e.Message = "m3" })
				return t.changeEvent(at(2, 7), func(e *hubtest.Event) { e.Message = "m2" })
			},
		},
		{
			property: "P7", name: "did not wait", want: "m5 starts at 2-3 before m2",
			inject: func(t testHistory) testHistory {
				t.changeEvent(at(2, 3), func(e *hubtest.Event) { e.Message = "m5" })
				return t.changeEvent(at(2, 7), func(e *hubtest.Event) { e.Message = "m2" })
			},
		},
		{
			property: "P8", name: "gap in a text", want: "m1 continues at unit 5 after 4 units",
			inject: func(t testHistory) testHistory {
				return t.changeEvent(at(1, 6), func(e *hubtest.Event) { e.Offset = 5 })
			},
		},
		{
			property: "P8", name: "duplicate text", want: `text of m1 is "one twotwo"`,
			inject: func(t testHistory) testHistory {
				return t.changeEvent(at(2, 1), func(e *hubtest.Event) { e.Offset = 7 })
			},
		},
		{
			property: "P8", name: "another text", want: `text of m2 is "둘"`,
			inject: func(t testHistory) testHistory {
				return t.changeEvent(at(2, 5), func(e *hubtest.Event) { e.Text = "둘" })
			},
		},
		{property: "P9", name: "too many", want: "2 agents run, limit 1", rules: hubtest.Rules{MaxAgents: 1}, inject: func(t testHistory) testHistory { return t }},
		{
			property: "P9", name: "too many for too long", want: "2 agents run, limit 1", rules: hubtest.Rules{MaxAgents: 1, Slack: 3 * time.Second},
			inject: func(t testHistory) testHistory {
				return append(t, hubtest.Entry{Kind: hubtest.KindAgents, Count: 2, T: time.Hour})
			},
		},
		{
			property: "P10", name: "another state", want: "b has other at 2-9",
			inject: func(t testHistory) testHistory {
				t[t.find(hubtest.KindServer, "b", at(2, 9))].Event.Hash = "other"
				return t
			},
		},
		{
			property: "P11", name: "abandoned too early", want: "m4 ends at 2-6 because the turn was cut off 3 times, and the session had 0 new owners since",
			inject: func(t testHistory) testHistory {
				return t.changeEvent(at(2, 6), func(e *hubtest.Event) {
					e.Outcome, e.Reason = wire.OutcomeFailed, "the turn was cut off 3 times"
				})
			},
		},
		{
			property: "P10", name: "behind", want: "two has same at 2-7",
			inject: func(t testHistory) testHistory {
				t[t.find(hubtest.KindFinal, "two", at(2, 8))].Event.At = at(2, 7)
				return t
			},
		},
	}
}
