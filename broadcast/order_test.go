package broadcast_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// An answer names an event; a tab that is behind has that event first.
func TestAnswersComeAfterTheirEvents(t *testing.T) {
	t.Parallel()
	for name, form := range map[string]broadcast.Form{"native": broadcast.FormNative, "batch": broadcast.FormBatch} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newTestCenter(t, broadcast.Config{RingEvents: 500})
			server, client := tcpPair(t)
			shrinkBuffers(t, server, client)
			c := b.attachTo(server, client, broadcast.TabConfig{Form: form, Who: who("me")})
			c.greeting()
			const emits = 10
			for i := range emits {
				for range 30 {
					b.show(titles(5)...)
				}
				b.show(title(i), wire.Actions{By: "me", MessageID: "m", Actions: []wire.Action{wire.RefreshApps{}}})
			}
			var seen wire.Position
			for answers := 0; answers < emits; {
				e := c.next()
				if !e.At.IsZero() {
					seen = e.At
				}
				if p, ok := e.Data.(wire.Emitted); ok {
					answers++
					if seen.Compare(p.At) < 0 {
						t.Fatalf("EMITTED of %v: got it after %v, want it after its event", p.At, seen)
					}
				}
			}
		})
	}
}

// blocked is a source whose first call waits.
type blocked struct {
	*memory
	asked, gate chan struct{}
}

func (s *blocked) Snapshot(ctx context.Context, monitors []wire.MonitorID) (wire.SessionState, error) {
	s.wait(ctx)
	return s.memory.Snapshot(ctx, monitors)
}

func (s *blocked) Read(ctx context.Context, after wire.Position, limit int) ([]store.Event, error) {
	s.wait(ctx)
	return s.memory.Read(ctx, after, limit)
}

func (s *blocked) wait(ctx context.Context) {
	close(s.asked) // once, or it panics
	select {
	case <-s.gate:
	case <-ctx.Done():
	}
}

// A connection that could not attach can still get a close frame with the reason.
func TestCloseDuringAttach(t *testing.T) {
	t.Parallel()
	src := &blocked{&memory{}, make(chan struct{}), make(chan struct{})}
	c := broadcast.NewCenter(broadcast.Config{}, session, wire.Position{}, src)
	server, client := tcpPair(t)
	defer server.Close()
	defer client.Close()
	done := make(chan error)
	go func() {
		_, err := c.Attach(t.Context(), broadcast.TabConfig{Conn: server})
		done <- err
	}()
	<-src.asked
	c.Close(wire.CloseExpired, "deleted")
	close(src.gate)
	if err := <-done; !errors.Is(err, broadcast.ErrClosed) {
		t.Errorf("Attach: got error %v, want %v", err, broadcast.ErrClosed)
	}
	c.Wait()
	if _, err := server.Write([]byte("the refusal")); err != nil {
		t.Errorf("write after Attach: %v", err)
	}
}

// The first Attach that reads the source ends with its context, and other calls still use the result
// of the read.
func TestAttachEndsWithItsContext(t *testing.T) {
	t.Parallel()
	for name, from := range map[string]string{"snapshot": "", "page": "1-1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				src := &blocked{&memory{}, make(chan struct{}), make(chan struct{})}
				src.commit(titles(9)...)
				c := broadcast.NewCenter(broadcast.Config{}, session, wire.Position{Epoch: 1, Seq: 9}, src)
				defer c.Wait()
				defer c.Close(wire.CloseGoingAway, "")
				b := &bench{c, src.memory, t}
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				first := make(chan error)
				go func() {
					server, client := pipe()
					defer server.Close()
					defer client.Close()
					_, err := c.Attach(ctx, broadcast.TabConfig{Conn: server, ResumeFrom: from})
					first <- err
				}()
				<-src.asked
				second := make(chan *tab)
				go func() {
					server, client := pipe()
					second <- b.attachTo(server, client, broadcast.TabConfig{ResumeFrom: from})
				}()
				if err := <-first; !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Attach: got error %v, want %v", err, context.DeadlineExceeded)
				}
				close(src.gate)
				(<-second).greeting()
			})
		})
	}
}

// A late ping fails on the closed connection.
func TestPingAfterACloseFrame(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newTestCenter(t, broadcast.Config{})
		c := b.pipe()
		late := make(chan error, 2)
		closed := make(chan error)
		go func() {
			_, err := c.WriteControl([]byte{0x88, 0})
			closed <- err
		}()
		synctest.Wait() // it waits for the greeting
		go func() {
			_, err := c.WriteControl([]byte{0x89, 0}) // behind it
			late <- err
		}()
		synctest.Wait()
		c.greeting()
		if op, _, err := readFrame(c.in); op != 8 || err != nil {
			t.Fatalf("frame: got kind %d, error %v, want a close frame", op, err)
		}
		if err := <-closed; err != nil {
			t.Error(err)
		}
		go func() {
			_, err := c.WriteControl([]byte{0x89, 0})
			late <- err
		}()
		for range 2 {
			if err := <-late; !errors.Is(err, net.ErrClosed) {
				t.Errorf("ping after a close frame: got error %v, want %v", err, net.ErrClosed)
			}
		}
		c.server.Close()
		if rest, err := io.ReadAll(c.in); len(rest) != 0 || err != nil {
			t.Errorf("bytes after the close frame: got %x, error %v, want none", rest, err)
		}
	})
}

// While a large frame is written, the tab reports progress as long as the client reads.
func TestTabProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newTestCenter(t, broadcast.Config{WriteTimeout: 10 * time.Second})
		b.src.state.RecentMessages = []wire.UIRow{{Type: wire.RowSay, Say: wire.SayText, Text: strings.Repeat("x", 3<<20)}}
		c := b.pipe()
		if c.Moving(time.Minute) {
			t.Error("progress before the client reads")
		}
		piece := make([]byte, 100_000)
		for range 20 {
			if _, err := io.ReadFull(c.Conn, piece); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Second)
			if !c.Moving(2 * time.Second) {
				t.Error("no progress while the client reads")
			}
		}
		time.Sleep(6 * time.Second)
		c.Moving(0) // the last of it is noticed late
		time.Sleep(4 * time.Second)
		if c.Moving(3 * time.Second) {
			t.Error("progress although the client reads nothing")
		}
	})
}

// An idle tab whose socket is not full reports no progress.
func TestIdleTabsMakeNoProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newTestCenter(t, broadcast.Config{})
		c := b.pipe()
		c.greeting()
		for range 3 {
			c.Send(wire.Event{Data: wire.Ping{}})
			c.next()
			synctest.Wait()
			if c.Moving(time.Hour) {
				t.Error("an idle tab reports progress")
			}
		}
	})
}
