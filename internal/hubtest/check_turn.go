package hubtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/everdesk/everdesk/wire"
)

// endsByMessage returns the ends of all messages of a log, without those of task agents.
func endsByMessage(log []Event) map[wire.MessageID][]Event {
	ends := map[wire.MessageID][]Event{}
	for _, e := range log {
		if e.IsEnd() && !isTask(e.Agent) {
			ends[e.Message] = append(ends[e.Message], e)
		}
	}
	return ends
}

// checkEnds checks P3 and P4.
func (s *sessionHistory) checkEnds(v *violations, r Rules) {
	ends := endsByMessage(s.log)
	for _, id := range slices.Sorted(maps.Keys(ends)) {
		if all := ends[id]; len(all) > 1 {
			v.add("P4", 0, "%s ends %d times: %s at %v and %s at %v", id, len(all), all[0].outcome(), all[0].At, all[1].outcome(), all[1].At)
		}
	}
	// The end that a tab received must be that of the log. Where the store may lose writes, the
	// same end may have another position in the log.
	for _, tab := range slices.Sorted(maps.Keys(s.tabs)) {
		for _, e := range s.tabs[tab] {
			if !e.Event.IsEnd() || isTask(e.Event.Agent) {
				continue
			}
			for _, end := range ends[e.Event.Message] {
				if end.outcome() != e.Event.outcome() || end.At != e.Event.At && !r.StoreMayLose {
					v.add("P4", e.T, "%s ends with %s at %v for %s and with %s at %v in the log", e.Event.Message,
						e.Event.outcome(), e.Event.At, tab, end.outcome(), end.At)
				}
			}
		}
	}
	if !s.logRead {
		return
	}
	ends = endsByMessage(s.knownEvents(r))
	for _, id := range slices.Sorted(maps.Keys(s.acked)) {
		if len(ends[id]) == 0 {
			v.add("P3", s.acked[id], "%s was acknowledged and has no end", id)
		}
	}
}

// isTask reports whether an agent is a task agent, which works within the turn of another agent.
func isTask(a wire.AgentID) bool { return strings.HasPrefix(string(a), "task-") }

// knownEvents returns the log. Where the store may lose writes, the result also contains the events and
// the acceptances that tabs received before the loss. Clients that missed events got a snapshot,
// which has the outcome of turns but not their events.
func (s *sessionHistory) knownEvents(r Rules) []Event {
	if !r.StoreMayLose {
		return s.log
	}
	all := map[wire.Position]Event{}
	for _, entries := range s.tabs {
		for _, e := range entries {
			if e.Kind == KindEvent && e.Event.Type != typeState {
				all[e.Event.At] = *e.Event
			}
		}
	}
	for _, e := range s.acks {
		if _, known := all[e.At]; !known {
			all[e.At] = e
		}
	}
	for _, e := range s.log {
		all[e.At] = e
	}
	return slices.SortedFunc(maps.Values(all), func(a, b Event) int { return a.At.Compare(b.At) })
}

// checkTexts checks P8.
func (s *sessionHistory) checkTexts(v *violations, r Rules) {
	type turn struct {
		message wire.MessageID
		agent   wire.AgentID
	}
	texts := map[turn][]uint16{}
	snapshotsAt, snapshots := map[turn]int{}, 0 // number of snapshots in the log: at the newest event of each turn, and so far
	for _, e := range s.knownEvents(r) {
		if e.Type == typeState {
			snapshots++
		}
		if e.Type != typeResponse {
			continue
		}
		k := turn{e.Message, e.Agent}
		text := texts[k]
		missed := snapshotsAt[k] < snapshots
		snapshotsAt[k] = snapshots
		if e.Offset > len(text) && missed && r.StoreMayLose {
			// The text in between is only in the snapshot that the owner wrote instead, so the
			// whole text of the message is not compared. The next event of the turn may have no
			// text and only name the offset.
			text = append(text, make([]uint16, e.Offset-len(text))...)
			texts[k] = text
			delete(s.sent, e.Message)
		}
		if e.Text != "" {
			if e.Offset > len(text) {
				v.add("P8", 0, "%s continues at unit %d after %d units, at %v", e.Message, e.Offset, len(text), e.At)
				continue
			}
			text = append(text[:e.Offset], utf16.Encode([]rune(e.Text))...)
			texts[k] = text
		}
		want := s.sent[e.Message]
		if got := string(utf16.Decode(text)); e.Outcome == wire.OutcomeCompleted && want != "" && got != want && !isTask(e.Agent) {
			v.add("P8", 0, "text of %s is %s, want %s, at %v", e.Message, quoteShort(got), quoteShort(want), e.At)
		}
	}
}

// quoteShort shortens a text for an error message.
func quoteShort(s string) string {
	if len(s) > 160 {
		return fmt.Sprintf("%q … %q (%d bytes)", s[:60], s[len(s)-60:], len(s))
	}
	return fmt.Sprintf("%q", s)
}

// checkFinalStates checks P10, and P0 for the final state of the hubs.
func (s *sessionHistory) checkFinalStates(v *violations) {
	if s.logRead && !slices.ContainsFunc(s.finalStates, func(e Entry) bool { return e.Kind == KindServer }) {
		v.add("P0", 0, "the state of no hub was recorded")
	}
	for _, e := range s.finalStates {
		first := s.finalStates[0]
		was, _ := s.eventsUpTo(first.Event.At)
		if is, _ := s.eventsUpTo(e.Event.At); is != was || e.Event.Hash != first.Event.Hash {
			v.add("P10", e.T, "%s has %s at %v, %s has %s at %v",
				first.Source, first.Event.Hash, first.Event.At, e.Source, e.Event.Hash, e.Event.At)
		}
	}
}

// checkAgentLimit checks P9.
func (c *checker) checkAgentLimit() []Violation {
	v := &violations{}
	for _, e := range c.agents {
		excused := slices.ContainsFunc(c.faults, func(f time.Duration) bool { return e.T >= f && e.T < f+c.rules.Slack })
		if c.rules.MaxAgents > 0 && e.Count > c.rules.MaxAgents && !excused {
			v.add("P9", e.T, "%d agents run, limit %d", e.Count, c.rules.MaxAgents)
		}
	}
	return v.all
}

// checkAbandoned checks P11. It ignores messages without an acceptance in the log: the log may be
// trimmed, or the store may have lost it.
func (s *sessionHistory) checkAbandoned(v *violations) {
	accepted := map[wire.MessageID]int{} // changes of owner before
	owners := 0
	for _, e := range s.log {
		switch before, known := accepted[e.Message]; {
		case e.Type == typeOwner:
			owners++
		case e.Type == typeAccepted && !known:
			accepted[e.Message] = owners
		case e.IsEnd() && known:
			if n := e.Interruptions(); owners-before < n {
				v.add("P11", 0, "%s ends at %v because %s, and the session had %d new owners since it was accepted",
					e.Message, e.At, e.Reason, owners-before)
			}
		}
	}
}
