package session_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// durabilityRecorder is a store that records for which events a durable commit is requested.
type durabilityRecorder struct {
	agentStore
	t *testing.T

	mu      sync.Mutex // guards the following
	ordered map[string]bool
}

func (n *durabilityRecorder) Commit(ctx context.Context, l store.Lease, b store.Batch) (store.Receipt, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, frame := range b.Events {
		e, err := wire.Native{}.DecodeEvent(frame)
		if err != nil {
			n.t.Errorf("%s: %v", frame, err)
		}
		switch p := e.Data.(type) {
		case wire.MessageAccepted:
			n.ordered["accepted"] = b.Durable
		case wire.PromptClosed:
			n.ordered["answered"] = b.Durable
		case wire.AgentResponse:
			if p.IsComplete {
				n.ordered["ended"] = b.Durable
			} else {
				n.ordered["said"] = b.Durable
			}
		}
	}
	return n.agentStore.Commit(ctx, l, b)
}

// Acknowledgements of messages and answers and ends of turns are committed durably; streamed text
// is not, or every delta would wait for a second node.
func TestAcknowledgementsAreDurable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := &durabilityRecorder{agentStore: openStore(t), t: t, ordered: map[string]bool{}}
		s := newDeployment(t, func(*testing.T) agentStore { return n })
		s.waitLimit = 24 * time.Hour
		d := startAgentHub(t, s, hubConfig{}).newDesktop(t, "ses-1")
		// The pauses keep the text out of the steps of the acknowledgements, which are durable as a whole.
		d.sendText(firstMonitor, "m1", "/sleep 1s", "/say one", "/sleep 1s", "/ask Which? | tea | coffee", "/sleep 1s")
		d.send("", wire.UserPromptResponse{PromptID: d.waitPrompt("main-monitor-0-m1").ID, SelectedValues: []string{"tea"}})
		d.waitTurnEnd("m1")
		n.mu.Lock()
		defer n.mu.Unlock()
		for what, want := range map[string]bool{"accepted": true, "said": false, "answered": true, "ended": true} {
			if got, seen := n.ordered[what]; !seen || got != want {
				t.Errorf("%s: durable is %v (seen: %v), want %v", what, got, seen, want)
			}
		}
	})
}
