package session_test

import (
	"context"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

func isA[T wire.ServerPayload](p wire.ServerPayload) bool {
	_, is := p.(T)
	return is
}

// A repeated message gets the first answer again, and only its sender gets it.
func TestDuplicatesAreAnsweredToTheSender(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		a, b, _ := startPair(t, s)
		owner, follower := openHandle(t, a, "ses-1"), openHandle(t, b, "ses-1")
		one, two := attachTab(t, owner, "conn-a"), attachTab(t, follower, "conn-b")
		deliver(t, owner, command("conn-a", "emit", emit(window("win"))))
		first := nextEvent(t, one, anyOf[wire.Emitted])
		hello := wire.UserMessage{Content: "hello"}
		deliver(t, owner, command("conn-a", "said", hello))
		for _, w := range []*tab{one, two} {
			if p := nextEvent(t, w, anyOf[wire.MessageRejected]); p.Duplicate || p.By != "conn-a" {
				t.Errorf("a tab sees %+v, want the rejection of conn-a's message, no duplicate", p)
			}
		}
		deliver(t, follower, command("conn-b", "emit", emit(window("win"))))
		if again := nextEvent(t, two, anyOf[wire.Emitted]); again != first {
			t.Errorf("EMIT again is answered with %+v, before with %+v, want the same", again, first)
		}
		deliver(t, follower, command("conn-b", "said", hello))
		if p := nextEvent(t, two, anyOf[wire.MessageRejected]); p.MessageID != "said" || !p.Duplicate || p.Code != wire.CodeProviderUnavailable {
			t.Errorf("the same message again is answered with %+v, want a duplicate for said with code %s", p, wire.CodeProviderUnavailable)
		}
		waitPosition(t, follower, deliverBarrier(t, owner))
		synctest.Wait()
		seen := one.seen
		for len(one.events) > 0 {
			seen = append(seen, <-one.events)
		}
		actions := payloads[wire.Actions](seen)
		if n := len(payloads[wire.MessageRejected](seen)); n != 0 || len(actions) != 2 { // the last is of settled
			t.Errorf("the other tab has seen %d more refusals and %+v, want none and two actions", n, actions)
		}
	})
}

// Two connections that use the same id for different messages do not get each other's answers.
func TestSameMessageIDOfTwoConnections(t *testing.T) {
	t.Parallel()
	for name, messages := range map[string][2]wire.ClientPayload{
		"EMIT":         {emit(window("A")), emit(window("B"))},
		"USER_MESSAGE": {wire.UserMessage{Content: "A"}, wire.UserMessage{Content: "B"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := openFaultStore(t)
				h, _ := startHub(t, m, "a", session.Config{})
				createSession(t, h, "ses-1")
				r := openHandle(t, h, "ses-1")
				deliverBarrier(t, r)
				gate := make(chan struct{})
				m.onCommit(func(_ context.Context, _ store.Lease, _ store.Batch, do commitFunc) (store.Receipt, error) {
					<-gate
					return do()
				})
				var answers [2]chan session.Answer
				for i, p := range messages {
					answers[i] = make(chan session.Answer, 1)
					go func() {
						a, err := r.DeliverAndWait(t.Context(), command("", "same", p))
						if err != nil {
							t.Error(err)
						}
						answers[i] <- a
					}()
					synctest.Wait()
				}
				close(gate)
				if p, is := (<-answers[0]).Data.(wire.MessageRejected); is && p.Code != wire.CodeProviderUnavailable {
					t.Errorf("the first is answered with %+v, want no rejection or code %s", p, wire.CodeProviderUnavailable)
				}
				a := <-answers[1]
				if p, is := a.Data.(wire.MessageRejected); !is || p.Code != wire.CodeSessionInvalidState {
					t.Errorf("the second is answered with %+v, want code %s", a.Data, wire.CodeSessionInvalidState)
				}
			})
		})
	}
}

// A panic after the commit of a step refuses none of its items, however often it happens.
func TestPanicAfterCommitRefusesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openFaultStore(t)
		h, _ := startHub(t, m, "a", session.Config{})
		createSession(t, h, "ses-1")
		r := openHandle(t, h, "ses-1")
		deliverBarrier(t, r)
		panics := 0
		m.onCommit(func(_ context.Context, _ store.Lease, b store.Batch, do commitFunc) (store.Receipt, error) {
			receipt, err := do()
			if batchContains(b, `"m1"`) && panics < 2 {
				panics++
				panic("after the commit")
			}
			return receipt, err
		})
		if a := deliverAndWait(t, r, command("c", "m1", emit(window("win")))); isA[wire.MessageRejected](a.Data) {
			t.Errorf("the answer is %+v, want no rejection", a.Data)
		}
		deliverBarrier(t, r)
		log := readLog(t, m)
		if n := len(payloads[wire.MessageRejected](log)); n != 0 || panics != 2 {
			t.Errorf("after %d panics %d messages were refused, want 2 and none", panics, n)
		}
	})
}

// A window may be named with its monitor.
func TestPendingMoveOnAnotherMonitor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		h, _ := startHub(t, s, "a", session.Config{})
		createSession(t, h, "ses-1")
		r := openHandle(t, h, "ses-1")
		deliverAndWait(t, r, command("c", "e1", wire.Emit{MonitorID: "monitor-1", Actions: []wire.Action{window("win")}}))
		for x := range 2 {
			move := moveInteraction(float64(200 + x))
			move.MonitorID = "monitor-1"
			deliver(t, r, command("c", "", move))
		}
		deliverAndWait(t, r, command("c", "e2", emit(wire.WindowSetTitle{WindowID: "monitor-1/win", Title: "x"})))
		if got := windowPositions(readLog(t, s)); len(got) == 0 || got[len(got)-1] != 201 {
			t.Errorf("the window was moved to %v before it got another title, want 201 as the last", got)
		}
	})
}

// The presence list has the monitors that a tab watches, also after a change.
func TestPresenceAfterWatch(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	h, _ := startHub(t, s, "a", session.Config{})
	createSession(t, h, "ses-1")
	r := openHandle(t, h, "ses-1")
	server, client := net.Pipe()
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = io.Copy(io.Discard, client) })
	defer wg.Wait()
	defer client.Close()
	tab, err := r.Attach(t.Context(), broadcast.TabConfig{
		Conn: &broadcast.Socket{Conn: server}, Form: broadcast.FormSSE, Monitors: []wire.MonitorID{"monitor-0"},
		Who:    wire.Connection{ConnectionID: "conn", Monitors: []wire.MonitorID{"monitor-0"}},
		Closed: func(wire.CloseCode, string) {},
	})
	requireNoError(t, err)
	defer r.Leave(tab)
	waitLogged(t, s, "ses-1", func(p wire.Presence) bool { return p.Total == 1 })
	r.Watch(tab, "monitor-1")
	waitLogged(t, s, "ses-1", func(p wire.Presence) bool {
		return p.Total == 1 && slices.Equal(p.Connections[0].Monitors, []wire.MonitorID{"monitor-0", "monitor-1"})
	})
}
