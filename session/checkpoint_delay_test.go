package session_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/checkpoints"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// slowCheckpoints takes a time for everything, and saves nothing.
type slowCheckpoints struct{ wait time.Duration }

func (c slowCheckpoints) HasFiles(wire.SessionID) bool {
	time.Sleep(c.wait) // in a bubble
	return true
}

func (c slowCheckpoints) Save(ctx context.Context, _ wire.SessionID, _ checkpoints.Note, _ []byte) (checkpoints.Saved, error) {
	select {
	case <-time.After(c.wait):
	case <-ctx.Done():
	}
	return checkpoints.Saved{Checkpoint: checkpoints.Checkpoint{Hash: "0123456789"}, New: true}, ctx.Err()
}

func (slowCheckpoints) Restore(context.Context, wire.SessionID, string, checkpoints.Note, []byte) (checkpoints.Restored, error) {
	return checkpoints.Restored{}, checkpoints.ErrUnknown
}

func (slowCheckpoints) Windows(context.Context, wire.SessionID, string) ([]byte, error) {
	return nil, checkpoints.ErrUnknown
}

// slowCommits is a store in which a commit takes 20 ms.
type slowCommits struct{ agentStore }

func (s slowCommits) Commit(ctx context.Context, l store.Lease, b store.Batch) (store.Receipt, error) {
	time.Sleep(20 * time.Millisecond)     // in a bubble
	return s.agentStore.Commit(ctx, l, b) //nolint:wrapcheck // the store of the test
}

// slowestAnswer returns the longest time until one of 50 messages is answered, which are sent one after the other.
func slowestAnswer(t *testing.T, c session.Checkpoints) (slowest time.Duration) {
	t.Helper()
	s := newSyncDeployment(t)
	open := s.openStore
	s.openStore = func(t *testing.T) agentStore { t.Helper(); return slowCommits{open(t)} }
	cfg := hubConfig{limits: agentpool.Limits{Agents: 1}, session: session.Config{Checkpoints: c, CheckpointDesktops: true}}
	d := startAgentHub(t, s, cfg).newDesktop(t, "ses-1")
	for i := range 20 {
		w := window(wire.WindowID(fmt.Sprint("w", i)))
		w.Content = wire.TextContent{Data: strings.Repeat("x", 100_000)}
		d.emitOn(firstMonitor, w)
	}
	for i := range 50 {
		began := time.Now()
		d.sendAndWait(wire.MessageID(fmt.Sprint("m", i)), wire.UserMessage{MonitorID: firstMonitor, Content: "/say hello"})
		slowest = max(slowest, time.Since(began))
	}
	d.waitIdle()
	return slowest
}

// A save delays no message by more than 100 ms, however long it takes.
func TestSaveDelaysNoMessage(t *testing.T) {
	t.Parallel()
	const limit = 100 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		without := slowestAnswer(t, nil)
		with := slowestAnswer(t, slowCheckpoints{30 * time.Second})
		t.Logf("slowest answer: %v without checkpoints, %v beside saves", without, with)
		if with-without > limit {
			t.Errorf("slowest answer: got %v beside saves and %v without checkpoints, want a difference of at most %v", with, without, limit)
		}
	})
}
