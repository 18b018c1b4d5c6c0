package gateway_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everdesk/everdesk/client"
	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/wire"
)

// A desktop client has one session id permanently; with it it reconnects to its windows.
func TestOneSessionID(t *testing.T) {
	t.Parallel()
	for name, open := range agentHubs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t)
			v := dialOptions{token: h.token("ann", time.Minute)}
			x := h.dialDesktop("", v)
			id := next[wire.ConnectionStatus](x).SessionID
			x.writeText(`{"type":"SUBSCRIBE_MONITOR","monitorId":"monitor-0"}`)
			x.sendToAgent("monitor-0", "m1", "/window w Hello | there", "/say hi")
			events := x.untilTurnEnd("m1")
			x.writeText(`{"type":"RESET"}`)
			x.writeText(`{"type":"SET_PROVIDER","provider":"demo"}`)
			x.sendToAgent("monitor-0", "m2", "/window w2 Hello | there", "/say hi")
			events = append(events, x.untilTurnEnd("m2")...)
			accepted, ends := 0, 0
			for _, e := range events {
				switch p := e.Data.(type) {
				case wire.ConnectionStatus:
					if p.SessionID != id {
						t.Errorf("connection status: got %+v, want session %s", p, id)
					}
				case wire.MessageAccepted:
					accepted++
				case wire.AgentResponse:
					if p.IsComplete {
						ends++
						if p.Content != "hi" {
							t.Errorf("end of a turn: got %+v, want the content hi", p)
						}
					}
				}
			}
			if accepted != 2 || ends != 2 {
				t.Errorf("two messages: got %d accepted and %d ended, want two each", accepted, ends)
			}
			again := h.dialDesktop("?sessionId="+string(id), v)
			if got := next[wire.ConnectionStatus](again); got.SessionID != id {
				t.Errorf("connection status after reconnecting: got %+v, want session %s", got, id)
			}
			if a := next[wire.Actions](again); len(a.Actions) != 1 || a.Actions[0].(wire.WindowCreate).WindowID != "w2" { //nolint:forcetypeassert // a snapshot has nothing else
				t.Errorf("actions after reconnecting: got %+v, want the window w2 only", a)
			}
		})
	}
}

// A reconnecting desktop client gets each window on its monitor, under the id that later changes
// use.
func TestWindowsOfASnapshot(t *testing.T) {
	t.Parallel()
	h := newAgentHub(t, false)
	v := dialOptions{token: h.token("ann", time.Minute)}
	x := h.dialDesktop("", v)
	id := next[wire.ConnectionStatus](x).SessionID
	for _, m := range []wire.MonitorID{"monitor-0", "monitor-1"} {
		x.writeText(fmt.Sprintf(`{"type":"SUBSCRIBE_MONITOR","monitorId":"%s"}`, m))
		x.sendToAgent(m, "m-"+wire.MessageID(m), "/window same Hello | on "+string(m))
		x.untilTurnEnd("m-" + wire.MessageID(m))
	}
	y := h.dialDesktop("?sessionId="+string(id), v)
	next[wire.ConnectionStatus](y)
	shown := map[wire.MonitorID]wire.Content{}
	for range 2 {
		a := next[wire.Actions](y)
		for _, action := range a.Actions {
			c, is := action.(wire.WindowCreate)
			if !is || c.WindowID != "same" || a.MonitorID == "" {
				t.Errorf("action: got %+v, want a new window same on a monitor", a)
			}
			shown[a.MonitorID] = c.Content
		}
	}
	for _, m := range []wire.MonitorID{"monitor-0", "monitor-1"} {
		if shown[m] != (wire.MarkdownContent{Data: "on " + string(m)}) {
			t.Errorf("window on %s: got %+v, want the text on %s", m, shown[m], m)
		}
	}
	y.writeText(`{"type":"SUBSCRIBE_MONITOR","monitorId":"monitor-1"}`)
	x.sendToAgent("monitor-1", "m2", `/call window:update {"windowId":"same","operation":"append","content":"!"}`)
	for {
		a := next[wire.Actions](y)
		if u, is := a.Actions[0].(wire.WindowUpdateContent); is {
			if u.WindowID != "same" || a.MonitorID != "monitor-1" {
				t.Errorf("change: got %+v, want window same on monitor-1", a)
			}
			return
		}
	}
}

// A tab that is disconnected during an agent's answer gets the missed part once.
func TestAnswerWhileAway(t *testing.T) {
	t.Parallel()
	for name, open := range agentHubs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t)
			id, x := h.sessionWithTab()
			x.sendToAgent("", "m", "/stream 120 200", "/window w Hello | there")
			var at wire.Position
			text, windows, ends := "", 0, 0
			hear := func(e wire.Event) {
				if e.At.IsZero() {
					return
				}
				if e.At.Compare(at) <= 0 {
					t.Errorf("position: got %v after %v, want a later one", e.At, at)
				}
				at = e.At
				switch p := e.Data.(type) {
				case wire.AgentResponse:
					if p.IsComplete {
						ends++
					}
					if p.Delta != "" && p.Offset != len(text) {
						t.Errorf("part %q: got offset %d, want %d", p.Delta, p.Offset, len(text))
					}
					text += p.Delta
				case wire.Actions:
					windows += len(p.Actions)
				}
			}
			for range 3 {
				for range 6 {
					e, ok := x.read()
					if !ok {
						t.Fatal("got a closed connection before the end of the turns, want the next event")
					}
					hear(e)
				}
				_ = x.ws.CloseNow()
				x = h.mustDial("/ws/"+string(id)+"?resume_from="+at.String(), as(h.token("ann", time.Minute)))
				if state := next[wire.SessionState](x); state.Mode != wire.StateResume {
					t.Fatalf("mode after reconnecting: got %s, want %s", state.Mode, wire.StateResume)
				}
			}
			for _, e := range x.untilTurnEnd("m") {
				hear(e)
			}
			var want strings.Builder
			for i := range 120 {
				if i > 0 {
					want.WriteByte(' ')
				}
				fmt.Fprintf(&want, "w%d", i+1)
			}
			if text != want.String() || windows != 1 || ends != 1 {
				t.Errorf("got %d windows, %d ends and %q, want one, one and %q", windows, ends, text, want.String())
			}
		})
	}
}

// The Go client's mirror equals the state folded from the log, at every event of every turn.
func TestClientSeesTheSameWhileAgentsWork(t *testing.T) {
	t.Parallel()
	for name, open := range agentHubs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t)
			id := h.newSession("ann")
			type look struct {
				at   wire.Position
				hash string
			}
			var c *client.Client
			looks := make(chan look, 10_000)
			ended := make(chan wire.MessageID, 100)
			c, err := client.New(client.Config{
				URL: "http://" + h.addr, Session: id, Token: h.token("ann", time.Minute),
				OnEvent: func(_ context.Context, e client.Event) {
					if hash, at := c.Hash(); !at.IsZero() {
						looks <- look{at, hash}
					}
					if r, is := e.Data.(wire.AgentResponse); is && r.IsComplete && r.MessageID != "" {
						ended <- r.MessageID
					}
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			wg.Go(func() { _ = c.Run(ctx) })
			t.Cleanup(wg.Wait)
			t.Cleanup(cancel)
			<-c.Ready()
			send := func(p wire.ClientPayload) {
				t.Helper()
				if _, err := c.Send(ctx, p); err != nil {
					t.Fatal(err)
				}
			}
			send(wire.UserMessage{Content: "/nosteer\n/think hmm\n/stream 60 300\n/window w W | x\n/task web /stream 20 200", MessageID: "m0"})
			send(wire.UserMessage{Content: "/say beside\n/toast bread", MessageID: "m1"})
			send(wire.UserMessage{Content: "/window w W | x\n/stream 60 300\n/fail invalid: enough", MonitorID: "monitor-1", MessageID: "m2"})
			for range 3 {
				select {
				case <-ended:
				case <-time.After(h.wait):
					t.Fatalf("got no end of the turns within %v, want one", h.wait)
				}
			}
			cancel()
			wg.Wait()
			close(looks)
			seen := map[wire.Position]string{}
			for l := range looks {
				seen[l.at] = l.hash
			}
			mirror, compared := desktop.New(id), 0
			events, err := h.store.Read(t.Context(), id, wire.Position{}, 10_000)
			if err != nil {
				t.Fatal(err)
			}
			for _, stored := range events {
				e, err := wire.Native{}.DecodeEvent(stored.Frame)
				if err != nil {
					t.Fatal(err)
				}
				mirror.Apply(e)
				if hash, ok := seen[e.At]; ok {
					compared++
					if hash != mirror.Hash() {
						t.Errorf("state at %v: got hash %s at the client, want %s of the stored events", e.At, hash, mirror.Hash())
					}
				}
			}
			if compared < 20 {
				t.Errorf("compared states: got %d, want at least 20", compared)
			}
		})
	}
}
