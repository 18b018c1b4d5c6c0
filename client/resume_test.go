package client_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/everdesk/everdesk/client"
	"github.com/everdesk/everdesk/wire"
)

func TestResume(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ids, cursors []string
		note := func(p *peer) {
			ids = append(ids, p.query.Get("client_id"))
			cursors = append(cursors, p.query.Get("resume_from"))
		}
		h := &fakeHub{script: []func(*peer){
			func(p *peer) {
				note(p)
				p.greet(snapshot(pos(1, 3)))
				p.send(renamed(pos(1, 4), "a"), renamed(pos(1, 5), "b"))
				p.drop()
			},
			func(p *peer) { // seen events come again, and another epoch begins
				note(p)
				p.greet(resume(pos(1, 8)))
				p.send(renamed(pos(1, 4), "a"), renamed(pos(1, 5), "b"), renamed(pos(1, 6), "c"), renamed(pos(1, 6), "c"),
					renamed(pos(1, 8), "d"), renamed(pos(2, 0), "e"), renamed(pos(1, 9), "never"))
				p.drop()
			},
			func(p *peer) { // too much was missed
				note(p)
				s := snapshot(pos(3, 1))
				s.Reason = wire.SnapshotTooMany
				p.greet(s)
				p.send(renamed(pos(3, 1), "old"), renamed(pos(3, 2), "f"))
				p.drop()
			},
			func(p *peer) { // the hub has lost events that the client saw
				note(p)
				p.greet(snapshot(pos(2, 7)))
				p.send(renamed(pos(2, 8), "g"))
				p.hold()
			},
		}}
		r := follow(t, h, client.Config{ClientID: "me"})
		<-r.Ready()
		time.Sleep(time.Minute)
		synctest.Wait()
		want := []string{
			"snapshot", "1-4", "1-5",
			"resume", "1-6 replayed", "1-8 replayed", "2-0",
			"snapshot", "3-2",
			"snapshot", "2-8",
		}
		if diff := cmp.Diff(want, r.seen()); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"", "1-5", "2-0", "3-2"}, cursors); diff != "" {
			t.Errorf("resume_from (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"me", "me", "me", "me"}, ids); diff != "" {
			t.Errorf("client_id (-want +got):\n%s", diff)
		}
		if got, want := r.Stats(), (client.Stats{Connections: 4, Snapshots: 3, Events: 7, Duplicates: 5}); got != want {
			t.Errorf("stats %+v, want %+v", got, want)
		}
		if got := r.Position(); got != pos(2, 8) {
			t.Errorf("position: got %v, want %v", got, pos(2, 8))
		}
		if s := r.State(); s.Title != "g" || s.LastMessageID != pos(2, 8) {
			t.Errorf("state: got title %q at %v, want g at %v", s.Title, s.LastMessageID, pos(2, 8))
		}
	})
}

func TestUnknownEventsMoveTheCursor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &fakeHub{script: []func(*peer){func(p *peer) {
			p.greet(snapshot(pos(1, 1)))
			p.text(`{"type":"HOLOGRAM","message_id":"1-2","timestamp":"2026-11-15T00:00:00.000Z","data":{"x":1}}` + "\n" +
				`not an event` + "\n" +
				`{"type":"SESSION_RENAMED","message_id":"1-3","data":{"title":42}}` + "\n")
			p.hold()
		}}}
		r := follow(t, h, client.Config{})
		synctest.Wait()
		if diff := cmp.Diff([]string{"snapshot", "1-2", "1-3"}, r.seen()); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		e := r.events[1]
		if e.Type != "HOLOGRAM" || e.Data != nil || string(e.Raw[:18]) != `{"type":"HOLOGRAM"` {
			t.Errorf("unknown event: got %+v, want a HOLOGRAM with its raw frame and no data", e)
		}
		if got := r.Stats().Unreadable; got != 1 {
			t.Errorf("%d unreadable, want 1", got)
		}
	})
}

func TestEventsBeforeTheState(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &fakeHub{script: []func(*peer){
			func(p *peer) {
				p.accept()
				p.send(renamed(pos(1, 1), "too early"))
				p.hold()
			},
			func(p *peer) {
				p.greet(snapshot(pos(1, 1)))
				p.hold()
			},
		}}
		r := follow(t, h, client.Config{})
		<-r.Ready()
		synctest.Wait()
		if diff := cmp.Diff([]string{"snapshot"}, r.seen()); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}

func TestSlowHandlerSlowsTheHub(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const events = 500
		sent := 0
		h := &fakeHub{script: []func(*peer){func(p *peer) {
			s := snapshot(pos(1, 0))
			s.HeartbeatMS = 10_000
			p.greet(s)
			for i := range uint64(events) {
				p.send(renamed(pos(1, i+1), "x"))
				sent++
			}
			p.hold()
		}}}
		gate := make(chan struct{})
		r := follow(t, h, client.Config{OnEvent: func(context.Context, client.Event) { <-gate }})
		synctest.Wait()
		if sent > 100 {
			t.Errorf("events taken from the hub while the handler blocks: got %d, want at most 100", sent)
		}
		time.Sleep(time.Hour) // the hub is not silent: the link stays
		close(gate)
		synctest.Wait()
		if got := r.Stats(); got.Events != events || got.Connections != 1 {
			t.Errorf("stats %+v, want %d events over one connection", got, events)
		}
	})
}

func TestSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var lost time.Duration
		pongs := 0
		h := &fakeHub{script: []func(*peer){
			func(p *peer) {
				s := snapshot(pos(1, 0))
				s.HeartbeatMS = 10_000
				p.greet(s)
				for range 3 {
					time.Sleep(14 * time.Second)
					p.send(wire.Event{Data: wire.Ping{}})
					if m, ok := p.readMessage(); !ok || m.Data != (wire.Pong{}) {
						t.Errorf("answer to ping: got %+v, %v, want a pong", m, ok)
					}
					pongs++
				}
				p.hold()
				lost = time.Since(start)
			},
			func(p *peer) {
				p.greet(resume(wire.Position{}))
				p.hold()
			},
		}}
		r := follow(t, h, client.Config{})
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if pongs != 3 || lost != (3*14+15)*time.Second {
			t.Errorf("got %d pongs, disconnected after %v, want 3 after %v", pongs, lost, (3*14+15)*time.Second)
		}
		want := []client.LinkState{client.LinkConnecting, client.LinkConnected, client.LinkReconnecting, client.LinkConnected}
		if diff := cmp.Diff(want, r.states()); diff != "" {
			t.Errorf("link (-want +got):\n%s", diff)
		}
	})
}

func TestEndsWithItsContext(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]func(*peer){
		"polite hub": func(p *peer) {
			p.greet(snapshot(pos(1, 0)))
			p.hold()
		},
		"hub that does not answer the goodbye": func(p *peer) {
			p.greet(snapshot(pos(1, 0)))
			<-p.over
		},
		"hub that does not answer at all": func(p *peer) {
			<-p.r.Context().Done()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := follow(t, &fakeHub{script: []func(*peer){script}}, client.Config{})
				synctest.Wait()
				start := time.Now()
				r.stop()
				<-r.done
				if !errors.Is(r.err, context.Canceled) {
					t.Errorf("Run: got error %v, want %v", r.err, context.Canceled)
				}
				if took := time.Since(start); took > 2*time.Second {
					t.Errorf("time until Run ended: got %v, want at most 2 s", took)
				}
				if _, err := r.Send(t.Context(), wire.UserMessage{Content: "x"}); !errors.Is(err, client.ErrClosed) {
					t.Errorf("Send after Run: got error %v, want %v", err, client.ErrClosed)
				}
				if err := r.Run(t.Context()); err == nil {
					t.Error("second Run: got no error, want one")
				}
				if r.Link().State != client.LinkClosed {
					t.Errorf("link: got %v, want %v", r.Link().State, client.LinkClosed)
				}
			})
		})
	}
}
