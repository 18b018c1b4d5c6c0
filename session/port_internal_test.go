package session

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/everdesk/everdesk/agentpool"
)

// A call that waits for space in the mailbox ends with the owner.
func TestPutEndsWithTheOwner(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		ow := &owner{live: &liveSession{mailbox: newMailbox()}, held: heldLease{ctx: ctx}}
		for range mailboxLimit {
			if err := (port{ow}).put(t.Context(), item{}); err != nil {
				t.Fatal(err)
			}
		}
		result := make(chan error, 1)
		go func() { result <- port{ow}.put(t.Context(), item{}) }()
		synctest.Wait()
		if len(result) > 0 {
			t.Fatal("got a result while the mailbox is full, want a wait")
		}
		cancel(errLost)
		synctest.Wait()
		select {
		case err := <-result:
			if !errors.Is(err, errLost) {
				t.Errorf("the waiting call ends with %v, want %v", err, errLost)
			}
		default:
			t.Error("got a caller that still waits, want its result")
		}
		if err := (port{ow}).put(t.Context(), item{}); !errors.Is(err, errLost) {
			t.Errorf("the next call ends with %v, want %v", err, errLost)
		}
	})
}

// Work of an agent whose owner ended is not executed by the next owner, and the agent gets an
// error.
func TestWorkEndsWithItsOwner(t *testing.T) {
	t.Parallel()
	done := make(chan error, 1)
	left := dropAgentWork([]item{{sentAs: "1"}, {work: func() { t.Error("work of a lost owner was done, want it dropped") }, done: done}, {work: func() {}}, {sentAs: "2"}})
	if len(left) != 2 || left[0].sentAs != "1" || left[1].sentAs != "2" {
		t.Errorf("left are %+v, want the orders 1 and 2", left)
	}
	if err := <-done; !errors.Is(err, errLost) {
		t.Errorf("the agent gets %v, want %v", err, errLost)
	}
}

// The start of a run is committed before its model is called: the next owner counts the attempts.
// Other reports do not wait for the commit.
func TestRunStartIsCommittedFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		ow := &owner{live: &liveSession{mailbox: newMailbox()}, held: heldLease{ctx: ctx}}
		if err := (port{ow}).Report(t.Context(), agentpool.Output{Text: "hello"}); err != nil {
			t.Fatal(err)
		}
		result := make(chan error, 1)
		begin := func() {
			go func() { result <- port{ow}.Report(t.Context(), agentpool.Began{}) }()
			synctest.Wait()
			if len(result) > 0 {
				t.Fatal("got a result before the commit, want a wait")
			}
		}
		begin()
		items, _ := ow.live.mailbox.takeAll(nil, nil)
		for i := range items {
			items[i].finish(nil)
		}
		if err := <-result; err != nil || len(items) != 2 {
			t.Errorf("%d items, error %v, want 2 and none", len(items), err)
		}
		begin()
		cancel(errLost)
		if err := <-result; !errors.Is(err, errLost) {
			t.Errorf("without an owner: error %v, want %v", err, errLost)
		}
	})
}
