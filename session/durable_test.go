package session_test

import (
	"context"
	"sync"
	"testing"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// noting is a store that notes for which events durability is asked.
type noting struct {
	engine
	t *testing.T

	mu      sync.Mutex // guards the following
	ordered map[string]bool
}

func (n *noting) Commit(ctx context.Context, l store.Lease, b store.Batch) (store.Receipt, error) {
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
	return n.engine.Commit(ctx, l, b)
}

// That a message is kept, that a question is answered and that a turn has ended
// is asked to be durable; the words between are not, or every piece of an answer
// would wait for a second node.
func TestPromisesAreDurable(t *testing.T) {
	t.Parallel()
	n := &noting{engine: openStore(t), t: t, ordered: map[string]bool{}}
	o := agentHub(t, newSite(t, func(*testing.T) engine { return n }), hubConfig{})
	d := o.newDesktop(t, "ses-1")
	d.say(first, "m1", "/say one", "/ask Which? | tea | coffee", "/sleep 10ms")
	d.send("", wire.UserPromptResponse{PromptID: d.asked("main-monitor-0-m1").ID, SelectedValues: []string{"tea"}})
	d.ends("m1")
	n.mu.Lock()
	defer n.mu.Unlock()
	for what, want := range map[string]bool{"accepted": true, "said": false, "answered": true, "ended": true} {
		if got, seen := n.ordered[what]; !seen || got != want {
			t.Errorf("%s: durable is %v (seen: %v), want %v", what, got, seen, want)
		}
	}
}
