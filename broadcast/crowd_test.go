package broadcast_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/wire"
)

// testDesktop is a source whose snapshots are the folded desktop state.
type testDesktop struct {
	*memory
	mu    sync.Mutex
	state *desktop.State
}

func (d *testDesktop) show(c *broadcast.Center, payloads ...wire.ServerPayload) {
	d.mu.Lock()
	events := d.commit(payloads...)
	for _, e := range events {
		d.state.Apply(wire.Event{Session: session, At: e.At, Time: e.Time, Data: e.Data})
	}
	d.mu.Unlock()
	c.Publish(events)
}

func (d *testDesktop) Snapshot(_ context.Context, monitors []wire.MonitorID) (wire.SessionState, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.state.Snapshot(monitors...), nil
}

// mirror reads events until the end of the log and folds them into a desktop.
func mirror(t *testing.T, in *bufio.Reader, last wire.Position) (state *desktop.State, events, snapshots int) {
	t.Helper()
	state = desktop.New(session)
	for state.At() != last {
		_, payload, err := readFrame(in)
		if err != nil {
			t.Fatalf("at %v: %v", state.At(), err)
		}
		e, err := wire.Native{}.DecodeEvent(payload)
		if err != nil {
			t.Fatal(err)
		}
		if e.At.IsZero() {
			snapshots++
		} else {
			events++
		}
		state.Apply(e)
	}
	return state, events, snapshots
}

// slowConn reads at most 1 KB per second.
type slowConn struct{ net.Conn }

func (s slowConn) Read(p []byte) (int, error) {
	time.Sleep(100 * time.Millisecond)
	return s.Conn.Read(p[:min(len(p), 100)])
}

// One tab is fast, one reads 1 KB/s and one has stopped. The fast tab gets every event, the slow tab
// ends with the same state, the stopped tab is closed.
func TestFastSlowAndStoppedTabs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const seconds, perStep = 120, 20
		d := &testDesktop{memory: &memory{}, state: desktop.New(session)}
		center := broadcast.NewCenter(broadcast.Config{RingEvents: 100, RingBytes: 32 << 10}, session, wire.Position{}, d)
		defer center.Wait()
		defer center.Close(wire.CloseGoingAway, "")
		b := &bench{center, d.memory, t}
		last := wire.Position{Epoch: 1, Seq: seconds*perStep + 1}
		d.show(center, wire.Actions{MonitorID: "monitor-0", Actions: []wire.Action{wire.WindowCreate{
			WindowID: "w", Title: "W", Bounds: wire.Bounds{W: 100, H: 100}, Content: wire.TextContent{Data: "-"},
		}}})
		fast, slow, stopped := b.pipe(), b.pipe(), b.pipe()
		var wg sync.WaitGroup
		hashes := make([]string, 2)
		wg.Go(func() {
			state, events, snapshots := mirror(t, fast.in, last)
			if events != seconds*perStep || snapshots != 1 {
				t.Errorf("the fast tab got %d events and %d snapshots, want all events", events, snapshots)
			}
			hashes[0] = state.Hash()
		})
		wg.Go(func() {
			state, events, snapshots := mirror(t, bufio.NewReader(slowConn{slow.Conn}), last)
			if snapshots < 2 || events >= seconds*perStep {
				t.Errorf("the slow tab got %d events and %d snapshots, want fewer events and some snapshots", events, snapshots)
			}
			hashes[1] = state.Hash()
		})
		for i := range seconds {
			var step []wire.ServerPayload
			for j := range perStep {
				step = append(step, wire.Actions{MonitorID: "monitor-0", Actions: []wire.Action{wire.WindowSetContent{
					WindowID: "w", Content: wire.TextContent{Data: fmt.Sprintf("%d %s", i*perStep+j, strings.Repeat("x", 256))},
				}}})
			}
			d.show(center, step...)
			d.trim(500)
			time.Sleep(time.Second)
		}
		if got := <-stopped.closed; got.code != wire.CloseTooSlow {
			t.Errorf("the stopped tab: got closed with %v, want code %v", got, wire.CloseTooSlow)
		}
		wg.Wait()
		want := d.state.Hash()
		if hashes[0] != want || hashes[1] != want {
			t.Errorf("hashes %q, want %q", hashes, want)
		}
		select {
		case got := <-slow.closed:
			t.Errorf("the slow tab: got closed with %v, want it open", got)
		default:
		}
	})
}

// Over real sockets: stopped tabs are closed, and neither they nor tabs that are far behind hold much
// memory.
//
//nolint:paralleltest // it looks at the memory of the whole process
func TestMemoryStaysFlat(t *testing.T) {
	const stopped, rounds = 40, 400
	b := newTestCenter(t, broadcast.Config{WriteTimeout: time.Second})
	fast := b.attach(broadcast.TabConfig{Who: who("fast")})
	var tabs []*tab
	for i := range stopped {
		server, client := tcpPair(t)
		shrinkBuffers(t, server, client)
		tabs = append(tabs, b.attachTo(server, client, broadcast.TabConfig{Who: who(fmt.Sprint("c", i))}))
	}
	fast.greeting()
	before := heap()
	most := uint64(0)
	for i := range rounds {
		var step []wire.ServerPayload
		for range 20 {
			step = append(step, wire.SessionRenamed{Title: strings.Repeat("x", 2000)})
		}
		events := b.show(step...)
		b.src.trim(100)
		fast.expect(events...)
		if i%100 == 99 {
			most = max(most, heap())
		}
	}
	// 16 MB went through. A tab may hold 64 KiB and its goroutine's stack.
	if grown := int64(most) - int64(before); grown > stopped*80<<10+4<<20 {
		t.Errorf("the heap grew from %d by %d bytes, want less", before, grown)
	}
	// The last snapshot of a tab may fit into its socket, so more events follow until all
	// sockets are full.
	for _, c := range tabs {
		for stuck := false; !stuck; {
			select {
			case got := <-c.closed:
				if stuck = true; got.code != wire.CloseTooSlow {
					t.Errorf("tab: got closed with %v, want code %v", got, wire.CloseTooSlow)
				}
			default:
				fast.expect(b.show(wire.SessionRenamed{Title: strings.Repeat("x", 2000)})...)
				b.src.trim(100)
			}
		}
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// A tab that is far behind catches up over a real socket while other tabs continue.
func TestSlowSocketCatchesUp(t *testing.T) {
	t.Parallel()
	b := newTestCenter(t, broadcast.Config{RingEvents: 50})
	server, client := tcpPair(t)
	shrinkBuffers(t, server, client)
	slow := b.attachTo(server, client, broadcast.TabConfig{Form: broadcast.FormBatch})
	fast := b.attach(broadcast.TabConfig{})
	fast.greeting()
	var all []broadcast.Event
	for range 25 {
		step := b.show(tool("m-0", 1), title(2), wire.SessionRenamed{Title: strings.Repeat("x", 3000)})
		fast.expect(step...)
		all = append(all, step...)
	}
	slow.greeting()
	slow.expect(all...)
	slow.expect(b.show(title(1))...)
}
