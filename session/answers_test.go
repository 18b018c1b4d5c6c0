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

// isA reports whether a payload is of a type.
func isA[T wire.ServerPayload](p wire.ServerPayload) bool {
	_, is := p.(T)
	return is
}

// Who sends something again gets the same answer again, and nobody else does.
func TestDuplicatesAreAnsweredToTheSender(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		a, b, _ := pair(t, s)
		owner, follower := enter(t, a, "ses-1"), enter(t, b, "ses-1")
		one, two := watch(t, owner, "conn-a"), watch(t, follower, "conn-b")
		deliver(t, owner, says("conn-a", "emit", emit(window("win"))))
		first := next(t, one, any1[wire.Emitted])
		hello := wire.UserMessage{Content: "hello"}
		deliver(t, owner, says("conn-a", "said", hello))
		for _, w := range []*tab{one, two} {
			if p := next(t, w, any1[wire.MessageRejected]); p.Duplicate || p.By != "conn-a" {
				t.Errorf("everybody sees %+v", p)
			}
		}
		deliver(t, follower, says("conn-b", "emit", emit(window("win"))))
		if again := next(t, two, any1[wire.Emitted]); again != first {
			t.Errorf("EMIT again is answered with %+v, before with %+v", again, first)
		}
		deliver(t, follower, says("conn-b", "said", hello))
		if p := next(t, two, any1[wire.MessageRejected]); p.MessageID != "said" || !p.Duplicate || p.Code != wire.CodeProviderUnavailable {
			t.Errorf("the same message again is answered with %+v", p)
		}
		upTo(t, follower, settled(t, owner))
		synctest.Wait()
		seen := one.seen
		for len(one.events) > 0 {
			seen = append(seen, <-one.events)
		}
		actions := find[wire.Actions](seen)
		if n := len(find[wire.MessageRejected](seen)); n != 0 || len(actions) != 2 { // the last is of settled
			t.Errorf("the other tab has seen %d more refusals and %+v", n, actions)
		}
	})
}

// Two who use the same id for different messages are not told of each other's.
func TestAnswersAreNotMixedUp(t *testing.T) {
	t.Parallel()
	for name, messages := range map[string][2]wire.ClientPayload{
		"EMIT":         {emit(window("A")), emit(window("B"))},
		"USER_MESSAGE": {wire.UserMessage{Content: "A"}, wire.UserMessage{Content: "B"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := openMeddler(t)
				h, _ := startHub(t, m, "a", session.Config{})
				create(t, h, "ses-1")
				r := enter(t, h, "ses-1")
				settled(t, r)
				gate := make(chan struct{})
				m.onCommit(func(_ context.Context, _ store.Lease, _ store.Batch, do commitFunc) (store.Receipt, error) {
					<-gate
					return do()
				})
				var answers [2]chan session.Answer
				for i, p := range messages {
					answers[i] = make(chan session.Answer, 1)
					go func() {
						a, err := r.DeliverAndWait(t.Context(), says("", "same", p))
						if err != nil {
							t.Error(err)
						}
						answers[i] <- a
					}()
					synctest.Wait()
				}
				close(gate)
				if p, is := (<-answers[0]).Data.(wire.MessageRejected); is && p.Code != wire.CodeProviderUnavailable {
					t.Errorf("the first is answered with %+v", p)
				}
				a := <-answers[1]
				if p, is := a.Data.(wire.MessageRejected); !is || p.Code != wire.CodeSessionInvalidState {
					t.Errorf("the second is answered with %+v", a.Data)
				}
			})
		})
	}
}

// A step that is committed and goes wrong after that is not refused, however
// often that happens.
func TestWhatIsDoneIsNotRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openMeddler(t)
		h, _ := startHub(t, m, "a", session.Config{})
		create(t, h, "ses-1")
		r := enter(t, h, "ses-1")
		settled(t, r)
		panics := 0
		m.onCommit(func(_ context.Context, _ store.Lease, b store.Batch, do commitFunc) (store.Receipt, error) {
			receipt, err := do()
			if has(b, `"m1"`) && panics < 2 {
				panics++
				panic("after the commit")
			}
			return receipt, err
		})
		if a := ask(t, r, says("c", "m1", emit(window("win")))); isA[wire.MessageRejected](a.Data) {
			t.Errorf("the answer is %+v", a.Data)
		}
		settled(t, r)
		log := history(t, m)
		if n := len(find[wire.MessageRejected](log)); n != 0 || panics != 2 {
			t.Errorf("after %d panics %d messages were refused", panics, n)
		}
	})
}

// A window may be named with its monitor.
func TestPendingPlacesOnOtherMonitors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		h, _ := startHub(t, s, "a", session.Config{})
		create(t, h, "ses-1")
		r := enter(t, h, "ses-1")
		ask(t, r, says("c", "e1", wire.Emit{MonitorID: "monitor-1", Actions: []wire.Action{window("win")}}))
		for x := range 2 {
			move := drag(float64(200 + x))
			move.MonitorID = "monitor-1"
			deliver(t, r, says("c", "", move))
		}
		ask(t, r, says("c", "e2", emit(wire.WindowSetTitle{WindowID: "monitor-1/win", Title: "x"})))
		if got := places(history(t, s)); len(got) == 0 || got[len(got)-1] != 201 {
			t.Errorf("the window was told to be at %v before it got another title", got)
		}
	})
}

// Others learn which monitors a tab looks at, also when it changes its mind.
func TestPresenceAfterWatch(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	h, _ := startHub(t, s, "a", session.Config{})
	create(t, h, "ses-1")
	r := enter(t, h, "ses-1")
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
	ok(t, err)
	defer r.Leave(tab)
	await(t, s, "ses-1", func(p wire.Presence) bool { return p.Total == 1 })
	r.Watch(tab, "monitor-1")
	await(t, s, "ses-1", func(p wire.Presence) bool {
		return p.Total == 1 && slices.Equal(p.Connections[0].Monitors, []wire.MonitorID{"monitor-0", "monitor-1"})
	})
}
