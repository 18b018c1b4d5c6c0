package hubtest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// Violation is a violated property, see [Check].
type Violation struct {
	Property string // P0 to P11
	Session  wire.SessionID
	T        time.Duration // when it was observed; 0 if at no single time
	What     string
}

func (v Violation) String() string {
	return fmt.Sprintf("%s in %s at %v: %s", v.Property, v.Session, v.T.Round(time.Millisecond), v.What)
}

// Rules describes what a run permits.
type Rules struct {
	// Loss is set if the store may have lost acknowledged writes other than durable ones:
	// tabs may have seen events that are no longer in the log, if a snapshot followed.
	Loss bool `json:"loss,omitempty"`
	// Agents is the maximum number of concurrent agents; 0 means not checked. For Slack after a
	// fault there may be more.
	Agents int           `json:"agents,omitempty"`
	Slack  time.Duration `json:"slack,omitempty"`
}

// Check returns all violations in a history.
//
//   - P0: tabs received events, and everything that the other checks need was recorded: a
//     check without input has not passed. No hub has exited on its own or panicked, even if
//     the others compensated for it.
//   - P1: a tab sees the events of the log in order, each once, without a gap, or gets a
//     snapshot.
//   - P2: all tabs, and the log, have the same bytes at a position.
//   - P3: an acknowledged message has an end of its own, also if it joined a running turn.
//   - P4: a message has at most one end, and it is the same in the log and at all tabs.
//   - P5: positions increase along the log, and every epoch begins with a change of owner that
//     names a position of the previous epoch.
//   - P6: an epoch has one owner, and nothing is appended to an epoch after the position at which
//     the next owner took over.
//   - P7: queued messages of a monitor start in the order in which they arrived.
//   - P8: the pieces of an answer add up to the expected text.
//   - P9: the number of concurrent agents stays within the limit.
//   - P10: at the end all tabs and all hubs have the same state.
//   - P11: a message is abandoned after a number of interruptions only if the session had
//     that many new owners since the message was accepted.
//
// P3 to P8 and P11 are checked on the log that [Fleet.Finish] reads at the end, P4 on the events
// of tabs too, and P10 on the states that it records. With [Rules.Loss], P3 and P8 also use the
// events that tabs received before they were lost.
func Check(entries []Entry, r Rules) []Violation {
	c := checker{rules: r, sessions: map[wire.SessionID]*course{}}
	for _, e := range entries {
		c.take(e)
	}
	out := c.nothing()
	for _, id := range slices.Sorted(maps.Keys(c.sessions)) {
		out = append(out, c.sessions[id].check(id, r)...)
	}
	return append(out, c.crowding()...)
}

// RulesOf returns the rules that a history was checked with: the last ones in it.
func RulesOf(entries []Entry) Rules {
	var r Rules
	for _, e := range entries {
		if e.Kind == KindRules && e.Rules != nil {
			r = *e.Rules
		}
	}
	return r
}

// checker groups the entries of a history.
type checker struct {
	rules    Rules
	sessions map[wire.SessionID]*course
	agents   []Entry
	broken   []Entry
	faults   []time.Duration
}

// course holds the entries of one session.
type course struct {
	log   []Event
	known bool               // the log was read
	read  time.Duration      // when reading it began
	tabs  map[string][]Entry // events and snapshots in the order of arrival
	sent  map[wire.MessageID]string
	acked map[wire.MessageID]time.Duration
	acks  []Event // acceptances that senders received, even if the log has lost them
	odd   []Entry // numbers of duplicate or unreadable events of tabs
	ends  []Entry // final states of tabs and hubs
}

func (c *checker) take(e Entry) {
	switch e.Kind {
	case KindAgents:
		c.agents = append(c.agents, e)
	case KindBroken:
		c.broken = append(c.broken, e)
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
		if !s.known {
			s.known, s.read = true, e.T
		}
		s.log = append(s.log, *e.Event)
	case KindSend:
		s.sent[e.Message] = cmp.Or(s.sent[e.Message], e.Expect)
	case KindAck:
		s.acked[e.Message] = e.T
		if e.Event != nil && e.Event.Type == typeAccepted {
			ack := *e.Event
			ack.Message = e.Message
			s.acks = append(s.acks, ack)
		}
	case KindOdd:
		s.odd = append(s.odd, e)
	case KindFinal, KindServer:
		s.ends = append(s.ends, e)
	}
}

func (s *course) check(id wire.SessionID, r Rules) []Violation {
	v := &violations{session: id}
	s.trim()
	if !s.known {
		v.add("P0", 0, "the log was not read")
	}
	for _, tab := range slices.Sorted(maps.Keys(s.tabs)) {
		s.order(v, tab, r)
	}
	for _, e := range s.odd {
		v.add("P1", e.T, "%s was shown %d events twice or unreadable", e.Who, e.Count)
	}
	s.agreement(v)
	s.owners(v, r)
	s.queues(v)
	s.messages(v, r)
	s.texts(v, r)
	s.states(v)
	s.givenUp(v)
	return v.all
}

// trim drops the events that tabs received after the log was read and that are newer than its
// end: replicas still publish presence changes after the end of a session's work.
func (s *course) trim() {
	if len(s.log) == 0 || s.read == 0 {
		return
	}
	top := s.log[len(s.log)-1].At
	for tab, entries := range s.tabs {
		s.tabs[tab] = slices.DeleteFunc(entries, func(e Entry) bool { return e.T >= s.read && e.Event.At.Compare(top) > 0 })
	}
}

// nothing checks P0 for the whole run; check and states do so for each session.
func (c *checker) nothing() []Violation {
	v := &violations{}
	var seen, sent, acked int
	for _, s := range c.sessions {
		sent, acked = sent+len(s.sent), acked+len(s.acked)
		for _, entries := range s.tabs {
			for _, e := range entries {
				if e.Kind == KindEvent {
					seen++
				}
			}
		}
	}
	switch {
	case seen == 0:
		v.add("P0", 0, "no tab was shown any event")
	case sent > 0 && acked == 0:
		v.add("P0", 0, "%d messages were sent and none was acknowledged", sent)
	}
	if c.rules.Agents > 0 && len(c.agents) == 0 {
		v.add("P0", 0, "nobody counted the agents")
	}
	for _, e := range c.broken {
		v.add("P0", e.T, "hub %s %s", e.Who, e.Note)
	}
	return v.all
}

// violations collects the violations of one session, or of the run if session is empty.
type violations struct {
	session wire.SessionID
	all     []Violation
}

func (v *violations) add(property string, t time.Duration, format string, args ...any) {
	v.all = append(v.all, Violation{Property: property, Session: v.session, T: t, What: fmt.Sprintf(format, args...)})
}

// place returns the number of events in the log up to and including a position, and whether the
// position is in the log. Clients with equal places have the same events. Positions alone do not
// tell: answers for one connection have positions as well, and other connections do not get them.
func (s *course) place(at wire.Position) (n int, there bool) {
	i, there := slices.BinarySearchFunc(s.log, at, func(e Event, at wire.Position) int { return e.At.Compare(at) })
	if there {
		i++
	}
	return i, there
}

// cut reports whether the beginning of the log was trimmed and a position is before its first
// event.
func (s *course) cut(at wire.Position) bool {
	first := s.log[0]
	return at.Compare(first.At) < 0 && (first.Type != typeOwner || !first.Prev.IsZero())
}

// order checks P1 for one tab.
func (s *course) order(v *violations, tab string, r Rules) {
	var last wire.Position
	begun := false
	lost := false // last is no longer in the log
	for _, e := range s.tabs[tab] {
		at := e.Event.At
		switch {
		case e.Kind == KindSnapshot:
			if at.Compare(last) < 0 && !r.Loss {
				v.add("P1", e.T, "%s is given the state at %v after %v", tab, at, last)
			}
			last, begun, lost = at, true, false
			continue
		case !begun:
			v.add("P1", e.T, "%s is shown %v before it is given a state", tab, at)
			begun = true
		case at.Compare(last) <= 0:
			v.add("P1", e.T, "%s is shown %v after %v", tab, at, last)
		case e.Event.Type == typeState:
			lost = false // a snapshot in the log: the owner has published the whole state again
		case s.known && !s.cut(at):
			before, _ := s.place(last)
			after, there := s.place(at)
			switch {
			case !there && !r.Loss:
				v.add("P1", e.T, "%s is shown %v (%s), which is not in the log", tab, at, e.Event.Type)
			case !there:
				lost = true
			case lost:
				v.add("P1", e.T, "%s is shown %v after %v, which was lost, and is not given a state", tab, at, last)
				lost = false
			case after != before+1 && !s.cut(last):
				v.add("P1", e.T, "%s is shown %v right after %v, and misses %d events", tab, at, last, after-before-1)
			}
		}
		last = at
	}
	if lost {
		v.add("P1", 0, "%s ends at %v, which was lost, and is not given a state", tab, last)
	}
}

// agreement checks P2.
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

// owners checks P5 and P6 on the log.
func (s *course) owners(v *violations, r Rules) {
	var last wire.Position
	for i, e := range s.log {
		switch {
		case i == 0: // the log may be trimmed at its beginning
		case e.At.Compare(last) <= 0:
			v.add("P5", 0, "%v comes after %v in the log", e.At, last)
		case e.At.Epoch == last.Epoch && e.Type == typeOwner:
			v.add("P6", 0, "epoch %d has a second owner, %s at %v", e.At.Epoch, e.Replica, e.At)
		case e.At.Epoch == last.Epoch:
		case e.Type != typeOwner || e.At.Seq != 0:
			v.add("P5", 0, "epoch %d begins with %s at %v", e.At.Epoch, e.Type, e.At)
		case e.Prev.Compare(last) < 0:
			v.add("P6", 0, "%s took over at %v and %v was appended to an earlier epoch after that", e.Replica, e.Prev, last)
		case e.Prev.Epoch != last.Epoch && !r.Loss:
			v.add("P5", 0, "%s took over at %v, and the log has nothing after %v", e.Replica, e.Prev, last)
		}
		last = e.At
	}
}
