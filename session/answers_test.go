package session_test

import (
	"context"
	"testing"
	"testing/synctest"

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
						a, err := r.Ask(t.Context(), says("", "same", p))
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
