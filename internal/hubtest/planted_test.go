package hubtest_test

import (
	"slices"
	"time"

	"github.com/everdesk/everdesk/internal/hubtest"
	"github.com/everdesk/everdesk/wire"
)

// planting is a way to introduce one violation into a tale.
type planting struct {
	property, name string
	says           string
	rules          hubtest.Rules
	spoil          func(tale) tale
}

// planted returns violations of every property.
func planted() []planting {
	drop := func(kind hubtest.Kind, who string, p wire.Position) func(tale) tale {
		return func(t tale) tale {
			i := t.find(kind, who, p)
			return slices.Delete(t, i, i+1)
		}
	}
	return slices.Concat([]planting{
		{property: "P0", name: "nothing", says: "no tab was shown any event", spoil: func(tale) tale { return nil }},
		{
			property: "P0", name: "no events", says: "no tab was shown any event",
			spoil: func(t tale) tale { return t.without(hubtest.KindEvent) },
		},
		{
			property: "P0", name: "no log", says: "the log was not read",
			spoil: func(t tale) tale { return t.without(hubtest.KindLog) },
		},
		{
			property: "P0", name: "no acknowledgement", says: "4 messages were sent and none was acknowledged",
			spoil: func(t tale) tale { return t.without(hubtest.KindAck) },
		},
		{
			property: "P0", name: "no state", says: "no hub was asked",
			spoil: func(t tale) tale { return t.without(hubtest.KindServer) },
		},
		{
			property: "P0", name: "no count", says: "nobody counted", rules: hubtest.Rules{Agents: 2},
			spoil: func(t tale) tale { return t.without(hubtest.KindAgents) },
		},
		{
			property: "P0", name: "a hub that broke", says: "hub a has ended by itself",
			spoil: func(t tale) tale {
				return append(t, hubtest.Entry{Kind: hubtest.KindBroken, Who: "a", Note: "has ended by itself"})
			},
		},
		{property: "P1", name: "gap", says: "misses 1 events", spoil: drop(hubtest.KindEvent, "two", at(1, 4))},
		{property: "P1", name: "gap after a state", says: "misses 1 events", spoil: drop(hubtest.KindEvent, "two", at(1, 1))},
		{property: "P1", name: "gap at a new epoch", says: "misses 1 events", spoil: drop(hubtest.KindEvent, "one", at(2, 0))},
		{property: "P1", name: "gap with loss", says: "misses 1 events", rules: hubtest.Rules{Loss: true}, spoil: drop(hubtest.KindEvent, "two", at(1, 4))},
		{property: "P1", name: "no state first", says: "before it is given a state", spoil: drop(hubtest.KindSnapshot, "one", at(1, 0))},
		{
			property: "P1", name: "twice", says: "is shown 1-4 after 1-4",
			spoil: func(t tale) tale {
				i := t.find(hubtest.KindEvent, "one", at(1, 4))
				return slices.Insert(t, i, t[i])
			},
		},
		{
			property: "P1", name: "twice by the client's count", says: "twice or unreadable",
			spoil: func(t tale) tale {
				return append(t, hubtest.Entry{Kind: hubtest.KindOdd, Who: "one", Session: "s", Count: 1})
			},
		},
		{
			property: "P1", name: "order", says: "is shown 1-3 after 1-4",
			spoil: func(t tale) tale {
				i := t.find(hubtest.KindEvent, "one", at(1, 3))
				t[i], t[i+1] = t[i+1], t[i]
				return t
			},
		},
		{property: "P1", name: "not in the log", says: "which is not in the log", spoil: drop(hubtest.KindLog, "", at(1, 6))},
		{
			property: "P1", name: "a state that goes back", says: "is given the state at 1-2 after 1-4",
			spoil: func(t tale) tale {
				i := t.find(hubtest.KindEvent, "one", at(1, 4))
				return slices.Insert(t, i+1, hubtest.Entry{Kind: hubtest.KindSnapshot, Who: "one", Session: "s", Event: &hubtest.Event{At: at(1, 2)}})
			},
		},
		{
			property: "P1", name: "lost and never told", says: "is shown 2-0 after 1-6, which was lost", rules: hubtest.Rules{Loss: true},
			spoil: drop(hubtest.KindLog, "", at(1, 6)),
		},
		{
			property: "P1", name: "lost in the end", says: "ends at 2-8, which was lost", rules: hubtest.Rules{Loss: true},
			spoil: drop(hubtest.KindLog, "", at(2, 8)),
		},
		{
			property: "P2", name: "a tab and the log", says: "1-4 is other",
			spoil: func(t tale) tale {
				t[t.find(hubtest.KindEvent, "two", at(1, 4))].Event.Hash = "other"
				return t
			},
		},
		{
			property: "P2", name: "two tabs", says: "to two and 1-4 to one",
			spoil: func(t tale) tale {
				t[t.find(hubtest.KindEvent, "two", at(1, 4))].Event.Hash = "other"
				return t.without(hubtest.KindLog)
			},
		},
	}, plantedTurns())
}

// plantedTurns returns violations of P3 to P11.
func plantedTurns() []planting {
	return []planting{
		{
			property: "P3", name: "no end", says: "m3 was acknowledged and has no end",
			spoil: func(t tale) tale {
				return t.everywhere(at(2, 8), func(e *hubtest.Event) { e.Outcome = "" })
			},
		},
		{
			property: "P3", name: "not in the log at all", says: "m9 was acknowledged",
			spoil: func(t tale) tale {
				return append(t, hubtest.Entry{Kind: hubtest.KindAck, Who: "two", Session: "s", Message: "m9"})
			},
		},
		{
			property: "P3", name: "it joined a turn and has no end of its own", says: "m4 was acknowledged",
			spoil: func(t tale) tale {
				return t.everywhere(at(2, 6), func(e *hubtest.Event) { e.Outcome = "" })
			},
		},
		{
			property: "P4", name: "ends twice", says: "m1 ends 2 times: completed at 2-2 and failed at 2-9",
			spoil: func(t tale) tale {
				return t.more(hubtest.Event{At: at(2, 9), Type: "AGENT_RESPONSE", Message: "m1", Agent: "main-monitor-0-m1", Outcome: wire.OutcomeFailed})
			},
		},
		{
			property: "P4", name: "ends and is refused", says: "m1 ends 2 times: completed at 2-2 and rejected at 2-9",
			spoil: func(t tale) tale {
				return t.more(hubtest.Event{At: at(2, 9), Type: "MESSAGE_REJECTED", Message: "m1"})
			},
		},
		{
			property: "P4", name: "the end changes", says: "m1 ends with failed", rules: hubtest.Rules{Loss: true},
			spoil: func(t tale) tale {
				t[t.find(hubtest.KindEvent, "one", at(2, 2))].Event.Outcome = wire.OutcomeFailed
				return t
			},
		},
		{
			property: "P5", name: "back in the log", says: "1-7 comes after 2-8 in the log",
			spoil: func(t tale) tale { return t.more(hubtest.Event{At: at(1, 7), Type: "TOAST"}) },
		},
		{
			property: "P5", name: "back within an epoch", says: "2-3 comes after 2-8 in the log",
			spoil: func(t tale) tale { return t.more(hubtest.Event{At: at(2, 3), Type: "TOAST"}) },
		},
		{
			property: "P5", name: "an epoch that nobody began", says: "epoch 3 begins with TOAST",
			spoil: func(t tale) tale { return t.more(hubtest.Event{At: at(3, 0), Type: "TOAST"}) },
		},
		{
			property: "P5", name: "an epoch that is gone", says: "c-1 took over at 3-5",
			spoil: func(t tale) tale {
				return t.more(hubtest.Event{At: at(4, 0), Type: "OWNER_CHANGED", Replica: "c-1", Prev: at(3, 5)})
			},
		},
		{
			property: "P6", name: "a second owner", says: "epoch 2 has a second owner, c-1",
			spoil: func(t tale) tale {
				return t.more(hubtest.Event{At: at(2, 9), Type: "OWNER_CHANGED", Replica: "c-1"})
			},
		},
		{
			property: "P6", name: "an append after the end", says: "b-1 took over at 1-4 and 1-6 was appended",
			spoil: func(t tale) tale {
				return t.everywhere(at(2, 0), func(e *hubtest.Event) { e.Prev = at(1, 4) })
			},
		},
		{
			property: "P7", name: "overtaken", says: "m3 is begun at 2-3 before m2",
			spoil: func(t tale) tale {
				t.everywhere(at(2, 3), func(e *hubtest.Event) { e.Message = "m3" })
				return t.everywhere(at(2, 7), func(e *hubtest.Event) { e.Message = "m2" })
			},
		},
		{
			property: "P7", name: "did not wait", says: "m5 is begun at 2-3 before m2",
			spoil: func(t tale) tale {
				t.everywhere(at(2, 3), func(e *hubtest.Event) { e.Message = "m5" })
				return t.everywhere(at(2, 7), func(e *hubtest.Event) { e.Message = "m2" })
			},
		},
		{
			property: "P8", name: "a hole", says: "m1 goes on at 5 of 4 units",
			spoil: func(t tale) tale {
				return t.everywhere(at(1, 6), func(e *hubtest.Event) { e.Offset = 5 })
			},
		},
		{
			property: "P8", name: "said twice", says: `m1 says "one twotwo"`,
			spoil: func(t tale) tale {
				return t.everywhere(at(2, 1), func(e *hubtest.Event) { e.Offset = 7 })
			},
		},
		{
			property: "P8", name: "another text", says: `m2 says "둘"`,
			spoil: func(t tale) tale {
				return t.everywhere(at(2, 5), func(e *hubtest.Event) { e.Text = "둘" })
			},
		},
		{property: "P9", name: "too many", says: "2 agents run, 1 may", rules: hubtest.Rules{Agents: 1}, spoil: func(t tale) tale { return t }},
		{
			property: "P9", name: "too many for too long", says: "2 agents run, 1 may", rules: hubtest.Rules{Agents: 1, Slack: 3 * time.Second},
			spoil: func(t tale) tale {
				return append(t, hubtest.Entry{Kind: hubtest.KindAgents, Count: 2, T: time.Hour})
			},
		},
		{
			property: "P10", name: "another state", says: "b has other at 2-9",
			spoil: func(t tale) tale {
				t[t.find(hubtest.KindServer, "b", at(2, 9))].Event.Hash = "other"
				return t
			},
		},
		{
			property: "P11", name: "given up too early", says: "m4 ends at 2-6 because the turn was cut off 3 times, and the session had 0 new owners since",
			spoil: func(t tale) tale {
				return t.everywhere(at(2, 6), func(e *hubtest.Event) {
					e.Outcome, e.Reason = wire.OutcomeFailed, "the turn was cut off 3 times"
				})
			},
		},
		{
			property: "P10", name: "behind", says: "two has same at 2-7",
			spoil: func(t tale) tale {
				t[t.find(hubtest.KindFinal, "two", at(2, 8))].Event.At = at(2, 7)
				return t
			},
		},
	}
}
