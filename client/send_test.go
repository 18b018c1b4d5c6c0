package client_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/everdesk/everdesk/client"
	"github.com/everdesk/everdesk/wire"
)

func TestSendUntilAnswered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var heard []string
		hear := func(p *peer, want int) {
			for range want {
				if m, ok := p.readMessage(); ok {
					heard = append(heard, string(m.ID))
				}
			}
		}
		h := &fakeHub{script: []func(*peer){
			func(p *peer) { // reads three messages and answers none
				p.greet(snapshot(pos(1, 0)))
				hear(p, 3)
				p.drop()
			},
			func(p *peer) { // the first was answered meanwhile, the others come again
				p.greet(resume(pos(1, 2)))
				time.Sleep(500 * time.Millisecond)
				p.send(wire.Event{At: pos(1, 1), Data: wire.MessageUpdated{
					Action: wire.RowCreated, Message: wire.UIRow{Type: wire.RowSay, Say: wire.SayText}, MessageID: "a",
				}})
				p.send(wire.Event{At: pos(1, 2), Data: wire.MessageAccepted{MessageID: "a", AgentID: "main"}})
				hear(p, 2)
				p.send(wire.Event{At: pos(1, 3), Data: wire.MessageRejected{MessageID: "b", Code: wire.CodeQueueFull, Reason: "full"}})
				p.drop()
			},
			func(p *peer) { // the end of the replay is not sent
				p.greet(resume(pos(1, 9)))
				hear(p, 1)
				p.send(wire.Event{At: pos(2, 1), Data: wire.MessageQueued{MessageID: "c", Position: 1}})
				p.hold()
			},
		}}
		r := follow(t, h, client.Config{})
		var wg sync.WaitGroup
		for _, id := range []wire.MessageID{"a", "b", "c"} {
			p, err := r.Submit(t.Context(), wire.UserMessage{MessageID: id, Content: "hello"})
			if err != nil {
				t.Fatal(err)
			}
			wg.Go(func() {
				a, err := p.Wait(t.Context())
				no, refused := errors.AsType[*client.RefusedError](err)
				switch id {
				case "a":
					if _, ok := a.Data.(wire.MessageAccepted); !ok || a.At != pos(1, 2) || err != nil {
						t.Errorf("a: got %+v, error %v, want it accepted at %v", a, err, pos(1, 2))
					}
				case "b":
					if !refused || no.Code != wire.CodeQueueFull || no.Reason != "full" {
						t.Errorf("b: got %+v, error %v, want a refusal with code %v: full", a, err, wire.CodeQueueFull)
					}
				case "c":
					if _, ok := a.Data.(wire.MessageQueued); !ok || err != nil {
						t.Errorf("c: got %+v, error %v, want it queued", a, err)
					}
				}
				if p.ID() != id {
					t.Errorf("id %q, want %q", p.ID(), id)
				}
			})
		}
		wg.Wait()
		if diff := cmp.Diff([]string{"a", "b", "c", "b", "c", "c"}, heard); diff != "" {
			t.Errorf("received by the hub (-want +got):\n%s", diff)
		}
	})
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	emit := wire.Emit{MessageID: "m", Actions: []wire.Action{wire.RefreshApps{}}}
	event := func(d wire.ServerPayload) wire.Event { return wire.Event{At: pos(1, 1), Data: d} }
	private := func(d wire.ServerPayload) wire.Event { return wire.Event{Data: d} }
	for name, tt := range map[string]struct {
		send   wire.ClientPayload
		events []wire.Event // the last one answers
		want   wire.ServerPayload
		code   wire.Code
	}{
		"emitted":           {emit, []wire.Event{private(wire.Emitted{MessageID: "m", At: pos(1, 1)})}, wire.Emitted{MessageID: "m", At: pos(1, 1)}, 0},
		"emitted by replay": {emit, []wire.Event{event(wire.Actions{MessageID: "m"})}, wire.Emitted{MessageID: "m", At: pos(1, 1)}, 0},
		"error":             {emit, []wire.Event{private(wire.ErrorNotice{Code: wire.CodeForbidden, MessageID: "m"})}, wire.ErrorNotice{Code: wire.CodeForbidden, MessageID: "m"}, wire.CodeForbidden},
		"actions of its agent": {
			wire.UserMessage{MessageID: "m"},
			[]wire.Event{event(wire.Actions{MessageID: "m"}), {At: pos(1, 2), Data: wire.MessageAccepted{MessageID: "m", AgentID: "x"}}},
			wire.MessageAccepted{MessageID: "m", AgentID: "x"},
			0,
		},
		"dialog": {
			wire.DialogFeedback{DialogID: "d", Confirmed: true},
			[]wire.Event{event(wire.DialogClosed{DialogID: "d", Reason: wire.ClosedAnswered})},
			wire.DialogClosed{DialogID: "d", Reason: wire.ClosedAnswered},
			0,
		},
		"prompt": {
			wire.UserPromptResponse{PromptID: "p", Text: "x"},
			[]wire.Event{event(wire.PromptClosed{PromptID: "other", Reason: wire.ClosedAnswered}), {At: pos(1, 2), Data: wire.PromptClosed{PromptID: "p", Reason: wire.ClosedAnswered}}},
			wire.PromptClosed{PromptID: "p", Reason: wire.ClosedAnswered},
			0,
		},
		"question of a plan": {
			wire.HITLPlanResponse{RequestID: "r", Action: wire.PlanApprove, MessageID: "m"},
			[]wire.Event{
				event(wire.HITLClosed{RequestID: "other", Reason: wire.ClosedExpired}),
				{At: pos(1, 2), Data: wire.HITLClosed{RequestID: "r", Reason: wire.ClosedAnswered, MessageID: "m"}},
			},
			wire.HITLClosed{RequestID: "r", Reason: wire.ClosedAnswered, MessageID: "m"},
			0,
		},
		"order to a plan": {
			wire.ControlPause{MessageID: "m"},
			[]wire.Event{event(wire.HITLPaused{PausedBy: "user", MessageID: "m"})},
			wire.HITLPaused{PausedBy: "user", MessageID: "m"},
			0,
		},
		"anything that names it": {
			wire.SetProvider{Provider: "x", MessageID: "m"},
			[]wire.Event{event(wire.MonitorStatus{MonitorID: "monitor-0", State: wire.MonitorIdle, MessageID: "m"})},
			wire.MonitorStatus{MonitorID: "monitor-0", State: wire.MonitorIdle, MessageID: "m"},
			0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := &fakeHub{script: []func(*peer){func(p *peer) {
					p.greet(snapshot(pos(1, 0)))
					p.readMessage()
					p.send(tt.events...)
					p.hold()
				}}}
				r := follow(t, h, client.Config{})
				a, err := r.Send(t.Context(), tt.send)
				if no, ok := errors.AsType[*client.RefusedError](err); ok != (tt.code != 0) || ok && no.Code != tt.code {
					t.Errorf("Send: got error %v, want code %v", err, tt.code)
				}
				if diff := cmp.Diff(tt.want, a.Data); diff != "" {
					t.Errorf("answer (-want +got):\n%s", diff)
				}
				if got := r.Stats().Events; a.At != (wire.Position{}) && got == 0 {
					t.Error("the answer was there before its event")
				}
			})
		})
	}
}

func TestPostIsSentOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		heard := 0
		h := &fakeHub{script: []func(*peer){
			func(p *peer) {
				p.greet(snapshot(pos(1, 0)))
				p.readMessage()
				heard++
				p.drop()
			},
			func(p *peer) {
				p.greet(resume(wire.Position{}))
				for {
					if _, ok := p.readMessage(); !ok {
						return
					}
					heard++
				}
			},
		}}
		r := follow(t, h, client.Config{})
		if err := r.Post(t.Context(), wire.UserInteractions{}); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if heard != 1 {
			t.Errorf("deliveries to the hub: got %d, want 1", heard)
		}
	})
}

func TestTooLargeIsNotSentAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var heard []string
		h := &fakeHub{script: []func(*peer){
			func(p *peer) { // three messages are pending when the hub refuses
				p.greet(snapshot(pos(1, 0)))
				for range 3 {
					p.readMessage()
				}
				p.close(wire.CloseTooBig, "too big")
			},
			func(p *peer) {
				p.greet(resume(wire.Position{}))
				for range 2 {
					m, _ := p.readMessage()
					heard = append(heard, string(m.ID))
					p.send(wire.Event{Data: wire.Emitted{MessageID: m.ID}})
				}
				p.hold()
			},
		}}
		r := follow(t, h, client.Config{})
		var wg sync.WaitGroup
		for id, size := range map[wire.MessageID]int{"a": 10, "b": 1000, "c": 100} {
			wg.Go(func() {
				_, err := r.Send(t.Context(), wire.UserMessage{MessageID: id, Content: strings.Repeat("x", size)})
				if e, ok := errors.AsType[*client.Error](err); ok != (id == "b") || ok && e.Code != wire.CloseTooBig {
					t.Errorf("%s: got error %v, want code %v for b only", id, err, wire.CloseTooBig)
				}
			})
		}
		wg.Wait()
		if len(heard) != 2 {
			t.Errorf("messages the hub received: got %q, want two", heard)
		}
	})
}

func TestForward(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var heard []string
		h := &fakeHub{script: []func(*peer){
			func(p *peer) {
				p.greet(snapshot(pos(1, 0)))
				for range 3 {
					_, frame, _ := p.ws.Read(t.Context())
					heard = append(heard, string(frame))
				}
				p.drop()
			},
			func(p *peer) {
				p.greet(resume(wire.Position{}))
				_, frame, _ := p.ws.Read(t.Context())
				heard = append(heard, string(frame))
				p.send(wire.Event{Data: wire.Emitted{MessageID: "m"}})
				p.hold()
			},
		}}
		r := follow(t, h, client.Config{})
		emit := `{"type":"EMIT","new":1,"data":{"messageId":"m","actions":[{"type":"desktop.refreshApps"}]}}`
		lines := []string{`{"type":"FUTURE"}`, emit, `{"type":"USER_MESSAGE","data":{"content":"no id"}}`}
		var last *client.Pending
		for _, line := range lines {
			p, err := r.Forward(t.Context(), []byte(line))
			if err != nil {
				t.Fatal(err)
			}
			if p.ID() != "" {
				last = p
			}
		}
		if _, err := last.Wait(t.Context()); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(append(lines, emit), heard); diff != "" {
			t.Errorf("received by the hub (-want +got):\n%s", diff)
		}
	})
}

func TestSendingIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &fakeHub{script: []func(*peer){func(p *peer) {
			p.greet(snapshot(pos(1, 0)))
			p.hold()
		}}}
		r := follow(t, h, client.Config{Unanswered: 2})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for range 2 {
			if _, err := r.Submit(ctx, wire.UserMessage{Content: "x"}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := r.Submit(ctx, wire.UserMessage{Content: "x"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a third message: got error %v, want %v", err, context.DeadlineExceeded)
		}
	})
}

// TestSenderCancels checks that a message whose sender stopped waiting is dropped and frees its
// slot.
func TestSenderCancels(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &fakeHub{script: []func(*peer){func(p *peer) {
			p.greet(snapshot(pos(1, 0)))
			p.hold()
		}}}
		r := follow(t, h, client.Config{Unanswered: 1})
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if _, err := r.Send(ctx, wire.UserMessage{MessageID: "m"}); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Send: got error %v, want %v", err, context.DeadlineExceeded)
			}
			cancel()
		}
	})
}

func TestMessageIDIsPendingOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &fakeHub{script: []func(*peer){func(p *peer) {
			p.greet(snapshot(pos(1, 0)))
			p.hold()
		}}}
		other := follow(t, h, client.Config{})
		if _, err := other.Submit(t.Context(), wire.UserMessage{MessageID: "m"}); err != nil {
			t.Error(err)
		}
		if _, err := other.Submit(t.Context(), wire.UserMessage{MessageID: "m"}); err == nil {
			t.Error("an id that is pending: got no error, want one")
		}
	})
}
