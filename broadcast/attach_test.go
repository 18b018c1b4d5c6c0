package broadcast_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// nativeForms are the forms with native envelopes.
var nativeForms = map[string]broadcast.Form{
	"native": broadcast.FormNative, "batch": broadcast.FormBatch, "sse": broadcast.FormSSE,
}

func TestFreshTabGetsSnapshotThenEvents(t *testing.T) {
	t.Parallel()
	for name, form := range nativeForms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newTestCenter(t, broadcast.Config{})
			b.show(titles(3)...)
			c := b.attach(broadcast.TabConfig{Form: form})
			s := c.greeting()
			if s.Mode != wire.StateSnapshot || s.Reason != wire.SnapshotFresh || s.LastMessageID != b.Head() || s.Status == "" {
				t.Errorf("first frame: got %+v, want a fresh snapshot at %v with a status", s, b.Head())
			}
			c.expect(b.show(titles(5)...)...)
			c.expect(b.show(title(9))...)
		})
	}
}

// A valid cursor is resumed, from the ring or from the log; an invalid one gets a snapshot with the
// reason.
func TestResumeOrSnapshot(t *testing.T) {
	t.Parallel()
	cfg := broadcast.Config{ReplayEvents: 50, ReplayBytes: 10_000}
	tests := map[string]struct {
		from     string
		form     broadcast.Form
		detached bool // no other tab keeps a ring
		trim     int
		big      bool
		resumed  bool
		reason   wire.SnapshotReason
	}{
		"nothing":                    {from: "", reason: wire.SnapshotFresh},
		"garbage":                    {from: "lorem ipsum", reason: wire.SnapshotUnknown},
		"a long way back":            {from: "1-1", reason: wire.SnapshotTooMany},
		"everything":                 {from: "0-0", reason: wire.SnapshotTooMany},
		"ahead":                      {from: "1-101", reason: wire.SnapshotUnknown},
		"another epoch":              {from: "2-5", reason: wire.SnapshotUnknown},
		"an epoch of the past":       {from: "0-5", trim: 80, reason: wire.SnapshotTrimmed},
		"trimmed":                    {from: "1-5", trim: 80, detached: true, reason: wire.SnapshotTrimmed},
		"the head":                   {from: "1-100", resumed: true},
		"the head, from the log":     {from: "1-100", detached: true, resumed: true},
		"in the ring":                {from: "1-60", resumed: true},
		"at the limit":               {from: "1-50", resumed: true},
		"one too many":               {from: "1-49", reason: wire.SnapshotTooMany},
		"in the log":                 {from: "1-60", detached: true, resumed: true},
		"at the limit, from the log": {from: "1-50", detached: true, resumed: true},
		"one too many in the log":    {from: "1-49", detached: true, reason: wire.SnapshotTooMany},
		"too many bytes":             {from: "1-95", big: true, reason: wire.SnapshotTooMany},
		"too many bytes in the log":  {from: "1-95", big: true, detached: true, reason: wire.SnapshotTooMany},
		"few bytes":                  {from: "1-98", big: true, resumed: true},
		"batches":                    {from: "1-60", form: broadcast.FormBatch, resumed: true},
		"batches from the log":       {from: "1-60", form: broadcast.FormBatch, detached: true, resumed: true},
		"server-sent events":         {from: "1-60", form: broadcast.FormSSE, detached: true, resumed: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newTestCenter(t, cfg)
			if !test.detached {
				b.attach(broadcast.TabConfig{Form: test.form})
			}
			var all []broadcast.Event
			for i := range 100 {
				text := fmt.Sprint("title ", i)
				if test.big {
					text = strings.Repeat("x", 4000)
				}
				all = append(all, b.show(wire.SessionRenamed{Title: text})...)
			}
			if test.trim > 0 {
				b.src.trim(test.trim)
			}
			c := b.attach(broadcast.TabConfig{Form: test.form, ResumeFrom: test.from})
			s := c.greeting()
			switch {
			case test.resumed:
				if s.Mode != wire.StateResume || s.ReplayUntil != b.Head() || s.Reason != "" {
					t.Errorf("first frame: got %+v, want a resume until %v", s, b.Head())
				}
				from, err := wire.ParsePosition(test.from)
				if err != nil {
					t.Fatal(err)
				}
				c.expect(all[from.Seq:]...)
			case s.Mode != wire.StateSnapshot || s.Reason != test.reason || s.LastMessageID != b.Head():
				t.Errorf("first frame: got %+v, want a snapshot at %v with reason %q", s, b.Head(), test.reason)
			}
			c.expect(b.show(titles(3)...)...)
		})
	}
}

// The owner commits before it publishes, so a snapshot or a cursor may be ahead of the published events.
func TestSnapshotAheadOfPublished(t *testing.T) {
	t.Parallel()
	b := newTestCenter(t, broadcast.Config{})
	b.show(titles(3)...)
	late := b.src.commit(titles(4)...)
	fresh := b.attach(broadcast.TabConfig{})
	if s := fresh.greeting(); s.LastMessageID != late[3].At {
		t.Errorf("first frame: got %+v, want a state at %v", s, late[3].At)
	}
	resumed := b.attach(broadcast.TabConfig{ResumeFrom: late[1].At.String()})
	if s := resumed.greeting(); s.Mode != wire.StateResume || s.ReplayUntil != late[3].At {
		t.Errorf("first frame: got %+v, want a resume until %v", s, late[3].At)
	}
	newest := b.attach(broadcast.TabConfig{ResumeFrom: late[3].At.String()})
	if s := newest.greeting(); s.Mode != wire.StateResume || s.ReplayUntil != late[3].At {
		t.Errorf("first frame: got %+v, want a resume until %v", s, late[3].At)
	}
	b.Publish(late)
	resumed.expect(late[2:]...)
	next := b.show(title(8))
	for _, c := range []*tab{fresh, resumed, newest} {
		c.expect(next...)
	}
}

func TestSnapshotBehindPublished(t *testing.T) {
	t.Parallel()
	b := newTestCenter(t, broadcast.Config{})
	all := b.show(titles(300)...)
	b.src.at = all[4].At
	c := b.attach(broadcast.TabConfig{})
	if s := c.greeting(); s.LastMessageID != all[4].At {
		t.Errorf("first frame: got %+v, want a state at %v", s, all[4].At)
	}
	c.expect(all[5:]...)
	c.expect(b.show(title(8))...)
}

func TestAttachRefuses(t *testing.T) {
	t.Parallel()
	b := newTestCenter(t, broadcast.Config{})
	b.show(titles(10)...)
	server, client := tcpPair(t)
	defer server.Close()
	defer client.Close()
	b.src.err = store.ErrUnavailable
	for _, from := range []string{"", "1-5"} {
		_, err := b.Attach(t.Context(), broadcast.TabConfig{Conn: server, ResumeFrom: from})
		if !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("resume from %q: error %v, want a refusal", from, err)
		}
	}
	b.Close(wire.CloseExpired, "deleted")
	if _, err := b.Attach(t.Context(), broadcast.TabConfig{Conn: server}); !errors.Is(err, broadcast.ErrClosed) {
		t.Errorf("Attach after Close: error %v, want a refusal", err)
	}
	if n := b.Tabs(); n != 0 {
		t.Errorf("%d tabs are attached, want none", n)
	}
}

// gate is a source whose snapshots wait until the test opens it.
type gate struct {
	*memory
	open    chan struct{}
	waiting chan struct{}
}

func (g *gate) Snapshot(ctx context.Context, m []wire.MonitorID) (wire.SessionState, error) {
	g.waiting <- struct{}{}
	select {
	case <-g.open:
		return g.memory.Snapshot(ctx, m)
	case <-ctx.Done():
		return wire.SessionState{}, context.Cause(ctx)
	}
}

// Tabs that attach at the same time share one read of the state.
func TestConcurrentAttachesShareSnapshot(t *testing.T) {
	t.Parallel()
	const crowd = 200
	src := &memory{}
	g := &gate{src, make(chan struct{}), make(chan struct{}, crowd)}
	all := src.commit(titles(100)...)
	c := broadcast.NewCenter(broadcast.Config{}, session, all[99].At, g)
	defer c.Wait()
	defer c.Close(wire.CloseGoingAway, "")
	b := &bench{c, src, t}
	pairs := make([]*tab, crowd)
	var wg sync.WaitGroup
	for i := range pairs {
		wg.Go(func() {
			cfg := broadcast.TabConfig{Who: who(fmt.Sprint("c", i))}
			if i%2 == 0 {
				cfg.ResumeFrom = "1-10"
			}
			pairs[i] = b.attach(cfg)
		})
	}
	<-g.waiting
	for b.Tabs() < crowd { // all of them are there before one is served
		b.src.count()
	}
	close(g.open)
	wg.Wait()
	next := b.show(title(1))
	for i, c := range pairs {
		s := c.greeting()
		if i%2 == 0 {
			if s.Mode != wire.StateResume {
				t.Fatalf("first frame: got %+v, want a resume", s)
			}
			c.expect(all[10:]...)
		} else if s.LastMessageID != all[99].At {
			t.Fatalf("first frame: got %+v, want a state at %v", s, all[99].At)
		}
		c.expect(next...)
	}
	if reads, snapshots := b.src.count(); reads > 3 || snapshots > 3 {
		t.Errorf("%d reads and %d snapshots for %d tabs, want fewer", reads, snapshots, crowd)
	}
	if n := len(c.Connections(1000)); n != crowd {
		t.Errorf("%d connections, want all tabs", n)
	}
}

func TestConnectionsAreOldestFirst(t *testing.T) {
	t.Parallel()
	b := newTestCenter(t, broadcast.Config{})
	var tabs []*tab
	for i := range 5 {
		tabs = append(tabs, b.attach(broadcast.TabConfig{Who: who(fmt.Sprint("c", i))}))
	}
	tabs[0].Detach()
	tabs[2].Detach()
	tabs[2].Detach()
	var ids []string
	for _, c := range b.Connections(2) {
		ids = append(ids, string(c.ConnectionID))
	}
	if got := strings.Join(ids, " "); got != "c1 c3" || b.Tabs() != 3 {
		t.Errorf("connections: got %s of %d tabs, want c1 c3 of 3", got, b.Tabs())
	}
	tabs[4].Detach()
	if got := b.Connections(10); len(got) != 2 {
		t.Errorf("connections after one detached: got %v, want two", got)
	}
}
