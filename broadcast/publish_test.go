package broadcast_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/wire"
)

// tool is an event of a monitor.
func tool(m wire.MonitorID, i int) wire.ServerPayload {
	return wire.ToolProgress{ToolName: "a:b", Status: wire.ToolRunning, MonitorID: m, Message: strconv.Itoa(i)}
}

func TestManyTabsSeeTheSame(t *testing.T) {
	t.Parallel()
	w := broadcast.NewWriters(3)
	defer w.Close()
	b := newTestCenter(t, broadcast.Config{Writers: w})
	var tabs []*tab
	for i := range 150 {
		form := []broadcast.Form{broadcast.FormNative, broadcast.FormBatch, broadcast.FormSSE}[i%3]
		tabs = append(tabs, b.attach(broadcast.TabConfig{Form: form, Who: who(fmt.Sprint("c", i))}))
	}
	var all []broadcast.Event
	for i := range 40 {
		all = append(all, b.show(titles(1+i%4)...)...)
	}
	var wg sync.WaitGroup
	for _, c := range tabs {
		wg.Go(func() {
			c.greeting()
			c.expect(all...)
		})
	}
	wg.Wait()
}

// Publishing continues when all writers have stopped with pending events.
func TestPublishWithoutWriters(t *testing.T) {
	t.Parallel()
	w := broadcast.NewWriters(1)
	b := newTestCenter(t, broadcast.Config{Writers: w})
	var tabs []*tab
	for i := range 40 {
		tabs = append(tabs, b.attach(broadcast.TabConfig{Who: who(fmt.Sprint("c", i))}))
	}
	all := b.show(titles(5)...)
	w.Close()
	all = append(all, b.show(titles(5)...)...)
	for _, c := range tabs {
		c.greeting()
		c.expect(all...)
	}
}

// Envelopes of a batch are packed up to a limit, and a large one is alone.
func TestBatchFrames(t *testing.T) {
	t.Parallel()
	b := newTestCenter(t, broadcast.Config{RingBytes: 1 << 20})
	c := b.attach(broadcast.TabConfig{Form: broadcast.FormBatch})
	c.greeting()
	long := func(n int) wire.ServerPayload { return wire.SessionRenamed{Title: strings.Repeat("x", n)} }
	hidden := wire.MessageRejected{MessageID: "m", Code: wire.CodeForbidden, To: "c9"}
	all := b.show(hidden, title(1), title(2), hidden, title(3), long(70_000), title(4), long(60_000), long(60_000), hidden)
	shown := slices.DeleteFunc(slices.Clone(all), func(e broadcast.Event) bool { return e.Data == wire.ServerPayload(hidden) })
	var packed []int
	var sizes []int
	at := 0
	for at < len(shown) {
		_, payload, err := readFrame(c.in)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(payload), "\n")
		packed, sizes = append(packed, len(lines)), append(sizes, len(payload))
		for _, line := range lines {
			if line != string(shown[at].Frame) {
				t.Fatalf("envelope %d: got %.100s, want %.100s", at, line, shown[at].Frame)
			}
			at++
		}
	}
	if want := []int{3, 1, 2, 1}; !slices.Equal(packed, want) {
		t.Errorf("%v envelopes in frames of %v bytes, want %v", packed, sizes, want)
	}
	// A tab that attaches later gets other frames with the same envelopes.
	d := b.attach(broadcast.TabConfig{Form: broadcast.FormBatch, ResumeFrom: all[1].At.String()})
	if s := d.greeting(); s.Mode != wire.StateResume {
		t.Fatalf("first frame: got %+v, want a resume", s)
	}
	d.expect(shown[1:]...)
	next := b.show(title(5))
	c.expect(next...)
	d.expect(next...)
}

func TestMonitorFilter(t *testing.T) {
	t.Parallel()
	for name, form := range nativeForms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newTestCenter(t, broadcast.Config{RingEvents: 40})
			old := b.show(title(0), tool("m-0", 1), tool("m-1", 2), tool("m-2", 3))
			c := b.attach(broadcast.TabConfig{
				Form: form, Monitors: []wire.MonitorID{"m-1"}, Who: who("c"), ResumeFrom: old[0].At.String(),
			})
			if s := c.greeting(); s.Mode != wire.StateResume {
				t.Fatalf("first frame: got %+v, want a resume", s)
			}
			c.expect(old[2])
			unread := b.src.commit(title(1), tool("m-1", 3), tool("m-2", 4), tool("m-0", 4))
			unread[1].Data = nil // of a newer hub
			unread[2].Data = nil
			b.Publish(unread)
			c.expect(unread[0], unread[1])
			c.Watch("m-1") // it does already
			c.Watch("m-2")
			s := c.greeting()
			if s.Mode != wire.StateSnapshot || s.Reason != wire.SnapshotFresh || s.LastMessageID != b.Head() || len(s.Monitors) != 2 {
				t.Errorf("first frame after Watch: got %+v, want a fresh snapshot at %v with two monitors", s, b.Head())
			}
			all := b.show(tool("m-0", 5), tool("m-2", 6), tool("m-1", 7))
			c.expect(all[1:]...)
			all = b.show(tool("m-0", 5), tool("m-0", 6))
			all = append(all, b.show(tool("m-2", 8))...)
			c.expect(all[2])
			b.show(tool("m-0", 5))
			c.Send(wire.Event{Data: wire.Ping{}})
			if e := c.next(); e.Data != wire.ServerPayload(wire.Ping{}) {
				t.Errorf("next event: got %+v, want a ping", e)
			}
		})
	}
}

func TestWatchWithoutFilter(t *testing.T) {
	t.Parallel()
	b := newTestCenter(t, broadcast.Config{})
	c := b.attach(broadcast.TabConfig{})
	c.greeting()
	c.Watch("m-1")
	c.expect(b.show(tool("m-0", 5))...)
}

// Answers for one connection are shown there and emptySource else, also in replays.
func TestPrivateAnswers(t *testing.T) {
	t.Parallel()
	for name, form := range nativeForms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newTestCenter(t, broadcast.Config{})
			me := b.attach(broadcast.TabConfig{Form: form, Who: who("me")})
			other := b.attach(broadcast.TabConfig{Form: form, Who: who("other")})
			me.greeting()
			other.greeting()
			all := b.show(
				title(1),
				wire.MessageRejected{MessageID: "m1", Code: wire.CodeForbidden, Reason: "no", To: "me"},
				wire.Actions{Actions: []wire.Action{}, MessageID: "m2", By: "me"},
				wire.Actions{Actions: []wire.Action{}, MessageID: "m3", By: "elsewhere"},
				wire.Actions{Actions: []wire.Action{}, By: "me"},
				wire.MessageRejected{MessageID: "m4", Code: wire.CodeForbidden, Reason: "no"},
				wire.MessageRejected{MessageID: "m5", Code: wire.CodeForbidden, Reason: "no", To: "elsewhere"},
				wire.MessageAccepted{MessageID: "m6", AgentID: "a", Duplicate: true, To: "me"},
				wire.MessageQueued{MessageID: "m7", Position: 1, Duplicate: true, To: "me"},
				wire.MessageRejected{MessageID: "m8", Code: wire.CodeForbidden, Duplicate: true, To: "me"},
				wire.MessageRepeated{MessageID: "m9", First: wire.Position{Epoch: 1, Seq: 1}, To: "me"},
				wire.MessageRepeated{MessageID: "m9", First: wire.Position{Epoch: 1, Seq: 1}, To: "elsewhere"},
			)
			shown := []broadcast.Event{all[0], all[2], all[3], all[4], all[5]}
			for _, c := range []*tab{me, other} {
				c.expect(shown...)
			}
			e := me.next()
			if n, ok := e.Data.(wire.ErrorNotice); !ok || n.Code != wire.CodeForbidden || n.Message != "no" || n.MessageID != "m1" || !e.At.IsZero() {
				t.Errorf("answer: got %+v, want a notice of m1 with code %v: no", e, wire.CodeForbidden)
			}
			e = me.next()
			if n, ok := e.Data.(wire.Emitted); !ok || n.MessageID != "m2" || n.At != all[2].At || !e.At.IsZero() {
				t.Errorf("answer: got %+v, want EMITTED of m2 at %v", e, all[2].At)
			}
			for _, want := range []wire.ServerPayload{
				wire.MessageAccepted{MessageID: "m6", AgentID: "a", Duplicate: true},
				wire.MessageQueued{MessageID: "m7", Position: 1, Duplicate: true},
				wire.MessageRejected{MessageID: "m8", Code: wire.CodeForbidden, Duplicate: true},
				wire.Emitted{MessageID: "m9", At: wire.Position{Epoch: 1, Seq: 1}},
			} {
				if e := me.next(); e.Data != want || !e.At.IsZero() {
					t.Errorf("got %+v, want %+v", e, want)
				}
			}
			last := b.show(title(2))
			me.expect(last...)
			other.expect(last...)
			me.Detach()
			other.Detach()
			late := b.attach(broadcast.TabConfig{Form: form, ResumeFrom: all[0].At.String()})
			late.greeting()
			late.expect(shown[1:]...)
			late.expect(last...)
		})
	}
}

func TestSendKeepsItsOrder(t *testing.T) {
	t.Parallel()
	b := newTestCenter(t, broadcast.Config{})
	c := b.attach(broadcast.TabConfig{})
	c.greeting()
	for i := range 100 {
		c.Send(wire.Event{Data: wire.GoElsewhere{AfterMS: i}})
	}
	for i := range 100 {
		e := c.next()
		if g, ok := e.Data.(wire.GoElsewhere); !ok || g.AfterMS != i || e.Session != session || e.Time.IsZero() {
			t.Fatalf("got %+v, want %d", e, i)
		}
	}
}

func TestRestart(t *testing.T) {
	t.Parallel()
	b := newTestCenter(t, broadcast.Config{})
	native := b.attach(broadcast.TabConfig{})
	filtered := b.attach(broadcast.TabConfig{Monitors: []wire.MonitorID{"m-0"}, Form: broadcast.FormBatch})
	native.greeting()
	filtered.greeting()
	all := b.show(titles(5)...)
	native.expect(all...)
	filtered.expect(all...)
	b.src.mu.Lock() // the store forgot two of them
	b.src.log = b.src.log[:3]
	b.src.top = wire.Position{Epoch: 7}
	b.src.mu.Unlock()
	again := b.src.commit(title(6))
	b.Restart(again[0].At)
	for _, c := range []*tab{native, filtered} {
		if s := c.greeting(); s.Mode != wire.StateSnapshot || s.Reason != wire.SnapshotUnknown || s.LastMessageID != again[0].At {
			t.Errorf("first frame after Restart: got %+v, want a snapshot at %v with reason %q", s, again[0].At, wire.SnapshotUnknown)
		}
	}
	next := b.show(title(7))
	native.expect(next...)
	filtered.expect(next...)
	late := b.attach(broadcast.TabConfig{ResumeFrom: all[4].At.String()})
	if s := late.greeting(); s.Reason != wire.SnapshotUnknown {
		t.Errorf("first frame of a late tab: got %+v, want reason %q", s, wire.SnapshotUnknown)
	}
}

func TestCloseClosesEveryTab(t *testing.T) {
	t.Parallel()
	b := newTestCenter(t, broadcast.Config{})
	tabs := []*tab{b.attach(broadcast.TabConfig{}), b.attach(broadcast.TabConfig{Form: broadcast.FormSSE})}
	b.Close(wire.CloseExpired, "deleted")
	b.Close(wire.CloseDraining, "again")
	b.show(title(1))
	for _, c := range tabs {
		if got := <-c.closed; got != (closing{wire.CloseExpired, "deleted"}) {
			t.Errorf("tab: got closed with %v, want code %v: deleted", got, wire.CloseExpired)
		}
		c.greeting()
		if n, err := c.WriteControl([]byte{0x88, 2, 0x11, 0x3a}); n != 4 || err != nil {
			t.Errorf("close frame: got %d bytes written, error %v, want 4", n, err)
		}
		c.Send(wire.Event{Data: wire.Ping{}})
		c.Detach()
	}
	if op, payload, err := readFrame(tabs[0].in); op != 8 || len(payload) != 2 || err != nil {
		t.Errorf("frame: got kind %d with %x, error %v, want a close frame with a code", op, payload, err)
	}
	b.Wait()
}

// Events that were published before are not sent again.
func TestPublishIgnoresOldEvents(t *testing.T) {
	t.Parallel()
	b := newTestCenter(t, broadcast.Config{})
	c := b.attach(broadcast.TabConfig{})
	c.greeting()
	all := b.show(titles(4)...)
	b.Publish(all)
	more := b.src.commit(titles(2)...)
	b.Publish(append(all[2:], more...))
	b.Publish(nil)
	c.expect(all...)
	c.expect(more...)
	c.expect(b.show(title(1))...)
}

func TestBrokenConnection(t *testing.T) {
	t.Parallel()
	b := newTestCenter(t, broadcast.Config{})
	c := b.attach(broadcast.TabConfig{})
	c.greeting()
	c.Close()
	for {
		b.show(title(1))
		select {
		case got := <-c.closed:
			if got.code != wire.CloseInternal {
				t.Errorf("tab: got closed with %v, want code %v", got, wire.CloseInternal)
			}
			return
		case <-time.After(time.Millisecond): // until the peer's answer is here
		}
	}
}
