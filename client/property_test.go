package client_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/everdesk/everdesk/client"
	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/wire"
)

// logHub serves a growing log as a hub does: by replay when it has the cursor and not too much is
// missing, else by a snapshot.
type logHub struct {
	events []wire.Event
	trim   int   // number of oldest events that are trimmed for a late client
	replay int   // the longest replay
	cuts   []int // bytes after which each connection breaks
	batch  int   // events per frame
}

func (l *logHub) serve(p *peer) {
	if p.number < len(l.cuts) {
		p.raw.breakAfter(l.cuts[p.number])
	}
	ws := p
	ws.accept()
	if ws.ws == nil {
		return
	}
	// The log grows with each connection.
	top := min(len(l.events), (p.number+1)*len(l.events)/(len(l.cuts)+1)+1)
	from := slices.IndexFunc(l.events, func(e wire.Event) bool { return e.At.String() == p.query.Get("resume_from") })
	hello := wire.SessionState{HeartbeatMS: 1000, Mode: wire.StateResume, ReplayUntil: l.events[top-1].At}
	if from < l.trim || top-from > l.replay {
		hello = l.state(top)
		hello.HeartbeatMS = 1000
		from = top - 1
	}
	p.send(wire.Event{Data: hello})
	for chunk := range slices.Chunk(l.events[from+1:], l.batch) {
		var frame []byte
		for _, e := range chunk {
			frame = append(wire.AppendEvent(frame, e), '\n')
		}
		if !p.text(string(frame)) {
			return
		}
	}
	p.hold()
}

// state folds the first n events.
func (l *logHub) state(n int) wire.SessionState {
	d := desktop.New(sessionID)
	for _, e := range l.events[:n] {
		d.Apply(e)
	}
	return d.Snapshot()
}

// drawEvents draws a log of windows, titles and owners.
func drawEvents(t *rapid.T) []wire.Event {
	n := rapid.IntRange(1, 60).Draw(t, "events")
	at := pos(1, 0)
	events := make([]wire.Event, 0, n)
	for i := range n {
		e := wire.Event{Session: sessionID, At: at, Time: time.UnixMilli(1_800_000_000_000 + int64(i)*1000).UTC()}
		window := wire.WindowID(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "window"))
		act := func(a wire.Action) wire.ServerPayload {
			return wire.Actions{MonitorID: "monitor-0", Actions: []wire.Action{a}}
		}
		switch rapid.IntRange(0, 6).Draw(t, "kind") {
		case 0:
			at = pos(at.Epoch+uint64(rapid.IntRange(1, 9).Draw(t, "epochs")), 0)
			e.At = at
			e.Data = wire.OwnerChanged{Replica: "r", Epoch: at.Epoch}
		case 1:
			e.Data = act(wire.WindowCreate{WindowID: window, Title: "t", Bounds: wire.Bounds{W: 100, H: 100}, Content: wire.TextContent{Data: "x"}})
		case 2:
			e.Data = act(wire.WindowClose{WindowID: window})
		case 3:
			e.Data = act(wire.WindowSetTitle{WindowID: window, Title: fmt.Sprintf("title %d ✓", i)})
		case 4:
			e.Data = act(wire.WindowMove{WindowID: window, X: float64(i), Y: 1})
		case 5:
			e.Data = wire.SessionRenamed{Title: fmt.Sprintf("session %d", i)}
		case 6:
			e.Data = act(wire.ToastShow{Toast: wire.Toast{ID: wire.NoticeID(strconv.Itoa(i)), Message: "m"}})
		}
		events = append(events, e)
		at.Seq += uint64(rapid.IntRange(1, 3).Draw(t, "hidden")) // refusals of other clients
	}
	return events
}

// TestCutsAnywhere breaks connections after any number of bytes. Between two snapshots the client
// must see exactly the log, in order, and end with the hash of the whole log.
func TestCutsAnywhere(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		l := &logHub{
			events: drawEvents(rt),
			cuts:   rapid.SliceOfN(rapid.IntRange(0, 4000), 0, 12).Draw(rt, "cuts"),
			batch:  rapid.IntRange(1, 8).Draw(rt, "batch"),
			replay: rapid.SampledFrom([]int{3, 1000}).Draw(rt, "replay"),
		}
		l.trim = rapid.IntRange(0, len(l.events)/2).Draw(rt, "trim")
		synctest.Test(t, func(t *testing.T) { checkCuts(t, rt, l) })
	})
}

func checkCuts(t *testing.T, rt *rapid.T, l *logHub) {
	t.Helper()
	var got, want []string
	next := 0 // the next expected event
	last := l.events[len(l.events)-1].At
	ctx, done := context.WithCancel(t.Context())
	defer done()
	r := follow(t, &fakeHub{script: []func(*peer){l.serve}}, client.Config{OnEvent: func(_ context.Context, e client.Event) {
		if s, ok := e.Data.(wire.SessionState); ok && s.Mode == wire.StateSnapshot {
			next = slices.IndexFunc(l.events, func(e wire.Event) bool { return e.At == s.LastMessageID }) + 1
		} else if !e.At.IsZero() {
			got = append(got, string(e.Raw))
			want = append(want, string(wire.AppendEvent(nil, l.events[next])))
			next++
		}
		if next == len(l.events) {
			done()
		}
	}})
	select {
	case <-ctx.Done():
	case <-time.After(time.Hour):
		rt.Fatalf("stuck at %v of %v: %+v", r.Position(), last, r.Link())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		rt.Fatalf("events (-want +got):\n%s", diff)
	}
	full := desktop.New(sessionID)
	for _, e := range l.events {
		full.Apply(e)
	}
	if hash, at := r.Hash(); hash != full.Hash() || at != last {
		rt.Fatalf("hash %s at %v, want %s at %v", hash, at, full.Hash(), last)
	}
	r.stop()
	<-r.done
}
