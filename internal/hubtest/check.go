package hubtest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
	"unicode/utf16"

	"github.com/everdesk/everdesk/wire"
)

// Violation is a promise that was not kept.
type Violation struct {
	Property string // P1 to P10
	Session  wire.SessionID
	T        time.Duration // when it was seen, if it was at some time
	What     string
}

func (v Violation) String() string {
	return fmt.Sprintf("%s in %s at %v: %s", v.Property, v.Session, v.T.Round(time.Millisecond), v.What)
}

// Rules say what may happen in a run.
type Rules struct {
	// Loss says that the store may have forgotten what it acknowledged, except
	// for what was asked to be durable: tabs may have seen events that are not
	// in the log any more, if a snapshot followed.
	Loss bool
	// Agents is how many may run at once; 0 means that it was not counted. Slack
	// is for how long after a fault there may be more.
	Agents int
	Slack  time.Duration
}

// Check finds everything in a history that must not be.
//
//   - P1: a tab sees the events of the log in their order, each once, without a
//     gap, or is given a snapshot.
//   - P2: all tabs, and the log, have the same bytes at a position.
//   - P3: an acknowledged message comes to an end.
//   - P4: it does so once.
//   - P5: epochs never go back along the log, and every epoch begins with the
//     change of owner that names the end of the one before.
//   - P6: an epoch has one owner, and nobody appends to an earlier one.
//   - P7: what waits for a monitor is begun in the order it came.
//   - P8: the pieces of an answer fit together to what was to be said.
//   - P9: no more agents run at once than may.
//   - P10: in the end all tabs and all hubs have the same state.
//
// P3, P5, P6, P7 and P10 are about the end of a run: they need the log and the
// states that [Fleet.Finish] adds.
func Check(entries []Entry, r Rules) []Violation {
	c := checker{rules: r, sessions: map[wire.SessionID]*course{}}
	for _, e := range entries {
		c.take(e)
	}
	var out []Violation
	for _, id := range slices.Sorted(maps.Keys(c.sessions)) {
		out = append(out, c.sessions[id].check(id, r)...)
	}
	return append(out, c.crowding()...)
}

// checker sorts a history.
type checker struct {
	rules    Rules
	sessions map[wire.SessionID]*course
	agents   []Entry
	faults   []time.Duration
}

// course is what happened in one session.
type course struct {
	log   []Event
	known bool               // the log was read
	tabs  map[string][]Entry // events and snapshots, as they came
	sent  map[wire.MessageID]string
	acked map[wire.MessageID]time.Duration
	ends  []Entry // states in the end
}

func (c *checker) take(e Entry) {
	switch e.Kind {
	case KindAgents:
		c.agents = append(c.agents, e)
	case KindFault:
		c.faults = append(c.faults, e.T)
	}
	if e.Session == "" {
		return
	}
	s := c.sessions[e.Session]
	if s == nil {
		s = &course{tabs: map[string][]Entry{}, sent: map[wire.MessageID]string{}, acked: map[wire.MessageID]time.Duration{}}
		c.sessions[e.Session] = s
	}
	switch e.Kind {
	case KindEvent, KindSnapshot:
		s.tabs[e.Who] = append(s.tabs[e.Who], e)
	case KindLog:
		s.log, s.known = append(s.log, *e.Event), true
	case KindSend:
		s.sent[e.Message] = cmp.Or(s.sent[e.Message], e.Expect)
	case KindAck:
		s.acked[e.Message] = e.T
	case KindFinal, KindServer:
		s.ends = append(s.ends, e)
	}
}

func (s *course) check(id wire.SessionID, r Rules) []Violation {
	v := &violations{session: id}
	index := map[wire.Position]int{}
	for i, e := range s.log {
		index[e.At] = i
	}
	for _, tab := range slices.Sorted(maps.Keys(s.tabs)) {
		s.order(v, tab, index, r)
	}
	s.agreement(v)
	s.owners(v)
	s.queues(v)
	s.messages(v)
	s.texts(v)
	s.states(v)
	return v.all
}

// violations are those of one session.
type violations struct {
	session wire.SessionID
	all     []Violation
}

func (v *violations) add(property string, t time.Duration, format string, args ...any) {
	v.all = append(v.all, Violation{Property: property, Session: v.session, T: t, What: fmt.Sprintf(format, args...)})
}

// order is P1, and P5 as far as a tab can tell. A gap in the numbers is none when
// the log itself has it: answers that only one connection is given are numbered
// too.
func (s *course) order(v *violations, tab string, index map[wire.Position]int, r Rules) {
	var last wire.Position
	for _, e := range s.tabs[tab] {
		at := e.Event.At
		if e.Kind == KindSnapshot {
			last = at
			continue
		}
		switch {
		case at.Compare(last) <= 0:
			v.add("P1", e.T, "%s is shown %v after %v", tab, at, last)
		case e.Event.Type == typeState:
			// A snapshot in the log: the owner has told everything again.
		case s.known && !r.Loss:
			i, ok := index[at]
			j, before := index[last]
			if !ok {
				v.add("P1", e.T, "%s is shown %v (%s), which is not in the log", tab, at, e.Event.Type)
			} else if before && i != j+1 {
				v.add("P1", e.T, "%s is shown %v right after %v, and misses %d events", tab, at, last, i-j-1)
			}
		case at.Epoch != last.Epoch && at.Seq != 0 && !r.Loss:
			v.add("P1", e.T, "%s is shown %v after %v, without the beginning of the epoch", tab, at, last)
		}
		last = at
	}
}

// agreement is P2.
func (s *course) agreement(v *violations) {
	type saying struct{ hash, who string }
	first := map[wire.Position]saying{}
	for _, e := range s.log {
		first[e.At] = saying{e.Hash, "the log"}
	}
	for _, tab := range slices.Sorted(maps.Keys(s.tabs)) {
		for _, e := range s.tabs[tab] {
			if e.Kind != KindEvent {
				continue
			}
			before, ok := first[e.Event.At]
			switch {
			case !ok:
				first[e.Event.At] = saying{e.Event.Hash, tab}
			case before.hash != e.Event.Hash:
				v.add("P2", e.T, "%v is %s (%s) to %s and %s to %s", e.Event.At, e.Event.Hash, e.Event.Type, tab, before.hash, before.who)
			}
		}
	}
}

// owners is P5 and P6 on the log.
func (s *course) owners(v *violations) {
	var last wire.Position
	for i, e := range s.log {
		switch {
		case i > 0 && e.At.Epoch < last.Epoch:
			v.add("P5", 0, "%v comes after %v in the log", e.At, last)
		case e.At.Epoch == last.Epoch && i > 0:
			if e.Type == typeOwner {
				v.add("P6", 0, "epoch %d has a second owner, %s at %v", e.At.Epoch, e.Replica, e.At)
			}
		case e.Type != typeOwner || e.At.Seq != 0:
			if i > 0 { // the log may be cut at its beginning
				v.add("P5", 0, "epoch %d begins with %s at %v", e.At.Epoch, e.Type, e.At)
			}
		case i > 0 && e.Prev.Compare(last) < 0:
			v.add("P6", 0, "%s took over at %v and %v was appended to an earlier epoch after that", e.Replica, e.Prev, last)
		}
		last = e.At
	}
}

// queues is P7.
func (s *course) queues(v *violations) {
	waiting := map[wire.MonitorID][]wire.MessageID{}
	for _, e := range s.log {
		switch e.Type {
		case typeQueued:
			waiting[e.Monitor] = append(waiting[e.Monitor], e.Message)
		case typeAccepted, typeRejected:
			monitor, i := e.Monitor, -1
			for m, ids := range waiting {
				if j := slices.Index(ids, e.Message); j >= 0 {
					monitor, i = m, j
				}
			}
			if i > 0 && e.Type == typeAccepted && e.How == wire.TakenDirect {
				v.add("P7", 0, "%s is begun at %v before %s, which came first", e.Message, e.At, waiting[monitor][0])
			}
			if i >= 0 {
				waiting[monitor] = slices.Delete(waiting[monitor], i, i+1)
			}
		}
	}
}

// messages is P3 and P4.
func (s *course) messages(v *violations) {
	ends := map[wire.MessageID][]Event{}
	for _, e := range s.log {
		if e.Ends() && (e.Agent == "" || !isTask(e.Agent)) {
			ends[e.Message] = append(ends[e.Message], e)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(ends)) {
		if all := ends[id]; len(all) > 1 {
			v.add("P4", 0, "%s ends %d times: %s at %v and %s at %v", id, len(all), all[0].Outcome, all[0].At, all[1].Outcome, all[1].At)
		}
	}
	if !s.known {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(s.acked)) {
		if len(ends[id]) == 0 {
			v.add("P3", s.acked[id], "%s was acknowledged and has no end", id)
		}
	}
}

// isTask reports whether an agent works for another one, within that one's turn.
func isTask(a wire.AgentID) bool { return len(a) > 5 && a[:5] == "task-" }

// texts is P8.
func (s *course) texts(v *violations) {
	type turn struct {
		message wire.MessageID
		agent   wire.AgentID
	}
	said := map[turn][]uint16{}
	for _, e := range s.log {
		if e.Type != typeResponse {
			continue
		}
		k := turn{e.Message, e.Agent}
		text := said[k]
		if e.Text != "" {
			if e.Offset > len(text) {
				v.add("P8", 0, "%s goes on at %d of %d units at %v", e.Message, e.Offset, len(text), e.At)
				continue
			}
			text = append(text[:e.Offset], utf16.Encode([]rune(e.Text))...)
			said[k] = text
		}
		want := s.sent[e.Message]
		if got := string(utf16.Decode(text)); e.Outcome == wire.OutcomeCompleted && want != "" && got != want && !isTask(e.Agent) {
			v.add("P8", 0, "%s says %s, not %s, at %v", e.Message, abridged(got), abridged(want), e.At)
		}
	}
}

// abridged is a text short enough to be shown.
func abridged(s string) string {
	if len(s) > 160 {
		return fmt.Sprintf("%q … %q (%d bytes)", s[:60], s[len(s)-60:], len(s))
	}
	return fmt.Sprintf("%q", s)
}

// states is P10.
func (s *course) states(v *violations) {
	for _, e := range s.ends {
		first := s.ends[0]
		if e.Event.At != first.Event.At || e.Event.Hash != first.Event.Hash {
			v.add("P10", e.T, "%s has %s at %v, %s has %s at %v",
				first.Who, first.Event.Hash, first.Event.At, e.Who, e.Event.Hash, e.Event.At)
		}
	}
}

// crowding is P9.
func (c *checker) crowding() []Violation {
	v := &violations{}
	for _, e := range c.agents {
		excused := slices.ContainsFunc(c.faults, func(f time.Duration) bool { return e.T >= f && e.T < f+c.rules.Slack })
		if c.rules.Agents > 0 && e.Count > c.rules.Agents && !excused {
			v.add("P9", e.T, "%d agents run, %d may", e.Count, c.rules.Agents)
		}
	}
	return v.all
}
