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

// quietTimeout is the default of [Fleet.Patience]. It only stops the wait for sessions that never
// become idle; Finish does not judge the speed.
const quietTimeout = 5 * time.Minute

// Finish waits, for each session of the tabs, until every acknowledged message has ended and all
// its tabs and all running hubs have the same position. Then it records the log and the states,
// and checks the history. A hub that exited without being asked to, or panicked, is a violation
// as well. It reports the first 20 violations as errors of the test and returns the number of all.
// A session that does not become idle is an error of the test too.
func (f *Fleet) Finish(tb testing.TB, h *History, tabs []*Tab, r Rules) int {
	tb.Helper()
	h.Add(Entry{Kind: KindRules, Rules: &r})
	bySession := map[wire.SessionID][]*Tab{}
	for _, t := range tabs {
		bySession[t.Session] = append(bySession[t.Session], t)
	}
	acked := acknowledged(h)
	for _, session := range slices.Sorted(maps.Keys(bySession)) {
		if err := f.awaitIdle(tb, h, session, bySession[session], acked[session], r); err != nil {
			tb.Errorf("session %s does not come to rest: %v", session, err)
		}
	}
	for _, t := range tabs {
		// Every event, even one with an unknown type, is in the history already.
		if s := t.Client.Stats(); s.Duplicates > 0 || s.Unreadable > 0 {
			h.Add(Entry{Kind: KindOdd, Who: t.Name, Session: t.Session, Count: s.Duplicates + s.Unreadable})
		}
	}
	for _, hub := range f.Hubs {
		for _, how := range hub.broken() {
			h.Add(Entry{Kind: KindBroken, Who: hub.Name, Note: how})
		}
	}
	found := Check(h.Entries(), r)
	for i, v := range found {
		if i == 20 {
			tb.Errorf("and %d more", len(found)-i)
			break
		}
		tb.Error(v)
	}
	return len(found)
}

// awaitIdle waits until a session is idle, and records its log and the final states.
func (f *Fleet) awaitIdle(tb testing.TB, h *History, session wire.SessionID, tabs []*Tab, open []wire.MessageID, r Rules) error {
	tb.Helper()
	ctx, cancel := context.WithTimeoutCause(tb.Context(), f.Patience, fmt.Errorf("not quiet after %v", f.Patience))
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if open = f.unfinished(ctx, h, session, tabs, open, r); len(open) == 0 {
			break
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%w: no end of %v", context.Cause(ctx), open)
		}
	}
	var ends []Entry
	var differ string
	for {
		if ends, differ = f.compareEnds(ctx, session, tabs); differ == "" {
			break
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%w: %s", context.Cause(ctx), differ)
		}
	}
	began := h.Since()
	log, err := f.after(ctx, f.Door.URL(), session, wire.Position{})
	if err == nil && len(log) == 0 {
		err = errors.New("it is empty")
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
func (f *Fleet) unfinished(
	ctx context.Context, h *History, session wire.SessionID, tabs []*Tab, open []wire.MessageID, r Rules,
) []wire.MessageID {
	for _, t := range tabs {
		open = slices.DeleteFunc(open, t.HasEnded)
	}
	if len(open) == 0 {
		return nil
	}
	log, err := f.after(ctx, f.Door.URL(), session, wire.Position{})
	if err != nil {
		return open
	}
	c := checker{rules: r, sessions: map[wire.SessionID]*course{}}
	for _, e := range h.Entries() {
		if e.Session == session {
			c.take(e)
		}
	}
	s := c.sessions[session]
	s.log = log
	ends := endings(s.told(r))
	return slices.DeleteFunc(open, func(id wire.MessageID) bool { return len(ends[id]) > 0 })
}

// compareEnds returns the state of every tab and every running hub. If their positions differ, or
// cannot be read, differ says how. It does not compare the hashes; Check does.
func (f *Fleet) compareEnds(ctx context.Context, session wire.SessionID, tabs []*Tab) (ends []Entry, differ string) {
	add := func(kind Kind, who string, at wire.Position, hash string) {
		ends = append(ends, Entry{Kind: kind, Who: who, Session: session, Event: &Event{At: at, Hash: hash}})
	}
	for _, t := range tabs {
		hash, at := t.Client.Hash()
		add(KindFinal, t.Name, at, hash)
	}
	for _, hub := range f.Up() {
		at, hash, err := f.snapshot(ctx, hub.URL, session)
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
	missed, err := f.after(ctx, f.Door.URL(), session, first)
	if err != nil {
		return nil, fmt.Sprintf("%s and the log cannot be read: %v", places(ends), err)
	}
	if len(missed) > 0 {
		return nil, fmt.Sprintf("%sand the log goes on with %s at %v", places(ends), missed[0].Type, missed[0].At)
	}
	return ends, ""
}

func places(ends []Entry) string {
	var out strings.Builder
	for _, e := range ends {
		fmt.Fprintf(&out, "%s is at %v; ", e.Who, e.Event.At)
	}
	return out.String()
}
