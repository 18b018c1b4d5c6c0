package session

import (
	"time"

	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Tracer follows messages through sessions. It must not wait, nor keep the events
// that it is given.
type Tracer interface {
	// Committed says that the owner has committed events some of which are promises:
	// that a message is kept, or how its turn ended.
	Committed(session wire.SessionID, epoch uint64, events []broadcast.Event, began time.Time)
	// Published says that events were written to the tabs of this replica, as far as
	// their sockets took them.
	Published(session wire.SessionID, events []broadcast.Event, tabs int, began time.Time)
}

// commitTraced is write, followed if the step has promises.
func (l *owner) commitTraced(b store.Batch) (receipt store.Receipt, again bool, err error) {
	t := l.live.hub.cfg.Tracer
	if t == nil || !b.Durable {
		return l.commitBatch(b)
	}
	began := time.Now()
	if receipt, again, err = l.commitBatch(b); err == nil {
		t.Committed(l.live.id, l.lease.Epoch, l.step.events, began)
	}
	return receipt, again, err
}

// publish gives events to the tabs here.
func (k *liveSession) publish(events []broadcast.Event) {
	t := k.hub.cfg.Tracer
	if t == nil {
		k.center.Publish(events)
		return
	}
	began := time.Now()
	k.center.Publish(events)
	t.Published(k.id, events, k.center.Tabs(), began)
}
