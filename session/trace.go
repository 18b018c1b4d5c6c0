package session

import (
	"time"

	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Tracer traces messages through sessions. It must not block, nor keep the events it gets.
type Tracer interface {
	// Committed is called after the owner has committed events that include acknowledgements of
	// messages or ends of turns.
	Committed(session wire.SessionID, epoch uint64, events []broadcast.Event, began time.Time)
	// Published is called after events were written to the tabs of this replica, as far as their
	// sockets accepted them.
	Published(session wire.SessionID, events []broadcast.Event, tabs int, began time.Time)
}

// commitTraced calls commitBatch and traces it if the batch is durable.
func (cm *committer) commitTraced(b store.Batch) (receipt store.Receipt, again bool, err error) {
	t := cm.live.env.cfg.Tracer
	if t == nil || !b.Durable {
		return cm.commitBatch(b)
	}
	began := time.Now()
	if receipt, again, err = cm.commitBatch(b); err == nil {
		t.Committed(cm.live.id, cm.held.lease.Epoch, cm.w.step.events, began)
	}
	return receipt, again, err
}

// publish publishes events to the tabs of this replica.
func (k *liveSession) publish(events []broadcast.Event) {
	t := k.env.cfg.Tracer
	if t == nil {
		k.center.Publish(events)
		return
	}
	began := time.Now()
	k.center.Publish(events)
	t.Published(k.id, events, k.center.Tabs(), began)
}
