package session

import (
	"context"
	"testing"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// eventLog is a log in memory. Its first event is at position zero, unless it was trimmed.
type eventLog struct {
	Log
	events  []store.Event
	trimmed bool // the log had events before the first one
	reads   int
}

func (l *eventLog) Read(_ context.Context, _ wire.SessionID, after wire.Position, limit int) ([]store.Event, error) {
	l.reads++
	if after.IsZero() {
		if l.trimmed {
			return nil, store.ErrTrimmed
		}
		return l.events[:min(limit, len(l.events))], nil
	}
	for i, e := range l.events {
		switch c := e.At.Compare(after); {
		case c > 0 && i == 0:
			return nil, store.ErrTrimmed
		case c > 0:
			return nil, store.ErrUnknownPosition
		case c == 0:
			rest := l.events[i+1:]
			return rest[:min(limit, len(rest))], nil
		}
	}
	return nil, store.ErrAhead
}

// claim appends a claim and returns its lease.
func (l *eventLog) claim(replica wire.ReplicaID, epoch uint64) store.Lease {
	lease := store.Lease{Session: "s", Replica: replica, Epoch: epoch}
	if n := len(l.events); n > 0 {
		lease.Prev = l.events[n-1].At
	}
	l.events = append(l.events, store.ClaimEvent(lease, time.UnixMilli(0)))
	return lease
}

// write appends n events in the epoch of the last claim.
func (l *eventLog) write(n int) {
	for range n {
		at := l.events[len(l.events)-1].At
		at.Seq++
		frame := wire.AppendEvent(nil, wire.Event{Session: "s", At: at, Time: time.UnixMilli(0), Data: wire.SessionRenamed{Title: "t"}})
		l.events = append(l.events, store.Event{At: at, Frame: frame})
	}
}

func TestLogBefore(t *testing.T) {
	t.Parallel()
	at := func(epoch, seq uint64) wire.Position { return wire.Position{Epoch: epoch, Seq: seq} }
	for name, c := range map[string]struct {
		fill  func(l *eventLog) // before the lease of epoch 90
		known []wire.Position
		want  wire.Position
	}{
		"nothing known":          {func(l *eventLog) { l.claim("b", 1); l.claim("a", 2) }, nil, at(2, 0)},
		"no other claim":         {func(l *eventLog) { l.claim("a", 1); l.write(5) }, []wire.Position{at(1, 9)}, at(1, 5)},
		"claims, nothing lost":   {func(l *eventLog) { l.claim("a", 1); l.write(5); l.claim("a", 2); l.claim("a", 3) }, []wire.Position{at(1, 5)}, at(1, 5)},
		"claims, unknown commit": {func(l *eventLog) { l.claim("a", 1); l.write(6); l.claim("a", 2) }, []wire.Position{at(1, 5)}, at(1, 6)},
		"claims, end lost":       {func(l *eventLog) { l.claim("a", 1); l.write(5); l.claim("a", 2); l.claim("a", 3) }, []wire.Position{at(1, 900)}, at(1, 5)},
		"claims, end lost, trimmed": {func(l *eventLog) {
			l.claim("a", 1)
			l.write(9)
			l.events = l.events[4:]
			l.trimmed = true
			l.claim("a", 2)
		}, []wire.Position{at(1, 900)}, at(1, 9)},
		"claims, epoch lost":      {func(l *eventLog) { l.claim("b", 1); l.write(5); l.claim("a", 3) }, []wire.Position{at(2, 9), at(1, 7)}, at(1, 5)},
		"claims, two epochs lost": {func(l *eventLog) { l.claim("b", 1); l.write(5); l.claim("a", 4) }, []wire.Position{at(3, 9), at(2, 7)}, at(1, 5)},
		"claims, all lost":        {func(l *eventLog) { l.claim("a", 2); l.claim("a", 3) }, []wire.Position{at(1, 9)}, at(0, 0)},
		"claims, too much lost": {func(l *eventLog) {
			l.claim("a", 1)
			l.write(5)
			l.events = l.events[2:]
			l.trimmed = true
			l.claim("a", 3)
		}, []wire.Position{at(2, 9)}, at(3, 0)},
		"a page of claims":            {func(l *eventLog) { l.claim("a", 1); l.write(2); l.claimOften("a", readPage+1) }, []wire.Position{at(1, 2)}, at(1, 2)},
		"another replica claimed":     {func(l *eventLog) { l.claim("a", 1); l.write(5); l.claim("b", 2); l.claim("a", 3) }, []wire.Position{at(1, 9)}, at(3, 0)},
		"another replica wrote":       {func(l *eventLog) { l.claim("a", 1); l.write(5); l.claim("b", 2); l.write(1); l.claim("a", 3) }, []wire.Position{at(1, 5)}, at(3, 0)},
		"another replica wrote last":  {func(l *eventLog) { l.claim("a", 1); l.claim("b", 2); l.write(1) }, []wire.Position{at(1, 0)}, at(2, 1)},
		"a claim of this id has data": {func(l *eventLog) { l.claim("a", 1); l.claim("a", 2); l.write(1); l.claim("a", 3) }, []wire.Position{at(1, 0)}, at(3, 0)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &eventLog{}
			c.fill(l)
			lease := l.claim("a", 90_000)
			got, err := (&storeReader{log: l}).logBefore(t.Context(), lease, c.known...)
			if err != nil || got != c.want {
				t.Errorf("the log ended at %v before the claims (%v), want %v", got, err, c.want)
			}
			if l.reads > 20 {
				t.Errorf("the log was read %d times, want at most 20", l.reads)
			}
		})
	}
}

// claimOften appends n claims.
func (l *eventLog) claimOften(replica wire.ReplicaID, n int) {
	for range n {
		l.claim(replica, l.events[len(l.events)-1].At.Epoch+1)
	}
}
