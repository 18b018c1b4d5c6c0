package session_test

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// A message that the inbox refuses is answered with a rejection, and later messages are delivered.
func TestRefusedDeliveryIsAnswered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openFaultStore(t)
		a, _ := startHub(t, m, "a", session.Config{})
		b, _ := startHub(t, m, "b", session.Config{})
		createSession(t, a, "ses-1")
		deliverBarrier(t, openHandle(t, a, "ses-1"))
		far := openHandle(t, b, "ses-1")
		m.setHooks(hooks{send: func(c store.Command, do func() (bool, error)) (bool, error) {
			if bytes.Contains(c.Data, []byte("large")) && bytes.Contains(c.Data, []byte(`"message":`)) {
				return false, store.ErrTooLarge
			}
			return do()
		}})
		answer := deliverAndWait(t, far, command("c", "m1", emit(window("large"))))
		if no, ok := answer.Data.(wire.MessageRejected); !ok || no.Code != wire.CodeMessageTooLarge {
			t.Errorf("the answer is %+v, want a rejection with code %d", answer.Data, wire.CodeMessageTooLarge)
		}
		if answer := deliverAndWait(t, far, command("c", "m2", emit(window("small")))); answer.At == (wire.Position{}) {
			t.Errorf("the next message is answered with %+v, want its event", answer)
		}
	})
}

// A follower that stops sends on what it has accepted.
func TestStoppingFollowerForwards(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		near, far := newFaultStore(s), newFaultStore(s)
		a, _ := startHub(t, near, "a", session.Config{})
		b, stop := startHub(t, far, "b", session.Config{})
		createSession(t, a, "ses-1")
		owner, follower := openHandle(t, a, "ses-1"), openHandle(t, b, "ses-1")
		deliverBarrier(t, owner)
		time.Sleep(time.Minute)
		far.setHooks(hooks{send: func(store.Command, func() (bool, error)) (bool, error) { return false, store.ErrUnavailable }})
		for _, name := range []wire.WindowID{"first", "second"} {
			deliver(t, follower, command("c", wire.MessageID(name), emit(window(name))))
			synctest.Wait()
		}
		far.setHooks(hooks{})
		stop()
		time.Sleep(time.Second)
		state, err := owner.Snapshot(t.Context(), nil)
		requireNoError(t, err)
		if len(state.Windows) != 2 {
			t.Errorf("%d windows are open, want the 2 that were accepted", len(state.Windows))
		}
	})
}
