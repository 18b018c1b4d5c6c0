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
	// Kept says that the owner has committed events some of which are promises:
	// that a message is kept, or how its turn ended.
	Kept(session wire.SessionID, epoch uint64, events []broadcast.Event, began time.Time)
	// Shown says that events were written to the tabs of this replica, as far as
	// their sockets took them.
	Shown(session wire.SessionID, events []broadcast.Event, tabs int, began time.Time)
}

// promise is write, followed if the step has promises.
func (l *owner) promise(b store.Batch) (receipt store.Receipt, again bool, err error) {
	t := l.k.hub.cfg.Tracer
	if t == nil || !b.Durable {
		return l.write(b)
	}
	began := time.Now()
	if receipt, again, err = l.write(b); err == nil {
		t.Kept(l.k.id, l.lease.Epoch, l.step.events, began)
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
	t.Shown(k.id, events, k.center.Tabs(), began)
}
