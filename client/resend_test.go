package client_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"github.com/everdesk/everdesk/client"
	"github.com/everdesk/everdesk/wire"
)

// accepted returns the answer to a message.
func accepted(at wire.Position, id wire.MessageID) wire.Event {
	return wire.Event{At: at, Data: wire.MessageAccepted{MessageID: id, AgentID: "main"}}
}

// withLongHeartbeat makes a snapshot that comes after the first one of a connection.
func withLongHeartbeat(s wire.SessionState) wire.SessionState {
	s.HeartbeatMS = 1 << 30
	return s
}

// The answer is among the events that a later snapshot skips.
func TestAnswerPassedOverBySnapshot(t *testing.T) {
	t.Parallel()
	for name, state := range map[string]wire.Event{
		"of the connection": {Data: withLongHeartbeat(snapshot(pos(1, 50)))}, // MESSAGE_ACCEPTED was 1-7
		"of the log":        {At: pos(1, 50), Data: withLongHeartbeat(snapshot(pos(1, 50)))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := &fakeHub{script: []func(*peer){func(p *peer) {
					p.greet(snapshot(pos(1, 0)))
					p.readMessage()
					p.send(state)
					if m, ok := p.readMessage(); ok { // the same message gets the same answer
						p.send(accepted(pos(1, 51), m.ID))
					}
					p.hold()
				}}}
				r := follow(t, h, client.Config{})
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				if a, err := r.Send(ctx, wire.UserMessage{MessageID: "a", Content: "x"}); err != nil || a.At != pos(1, 51) {
					t.Errorf("answer: got %+v, error %v, want one at %v", a, err, pos(1, 51))
				}
			})
		})
	}
}

// A posted frame that the hub refuses fails and is not repeated.
func TestPostThatIsTooLarge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		conns := 0
		h := &fakeHub{script: []func(*peer){func(p *peer) {
			conns++
			p.greet(snapshot(pos(1, 0)))
			p.ws.SetReadLimit(-1)
			_, frame, err := p.ws.Reader(t.Context())
			if err != nil {
				return
			}
			if n, err := frame.Read(make([]byte, 1024)); n == 0 || err != nil {
				t.Errorf("read: got %d bytes, error %v, want some", n, err)
			}
			// It closes in the middle of the frame, and disconnects later.
			if _, err := p.raw.Write([]byte{0x88, 2, 0x03, 0xf1}); err != nil {
				t.Error(err)
			}
			time.Sleep(5 * time.Second)
			p.drop()
		}}}
		r := follow(t, h, client.Config{})
		err := r.Post(t.Context(), wire.UserMessage{Content: strings.Repeat("x", 8<<20)})
		if e, ok := errors.AsType[*client.Error](err); !ok || e.Code != wire.CloseTooBig {
			t.Errorf("Post: got error %v, want code %v", err, wire.CloseTooBig)
		}
		if conns != 1 {
			t.Errorf("connections for one frame that is too large: got %d, want 1", conns)
		}
	})
}

// A session_state in the log is an ordinary event.
func TestStateInTheLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &fakeHub{script: []func(*peer){func(p *peer) {
			p.greet(snapshot(pos(1, 0)))
			s := snapshot(pos(2, 1))
			s.Reason, s.HeartbeatMS, s.Title = wire.SnapshotUnknown, 1, "new"
			p.send(wire.Event{At: pos(2, 1), Data: s})
			time.Sleep(time.Minute) // its heartbeat is not that of the connection
			p.send(wire.Event{At: pos(2, 1), Data: s}, renamed(pos(2, 2), "x"))
			p.hold()
		}}}
		r := follow(t, h, client.Config{})
		time.Sleep(time.Hour)
		if diff := cmp.Diff([]string{"snapshot", "snapshot", "2-2"}, r.seen()); diff != "" {
			t.Errorf("seen (-want +got):\n%s", diff)
		}
		want := client.Stats{Connections: 1, Snapshots: 2, Events: 2, Duplicates: 1}
		if got := r.Stats(); got != want {
			t.Errorf("counts %+v, want %+v", got, want)
		}
		if _, at := r.Hash(); at != pos(2, 2) {
			t.Errorf("position of the hash: got %v, want %v", at, pos(2, 2))
		}
	})
}

// A snapshot may take longer than the silence timeout while data arrives.
func TestSlowSnapshot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		conns := 0
		h := &fakeHub{script: []func(*peer){func(p *peer) {
			conns++
			p.accept()
			s := withLongHeartbeat(snapshot(pos(1, 0)))
			s.RecentMessages = []wire.UIRow{{Type: wire.RowSay, Say: wire.SayText, Text: strings.Repeat("x", 1<<20)}}
			frame := wire.AppendEvent(nil, wire.Event{Session: sessionID, Time: time.Now(), Data: s})
			w, err := p.ws.Writer(t.Context(), websocket.MessageText)
			if err != nil {
				t.Error(err)
				return
			}
			for piece := range slices.Chunk(frame, 50_000) {
				if _, err := w.Write(piece); err != nil {
					return
				}
				time.Sleep(5 * time.Second)
			}
			w.Close()
			p.hold()
		}}}
		r := follow(t, h, client.Config{})
		time.Sleep(10 * time.Minute)
		select {
		case <-r.Ready():
		default:
			t.Errorf("after 10 minutes: got %d connections, want the client ready", conns)
		}
	})
}

// strict is a hub that accepts one message a second and closes the connection with the third
// refusal.
type strict struct {
	taken   []wire.MessageID
	refused int
	last    time.Time
}

func (s *strict) serve(p *peer) {
	p.greet(snapshot(pos(1, uint64(len(s.taken)))))
	for struck := 0; ; {
		m, ok := p.readMessage()
		if !ok {
			return
		}
		if wait := time.Until(s.last.Add(time.Second)); wait > 0 {
			s.refused++
			n := wire.CodeRateLimited.Notice("")
			n.MessageID, n.RetryAfterMS = m.ID, int(wait.Milliseconds())
			p.send(wire.Event{Data: n})
			if struck++; struck == 3 {
				p.close(wire.CloseRateLimited, "retry_after=1")
				return
			}
			continue
		}
		s.last = time.Now()
		if !slices.Contains(s.taken, m.ID) {
			s.taken = append(s.taken, m.ID)
		}
		p.send(accepted(pos(1, uint64(len(s.taken))), m.ID))
	}
}

// Rate-limited messages are sent again, more slowly.
func TestTooManyAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s strict
		h := &fakeHub{script: []func(*peer){s.serve}}
		r := follow(t, h, client.Config{})
		var wg sync.WaitGroup
		for range 100 {
			p, err := r.Submit(t.Context(), wire.UserMessage{Content: "x"})
			if err != nil {
				t.Fatal(err)
			}
			wg.Go(func() {
				if _, err := p.Wait(t.Context()); err != nil {
					t.Errorf("message %s: %v", p.ID(), err)
				}
			})
		}
		wg.Wait()
		if len(s.taken) != 100 || s.refused > 50 {
			t.Errorf("messages: got %d taken and %d refused by the hub, want 100 taken and at most 50 refused", len(s.taken), s.refused)
		}
	})
}

func TestRefusalsThatAskToWait(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		notice  wire.ErrorNotice
		refuse  int           // number of refusals
		heard   int           // messages received in total
		atLeast time.Duration // until the answer
		fails   bool
	}{
		"queue full":        {wire.CodeQueueFull.Notice(""), 3, 4, 3 * time.Second, false},
		"store unavailable": {wire.CodeStoreUnavailable.Notice(""), 1, 2, 500 * time.Millisecond, false},
		"for ever":          {wire.CodeQueueFull.Notice(""), 1000, 21, 5 * time.Minute, true},
		"without the wish":  {wire.ErrorNotice{Code: wire.CodeQueueFull}, 1, 1, 0, true},
		"of another kind":   {wire.CodeProviderUnavailable.Notice(""), 1, 1, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				heard := 0
				h := &fakeHub{script: []func(*peer){func(p *peer) {
					p.greet(snapshot(pos(1, 0)))
					for {
						m, ok := p.readMessage()
						if !ok {
							return
						}
						if heard++; heard > tt.refuse {
							p.send(accepted(pos(1, 1), m.ID))
							continue
						}
						n := tt.notice
						n.MessageID = m.ID
						p.send(wire.Event{Data: n})
					}
				}}}
				r := follow(t, h, client.Config{})
				start := time.Now()
				_, err := r.Send(t.Context(), wire.UserMessage{MessageID: "m", Content: "x"})
				if no, ok := errors.AsType[*client.RefusedError](err); ok != tt.fails || ok && no.Code != tt.notice.Code {
					t.Errorf("Send: got error %v, want a refusal: %v, with code %v", err, tt.fails, tt.notice.Code)
				}
				if took := time.Since(start); heard != tt.heard || took < tt.atLeast {
					t.Errorf("deliveries to the hub: got %d in %v, want %d in at least %v", heard, took, tt.heard, tt.atLeast)
				}
			})
		})
	}
}

// The sender can stop waiting for a hub that asks to wait.
func TestSenderThatDoesNotWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &fakeHub{script: []func(*peer){func(p *peer) {
			p.greet(snapshot(pos(1, 0)))
			m, _ := p.readMessage()
			n := wire.CodeRateLimited.Notice("")
			n.MessageID, n.RetryAfterMS = m.ID, 3_600_000
			p.send(wire.Event{Data: n})
			p.hold()
		}}}
		r := follow(t, h, client.Config{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := r.Send(ctx, wire.UserMessage{Content: "x"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Send: got error %v, want %v", err, context.DeadlineExceeded)
		}
	})
}

// An added monitor is part of later handshakes, which resume only if the mirror has its state.
func TestMonitorsThatWereAdded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		note := func(p *peer) {
			asked = append(asked, strings.Join(p.query["monitor"], " ")+" after "+p.query.Get("resume_from"))
		}
		h := &fakeHub{script: []func(*peer){
			func(p *peer) {
				note(p)
				p.greet(snapshot(pos(1, 5)))
				p.readMessage()
				p.drop() // before its snapshot
			},
			func(p *peer) {
				note(p)
				p.greet(snapshot(pos(1, 6)))
				p.readMessage()
				s := withLongHeartbeat(snapshot(pos(1, 7)))
				s.Monitors = []wire.MonitorStatus{{MonitorID: "m-2", State: wire.MonitorIdle}}
				p.send(wire.Event{Data: s})
				time.Sleep(time.Second) // until it was read
				p.drop()
			},
			func(p *peer) {
				note(p)
				p.greet(resume(pos(1, 7)))
				p.hold()
			},
		}}
		r := follow(t, h, client.Config{Monitors: []wire.MonitorID{"m-0"}})
		for _, id := range []wire.MonitorID{"m-1", "m-2"} {
			if err := r.Post(t.Context(), wire.SubscribeMonitor{MonitorID: id}); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Minute)
		}
		synctest.Wait()
		want := []string{"m-0 after ", "m-0 m-1 after ", "m-0 m-1 m-2 after 1-7"}
		if diff := cmp.Diff(want, asked); diff != "" {
			t.Errorf("asked for (-want +got):\n%s", diff)
		}
	})
}
