package broadcast_test

import (
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// shrinkBuffers sets small socket buffers, so that writes are partial.
func shrinkBuffers(t *testing.T, server *broadcast.Socket, client net.Conn) {
	t.Helper()
	for _, c := range []net.Conn{server.Conn, client} {
		tcp := c.(*net.TCPConn)
		if err := errors.Join(tcp.SetReadBuffer(4096), tcp.SetWriteBuffer(4096)); err != nil {
			t.Fatal(err)
		}
	}
}

// With concurrent writers and partial writes, frames are complete and in order, and no other bytes are
// inside a frame.
func TestPartialWrites(t *testing.T) {
	t.Parallel()
	for name, form := range map[string]broadcast.Form{"native": broadcast.FormNative, "batch": broadcast.FormBatch} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const rounds = 60
			b := newTestCenter(t, broadcast.Config{RingBytes: 64 << 10})
			server, client := tcpPair(t)
			shrinkBuffers(t, server, client)
			c := b.attachTo(server, client, broadcast.TabConfig{Form: form, Who: who("c")})
			var all []broadcast.Event
			published := make(chan struct{})
			var wg sync.WaitGroup
			wg.Go(func() {
				defer close(published)
				for i := range rounds {
					size := []int{10, 300, 3000, 6000}[i%4]
					all = append(all, b.show(title(i), wire.SessionRenamed{Title: strings.Repeat("x", size)})...)
				}
			})
			wg.Go(func() {
				for i := range rounds {
					text := strconv.Itoa(i)
					frame := append([]byte{0x8a, byte(len(text))}, text...)
					if n, err := c.WriteControl(frame); n != len(frame) || err != nil {
						t.Errorf("pong %d: got %d bytes written, error %v, want %d", i, n, err, len(frame))
						return
					}
				}
			})
			wg.Go(func() {
				for i := range rounds {
					c.Send(wire.Event{Data: wire.GoElsewhere{AfterMS: i}})
				}
			})
			c.greeting()
			var seen []wire.Position
			pongs, sent := 0, 0
			for len(seen) < 2*rounds || pongs < rounds || sent < rounds {
				if len(c.lines) == 0 {
					if op, _ := c.in.Peek(1); len(op) == 1 && op[0] == 0x8a {
						_, payload, err := readFrame(c.in)
						if err != nil || string(payload) != strconv.Itoa(pongs) {
							t.Fatalf("pong %q, %v, want %d", payload, err, pongs)
						}
						pongs++
						continue
					}
				}
				switch e := c.next(); p := e.Data.(type) {
				case wire.GoElsewhere:
					if p.AfterMS != sent {
						t.Fatalf("got %d, want %d", p.AfterMS, sent)
					}
					sent++
				default:
					seen = append(seen, e.At)
				}
			}
			<-published
			for i, e := range all {
				if seen[i] != e.At {
					t.Fatalf("event %d is %v, want %v", i, seen[i], e.At)
				}
			}
			wg.Wait()
			// The tab has caught up, so the next event is written at once.
			c.expect(b.show(title(1))...)
		})
	}
}

// pipe attaches a tab over an unbuffered connection.
func (b *bench) pipe() *tab {
	b.t.Helper()
	server, client := pipe()
	return b.attachTo(server, client, broadcast.TabConfig{})
}

func TestStoppedTabIsClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newTestCenter(t, broadcast.Config{WriteTimeout: 8 * time.Second})
		c := b.pipe()
		start := time.Now()
		if got := <-c.closed; got.code != wire.CloseTooSlow {
			t.Errorf("tab: got closed with %v, want code %v", got, wire.CloseTooSlow)
		}
		if took := time.Since(start); took != 8*time.Second {
			t.Errorf("time until the tab was closed: got %v, want 8s", took)
		}
		// The close frame is written with a short timeout.
		start = time.Now()
		if _, err := c.WriteControl([]byte{0x88, 0}); err == nil {
			t.Error("a close frame was written to a stopped tab")
		}
		if took := time.Since(start); took != time.Second {
			t.Errorf("time of the write: got %v, want 1s", took)
		}
		b.show(title(1))
	})
}

// A tab that reads a little now and then is slow, not stopped, and stays open.
func TestSlowTabStaysOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newTestCenter(t, broadcast.Config{WriteTimeout: 8 * time.Second})
		c := b.pipe()
		all := b.show(titles(3)...)
		c.in.Reset(slowReader{c.Conn})
		c.greeting()
		c.expect(all...)
		select {
		case got := <-c.closed:
			t.Errorf("tab: got closed with %v, want it open", got)
		default:
		}
	})
}

// slowReader reads a little at a time, with pauses.
type slowReader struct{ io.Reader }

func (s slowReader) Read(p []byte) (int, error) {
	time.Sleep(3 * time.Second)
	return s.Reader.Read(p[:min(len(p), 40)])
}

// A close frame after a partially written frame waits for the rest of that frame.
func TestCloseFrameComesAfterTheRest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newTestCenter(t, broadcast.Config{})
		c := b.pipe()
		half := make([]byte, 30)
		if _, err := io.ReadFull(c.Conn, half); err != nil {
			t.Fatal(err)
		}
		b.Close(wire.CloseDraining, "drain")
		<-c.closed
		done := make(chan error)
		go func() {
			_, err := c.WriteControl([]byte{0x88, 0})
			done <- err
		}()
		c.in.Reset(io.MultiReader(strings.NewReader(string(half)), c.Conn))
		c.greeting()
		if op, _, err := readFrame(c.in); op != 8 || err != nil {
			t.Errorf("frame: got kind %d, error %v, want a close frame", op, err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// Control frames of a busy tab wait for the current write, with a timeout.
func TestControlFramesOfABusyTab(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newTestCenter(t, broadcast.Config{})
		c := b.pipe()
		done := make(chan error)
		pong := func() {
			_, err := c.WriteControl([]byte{0x8a, 0})
			done <- err
		}
		go pong()
		synctest.Wait()
		c.greeting()
		if op, _, err := readFrame(c.in); op != 10 || err != nil {
			t.Errorf("frame: got kind %d, error %v, want a pong", op, err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		b.show(title(1))
		go pong()
		go pong()
		if err := errors.Join(<-done, <-done); err == nil {
			t.Error("pongs were written to a stopped tab")
		}
		if got := <-c.closed; got.code != wire.CloseTooSlow {
			t.Errorf("tab: got closed with %v, want code %v", got, wire.CloseTooSlow)
		}
	})
}

// A control frame that the client does not read times out.
func TestUnreadControlFrame(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newTestCenter(t, broadcast.Config{})
		c := b.pipe()
		c.greeting()
		synctest.Wait()
		start := time.Now()
		if _, err := c.WriteControl([]byte{0x8a, 0}); err == nil {
			t.Error("the control frame was written")
		}
		if took := time.Since(start); took != 10*time.Second {
			t.Errorf("time of the write: got %v, want 10s", took)
		}
		if got := <-c.closed; got.code != wire.CloseTooSlow {
			t.Errorf("tab: got closed with %v, want code %v", got, wire.CloseTooSlow)
		}
	})
}

func TestUnreadAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newTestCenter(t, broadcast.Config{})
		c := b.pipe()
		for range 20 {
			c.Send(wire.Event{Data: wire.GoElsewhere{Reason: strings.Repeat("x", 5000)}})
		}
		if got := <-c.closed; got.code != wire.CloseTooSlow {
			t.Errorf("tab: got closed with %v, want code %v", got, wire.CloseTooSlow)
		}
	})
}

// A tab that falls off the ring continues from the log; if the log is trimmed too, it gets a snapshot,
// a bounded number of times.
func TestTabBehindRing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newTestCenter(t, broadcast.Config{RingEvents: 10, WriteTimeout: time.Hour})
		c := b.pipe()
		fall := func() []broadcast.Event {
			synctest.Wait() // it waits for us with what it has in hand
			var all []broadcast.Event
			for range 50 {
				all = append(all, b.show(titles(10)...)...)
			}
			return all
		}
		all := fall()
		c.greeting()
		c.expect(all...)
		b.show(title(1))
		hand := b.Head()
		fall()
		b.src.trim(20)
		for {
			e := c.next()
			if s, ok := e.Data.(wire.SessionState); ok {
				if s.Reason != wire.SnapshotTrimmed || s.LastMessageID != b.Head() {
					t.Errorf("state: got %+v, want a snapshot at %v with reason %q", s, b.Head(), wire.SnapshotTrimmed)
				}
				break
			}
			if e.At != hand {
				t.Fatalf("got %v, want %v", e.At, hand)
			}
			hand.Seq++
		}
		for range 2 {
			time.Sleep(31 * time.Second)
			b.show(title(1))
			fall()
			b.src.trim(20)
			for found := false; !found; {
				_, found = c.next().Data.(wire.SessionState)
			}
		}
		time.Sleep(20 * time.Second)
		b.show(title(1))
		fall()
		b.src.trim(20)
		for {
			if _, err := c.line(); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			select {
			case got := <-c.closed:
				if got.code != wire.CloseTooSlow {
					t.Errorf("tab: got closed with %v, want code %v", got, wire.CloseTooSlow)
				}
				return
			default:
			}
		}
	})
}

// While the store is unavailable, a tab that needs the log waits and then continues.
func TestCatchUpWaitsForTheStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newTestCenter(t, broadcast.Config{RingEvents: 10})
		c := b.pipe()
		synctest.Wait()
		var all []broadcast.Event
		for range 5 {
			all = append(all, b.show(titles(10)...)...)
		}
		b.src.mu.Lock()
		b.src.err = store.ErrUnavailable
		b.src.mu.Unlock()
		c.greeting()
		time.Sleep(time.Minute)
		b.src.mu.Lock()
		b.src.err = nil
		b.src.mu.Unlock()
		c.expect(all...)
	})
}

// Unread snapshots are bounded in total; a shared snapshot counts once.
func TestUnreadSnapshotsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newTestCenter(t, broadcast.Config{WriteTimeout: time.Hour, SnapshotBytes: 500_000, RingEvents: 10})
		b.src.state.RecentMessages = []wire.UIRow{{Type: wire.RowSay, Say: wire.SayText, Text: strings.Repeat("x", 200_000)}}
		var tabs []*tab
		for range 3 {
			tabs = append(tabs, b.pipe())
		}
		given := func(want ...bool) {
			t.Helper()
			synctest.Wait()
			for i, c := range tabs {
				select {
				case got := <-c.closed:
					if !want[i] || got.code != wire.CloseTooSlow {
						t.Errorf("tab %d: got closed with %v, want it closed: %v, with code %v", i, got, want[i], wire.CloseTooSlow)
					}
				default:
					if want[i] {
						t.Errorf("tab %d: got it open, want it closed", i)
					}
				}
			}
		}
		another := func() {
			synctest.Wait() // until the writer knows what tabs have read
			for range 10 {
				b.show(titles(10)...) // the last snapshot is too old then
			}
			tabs = append(tabs, b.pipe())
		}
		given(false, false, false)
		another()
		given(false, false, false, false)
		tabs[1].greeting() // has taken it
		another()
		given(true, false, true, false, false)
		for _, c := range tabs[3:] {
			c.greeting()
		}
		another()
		another()
		given(false, false, false, false, false, false, false)
	})
}

func TestDetachEndsAWrite(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newTestCenter(t, broadcast.Config{})
		c := b.pipe()
		synctest.Wait()
		c.Detach()
		if b.Tabs() != 0 {
			t.Errorf("tabs after Detach: got %d, want 0", b.Tabs())
		}
		select {
		case got := <-c.closed:
			t.Errorf("detached tab: got closed with %v, want no close", got)
		default:
		}
	})
}

// Nothing comes after a close frame, whoever wrote it.
func TestNothingFollowsACloseFrame(t *testing.T) {
	t.Parallel()
	b := newTestCenter(t, broadcast.Config{})
	c := b.attach(broadcast.TabConfig{})
	c.greeting()
	if _, err := c.WriteControl([]byte{0x88, 0}); err != nil {
		t.Fatal(err)
	}
	b.show(title(1))
	c.Send(wire.Event{Data: wire.Ping{}})
	c.server.Close()
	if rest, err := io.ReadAll(c.in); len(rest) != 2 || err != nil {
		t.Errorf("bytes after the greeting: got %x, error %v, want only the two of the close frame", rest, err)
	}
}
