package hubtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// defaultIdleTimeout is the default of [Cluster.IdleTimeout]. It only stops the wait for sessions that never
// become idle; Finish does not judge the speed.
const defaultIdleTimeout = 5 * time.Minute

// Finish waits, for each session of the tabs, until every acknowledged message has ended and all
// its tabs and all running hubs have the same position. Then it records the log and the states,
// and checks the history. A hub that exited without a signal of the test, or panicked, is a violation
// as well. It reports the first 20 violations as errors of the test and returns the number of all.
// A session that does not become idle is an error of the test too.
func (c *Cluster) Finish(tb testing.TB, h *History, tabs []*Tab, r Rules) int {
	tb.Helper()
	h.Add(Entry{Kind: KindRules, Rules: &r})
	bySession := map[wire.SessionID][]*Tab{}
	for _, t := range tabs {
		bySession[t.Session] = append(bySession[t.Session], t)
	}
	acked := acknowledged(h)
	for _, session := range slices.Sorted(maps.Keys(bySession)) {
		if err := c.awaitIdle(tb, h, session, bySession[session], acked[session], r); err != nil {
			tb.Errorf("session %s does not become idle: %v", session, err)
		}
	}
	for _, t := range tabs {
		// Every event, even one with an unknown type, is in the history already.
		if s := t.Client.Stats(); s.Duplicates > 0 || s.Unreadable > 0 {
			h.Add(Entry{Kind: KindBadEvents, Source: t.Name, Session: t.Session, Count: s.Duplicates + s.Unreadable})
		}
	}
	for _, hub := range c.Hubs {
		for _, failure := range hub.newFailures() {
			h.Add(Entry{Kind: KindHubFailure, Source: hub.Name, Note: failure})
		}
	}
	found := Check(h.Entries(), r)
	for i, v := range found {
		if i == 20 {
			tb.Errorf("and %d more violations", len(found)-i)
			break
		}
		tb.Error(v)
	}
	return len(found)
}

// awaitIdle waits until a session is idle, and records its log and the final states.
func (c *Cluster) awaitIdle(tb testing.TB, h *History, session wire.SessionID, tabs []*Tab, open []wire.MessageID, r Rules) error {
	tb.Helper()
	ctx, cancel := context.WithTimeoutCause(tb.Context(), c.IdleTimeout, fmt.Errorf("not idle after %v", c.IdleTimeout))
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if open = c.unfinished(ctx, h, session, tabs, open, r); len(open) == 0 {
			break
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%w: messages without an end: %v", context.Cause(ctx), open)
		}
	}
	var ends []Entry
	var differ string
	for {
		if ends, differ = c.compareEnds(ctx, session, tabs); differ == "" {
			break
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%w: %s", context.Cause(ctx), differ)
		}
	}
	began := h.Since()
	log, err := c.readLogAfter(ctx, c.Balancer.URL(), session, wire.Position{})
	if err == nil && len(log) == 0 {
		err = errors.New("the log is empty")
	}
	if err != nil {
		return fmt.Errorf("read the log: %w", err)
	}
	for i := range log {
		h.Add(Entry{Kind: KindLog, T: began, Session: session, Event: &log[i]})
	}
	for _, e := range ends {
		h.Add(e)
	}
	return nil
}

// acknowledged returns the messages that tabs know to be committed.
func acknowledged(h *History) map[wire.SessionID][]wire.MessageID {
	all := map[wire.SessionID][]wire.MessageID{}
	for _, e := range h.Entries() {
		if e.Kind == KindAck {
			all[e.Session] = append(all[e.Session], e.Message)
		}
	}
	return all
}

// unfinished returns the messages of open whose end is neither in a tab's events nor in the log
// (a tab may have got a snapshot instead). Where the store may lose writes, it also looks at all
// recorded events, because the log may lack events that tabs received.
func (c *Cluster) unfinished(
	ctx context.Context, h *History, session wire.SessionID, tabs []*Tab, open []wire.MessageID, r Rules,
) []wire.MessageID {
	for _, t := range tabs {
		open = slices.DeleteFunc(open, t.HasEnded)
	}
	if len(open) == 0 {
		return nil
	}
	log, err := c.readLogAfter(ctx, c.Balancer.URL(), session, wire.Position{})
	if err != nil {
		return open
	}
	ch := checker{rules: r, sessions: map[wire.SessionID]*sessionHistory{}}
	for _, e := range h.Entries() {
		if e.Session == session {
			ch.addEntry(e)
		}
	}
	s := ch.sessions[session]
	s.log = log
	ends := endsByMessage(s.knownEvents(r))
	return slices.DeleteFunc(open, func(id wire.MessageID) bool { return len(ends[id]) > 0 })
}

// compareEnds returns the state of every tab and every running hub. If their positions differ, or
// cannot be read, differ says how. It does not compare the hashes; Check does.
func (c *Cluster) compareEnds(ctx context.Context, session wire.SessionID, tabs []*Tab) (ends []Entry, differ string) {
	add := func(kind Kind, who string, at wire.Position, hash string) {
		ends = append(ends, Entry{Kind: kind, Source: who, Session: session, Event: &Event{At: at, Hash: hash}})
	}
	for _, t := range tabs {
		hash, at := t.Client.Hash()
		add(KindFinal, t.Name, at, hash)
	}
	for _, hub := range c.RunningHubs() {
		at, hash, err := c.readSnapshot(ctx, hub.URL, session)
		if err != nil {
			return nil, fmt.Sprintf("hub %s: %v", hub.Name, err)
		}
		add(KindServer, hub.Name, at, hash)
	}
	first := slices.MinFunc(ends, func(a, b Entry) int { return a.Event.At.Compare(b.Event.At) }).Event.At
	if !slices.ContainsFunc(ends, func(e Entry) bool { return e.Event.At != first }) {
		return ends, ""
	}
	// Answers for one connection have positions as well: different positions are equivalent if
	// the log has no event after the first of them.
	missed, err := c.readLogAfter(ctx, c.Balancer.URL(), session, first)
	if err != nil {
		return nil, fmt.Sprintf("%s and the log cannot be read: %v", formatPositions(ends), err)
	}
	if len(missed) > 0 {
		return nil, fmt.Sprintf("%sand the log continues with %s at %v", formatPositions(ends), missed[0].Type, missed[0].At)
	}
	return ends, ""
}

func formatPositions(ends []Entry) string {
	var out strings.Builder
	for _, e := range ends {
		fmt.Fprintf(&out, "%s is at %v; ", e.Source, e.Event.At)
	}
	return out.String()
}
