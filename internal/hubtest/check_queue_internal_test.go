package hubtest

import (
	"testing"

	"github.com/everdesk/everdesk/wire"
)

// A message that was offered to a turn is logged as queued after messages that arrived later, with
// its original place.
func TestQueueOrdersByPlace(t *testing.T) {
	t.Parallel()
	var q queue
	q.add("first", 1)
	q.add("last", 3)
	q.add("offered", 2)
	for _, c := range []struct{ id, ahead wire.MessageID }{
		{"first", ""},
		{"last", "first"},
		{"offered", "first"},
		{"unknown", "first"},
	} {
		if got := q.ahead(c.id); got != c.ahead {
			t.Errorf("ahead of %s is %q, want %q", c.id, got, c.ahead)
		}
	}
	q.remove("first")
	if got := q.ahead("offered"); got != "" {
		t.Errorf("ahead of offered is %q, want none", got)
	}
	if got, want := q.ahead("last"), wire.MessageID("offered"); got != want {
		t.Errorf("ahead of last is %q, want %q", got, want)
	}
	q.remove("offered")
	q.add("new", 2)
	if got, want := q.ahead("new"), wire.MessageID("last"); got != want {
		t.Errorf("ahead of new is %q, want %q", got, want)
	}
}

// queueLog is a log of one monitor.
type queueLog []Event

func (l queueLog) queued(id wire.MessageID, place int) queueLog {
	return append(l, Event{Type: typeQueued, Message: id, Monitor: "m", Place: place})
}

func (l queueLog) accepted(id wire.MessageID, how wire.Taken, agent wire.AgentID) queueLog {
	return append(l, Event{Type: typeAccepted, Message: id, Monitor: "m", How: how, Agent: agent})
}

func (l queueLog) starts(id wire.MessageID) queueLog {
	return l.accepted(id, wire.TakenDirect, wire.AgentID("main-m-"+id))
}

func (l queueLog) rejected(id wire.MessageID) queueLog {
	return append(l, Event{Type: typeRejected, Message: id, Monitor: "m"})
}

func (l queueLog) ends(id wire.MessageID) queueLog {
	return append(l, Event{Type: typeResponse, Message: id, Monitor: "m", Outcome: wire.OutcomeCompleted})
}

func TestCheckQueuesFindsEveryOvertaking(t *testing.T) {
	t.Parallel()
	steered := func(l queueLog, id wire.MessageID) queueLog { return l.accepted(id, wire.TakenSteered, "main-m-a") }
	begin := queueLog{{Type: typeOwner}}.starts("a")
	for _, c := range []struct {
		name string
		log  queueLog
		seen queueLog // by tabs, and lost by the store
		want string   // "" means none
	}{
		{"ends without a start", begin.queued("b", 1).queued("c", 2).ends("b").starts("c"), nil, ""},
		{"starts before an end without a start", begin.queued("b", 1).queued("c", 2).starts("c").ends("b"), nil, "c starts at 0-0 before b, which was queued first"},
		{"start lost by the store", begin.queued("b", 1).queued("c", 2).starts("c"), queueLog{}.starts("b"), ""},
		{"in order", begin.queued("b", 1).queued("c", 2).starts("b").starts("c"), nil, ""},
		{"overtaken", begin.queued("b", 1).queued("c", 2).starts("c").starts("b"), nil, "c starts at 0-0 before b, which was queued first"},
		{"returned offer in order", begin.queued("c", 2).queued("b", 1).starts("b").starts("c"), nil, ""},
		{
			"overtakes a returned offer", begin.queued("c", 2).queued("b", 1).starts("c").starts("b"),
			nil, "c starts at 0-0 before b, which was queued first",
		},
		{"behind accepted offers", steered(steered(begin.queued("b", 3), "x"), "y").queued("c", 2).starts("b").starts("c"), nil, ""},
		{
			"overtakes behind an accepted offer", steered(begin.queued("b", 2), "x").queued("c", 3).starts("c").starts("b"),
			nil, "c starts at 0-0 before b, which was queued first",
		},
		{"returned offer that starts at once", begin.queued("c", 2).starts("b").starts("c"), nil, ""},
		{"did not wait", begin.queued("b", 1).starts("c").starts("b"), nil, "c starts at 0-0 before b, which was queued first"},
		{"overtakes one that a turn accepts", steered(begin.queued("b", 1).queued("c", 2).starts("c"), "b"), nil, "c starts at 0-0 before b, which was queued first"},
		{"behind one that a turn accepted", steered(begin.queued("b", 1).queued("c", 2), "b").queued("d", 2).starts("c").starts("d"), nil, ""},
		{
			"overtakes behind one that a turn accepted", steered(begin.queued("b", 1).queued("c", 2), "b").queued("d", 2).starts("d").starts("c"),
			nil, "d starts at 0-0 before c, which was queued first",
		},
		{"overtakes one that is rejected", begin.queued("b", 1).queued("c", 2).starts("c").rejected("b"), nil, "c starts at 0-0 before b, which was queued first"},
		{"overtakes one that never starts", begin.queued("b", 1).queued("c", 2).starts("c"), nil, "c starts at 0-0 before b, which was queued first"},
		{"behind a rejected one", begin.queued("b", 1).queued("c", 2).rejected("b").queued("d", 2).starts("c").starts("d"), nil, ""},
		{
			"a window has another queue",
			begin.queued("w", 1).queued("b", 1).starts("b").accepted("w", wire.TakenDirect, "window-m-1"), nil, "",
		},
	} {
		s := sessionHistory{log: c.log, sent: map[wire.MessageID]string{"b": "", "c": "", "d": ""}, tabs: map[string][]Entry{}}
		for _, e := range c.seen {
			e.At = wire.Position{Epoch: 1, Seq: 1} // not in the log
			s.tabs["t"] = append(s.tabs["t"], Entry{Kind: KindEvent, Event: &e})
		}
		v := &violations{}
		s.checkQueues(v, Rules{StoreMayLose: c.seen != nil})
		got := ""
		if len(v.all) > 0 {
			got = v.all[0].What
		}
		if got != c.want || len(v.all) > 1 {
			t.Errorf("%s: got %d violations %v, want %q", c.name, len(v.all), v.all, c.want)
		}
	}
}
