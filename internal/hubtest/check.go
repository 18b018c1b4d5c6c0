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
	// StoreMayLose is set if the store may have lost acknowledged writes other than durable ones:
	// tabs may have seen events that are no longer in the log, if a snapshot followed.
	StoreMayLose bool `json:"loss,omitempty"`
	// MaxAgents is the maximum number of concurrent agents; 0 means not checked. For Slack after a
	// fault there may be more.
	MaxAgents int           `json:"agents,omitempty"`
	Slack     time.Duration `json:"slack,omitempty"`
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
// P3 to P8 and P11 are checked on the log that [Cluster.Finish] reads at the end, P4 on the events
// of tabs too, and P10 on the states that it records. With [Rules.StoreMayLose], P3 and P8 also use the
// events that tabs received before they were lost.
func Check(entries []Entry, r Rules) []Violation {
	c := checker{rules: r, sessions: map[wire.SessionID]*sessionHistory{}}
	for _, e := range entries {
		c.addEntry(e)
	}
	out := c.checkInputs()
	for _, id := range slices.Sorted(maps.Keys(c.sessions)) {
		out = append(out, c.sessions[id].check(id, r)...)
	}
	return append(out, c.checkAgentLimit()...)
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
	rules       Rules
	sessions    map[wire.SessionID]*sessionHistory
	agents      []Entry
	hubFailures []Entry
	faults      []time.Duration
}

// sessionHistory holds the entries of one session.
type sessionHistory struct {
	log         []Event
	logRead     bool               // the log was read
	logReadAt   time.Duration      // when reading it began
	tabs        map[string][]Entry // events and snapshots in the order of arrival
	sent        map[wire.MessageID]string
	acked       map[wire.MessageID]time.Duration
	acks        []Event // acceptances that senders received, even if the log has lost them
	badEvents   []Entry // numbers of duplicate or unreadable events of tabs
	finalStates []Entry // final states of tabs and hubs
}

func (c *checker) addEntry(e Entry) {
	switch e.Kind {
	case KindAgents:
		c.agents = append(c.agents, e)
	case KindHubFailure:
		c.hubFailures = append(c.hubFailures, e)
	case KindFault:
		c.faults = append(c.faults, e.T)
	}
	if e.Session == "" {
		return
	}
	s := c.sessions[e.Session]
	if s == nil {
		s = &sessionHistory{tabs: map[string][]Entry{}, sent: map[wire.MessageID]string{}, acked: map[wire.MessageID]time.Duration{}}
		c.sessions[e.Session] = s
	}
	switch e.Kind {
	case KindEvent, KindSnapshot:
		s.tabs[e.Source] = append(s.tabs[e.Source], e)
	case KindLog:
		if !s.logRead {
			s.logRead, s.logReadAt = true, e.T
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
	case KindBadEvents:
		s.badEvents = append(s.badEvents, e)
	case KindFinal, KindServer:
		s.finalStates = append(s.finalStates, e)
	}
}

func (s *sessionHistory) check(id wire.SessionID, r Rules) []Violation {
	v := &violations{session: id}
	s.dropLateEvents()
	if !s.logRead {
		v.add("P0", 0, "the log was not read")
	}
	for _, tab := range slices.Sorted(maps.Keys(s.tabs)) {
		s.checkOrder(v, tab, r)
	}
	for _, e := range s.badEvents {
		v.add("P1", e.T, "%s received %d duplicate or unreadable events", e.Source, e.Count)
	}
	s.checkSameBytes(v)
	s.checkOwners(v, r)
	s.checkQueues(v, r)
	s.checkEnds(v, r)
	s.checkTexts(v, r)
	s.checkFinalStates(v)
	s.checkAbandoned(v)
	return v.all
}

// dropLateEvents drops the events that tabs received after the log was read and that are newer than its
// end: replicas still publish presence changes after the end of a session's work.
func (s *sessionHistory) dropLateEvents() {
	if len(s.log) == 0 || s.logReadAt == 0 {
		return
	}
	top := s.log[len(s.log)-1].At
	for tab, entries := range s.tabs {
		s.tabs[tab] = slices.DeleteFunc(entries, func(e Entry) bool { return e.T >= s.logReadAt && e.Event.At.Compare(top) > 0 })
	}
}

// checkInputs checks P0 for the whole run; check and states do so for each session.
func (c *checker) checkInputs() []Violation {
	v := &violations{}
	var received, sent, acked int
	for _, s := range c.sessions {
		sent, acked = sent+len(s.sent), acked+len(s.acked)
		for _, entries := range s.tabs {
			for _, e := range entries {
				if e.Kind == KindEvent {
					received++
				}
			}
		}
	}
	switch {
	case received == 0:
		v.add("P0", 0, "no tab received an event")
	case sent > 0 && acked == 0:
		v.add("P0", 0, "%d messages were sent and none was acknowledged", sent)
	}
	if c.rules.MaxAgents > 0 && len(c.agents) == 0 {
		v.add("P0", 0, "the number of running agents was not recorded")
	}
	for _, e := range c.hubFailures {
		v.add("P0", e.T, "hub %s %s", e.Source, e.Note)
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

// eventsUpTo returns the number of events in the log up to and including a position, and whether the
// position is in the log. Clients with equal numbers have the same events. Positions alone do not
// show that: answers for one connection have positions as well, and other connections do not get them.
func (s *sessionHistory) eventsUpTo(at wire.Position) (n int, inLog bool) {
	i, inLog := slices.BinarySearchFunc(s.log, at, func(e Event, at wire.Position) int { return e.At.Compare(at) })
	if inLog {
		i++
	}
	return i, inLog
}

// isTrimmedBefore reports whether the beginning of the log was trimmed and a position is before its first
// event.
func (s *sessionHistory) isTrimmedBefore(at wire.Position) bool {
	first := s.log[0]
	return at.Compare(first.At) < 0 && (first.Type != typeOwner || !first.Prev.IsZero())
}

// checkOrder checks P1 for one tab.
func (s *sessionHistory) checkOrder(v *violations, tab string, r Rules) {
	var last wire.Position
	begun := false
	lost := false // last is no longer in the log
	for _, e := range s.tabs[tab] {
		at := e.Event.At
		switch {
		case e.Kind == KindSnapshot:
			if at.Compare(last) < 0 && !r.StoreMayLose {
				v.add("P1", e.T, "%s receives a snapshot at %v after %v", tab, at, last)
			}
			last, begun, lost = at, true, false
			continue
		case !begun:
			v.add("P1", e.T, "%s receives %v before a snapshot", tab, at)
			begun = true
		case at.Compare(last) <= 0:
			v.add("P1", e.T, "%s receives %v after %v", tab, at, last)
		case e.Event.Type == typeState:
			lost = false // a snapshot in the log: the owner has published the whole state again
		case s.logRead && !s.isTrimmedBefore(at):
			before, _ := s.eventsUpTo(last)
			after, inLog := s.eventsUpTo(at)
			switch {
			case !inLog && !r.StoreMayLose:
				v.add("P1", e.T, "%s receives %v (%s), which is not in the log", tab, at, e.Event.Type)
			case !inLog:
				lost = true
			case lost:
				v.add("P1", e.T, "%s receives %v after %v, which was lost, without a snapshot", tab, at, last)
				lost = false
			case after != before+1 && !s.isTrimmedBefore(last):
				v.add("P1", e.T, "%s receives %v right after %v, and misses %d events", tab, at, last, after-before-1)
			}
		}
		last = at
	}
	if lost {
		v.add("P1", 0, "%s ends at %v, which was lost, without a snapshot", tab, last)
	}
}

// checkSameBytes checks P2.
func (s *sessionHistory) checkSameBytes(v *violations) {
	type sighting struct{ hash, source string }
	first := map[wire.Position]sighting{}
	for _, e := range s.log {
		first[e.At] = sighting{e.Hash, "the log"}
	}
	for _, tab := range slices.Sorted(maps.Keys(s.tabs)) {
		for _, e := range s.tabs[tab] {
			if e.Kind != KindEvent {
				continue
			}
			before, ok := first[e.Event.At]
			switch {
			case !ok:
				first[e.Event.At] = sighting{e.Event.Hash, tab}
			case before.hash != e.Event.Hash:
				v.add("P2", e.T, "%v has hash %s (%s) at %s and %s at %s", e.Event.At, e.Event.Hash, e.Event.Type, tab, before.hash, before.source)
			}
		}
	}
}

// checkOwners checks P5 and P6 on the log.
func (s *sessionHistory) checkOwners(v *violations, r Rules) {
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
		case e.Prev.Epoch != last.Epoch && !r.StoreMayLose:
			v.add("P5", 0, "%s took over at %v, and the log has nothing after %v", e.Replica, e.Prev, last)
		}
		last = e.At
	}
}
